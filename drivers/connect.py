"""From a board's wiring to a board that waits to be told what to show."""

import asyncio
from collections.abc import Callable
from contextlib import AbstractAsyncContextManager
from typing import assert_never

from drivers.alpha import AlphaProtocol
from drivers.board import BoardPacket, BoardProtocol, Known
from drivers.ed400 import Ed400Talk
from drivers.icpdas import IcpDasProtocol
from drivers.line import Line, Lines
from drivers.wiring import ResolvedWiring


class Board:
    """One board on its line: the talk with it, at its own pace. A call ends within seconds, or in DriverError."""

    def __init__(self, line: Line, talk: BoardProtocol) -> None:
        self._line = line
        self._loop = asyncio.get_running_loop()
        self._ready_at = self._loop.time()
        self.talk = talk

    async def ready(self) -> None:
        """Returns when the board can take the next packet. Raises DriverError at once if the line is lost."""
        await asyncio.sleep(max(0.0, self._ready_at - self._loop.time()))
        self._line.check()

    def turn(self, look: Callable[[], None] = lambda: None) -> AbstractAsyncContextManager[None]:
        """The board's turn on its line, for one packet. While it waits, `look` tells the talk what is newest."""

        def is_urgent() -> bool:
            look()
            return self.talk.urgent

        return self._line.turns.turn(is_urgent)

    async def say(self, saying: BoardPacket) -> bool:
        """True if by its answer the board says that it shows what it was told."""
        answer = None
        try:
            if saying.answer is None:
                await self._line.send(saying.data)
            else:
                answer = await self._line.ask(saying.data, saying.answer)
        finally:
            # Also if it is cancelled: the bytes may be on their way, and the next packet must not come too soon.
            self._ready_at = self._loop.time() + saying.pause_seconds
        return self.talk.heard(answer, self._loop.time())

    async def until_sure(self) -> bool:
        """Takes turns until the board has what it was told; True if it says so itself."""
        confirmed = False
        while not self.talk.sure:
            await asyncio.sleep(max(0.0, self.talk.due_at - self._loop.time()))
            await self.ready()
            async with self.turn():
                confirmed = await self.say(self.talk.next(self._loop.time()))
        return confirmed

    def close(self) -> None:
        self._line.release()


async def connect(wiring: ResolvedWiring, lines: Lines, known: Known) -> Board:
    """Opens the line; nothing is said yet. Raises DriverError."""
    return Board(await lines.take(wiring), talk(wiring, known))


def talk(wiring: ResolvedWiring, known: Known) -> BoardProtocol:
    match wiring.protocol:
        case "alpha":
            return AlphaProtocol(wiring, known)
        case "ed400":
            return Ed400Talk(wiring)
        case "icpdas":
            return IcpDasProtocol(wiring, known)
        case _:
            assert_never(wiring.protocol)
