"""One site for the tests of the deployment: broker, database roles and daemon, with the files of `deploy/`."""

import asyncio
import secrets
import shutil
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path

import asyncpg
import pytest

from jackpot.ledger.heads import form
from jackpot.pki import Kind
from tests import brokers
from tests.acceptance import processes
from tests.acceptance.processes import Daemon
from tests.deploy import installed
from tests.deploy.installed import DEPLOY, Mosquitto, Pki
from tests.deploy.terminal import Terminal, terminal
from tests.ledger.ledger_driver import ledger_template, ledger_url
from tests.servers import PostgresProgram

__all__ = ["ledger_template", "ledger_url"]

DATABASE = "jackpot_site"


@pytest.fixture(scope="session")
def pki(tmp_path_factory: pytest.TempPathFactory) -> Pki:
    return installed.make_pki(tmp_path_factory.mktemp("authorities") / "pki")


@pytest.fixture(scope="session")
def broker(pki: Pki, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Mosquitto]:
    with installed.mosquitto(tmp_path_factory.mktemp("broker") / "etc", pki) as running:
        yield running


@dataclass(frozen=True, slots=True)
class Database:
    """A database with the roles and grants of the site."""

    postgres: PostgresProgram
    key: bytes = field(default_factory=lambda: secrets.token_bytes(32))
    """Seals accounts and orders."""

    def url(self, role: str) -> str:
        return self.postgres.url_of(f"jackpot_{role}", DATABASE)

    @property
    def superuser_url(self) -> str:
        return self.postgres.url_of("postgres", DATABASE)

    @asynccontextmanager
    async def terminal(self) -> AsyncIterator[Terminal]:
        async with terminal(self.url("console"), self.url("settle"), self.key) as made:
            yield made


@pytest.fixture(scope="session")
def database(postgres: PostgresProgram, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Database]:
    found = Database(postgres)
    folder = tmp_path_factory.mktemp("migrate")
    (folder / "secrets").mkdir()
    (folder / "secrets/migrate.password").write_text("unused: the socket says who it is\n")
    config = folder / "migrate.toml"
    text = (DEPLOY / "migrate.toml").read_text().replace("/etc/jackpot/", f"{folder}/")
    address = text.partition('url = "')[2].partition('"')[0]
    config.write_text(text.replace(address, found.url("migrate")))

    async def make() -> None:
        await postgres.as_superuser((DEPLOY / "postgresql/roles.sql").read_text())
        await postgres.as_superuser(f"CREATE DATABASE {DATABASE} OWNER jackpot_owner")

    async def grant() -> None:
        connection = await asyncpg.connect(found.url("migrate"))
        await connection.execute((DEPLOY / "postgresql/grants.sql").read_text())
        await connection.close()

    asyncio.run(make())
    done = processes.run("migrate", "--config", config)
    assert done.returncode == 0, done.stderr
    asyncio.run(grant())
    yield found
    asyncio.run(postgres.as_superuser(f"DROP DATABASE {DATABASE} WITH (FORCE)"))


@dataclass(frozen=True, slots=True)
class Controller:
    """The daemon of the site, and the keys that its tables and auditors hold."""

    daemon: Daemon
    event_key: bytes
    heads_file: Path
    heads_public_key: Path

    def metric(self, name: str) -> float:
        """The sum of a series over its labels."""
        lines = self.daemon.get("/metrics")[1].splitlines()
        return sum(float(line.rpartition(" ")[2]) for line in lines if line.startswith((f"{name} ", f"{name}{{")))


@pytest.fixture(scope="session")
def controller(
    pki: Pki, broker: Mosquitto, database: Database, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Controller]:
    folder = tmp_path_factory.mktemp("controller")
    (folder / "secrets").mkdir()
    certificate, key = pki.files(Kind.CONTROLLER, "control-1")
    shutil.copy(pki.ca, folder / "servers.crt")
    shutil.copy(certificate, folder / "controller.crt")
    shutil.copy(key, folder / "secrets/controller.key")
    for role in ("settle", "console"):
        (folder / f"secrets/{role}.password").write_text("unused: the socket says who it is\n")
    event_key = secrets.token_bytes(32)
    for name, made in {"UTH-01.event-key": event_key, "people.key": database.key}.items():
        (folder / "secrets" / name).write_text(made.hex() + "\n")
    private, public = form.new_key()
    (folder / "secrets/heads.key").write_bytes(private)
    (folder / "heads.pub").write_bytes(public)
    installed.keep_secret(folder / "secrets")
    listen = f"127.0.0.1:{brokers.free_port()}"
    urls = {role: database.url(role) for role in ("settle", "console")}
    daemon = Daemon(folder, installed.daemon_configuration(folder, pki, urls, listen))
    daemon.start()
    try:
        daemon.wait_ready()
        yield Controller(daemon, event_key, folder / "lib/heads.jsonl", folder / "heads.pub")
    finally:
        daemon.end()
