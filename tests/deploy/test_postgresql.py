"""Debian's PostgreSQL with the site's files: who gets in over the network, and what a backup is worth.

The PostgreSQL of the other tests has no TLS, so these need Debian's (`apt-get install postgresql`), run by root.
"""

import os
import secrets
import shutil
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import asyncpg
import pytest
from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat

from jackpot.embedded.place import Account, account_for
from jackpot.ledger.heads import HeadsFile, load_key, new_key
from jackpot.pki import Kind, Site
from tests.acceptance import processes
from tests.brokers import free_port
from tests.deploy import installed
from tests.deploy.installed import DEPLOY, replaced
from tests.ledger.scribe import scribe_at
from tests.servers import ROOT, open_directory

PROGRAMS = sorted(Path("/usr/lib/postgresql").glob("*/bin"), key=lambda path: int(path.parent.name))
ROLES = ("migrate", "settle", "console", "finance", "audit", "metrics", "replica")

pytestmark = pytest.mark.skipif(
    not PROGRAMS or os.geteuid() != 0, reason="Debian's PostgreSQL is not installed, or this is not root"
)


class Server:
    """A cluster of Debian's PostgreSQL, configured by `deploy/postgresql`, with its backups beside it."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.port = free_port()
        self.programs = PROGRAMS[-1]
        self.data = folder / "cluster" / "data"
        self.backups = folder / "backups"
        self.passwords = {role: secrets.token_urlsafe(12) for role in ROLES}
        self.account: Account = account_for(self.data)
        self.authorities = Site(folder / "pki")
        self.ca = folder / "servers.crt"
        self._process: subprocess.Popen[bytes] | None = None

    def make(self) -> None:
        for place in (self.data.parent, self.backups, self.folder / "server"):
            place.mkdir()
            self.own(place)
        self.run("initdb", "-D", self.data, "-U", "postgres", "--auth=peer", "--encoding=UTF8", "--locale=C", "-N")
        self.authorities.create("Test", installed.now())
        pair = self.authorities.issue(Kind.SERVER, "db", installed.now(), installed.DAYS, ["127.0.0.1"])
        for path, name in zip(pair, ("server.crt", "server.key"), strict=True):
            self.own(Path(shutil.copy(path, self.folder / "server" / name)))
        shutil.copy(self.authorities.authorities[Kind.SERVER].certificate_file, self.ca)
        shutil.copytree(DEPLOY / "backup", self.folder / "lib")
        shutil.copy(DEPLOY / "postgresql/pg_hba.conf", self.data / "pg_hba.conf")
        places = {"/etc/postgresql/jackpot": f"{self.folder}/server", "/usr/lib/jackpot": f"{self.folder}/lib"}
        settings = replaced((DEPLOY / "postgresql/jackpot.conf").read_text(), places)
        own = f"port = {self.port}\nunix_socket_directories = '{self.folder}/server'\nlisten_addresses = '127.0.0.1'\n"
        (self.folder / "jackpot.conf").write_text(settings + own)
        with (self.data / "postgresql.conf").open("a") as main:
            main.write(f"include '{self.folder}/jackpot.conf'\n")

    def jackpot(self) -> bool:
        """Whether the server's account can run our program: by a Python that is not in somebody's closed home."""
        program = self.folder / "jackpot"
        packages = Path(pytest.__file__).parent.parent
        for python in (sys.executable, f"/usr/bin/python3.{sys.version_info.minor}"):
            program.write_text(f'#!/bin/sh\nPYTHONPATH={ROOT}:{packages} exec {python} -m jackpot.cli "$@"\n')
            program.chmod(0o755)
            if self.account.can(program, "settle", "--help"):
                return True
        return False

    def own(self, path: Path) -> None:
        os.chown(path, self.account.uid, self.account.gid)
        path.chmod(0o700 if path.is_dir() else 0o600)

    @property
    def environment(self) -> dict[str, str]:
        return {
            "PATH": f"{self.programs}:/usr/sbin:/usr/bin:/bin",
            "JACKPOT_BACKUP": str(self.backups),
            "JACKPOT": str(self.folder / "jackpot"),
            "PGPORT": str(self.port),
            "TMPDIR": str(self.folder / "server"),
            "HOME": str(self.folder / "server"),
            "PYTHONPYCACHEPREFIX": processes.environment()["PYTHONPYCACHEPREFIX"],
        }

    def run(self, *argv: str | Path, stdin: str = "") -> str:
        """As the server's own account."""
        done = subprocess.run(
            self.account.command(*argv),
            env=self.environment,
            input=stdin,
            capture_output=True,
            text=True,
            cwd="/",
            check=False,
        )
        assert done.returncode == 0, (argv, done.stdout, done.stderr)
        return done.stdout

    def start(self) -> None:
        with (self.folder / "log").open("ab") as log:
            self._process = subprocess.Popen(
                self.account.command(self.programs / "postgres", "-D", self.data),
                env=self.environment,
                stdout=log,
                stderr=log,
                cwd="/",
            )
        self.run("bash", "-c", f"until pg_isready -q -h {self.folder}/server; do sleep 0.05; done")

    def stop(self, number: signal.Signals = signal.SIGINT) -> None:
        assert self._process is not None
        self._process.send_signal(number)
        self._process.wait(30)

    def psql(self, text: str, database: str = "postgres") -> str:
        socket = self.folder / "server"
        return self.run("psql", "-X", "-q", "-A", "-t", "-v", "ON_ERROR_STOP=1", "-h", socket, database, stdin=text)

    def url(
        self, role: str, *, database: str = "jackpot", password: str | None = None, tls: str = "verify-full"
    ) -> str:
        secret = self.passwords[role] if password is None else password
        query = f"sslmode={tls}" + (f"&sslrootcert={self.ca}" if tls.startswith("verify") else "")
        return f"postgresql://jackpot_{role}:{secret}@127.0.0.1:{self.port}/{database}?{query}"


@pytest.fixture(scope="module")
def server() -> Iterator[Server]:
    with open_directory(in_memory=True) as folder:
        server = Server(folder)
        server.make()
        server.start()
        try:
            server.psql((DEPLOY / "postgresql/roles.sql").read_text())
            for role, password in server.passwords.items():
                server.psql(f"ALTER ROLE jackpot_{role} PASSWORD '{password}'")
            server.psql("CREATE DATABASE jackpot OWNER jackpot_owner")
            migrate(server)
            server.psql(f"SET ROLE jackpot_owner;\n{(DEPLOY / 'postgresql/grants.sql').read_text()}", "jackpot")
            yield server
        finally:
            server.stop(signal.SIGQUIT)


def migrate(server: Server) -> None:
    """With `deploy/migrate.toml`: over TLS, the password from its file."""
    (server.folder / "secrets").mkdir()
    (server.folder / "secrets/migrate.password").write_text(server.passwords["migrate"] + "\n")
    changes = {"db.jackpot.example:5432": f"127.0.0.1:{server.port}", "/etc/jackpot/": f"{server.folder}/"}
    config = server.folder / "migrate.toml"
    config.write_text(replaced((DEPLOY / "migrate.toml").read_text(), changes))
    done = processes.run("migrate", "--config", config)
    assert done.returncode == 0, done.stderr


async def comes_in(url: str) -> bool:
    try:
        connection = await asyncpg.connect(url, timeout=10)
    except (asyncpg.InvalidAuthorizationSpecificationError, asyncpg.InsufficientPrivilegeError, OSError):
        return False
    await connection.close()
    return True


async def test_each_role_comes_in_over_tls_with_its_password(server: Server) -> None:
    for role in ROLES[:-1]:
        assert await comes_in(server.url(role)), role


async def test_nobody_comes_in_otherwise(server: Server, tmp_path: Path) -> None:
    forger = Site(tmp_path / "pki")
    forger.create("Test", installed.now())
    other = forger.authorities[Kind.SERVER].certificate_file
    for why, url in {
        "in the clear": server.url("settle", tls="disable"),
        "wrong password": server.url("settle", password="wrong"),
        "no password": server.url("settle", password=""),
        "another database": server.url("settle", database="postgres"),
        "the owner": server.url("migrate").replace("jackpot_migrate", "jackpot_owner"),
        "the superuser": server.url("migrate").replace("jackpot_migrate", "postgres"),
        "a copy of the server as a client": server.url("replica"),
        "the server is not trusted": server.url("settle").replace(str(server.ca), str(other)),
        "the server has another name": server.url("settle").replace("127.0.0.1", "localhost"),
    }.items():
        assert not await comes_in(url), why


def test_passwords_are_kept_as_scram_alone(server: Server) -> None:
    kept = server.psql("SELECT rolpassword FROM pg_authid WHERE rolname LIKE 'jackpot_%' AND rolpassword IS NOT NULL")
    lines = kept.splitlines()
    assert len(lines) == len(ROLES)
    assert all(line.startswith("SCRAM-SHA-256$") for line in lines)


async def test_what_was_answered_survives_the_loss_of_the_server(server: Server, tmp_path: Path) -> None:
    private, _ = new_key()
    (tmp_path / "heads.key").write_bytes(private)
    key = load_key(tmp_path / "heads.key")
    heads, public = server.folder / "heads.jsonl", server.folder / "heads.pub"
    public.write_bytes(key.public_key().public_bytes(Encoding.PEM, PublicFormat.SubjectPublicKeyInfo))
    public.chmod(0o644)
    async with scribe_at(server.url("settle"), "UTH-01") as scribe:
        scribe.deal("UTH-01", {1: 1})
        scribe.settle("UTH-01")
        await scribe.commit()
        server.run(server.folder / "lib/backup.sh", server.folder / "server")
        # After the copy: only the log has it.
        scribe.deal("UTH-01", {1: 5, 2: 3})
        scribe.settle("UTH-01")
        await scribe.commit()
        HeadsFile(heads, key).keep("megalink", scribe._head, installed.now(), None)
        heads.chmod(0o644)
        last = scribe.n
    segment = server.psql("SELECT pg_walfile_name(pg_switch_wal())").strip()
    server.run("bash", "-c", f"until [ -e {server.backups}/wal/{segment} ]; do sleep 0.05; done")

    if server.jackpot():
        told = server.run(server.folder / "lib/rehearse.sh", heads, public)
        assert "restores and verifies" in told

    server.stop(signal.SIGQUIT)
    shutil.rmtree(server.data)
    server.run(server.folder / "lib/restore.sh", server.data)
    server.start()
    server.run(
        "bash",
        "-c",
        f"until [ \"$(psql -X -A -t -h {server.folder}/server -c 'SELECT pg_is_in_recovery()' postgres)\" = f ]; "
        "do sleep 0.05; done",
    )
    config = tmp_path / "audit.toml"
    config.write_text(f'[database]\nurl = "{server.url("audit")}"\n')
    done = processes.run("verify", "--config", config, "--heads", heads, "--heads-key", public)
    assert done.returncode == 0, done.stderr
    assert f"head megalink:{last}:" in done.stdout


def test_a_piece_of_the_log_is_kept_once_and_never_replaced(server: Server, tmp_path: Path) -> None:
    piece, other = server.backups / "piece", server.backups / "other"
    for path, content in ((piece, b"true"), (other, b"forged")):
        path.write_bytes(content)
        server.own(path)
    archive = server.folder / "lib/archive-wal.sh"
    server.run(archive, piece, "000000010000000000000001.test")
    server.run(archive, piece, "000000010000000000000001.test")
    with pytest.raises(AssertionError):
        server.run(archive, other, "000000010000000000000001.test")
    assert (server.backups / "wal/000000010000000000000001.test").read_bytes() == b"true"
