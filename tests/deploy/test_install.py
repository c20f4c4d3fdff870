"""`install.sh`, run again on a machine where people have been at work: what it made once stays, and so do their edits.

Its parts run as they stand, on this machine's files with a layer of the test's own above them; the whole of it is run by
`deploy/rehearse-install.sh`, on a bare Debian.
"""

import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import quote

import pytest

from deploy.rehearsal.runbook import blocks
from jackpot.pki import scram
from tests.acceptance.processes import JACKPOT
from tests.deploy.installed import DEPLOY
from tests.deploy.server import ROLES, Server, needs_debians_postgresql, running_server
from tests.deploy.test_postgresql import comes_in
from tests.servers import open_directory

pytestmark = needs_debians_postgresql

LAYERED = """
layers=$1 socket=$2 jackpot=$3; shift 3
for place in etc opt root var/lib var/backups; do
  mkdir -p "$layers/$place" "$layers/.work/$place"
  mount -t overlay overlay -o "lowerdir=/$place,upperdir=$layers/$place,workdir=$layers/.work/$place" "/$place"
done
mount -t tmpfs tmpfs /run
mkdir -p /run/postgresql /opt/jackpot/bin /etc/jackpot/secrets
ln -s "$socket" /run/postgresql/.s.PGSQL.5432
ln -sf "$jackpot" /opt/jackpot/bin/jackpot
getent passwd jackpot >/dev/null || useradd --system --user-group jackpot
exec "$@"
"""


class Bench:
    """A machine that has its packages and the program; `layers` is what differs from this one."""

    def __init__(self, layers: Path) -> None:
        self.layers = layers
        self.deploy = layers / "release/deploy"
        shutil.copytree(DEPLOY, self.deploy)

    def at(self, path: str) -> Path:
        return self.layers / path.lstrip("/")

    def install(self, *parts: str, socket: Path = Path("/nowhere")) -> str:
        install = [str(self.deploy / "install.sh"), "--site", "Test", "--host", "jackpot.example", *parts]
        return self.run(*install, socket=socket)

    def run(self, *argv: str, socket: Path = Path("/nowhere")) -> str:
        layered = ["unshare", "--mount", "bash", "-euc", LAYERED, "-", str(self.layers), str(socket), str(JACKPOT)]
        done = subprocess.run([*layered, *argv], capture_output=True, text=True, check=False)
        if "mount: " in done.stderr:
            pytest.skip(f"no layers can be laid here: {done.stderr}")
        assert done.returncode == 0, done.stdout + done.stderr
        return done.stdout

    def files(self) -> dict[Path, bytes]:
        places = ("etc/jackpot", "etc/mosquitto", "etc/postgresql", "etc/systemd", "etc/logrotate.d", "root")
        return {path: path.read_bytes() for place in places for path in self.at(place).rglob("*") if path.is_file()}


@pytest.fixture
def bench() -> Iterator[Bench]:
    with open_directory(in_memory=True) as layers:
        yield Bench(layers)


def test_run_again_it_changes_nothing(bench: Bench) -> None:
    bench.install("certificates", "keys", "configuration")
    before = bench.files()
    assert bench.at("/etc/jackpot/jackpot.toml") in before
    assert bench.install("certificates", "keys", "configuration") == "install: done\n"
    assert bench.files() == before


def test_authorities_in_the_safe_are_not_made_anew(bench: Bench) -> None:
    bench.install("certificates")
    safe = bench.layers / "safe"
    bench.at("/root/jackpot-pki").rename(safe)
    before = bench.files()
    assert "certificates stay as they are" in bench.install("certificates")
    assert bench.files() == before
    shutil.copytree(safe, bench.at("/root/jackpot-pki"))
    bench.install("certificates")
    assert {path: content for path, content in bench.files().items() if path in before} == before


def test_the_examples_key_is_not_made_beside_a_configuration_that_is_somebodys_own(bench: Bench) -> None:
    bench.install("keys", "configuration")
    key = bench.at("/etc/jackpot/secrets/UTH-01.event-key")
    key.unlink()
    bench.install("keys", "configuration")
    assert not key.exists()


@pytest.mark.parametrize("path", ["/etc/systemd/system/jackpot.service", "/etc/mosquitto/mosquitto.conf"])
def test_a_file_that_was_edited_stays_and_the_new_one_is_laid_beside_it(bench: Bench, path: str) -> None:
    bench.install("configuration")
    file, beside = bench.at(path), bench.at(f"{path}.dpkg-dist")
    edited = file.read_text() + "# our own\n"
    file.write_text(edited)
    assert bench.install("configuration") == "install: done\n"
    assert (file.read_text(), beside.exists()) == (edited, False)
    (source,) = bench.deploy.rglob(file.name)
    source.write_text(source.read_text() + "# of the next release\n")
    assert f"{path} was edited here and stays" in bench.install("configuration")
    assert (file.read_text(), beside.read_text()) == (edited, source.read_text())
    assert bench.install("configuration") == "install: done\n", "said once"
    assert file.read_text() == edited


def test_a_file_that_was_not_edited_is_brought_up_to_date(bench: Bench) -> None:
    bench.install("configuration")
    source = bench.deploy / "systemd/jackpot.service"
    source.write_text(source.read_text() + "# of the next release\n")
    assert bench.install("configuration") == "install: done\n"
    assert bench.at("/etc/systemd/system/jackpot.service").read_text() == source.read_text()


def test_the_controllers_certificate_is_made_where_only_the_servers_was(bench: Bench) -> None:
    """Another daemon's machine, to which the authorities were brought along."""
    bench.install("certificates")
    holders = bench.at("/root/jackpot-pki/controllers/holders")
    shutil.rmtree(holders)
    assert "the controller's certificate" in bench.install("certificates")
    (made,) = holders.glob("*.crt")
    assert bench.at("/etc/jackpot/controller.crt").read_bytes() == made.read_bytes()


SITE_COPY = "/var/backups/jackpot-site/newest.tar.zst"
UNIT = "/etc/systemd/system/jackpot.service"
SYSTEMCTL = """
systemctl() {
  local unit
  [ "$1" != enable ] || for unit in "${@:3}"; do
    [[ $unit == *.* ]] || unit=$unit.service
    [ -e "/etc/systemd/system/$unit" ] || { echo "no unit $unit" >&2; return 1; }
  done
}
"""
"""As systemd is: it enables a unit that is there."""


def copied(bench: Bench, meanwhile: str = ":") -> str:
    """Of all that a machine has; what the copy holds."""
    script = f"install -d -m 700 /var/backups/jackpot-site; {meanwhile}; {bench.deploy}/backup/backup-site.sh"
    assert "backup-site: /var/backups/jackpot-site/site-" in bench.run("bash", "-euc", script)
    return bench.run("tar", "--list", "--zstd", f"--file={SITE_COPY}")


def test_what_stays_on_no_machine_is_in_no_copy_of_one(bench: Bench) -> None:
    """Whoever upgrades has brought one of them back, for an hour or for a night."""
    secrets = bench.at("/etc/jackpot/secrets")
    secrets.mkdir(parents=True)
    for role in ("migrate", "replica", "audit", "finance", "settle"):
        (secrets / f"{role}.password").write_text("secret\n")
    listed = copied(bench).splitlines()
    assert [name for name in listed if name.endswith(".password")] == ["etc/jackpot/secrets/settle.password"]
    (copy,) = bench.at("/var/backups/jackpot-site").glob("site-*")
    assert copy.stat().st_mode & 0o077 == 0


def test_heads_that_are_signed_meanwhile_do_not_fail_the_copy(bench: Bench) -> None:
    bench.at("/var/lib/jackpot").mkdir(parents=True)
    heads = "/var/lib/jackpot/heads.jsonl"
    grows = f"truncate --size=64M {heads}; while :; do echo >>{heads}; done & trap 'kill $!' EXIT"
    assert heads.lstrip("/") in copied(bench, grows)


PUT_BACK = {
    "broker-lost.md": ("/etc/mosquitto", "/etc/systemd", "/etc/logrotate.d"),
    "daemon-gone.md": ("/etc/jackpot", "/etc/systemd", "/etc/logrotate.d"),
    "database-lost.md": ("/etc/postgresql", "/etc/systemd", "/etc/logrotate.d"),
}


def test_what_a_lost_machine_had_beside_the_database_is_put_back_as_the_runbooks_say(bench: Bench) -> None:
    bench.install("certificates", "keys", "configuration")
    bench.at("/var/lib/jackpot").mkdir()
    bench.at("/var/lib/jackpot/heads.jsonl").write_text("{}\n")
    for path in ("/etc/postgresql/15/main/pg_hba.conf", "/var/lib/jackpot-install/etc/postgresql/15/main/pg_hba.conf"):
        bench.at(path).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(DEPLOY / "postgresql/pg_hba.conf", bench.at(path))
    edited = bench.at(UNIT).read_text() + "# our own\n"
    bench.at(UNIT).write_text(edited)
    before = bench.files()
    assert "authority.key" not in copied(bench), "the authorities are in the safe"
    source = bench.deploy / "systemd/jackpot.service"
    source.write_text(source.read_text() + "# of the next release\n")
    lost = "/etc/jackpot /etc/mosquitto /etc/postgresql/{jackpot,15/main/pg_hba.conf} /etc/systemd /etc/logrotate.d/jackpot"
    lost += " /var/lib/jackpot /var/lib/jackpot-install"
    for runbook, places in PUT_BACK.items():
        (put_back,) = (block for block in blocks(runbook) if "tar " in block)
        made = "install -d -o jackpot -g jackpot /var/lib/jackpot; install -d /var/backups/jackpot"
        bench.run("bash", "-euc", f"rm -rf {lost}\n{made}\n{SYSTEMCTL}{put_back}")
        after = bench.files()
        wanted = {path: before[path] for path in before if any(path.is_relative_to(bench.at(p)) for p in places)}
        assert {path: after.get(path) for path in wanted} == wanted, runbook
        assert bench.at("/var/lib/jackpot/heads.jsonl").exists() == (runbook == "daemon-gone.md")
        for key, owner in (("mosquitto/jackpot/broker", "mosquitto"), ("postgresql/jackpot/server", "postgres")):
            if (found := bench.at(f"/etc/{key}.key")) in wanted:
                assert (found.stat().st_mode & 0o777, found.owner()) == (0o400, owner)
        assert f"{UNIT} was edited here and stays" in bench.install("configuration"), runbook
        assert bench.at(UNIT).read_text() == edited


@pytest.fixture(scope="module")
def server() -> Iterator[Server]:
    with running_server() as server:
        yield server


async def test_passwords_let_their_roles_in_and_are_not_in_the_servers_log(bench: Bench, server: Server) -> None:
    for role in ROLES:
        server.psql(f"ALTER ROLE jackpot_{role} PASSWORD NULL")
    bench.install("passwords", socket=server.folder / f"server/.s.PGSQL.{server.port}")
    made = {role: bench.at(f"/etc/jackpot/secrets/{role}.password").read_text().strip() for role in ROLES}
    assert await comes_in(server.url("settle", password=quote(made["settle"], safe="")))
    log = (server.folder / "log").read_text()
    assert "ALTER ROLE jackpot_settle PASSWORD NULL" in log, "who changed what is logged"
    assert [role for role, password in made.items() if password in log] == []
    assert "SCRAM-SHA-256" not in log.rpartition("PASSWORD NULL")[2]
    for role, password in server.passwords.items():
        server.psql(f"ALTER ROLE jackpot_{role} PASSWORD '{scram.verifier(password)}'")


async def test_a_role_that_has_a_password_keeps_it(bench: Bench, server: Server) -> None:
    socket = server.folder / f"server/.s.PGSQL.{server.port}"
    secrets = bench.at("/etc/jackpot/secrets")
    bench.install("passwords", socket=socket)
    assert list(secrets.iterdir()) == []
    assert await comes_in(server.url("finance"))
    server.psql("ALTER ROLE jackpot_finance PASSWORD NULL")
    assert "a password for the role finance" in bench.install("passwords", socket=socket)
    (made,) = secrets.iterdir()
    assert await comes_in(server.url("finance", password=quote(made.read_text().strip(), safe="")))
    assert made.stat().st_mode & 0o077 == 0
