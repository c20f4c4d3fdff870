"""A daemon for the tests of the contract: one in each pytest process, with a floor large enough for a table a test."""

import asyncio
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import contextmanager
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory

import aiomqtt
import asyncpg
import pytest

from tests import brokers
from tests.acceptance import processes
from tests.acceptance.integrator import Integrator, Table, connected
from tests.acceptance.processes import Daemon
from tests.servers import PostgresProgram

LINK, OTHER_LINK, SUSPENDED_LINK = "megalink", "megalink-2", "megalink-3"
TABLES_OF_EACH_GAME = 200
NAMED_TABLES = range(901, 910)
"""Tables that tests name themselves: never handed out by `new_table`."""

FLOOR = (
    processes.link(LINK),
    processes.link(OTHER_LINK, shared_straight_flush="reset_amount"),
    *(
        processes.table(f"{sheet}-{number:02d}", LINK)
        for sheet in ("UTH", "BE", "TCX")
        for number in (*range(1, TABLES_OF_EACH_GAME + 1), *NAMED_TABLES)
    ),
    processes.link(SUSPENDED_LINK),
    *(processes.table(f"UTH-{number}", SUSPENDED_LINK) for number in range(601, 605)),
    *(processes.table(f"UTH-{number}", OTHER_LINK) for number in range(501, 521)),
    processes.table("FAR-01", None),
    processes.table("P3P-01", None),
)


@pytest.fixture(scope="session")
def migrated(postgres: PostgresProgram) -> str:
    """A database made by `jackpot migrate`, to copy: its name."""
    return migrated_database(postgres)


@cache
def migrated_database(postgres: PostgresProgram) -> str:
    """Made once, though more than one folder of tests has a fixture of it."""
    name = "migrated"
    asyncio.run(postgres.as_superuser(f"CREATE DATABASE {name} OWNER jackpot"))
    with TemporaryDirectory() as directory:
        config = Path(directory) / "jackpot.toml"
        config.write_text(processes.configuration(postgres.url_of("jackpot", name), "mqtt://127.0.0.1:1", FLOOR))
        done = processes.run("migrate", "--config", config)
    assert (done.returncode, done.stderr) == (0, ""), done
    return name


@contextmanager
def copy_of(postgres: PostgresProgram, template: str) -> Iterator[str]:
    """The URL of a database of its own; as a plain context, so that fixtures of any scope can have one."""
    runner = asyncio.Runner()
    database = postgres.database(template)
    try:
        yield runner.run(database.__aenter__())
    finally:
        runner.run(database.__aexit__(None, None, None))
        runner.close()


@pytest.fixture
def ledger_url(postgres: PostgresProgram, migrated: str) -> Iterator[str]:
    """A database of the test's own with the newest schema and nothing in it."""
    with copy_of(postgres, migrated) as url:
        yield url


@pytest.fixture(scope="session")
def floor_broker(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    with brokers.mosquitto(tmp_path_factory.mktemp("floor-broker")) as port:
        yield f"mqtt://127.0.0.1:{port}"


@pytest.fixture(scope="session")
def floor_database(postgres: PostgresProgram, migrated: str) -> Iterator[str]:
    with copy_of(postgres, migrated) as url:
        yield url


@pytest.fixture(scope="session")
def daemon(floor_database: str, floor_broker: str, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Daemon]:
    """The daemon of all tests that ask nothing of it but the contract."""
    program = Daemon(tmp_path_factory.mktemp("daemon"), processes.configuration(floor_database, floor_broker, FLOOR))
    program.start()
    try:
        program.wait_ready()
        yield program
    finally:
        program.end()


@pytest.fixture
async def pit(daemon: Daemon, floor_broker: str) -> AsyncIterator[Integrator]:
    async with connected(floor_broker) as integrator:
        yield integrator
    assert daemon.runs, daemon.log()


@pytest.fixture
async def ledger(floor_database: str) -> AsyncIterator[asyncpg.Connection]:
    connection = await asyncpg.connect(floor_database)
    yield connection
    await connection.close()


_numbers = {sheet: iter(range(1, TABLES_OF_EACH_GAME + 1)) for sheet in ("UTH", "BE", "TCX")}


@pytest.fixture
async def new_table(pit: Integrator) -> AsyncIterator[Callable[[str], Table]]:
    """A table that has never said anything, by its sheet; whatever round it leaves behind is voided."""
    tables: list[Table] = []

    def take(sheet: str) -> Table:
        table = pit.table(LINK, f"{sheet}-{next(_numbers[sheet]):02d}")
        tables.append(table)
        return table

    yield take
    for table in tables:
        state = await pit.state(LINK, table.name)
        if state["round"] is not None:
            table.seq = state["next_seq"]
            await table.say("round.voided", round=state["round"]["id"], reason="the test is over")


@pytest.fixture
def uth(new_table: Callable[[str], Table]) -> Table:
    return new_table("UTH")


@pytest.fixture
def bullseye(new_table: Callable[[str], Table]) -> Table:
    return new_table("BE")


@pytest.fixture
def tcx(new_table: Callable[[str], Table]) -> Table:
    return new_table("TCX")


@pytest.fixture(params=[aiomqtt.ProtocolVersion.V311, aiomqtt.ProtocolVersion.V5], ids=["3.1.1", "5"])
def protocol(request: pytest.FixtureRequest) -> aiomqtt.ProtocolVersion:
    version: aiomqtt.ProtocolVersion = request.param
    return version
