"""Boards on a real daemon, and beside it: whatever is wrong with one, money goes on; a figure has somebody who vouches."""

import asyncio
import os
import signal
import socket
import uuid
from collections.abc import AsyncIterator, Callable
from contextlib import suppress
from pathlib import Path

import pytest

from drivers.emulator import EmulatedPort, emulate
from tests import brokers
from tests.acceptance import processes
from tests.acceptance.integrator import Integrator, connected
from tests.acceptance.processes import JACKPOT, Daemon
from tests.servers import PostgresProgram, RestartableBroker
from tests.waiting import patience_s

DASHES = "--------"


def sign(id_: str, link: str, port: str | Path) -> str:
    return f'[[signs]]\nid = "{id_}"\nlink = "{link}"\nprotocol = "alpha"\nport = "{port}"\nbaud = 115200\n'


def money(cents: int) -> str:
    return f"${cents // 100:,}.{cents % 100:02d}"


def name_of(database_url: str) -> str:
    return database_url.rpartition("/")[2].partition("?")[0]


def text_of(port: EmulatedPort) -> str:
    return port.boards[0].state().text.strip()


def board_agent(folder: Path, broker_url: str, boards: str) -> Daemon:
    """`jackpot signs`, a program of its own that knows nothing but the broker."""
    command = (JACKPOT, "signs", "--config", folder / "boards.toml", "--state", folder / "signs")
    return Daemon(folder, f'[mqtt]\nurl = "{broker_url}"\n{boards}', name="boards", command=command)


BOTH_STARTED_S = 60.0
"""Two programs that start at once, perhaps for the first time since they were installed."""


async def until(true: Callable[[], bool], seconds: float = 20.0) -> None:
    async with asyncio.timeout(patience_s(seconds)):
        while not true():
            await asyncio.sleep(0.02)


@pytest.fixture
def link() -> str:
    return f"link-{uuid.uuid4().hex[:8]}"


@pytest.fixture
async def board(tmp_path: Path) -> AsyncIterator[EmulatedPort]:
    async with EmulatedPort([emulate("alpha", "01", 16)], tmp_path / "board") as port:
        yield port


async def keep_full(port: EmulatedPort) -> None:
    """Nothing reads the line, and whatever room there is on it goes at once."""
    port.stick()
    line = os.open(port.path, os.O_WRONLY | os.O_NOCTTY | os.O_NONBLOCK)
    try:
        while True:
            with suppress(BlockingIOError):
                while True:
                    os.write(line, b"\x00" * 64)
            await asyncio.sleep(0.05)
    finally:
        os.close(line)


async def test_a_stuck_a_silent_and_a_dead_board_change_nothing(
    ledger_url: str, mosquitto: str, link: str, board: EmulatedPort, tmp_path: Path
) -> None:
    with socket.create_server(("127.0.0.1", 0)) as silent:  # connects, and never reads
        places = {
            "good": str(board.path),
            "stuck": str(tmp_path / "stuck"),
            "silent": f"socket://127.0.0.1:{silent.getsockname()[1]}",
            "dead": f"socket://127.0.0.1:{brokers.free_port()}",
            "unplugged": str(tmp_path / "nowhere"),
        }
        floor = (processes.link(link), processes.table("UTH-01", link), *(sign(n, link, p) for n, p in places.items()))
        daemon = Daemon(tmp_path, processes.configuration(ledger_url, mosquitto, floor))
        async with EmulatedPort([emulate("alpha", "01", 16)], tmp_path / "stuck") as stuck, connected(mosquitto) as pit:
            filling = asyncio.create_task(keep_full(stuck))
            daemon.start()
            try:
                await asyncio.to_thread(daemon.wait_ready)
                for fault in ("takes no more bytes", "Connection refused", "No such file"):
                    await until(lambda fault=fault: fault in daemon.log())  # type: ignore[misc]  # mypy cannot infer a lambda's default
                table = pit.table(link, "UTH-01")
                for _ in range(3):
                    closed = await table.deal({1: 5, 2: 5})
                    await until(lambda closed=closed: text_of(board) == money(closed["displayed_cents"]))  # type: ignore[misc]  # mypy cannot infer a lambda's default
                    await table.settle()
                watched = daemon.get("/metrics")[1]
                for name in places:
                    expected = 1.0 if name in ("good", "silent") else 0.0
                    assert f'jackpot_sign_connected{{link="{link}",sign="{name}"}} {expected}' in watched
                assert await asyncio.to_thread(daemon.terminate) == 0
                await until(lambda: text_of(board) == DASHES)
                assert "Traceback" not in daemon.log()
            finally:
                daemon.end()
                filling.cancel()


async def play(pit: Integrator, link: str) -> str:
    """One more round. Returns what a board shows after it."""
    table = pit.table(link, "UTH-01")
    table.seq = (await pit.state(link, table.name, accepts_play=True))["next_seq"]
    await table.open(uuid.uuid4().hex)
    await table.wager(1, 5)
    shown = money((await table.close())["displayed_cents"])
    await table.settle()
    await pit.state(link, table.name, next_seq=table.seq)
    return shown


async def test_boards_in_a_process_of_their_own_show_dashes_when_the_daemon_or_the_broker_is_killed(
    ledger_url: str, link: str, board: EmulatedPort, tmp_path: Path
) -> None:
    """What a dead process cannot do for its own boards: `jackpot signs` beside it blanks them."""
    (tmp_path / "broker").mkdir()
    broker = RestartableBroker(brokers.mosquitto, tmp_path / "broker")
    broker.start()
    floor = (processes.link(link), processes.table("UTH-01", link))
    daemon = Daemon(tmp_path, processes.configuration(ledger_url, broker.url, floor))
    agent = board_agent(tmp_path, broker.url, floor[0] + sign("pit-2", link, board.path) + "stale_seconds = 3.0\n")
    daemon.start()
    agent.start()
    try:
        await asyncio.to_thread(daemon.wait_ready)
        async with connected(broker.url) as pit:
            shown = await play(pit, link)
            await until(lambda: text_of(board) == shown, BOTH_STARTED_S)

            daemon.kill()
            await until(lambda: text_of(board) == DASHES)
            daemon.start()
            await until(lambda: text_of(board) == shown)
            await asyncio.to_thread(daemon.wait_ready)

            # One that hangs takes no leave, and its will is not sent: the agent hears no meter, and that is enough.
            daemon.signal(signal.SIGSTOP)
            await until(lambda: text_of(board) == DASHES)
            assert pit.last(f"{link}/status")["state"] == "running"
            daemon.signal(signal.SIGCONT)
            await until(lambda: text_of(board) == shown)

        broker.kill()
        await until(lambda: text_of(board) == DASHES)
        broker.start()
        await asyncio.to_thread(daemon.wait_ready)
        await until(lambda: text_of(board) == shown)

        assert await asyncio.to_thread(agent.terminate) == 0
        assert text_of(board) == DASHES
    finally:
        agent.end()
        daemon.end()
        broker.kill()


async def test_a_daemon_that_loses_its_database_blanks_its_boards(
    killable_postgres: PostgresProgram, mosquitto: str, link: str, board: EmulatedPort, tmp_path: Path
) -> None:
    floor = (processes.link(link), processes.table("UTH-01", link), sign("pit-1", link, board.path))
    daemon = Daemon(tmp_path, processes.configuration(killable_postgres.url, mosquitto, floor))
    assert processes.run("migrate", "--config", daemon.config).returncode == 0
    daemon.start()
    try:
        await asyncio.to_thread(daemon.wait_ready)
        async with connected(mosquitto) as pit:
            shown = await play(pit, link)
            await until(lambda: text_of(board) == shown)
            killable_postgres.kill()
            await until(lambda: text_of(board) == DASHES)
            killable_postgres.start()
            await until(lambda: text_of(board) == shown)
            shown = await play(pit, link)
            await until(lambda: text_of(board) == shown)
    finally:
        daemon.end()


async def test_a_ledger_restored_to_an_earlier_moment_is_shown(
    postgres: PostgresProgram, ledger_url: str, mosquitto: str, link: str, board: EmulatedPort, *, tmp_path: Path
) -> None:
    """Its meter has a lower version than the boards' own program, which knows nothing of it, has shown."""
    floor = (processes.link(link), processes.table("UTH-01", link))
    daemon = Daemon(tmp_path, processes.configuration(ledger_url, mosquitto, floor))
    agent = board_agent(tmp_path, mosquitto, floor[0] + sign("pit-2", link, board.path))
    daemon.start()
    agent.start()
    try:
        await asyncio.to_thread(daemon.wait_ready)
        async with connected(mosquitto) as pit:
            kept = await play(pit, link)
            await until(lambda: text_of(board) == kept, BOTH_STARTED_S)
            assert await asyncio.to_thread(daemon.terminate) == 0
            async with postgres.database(name_of(ledger_url)) as backup_url:
                daemon.start()
                await asyncio.to_thread(daemon.wait_ready)
                await play(pit, link)
                lost = await play(pit, link)
                await until(lambda: text_of(board) == lost)
                daemon.kill()
                restored = Daemon(tmp_path, processes.configuration(backup_url, mosquitto, floor), name="restored")
                restored.start()
                try:
                    await asyncio.to_thread(restored.wait_ready)
                    await until(lambda: text_of(board) == kept)
                finally:
                    restored.end()
    finally:
        agent.end()
        daemon.end()


async def test_a_daemon_that_lost_its_lease_drives_its_boards_by_what_the_other_says(
    ledger_url: str, mosquitto: str, link: str, board: EmulatedPort, tmp_path: Path
) -> None:
    floor = (processes.link(link), processes.table("UTH-01", link))
    async with EmulatedPort([emulate("alpha", "01", 16)], tmp_path / "other") as other:
        first, second = (
            Daemon(
                tmp_path,
                processes.configuration(ledger_url, mosquitto, (*floor, sign(name, link, port.path)))
                + f'[embedded]\ndata_dir = "{tmp_path / name}"\n',
                name=name,
            )
            for name, port in (("first", board), ("second", other))
        )
        try:
            first.start()
            await asyncio.to_thread(first.wait_ready)
            second.start()
            await asyncio.to_thread(second.wait_alive)
            async with connected(mosquitto) as pit:
                shown = await play(pit, link)
                await until(lambda: text_of(board) == text_of(other) == shown)
                first.signal(signal.SIGSTOP)
                await asyncio.to_thread(second.wait_ready)
                shown = await play(pit, link)
                await until(lambda: text_of(other) == shown)
                assert text_of(board) != shown, "its program stands still"
                first.signal(signal.SIGCONT)
                await until(lambda: text_of(board) == shown)
                shown = await play(pit, link)
                await until(lambda: text_of(board) == text_of(other) == shown)
                assert first.get("/readyz")[0] == 503, "the other leads"
        finally:
            first.end()
            second.end()
