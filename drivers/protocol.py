"""Whose packet is next on a line that boards share."""

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import Final

PASSED_OVER_MAX: Final = 8


@dataclass(slots=True, eq=False)
class _Waiting:
    is_urgent: Callable[[], bool]
    called: asyncio.Future[None]
    passed_over: int = 0


class Turns:
    """What is urgent goes first, then whoever came first; nobody is passed over for ever.

    So a figure waits for other figures and for one packet that is on its way: at most a question that no one answers.
    """

    def __init__(self) -> None:
        self._taken = False
        self._queue: list[_Waiting] = []

    @asynccontextmanager
    async def turn(self, is_urgent: Callable[[], bool]) -> AsyncIterator[None]:
        """Whether it is urgent is asked whenever somebody's turn ends: that may change while it waits."""
        await self._take(is_urgent)
        try:
            yield
        finally:
            self._pass_on()

    async def _take(self, is_urgent: Callable[[], bool]) -> None:
        if not self._taken:
            self._taken = True
            return
        waiting = _Waiting(is_urgent, asyncio.get_running_loop().create_future())
        self._queue.append(waiting)
        try:
            await waiting.called
        except asyncio.CancelledError:
            if not waiting.called.cancelled():
                self._pass_on()  # it had just been called
            raise

    def _pass_on(self) -> None:
        self._queue = [waiting for waiting in self._queue if not waiting.called.done()]
        if not self._queue:
            self._taken = False
            return
        first = chosen = self._queue[0]
        if first.passed_over < PASSED_OVER_MAX:
            chosen = next((waiting for waiting in self._queue if waiting.is_urgent()), first)
        first.passed_over += 1
        self._queue.remove(chosen)
        chosen.called.set_result(None)
