"""What systemd is told: ready, alive while the loop lives, stopping."""

import asyncio
import os
import signal
import socket
import time
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import pytest

from jackpot.config import systemd_settings
from jackpot.daemon.service_manager import ServiceManager
from tests.acceptance import processes
from tests.acceptance.processes import Daemon
from tests.brokers import free_port


class Systemd:
    """The end of the socket that systemd holds."""

    def __init__(self, address: str) -> None:
        self.socket = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
        self.socket.bind("\0" + address[1:] if address.startswith("@") else address)
        self.socket.settimeout(30)

    def heard(self) -> str:
        return self.socket.recv(4096).decode()

    def heard_until(self, news: str) -> list[str]:
        found = [self.heard()]
        while found[-1] != news:
            found.append(self.heard())
        return found


@pytest.fixture(params=["path", "abstract"])
def address(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    return str(tmp_path / "notify") if request.param == "path" else f"@jackpot-test-{os.getpid()}-{time.monotonic_ns()}"


@pytest.fixture
def systemd(address: str) -> Iterator[Systemd]:
    listener = Systemd(address)
    yield listener
    listener.socket.close()


async def test_it_beats_while_the_loop_lives(systemd: Systemd, address: str) -> None:
    manager = ServiceManager(address, watchdog_s=0.03)
    beating = asyncio.create_task(manager.beat())
    for _ in range(3):
        assert await asyncio.to_thread(systemd.heard) == "WATCHDOG=1"
    beating.cancel()


async def test_a_loop_that_is_stuck_falls_silent(systemd: Systemd, address: str) -> None:
    beating = asyncio.create_task(ServiceManager(address, watchdog_s=0.03).beat())
    await asyncio.to_thread(systemd.heard)
    systemd.socket.setblocking(False)
    with suppress(BlockingIOError):
        while True:
            systemd.heard()
    time.sleep(0.2)  # the loop does nothing else: what a bug would do
    with pytest.raises(BlockingIOError):
        systemd.heard()
    beating.cancel()


def test_nobody_to_tell_is_no_mistake(tmp_path: Path) -> None:
    ServiceManager().tell("READY=1")
    ServiceManager(str(tmp_path / "nobody")).tell("READY=1")


@pytest.mark.parametrize(
    ("environment", "expected"),
    [
        ({}, ServiceManager()),
        ({"NOTIFY_SOCKET": "/run/x"}, ServiceManager("/run/x")),
        ({"NOTIFY_SOCKET": "/run/x", "WATCHDOG_USEC": "30000000"}, ServiceManager("/run/x", 30.0)),
        ({"NOTIFY_SOCKET": "/run/x", "WATCHDOG_USEC": "30000000", "WATCHDOG_PID": "1"}, ServiceManager("/run/x")),
        ({"WATCHDOG_USEC": "nonsense"}, ServiceManager()),
    ],
)
def test_what_systemd_asks_for(environment: dict[str, str], expected: ServiceManager) -> None:
    assert ServiceManager(*systemd_settings(environment)) == expected


def test_the_board_agent_says_ready_and_beats(mosquitto: str, tmp_path: Path) -> None:
    systemd = Systemd(str(tmp_path / "notify"))
    # Nobody is at the board's port: the agent lives, whether or not its boards do.
    sign = '[[signs]]\nid = "pit-2"\nlink = "megalink"\nprotocol = "alpha"\nport = "socket://127.0.0.1:1"\n'
    command = (processes.JACKPOT, "signs", "--config", tmp_path / "boards.toml", "--state", tmp_path / "signs")
    text = f'[mqtt]\nurl = "{mosquitto}"\n{processes.link("megalink")}{sign}'
    agent = Daemon(tmp_path, text, name="boards", command=command)
    agent.start(NOTIFY_SOCKET=str(tmp_path / "notify"), WATCHDOG_USEC="200000")
    try:
        assert systemd.heard_until("READY=1")
        for _ in range(3):
            assert systemd.heard_until("WATCHDOG=1")
        assert agent.terminate() == 0
    finally:
        agent.end()
        systemd.socket.close()


def test_the_daemon_says_ready_beats_and_says_that_it_stops(ledger_url: str, mosquitto: str, tmp_path: Path) -> None:
    systemd = Systemd(str(tmp_path / "notify"))
    listen = f"127.0.0.1:{free_port()}"
    daemon = Daemon(
        tmp_path, processes.configuration(ledger_url, mosquitto, [processes.link("megalink")], listen), name="d"
    )
    daemon.start(NOTIFY_SOCKET=str(tmp_path / "notify"), WATCHDOG_USEC="200000")
    try:
        assert "READY=1" in systemd.heard_until("READY=1")
        assert systemd.heard_until("WATCHDOG=1")
        daemon.signal(signal.SIGTERM)
        assert systemd.heard_until("STOPPING=1")
        assert daemon.process.wait(20) == 0
    finally:
        daemon.end()
        systemd.socket.close()
