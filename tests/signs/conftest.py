"""A floor of emulated boards and something that feeds their agent, as the daemon would."""

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import AsyncExitStack, asynccontextmanager
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from drivers.emulator import EmulatedBoard, EmulatedPort, Faults, emulate
from drivers.wiring import ProtocolName, Wiring
from jackpot.signs import BoardAgent, Entry, SignBoard
from tests.waiting import patience_s

WIDTHS = {"alpha": 16, "ed400": 10, "icpdas": 9}


class Record:
    """A history that is only remembered."""

    def __init__(self) -> None:
        self.entries: list[Entry] = []

    def add(self, entry: Entry) -> None:
        self.entries.append(entry)

    def has_answered(self, board: str) -> bool:
        return any(entry.board == board and entry.confirmed for entry in self.entries)

    def told(self, board: str) -> list[Entry]:
        return [entry for entry in self.entries if entry.board == board and entry.event == "told"]


class Hall:
    """Emulated boards, the agent that drives them, and a feed that repeats the newest meter."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._stack = AsyncExitStack()
        self._signs: list[SignBoard] = []
        self.ports: dict[str, EmulatedPort] = {}
        self.boards: dict[str, EmulatedBoard] = {}
        self.record = Record()
        self.feeding = True
        self._meter: dict[str, Any] | None = None
        self._version = 0
        self._awards = 0

    async def add(self, name: str, protocol: ProtocolName, **faults: Any) -> None:
        await self.add_line(name, {name: emulate(protocol, "01", WIDTHS[protocol])}, protocol, **faults)

    async def add_line(
        self, line: str, boards: dict[str, EmulatedBoard], protocol: ProtocolName, **faults: Any
    ) -> None:
        port = EmulatedPort(tuple(boards.values()), self._folder / line, faults=Faults(**faults), seed=4)
        self.ports[line] = await self._stack.enter_async_context(port)
        for number, name in enumerate(boards, start=1):
            wiring = Wiring(protocol, str(port.path), baud=115_200, address=f"{number:02d}", width=WIDTHS[protocol])
            self.add_sign(SignBoard(name, "megalink", wiring), boards[name])

    def add_sign(self, sign: SignBoard, board: EmulatedBoard) -> None:
        self._signs.append(sign)
        self.boards[sign.id] = board

    @asynccontextmanager
    async def open(self) -> AsyncIterator["Hall"]:
        async with self._stack:
            self.agent = BoardAgent(self._signs, self.record, win_seconds=2.0)
            tasks = [asyncio.create_task(self.agent.run()), asyncio.create_task(self._feed())]
            try:
                yield self
            finally:
                for task in tasks:
                    task.cancel()
                await asyncio.gather(*tasks, return_exceptions=True)

    async def _feed(self) -> None:
        while True:
            if self.feeding and self._meter is not None:
                self.agent.meter({**self._meter, "at": datetime.now(UTC).isoformat()})
            await asyncio.sleep(0.2)

    def meter(self, displayed_cents: int, pending: list[dict[str, Any]] | None = None) -> None:
        self._version += 1
        self._meter = {
            "link": "megalink", "currency": "SGD", "displayed_cents": displayed_cents, "reset_cents": 10_000_000,
            "entry": 812, "version": self._version, "pending": pending or [], "at": datetime.now(UTC).isoformat(),
        }  # fmt: skip
        self.agent.meter(self._meter)

    def award(self, amount_cents: int, rank: str = "straight_flush", kind: str = "percentage") -> dict[str, Any]:
        self._awards += 1
        award = {
            "award": f"megalink-{self._awards:06d}", "link": "megalink", "table": "UTH-01", "round": "r-1", "position": 3,
            "entry": 812, "rank": rank, "kind": kind, "amount_cents": amount_cents, "base_cents": 48_000_000,
            "shared_by": 1, "multiplier": 5, "rules": ["UTH 4.2"], "decisions": ["D5"], "at": datetime.now(UTC).isoformat(),
        }  # fmt: skip
        self.agent.award(award)
        return award

    def running(self, displayed_cents: int) -> None:
        self.agent.status("megalink", {"state": "running"})
        self.meter(displayed_cents)

    def shows(self, board: str, text: str) -> bool:
        return self.boards[board].state().text.strip() == text

    def snapshot(self, board: str) -> dict[str, Any]:
        return next(found for found in self.agent.snapshot() if found["id"] == board)


async def eventually(true: Callable[[], bool], seconds: float = 20.0) -> None:
    try:
        async with asyncio.timeout(patience_s(seconds)):
            while not true():
                await asyncio.sleep(0.02)
    except TimeoutError:
        pytest.fail(f"still not so after {seconds:g} s")


@pytest.fixture
def hall(tmp_path: Path) -> Hall:
    return Hall(tmp_path)
