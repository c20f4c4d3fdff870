"""Servers that may be killed, and a daemon that kills itself where it is told to."""

import sys
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path

import pytest

from tests import brokers
from tests.acceptance import processes
from tests.acceptance.conftest import copy_of, migrated  # noqa: F401 a fixture
from tests.acceptance.processes import Daemon
from tests.servers import PostgresProgram, RestartableBroker

TABLES = {"BE-01": "one", "BE-02": "one", "BE-03": "two"}
"""Each table and its link."""

LEASE_S = "1.5"

FLOOR = (
    processes.link("one"),
    processes.link("two"),
    *(processes.table(table, link) for table, link in TABLES.items()),
)


@pytest.fixture
def killable_postgres(used_dir: Path) -> Iterator[PostgresProgram]:
    program = PostgresProgram(used_dir)
    program.start()
    yield program
    program.kill()


@pytest.fixture(params=["mosquitto", "nats"])
def killable_broker(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[RestartableBroker]:
    directory = tmp_path / "broker"
    directory.mkdir()
    broker = RestartableBroker(brokers.nats if request.param == "nats" else brokers.mosquitto, directory)
    broker.start()
    yield broker
    broker.kill()


@pytest.fixture
def mosquitto(tmp_path: Path) -> Iterator[str]:
    """A broker of the test's own: tables go by what is retained."""
    directory = tmp_path / "mosquitto"
    directory.mkdir()
    with brokers.mosquitto(directory) as port:
        yield f"mqtt://127.0.0.1:{port}"


@pytest.fixture
def ledger_url(postgres: PostgresProgram, migrated: str) -> Iterator[str]:  # noqa: F811 the fixture above
    with copy_of(postgres, migrated) as url:
        yield url


NewDaemon = Callable[..., Daemon]


@pytest.fixture
def new_daemon(tmp_path: Path) -> Iterator[NewDaemon]:
    """A daemon of this name, made but not started; `python -m tests.faults.launcher` runs it."""
    made: list[Daemon] = []

    def make(database_url: str, mqtt_url: str, name: str = "daemon", floor: Iterable[str] = FLOOR) -> Daemon:
        configuration = processes.configuration(database_url, mqtt_url, floor)
        config = tmp_path / f"{name}.toml"
        command = (sys.executable, "-m", "tests.faults.launcher", config)
        daemon = Daemon(tmp_path, configuration, name=name, command=command)
        made.append(daemon)
        return daemon

    yield make
    for daemon in made:
        daemon.end()
