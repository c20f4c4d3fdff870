"""Real servers for all tests. Each pytest process has its own, so tests may run side by side (`pytest -n 2`)."""

import subprocess
import uuid
from collections.abc import AsyncIterator, Iterator
from pathlib import Path

import pytest
import structlog

from tests import brokers
from tests.servers import PostgresProgram, open_directory

# What is usual draws every traceback with all its variables, which takes a third of a second each.
structlog.configure(processors=[structlog.dev.ConsoleRenderer(exception_formatter=structlog.dev.plain_traceback)])


@pytest.fixture(scope="session")
def postgres() -> Iterator[PostgresProgram]:
    """A PostgreSQL that all tests share: a test that kills one starts its own."""
    with open_directory(in_memory=True) as directory:
        program = PostgresProgram(directory)
        program.start()
        yield program
        program.stop()


@pytest.fixture
async def database_url(postgres: PostgresProgram) -> AsyncIterator[str]:
    """An empty database of the test's own; its role owns it and is no superuser."""
    async with postgres.database() as url:
        yield url


@pytest.fixture
def open_dir() -> Iterator[Path]:
    """A data directory for embedded servers, which tmp_path cannot be when the tests run as root."""
    with open_directory(in_memory=True) as directory:
        yield directory


@pytest.fixture(scope="session")
def stopped_postgres() -> Iterator[Path]:
    """The data directory of an embedded PostgreSQL that was started once and stopped: to copy, not to use."""
    with open_directory(in_memory=True) as directory:
        program = PostgresProgram(directory)
        program.start()
        program.stop()
        yield directory


@pytest.fixture
def used_dir(open_dir: Path, stopped_postgres: Path) -> Path:
    """As `open_dir`, but with a PostgreSQL that need not be made first."""
    subprocess.run(["cp", "-a", f"{stopped_postgres}/.", open_dir], check=True)
    return open_dir


@pytest.fixture(scope="module")
def mosquitto(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    with brokers.mosquitto(tmp_path_factory.mktemp("mosquitto")) as port:
        yield f"mqtt://127.0.0.1:{port}"


@pytest.fixture(scope="module")
def nats(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    with brokers.nats(tmp_path_factory.mktemp("nats")) as port:
        yield f"mqtt://127.0.0.1:{port}"


@pytest.fixture(scope="module", params=["mosquitto", "nats"])
def any_broker(request: pytest.FixtureRequest) -> str:
    """The URL of each kind of broker in turn."""
    url: str = request.getfixturevalue(request.param)
    return url


@pytest.fixture
def killable_postgres(used_dir: Path) -> Iterator[PostgresProgram]:
    """A PostgreSQL to kill."""
    program = PostgresProgram(used_dir)
    program.start()
    yield program
    program.kill()


@pytest.fixture
def name() -> str:
    """A name of its own for each test, because tests share a broker."""
    return uuid.uuid4().hex[:12]
