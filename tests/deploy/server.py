"""Debian's PostgreSQL with the site's files: settings, who gets in, roles, grants, schema, backup."""

import os
import secrets
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from copy import copy
from pathlib import Path

import pytest

from jackpot.embedded.place import Account, account_for
from jackpot.pki import Kind, Site, scram
from tests.acceptance import processes
from tests.brokers import free_port
from tests.deploy import installed
from tests.deploy.installed import DEPLOY, replaced
from tests.servers import ROOT, open_directory
from tests.waiting import patience_s

PROGRAMS = sorted(Path("/usr/lib/postgresql").glob("*/bin"), key=lambda path: int(path.parent.name))
ROLES = ("migrate", "settle", "console", "finance", "audit", "metrics", "replica")

needs_debians_postgresql = pytest.mark.skipif(
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
        shutil.copy(self.ca, self.folder / "server/servers.crt")
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
            "PGHOST": str(self.folder / "server"),
            "TMPDIR": str(self.folder / "server"),
            "HOME": str(self.folder / "server"),
            "PYTHONPYCACHEPREFIX": processes.environment()["PYTHONPYCACHEPREFIX"],
        }

    def run(self, *argv: str | Path, stdin: str = "") -> str:
        """As the server's own account."""
        done = self._done(*argv, stdin=stdin)
        assert done.returncode == 0, (argv, done.stdout, done.stderr)
        return done.stdout

    def fails(self, *argv: str | Path) -> str:
        """What it says is wrong."""
        done = self._done(*argv)
        assert done.returncode != 0, (argv, done.stdout)
        return done.stderr

    def _done(self, *argv: str | Path, stdin: str = "") -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            self.account.command(*argv),
            env=self.environment,
            input=stdin,
            capture_output=True,
            text=True,
            cwd="/",
            check=False,
        )

    def archive(self) -> Path:
        """All that is committed is kept; the piece with the end of it."""
        segment = self.psql("SELECT pg_walfile_name(pg_switch_wal())").strip()
        kept = self.backups / f"wal/{segment}.zst"
        self._until(kept.exists)
        return kept

    def _until(self, done: Callable[[], bool]) -> None:
        """While the server runs; if it ends its log says why."""
        assert self._process is not None
        deadline = time.monotonic() + patience_s(60)
        while not done():
            log = (self.folder / "log").read_text(errors="replace")[-4000:]
            assert self._process.poll() is None, f"the server has ended:\n{log}"
            assert time.monotonic() < deadline, log
            time.sleep(0.05)

    def start(self, *, wait: bool = True) -> None:
        with (self.folder / "log").open("ab") as log:
            self._process = subprocess.Popen(
                self.account.command(self.programs / "postgres", "-D", self.data, "-c", f"port={self.port}"),
                env=self.environment,
                stdout=log,
                stderr=log,
                cwd="/",
            )
        if wait:
            self._until(lambda: self._done("pg_isready", "-q", "-h", self.folder / "server").returncode == 0)

    def stop(self, number: signal.Signals = signal.SIGINT) -> None:
        assert self._process is not None
        self._process.send_signal(number)
        self._process.wait(patience_s(30))

    def standby(self) -> "Server":
        """Another server, to be made as a copy of this one; where the test is concerned, on the same machine."""
        other = copy(self)
        other.data, other.port = self.data.with_name("standby"), free_port()
        return other

    def psql(self, text: str, database: str = "postgres") -> str:
        socket = self.folder / "server"
        return self.run("psql", "-X", "-q", "-A", "-t", "-v", "ON_ERROR_STOP=1", "-h", socket, database, stdin=text)

    def url(
        self, role: str, *, database: str = "jackpot", password: str | None = None, tls: str = "verify-full"
    ) -> str:
        secret = self.passwords[role] if password is None else password
        query = f"sslmode={tls}" + (f"&sslrootcert={self.ca}" if tls.startswith("verify") else "")
        return f"postgresql://jackpot_{role}:{secret}@127.0.0.1:{self.port}/{database}?{query}"


@contextmanager
def running_server() -> Iterator[Server]:
    """With its roles, its schema and its grants."""
    with open_directory(in_memory=True) as folder:
        server = Server(folder)
        server.make()
        server.start()
        try:
            server.psql((DEPLOY / "postgresql/roles.sql").read_text())
            for role, password in server.passwords.items():
                server.psql(f"ALTER ROLE jackpot_{role} PASSWORD '{scram.verifier(password)}'")
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
