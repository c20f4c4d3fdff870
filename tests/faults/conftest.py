"""Servers that may be killed, and a daemon that kills itself where it is told to."""

import asyncio
import json
import sys
import time
from collections.abc import Awaitable, Callable, Generator, Iterable, Iterator
from pathlib import Path

import pytest

from tests import brokers
from tests.acceptance import processes
from tests.acceptance.conftest import copy_of, migrated  # noqa: F401 a fixture
from tests.acceptance.processes import Daemon
from tests.faults import counts
from tests.faults.auditor import audit_at
from tests.faults.players import Floor
from tests.faults.process_pool import ProcessPool
from tests.faults.witness import Witness
from tests.servers import PostgresProgram, RestartableBroker

TABLES = {"BE-01": "one", "UTH-01": "one", "TCX-01": "two"}
"""Each table and its link."""

LEASE_S = "1.5"
NOT_RUN = "NOT RUN"

FLOOR = (
    processes.link("one"),
    processes.link("two"),
    *(processes.table(table, link) for table, link in TABLES.items()),
)


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    reports = [report for outcome in ("passed", "failed") for report in terminalreporter.getreports(outcome)]
    rows = [value for report in reports for name, value in report.user_properties if name == counts.PROPERTY]
    lines = counts.table(row for row in rows if isinstance(row, dict))
    lines += [f"{report.longrepr}  {report.nodeid}" for report in reports if str(report.longrepr).startswith(NOT_RUN)]
    if lines:
        terminalreporter.section("faults")
        for line in lines:
            terminalreporter.line(line)


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport() -> Generator[None, pytest.TestReport, pytest.TestReport]:
    """`make faults` is a promise that all was done: what this machine cannot do is told, and fails it."""
    report = yield
    if counts.KILLS and report.skipped and isinstance(report.longrepr, tuple):
        report.outcome = "failed"
        report.longrepr = f"{NOT_RUN}: {report.longrepr[2].removeprefix('Skipped: ')}"
    return report


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

    def make(database_url: str, mqtt_url: str, name: str = "daemon") -> Daemon:
        configuration = processes.configuration(database_url, mqtt_url, FLOOR)
        config = tmp_path / f"{name}.toml"
        command = (sys.executable, "-m", "tests.faults.launcher", config)
        daemon = Daemon(tmp_path, configuration, name=name, command=command)
        made.append(daemon)
        return daemon

    yield make
    for daemon in made:
        daemon.end()


class ForkedDaemon(Daemon):
    """As the launcher's, without the time that its imports take."""

    nursery: ProcessPool

    def start(self, **more_environment: str) -> None:
        # A notice that a broker lost comes with the next round of them: play to the end waits for it.
        self._process = self.nursery.fork(self.config, self._log, {"NOTICES_EVERY_S": "1", **more_environment})


@pytest.fixture(scope="session")
def nursery() -> Iterator[ProcessPool]:
    started = ProcessPool()
    yield started
    started.close()


@pytest.fixture
def forked_daemon(nursery: ProcessPool, tmp_path: Path) -> Iterator[NewDaemon]:
    made: list[Daemon] = []

    def make(
        database_url: str,
        mqtt_url: str,
        name: str = "daemon",
        *,
        floor: Iterable[str] = FLOOR,
        listen: str | None = None,
        more: str = "",
    ) -> Daemon:
        """`more` is added to its configuration."""
        configuration = processes.configuration(database_url, mqtt_url, floor, listen) + more
        daemon = ForkedDaemon(tmp_path, configuration, name=name)
        daemon.nursery = nursery
        made.append(daemon)
        return daemon

    yield make
    for daemon in made:
        daemon.end()


EndsWell = Callable[..., Awaitable[None]]


@pytest.fixture
def ends_well(record_property: Callable[[str, object], None]) -> EndsWell:
    """The end of every fault: play goes on, the rounds are played out, the daemons stop, and the books are audited.

    Who spoke for tables by hand is a witness of the same truth.
    """
    started = time.monotonic()

    async def end(what: str, floor: Floor | Witness, ledger_url: str, *daemons: Daemon, times: int = 1) -> None:
        await floor.end()
        for daemon in daemons:
            assert await asyncio.to_thread(daemon.terminate) == 0, daemon.log()
        found = await audit_at(ledger_url, floor.players)
        silences_s = floor.silences_s()
        row = counts.row(what, len(silences_s) or times, found, silences_s, time.monotonic() - started)
        record_property(counts.PROPERTY, row)
        assert found.found == []
        assert found.events == floor.answered
        verified = await asyncio.to_thread(processes.run, "verify", "--config", daemons[0].config, "-o", "json")
        assert verified.returncode == 0, verified.stderr
        assert all(link["other_days"] == 0 for link in json.loads(verified.stdout)["links"]), verified.stdout

    return end
