"""Boards on the wall, driven by the product's own agent, in a program of their own that can be stopped and killed."""

import asyncio
import random
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any

from drivers.emulator import EmulatedBoard, emulate
from drivers.emulator.boards import AlphaSign
from jackpot import config as configuration
from jackpot.signs import BoardAgent, Entry
from jackpot.signs.configured import sign_board
from jackpot.signs.feed import Feed
from tests.simulation.loop import Process, VirtualLoop
from tests.simulation.network import Network
from tests.simulation.serial_lines import Wire
from tests.simulation.tables import BROKER

CLIENT = "boards"
LAID_OUT_EVERY_S = 600.0
RECOVERS_S = {"talks": 25.0, "mute": 25.0 + LAID_OUT_EVERY_S, "digits": 25.0}
"""A board that is wired one way may lack some of its layout, and nobody knows."""


@dataclass
class Hung:
    """A board on its wall."""

    sign: configuration.Sign
    board: EmulatedBoard
    wire: Wire
    recovers_s: float
    """After its line, its power or its program failed."""
    excused_until: float = 0.0
    """Until then nobody can say what it shows."""

    def excuse(self, until: float) -> None:
        self.excused_until = max(self.excused_until, until + self.recovers_s)


class History:
    """What the agent keeps of its boards, over all its lives."""

    def __init__(self) -> None:
        self._answered: set[str] = set()

    def add(self, entry: Entry) -> None:
        if entry.confirmed:
            self._answered.add(entry.board)

    def has_answered(self, board: str) -> bool:
        return board in self._answered


def signs(links: list[str], chance: random.Random) -> list[tuple[configuration.Sign, EmulatedBoard]]:
    """One that answers, one that is wired one way, and a meter that answers every word."""
    kinds: list[tuple[str, Any, int, EmulatedBoard]] = [
        ("talks", "alpha", 16, AlphaSign("01", 16)),
        ("mute", "alpha", 16, AlphaSign("01", 16, answers=False)),
        ("digits", "icpdas", 9, emulate("icpdas", "01", 9)),
    ]
    return [
        (
            configuration.Sign(
                id=name, link=chance.choice(links), protocol=protocol, port=f"socket://{name}:4001", width=width
            ),
            board,
        )
        for name, protocol, width, board in kinds
    ]


class Boards:
    """The program over all its lives, and its boards, which outlive it."""

    def __init__(
        self,
        loop: VirtualLoop,
        chance: random.Random,
        network: Network,
        *,
        links: list[str],
        look: Callable[[Hung], None],
        hear: Callable[[str, dict[str, Any]], None],
    ) -> None:
        """`look` is called whenever a board has changed, `hear` with every meter that its feed lets pass."""
        self.loop = loop
        self.network = network
        self._hear = hear
        self._history = History()
        self.hung: dict[str, Hung] = {}
        for sign, board in signs(links, chance):
            wire = Wire(loop, chance, board, sign.baud, partial(self._changed, look, sign.id))
            self.hung[sign.id] = Hung(sign, board, wire, RECOVERS_S[sign.id])
        self.lives = 0
        self.start()

    def _changed(self, look: Callable[[Hung], None], name: str) -> None:
        look(self.hung[name])

    async def open_line(self, url: str, ear: Any) -> Any:
        """Stands in for the system's way to a serial server."""
        name = url.removeprefix("socket://").partition(":")[0]
        return self.hung[name].wire.open(ear, self.process)

    @property
    def dead(self) -> bool:
        return self.process.killed

    def start(self) -> None:
        self.lives += 1
        self.process = Process(CLIENT, self.loop)
        self.process.start(self._live)

    def kill(self) -> None:
        self.process.kill()
        self.network.cut(self.process)

    def repair(self) -> None:
        for hung in self.hung.values():
            hung.wire.plug_in()
            hung.wire.unstick()
            hung.wire.noise = 0.0

    async def _live(self) -> None:
        feed = Feed(BROKER, CLIENT)
        agent = BoardAgent([sign_board(hung.sign) for hung in self.hung.values()], self._history)
        feed.listen(agent.hear)
        feed.listen(self._check)
        async with asyncio.TaskGroup() as tasks:
            tasks.create_task(feed.run())
            tasks.create_task(agent.run())

    def _check(self, kind: str, link: str, content: dict[str, Any], live: bool) -> None:
        if kind == "meter":
            self._hear(link, dict(content))
