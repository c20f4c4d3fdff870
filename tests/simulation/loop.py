"""Virtual time: an event loop that never waits, and processes on it that can be stopped, continued and killed.

Whatever a process has scheduled runs in its context. While it is stopped nothing of it runs, not even a `finally`, and
the world goes on: just as with SIGSTOP. Killed is stopped for ever.
"""

import asyncio
import heapq
import itertools
from collections import deque
from collections.abc import Callable, Coroutine
from contextvars import Context, ContextVar, copy_context
from typing import Any, TypeVarTuple

Ts = TypeVarTuple("Ts")
PROCESS: ContextVar["Process"] = ContextVar("process")


class Process:
    """What runs under one name, and ends together."""

    def __init__(self, name: str, loop: "VirtualLoop") -> None:
        self.name = name
        self.loop = loop
        self.running = True
        self.killed = False
        self.held: list[asyncio.Handle] = []
        self.context = copy_context()
        self.context.run(PROCESS.set, self)
        loop.processes.append(self)

    def start(self, main: Callable[[], Coroutine[Any, Any, None]]) -> asyncio.Task[None]:
        return self.loop.create_task(self.context.run(main), context=self.context)

    def stop(self) -> None:
        self.running = False

    def go_on(self) -> None:
        if not self.killed:
            self._release()

    def kill(self) -> None:
        self.running = False
        self.killed = True

    def bury(self) -> None:
        """The world is over: let what was cut off in its middle come to its end, unseen."""
        self._release()

    def _release(self) -> None:
        self.running = True
        self.loop.run_again(self.held)
        self.held = []


class _Gate(asyncio.Handle):
    """Something to be run by its process, or as soon as that goes on."""

    _context: Context

    def _run(self) -> None:
        process = self._context.get(PROCESS)
        if process is None or process.running:
            super()._run()
        else:
            process.held.append(self)


class _Timer(asyncio.TimerHandle, _Gate):
    """The same at a time; whether it is due or held, it can be cancelled."""


class VirtualLoop(asyncio.BaseEventLoop):
    """Its clock stands still while anything can run, and then jumps to the next timer."""

    _ready: deque[asyncio.Handle]

    def __init__(self) -> None:
        super().__init__()
        self.processes: list[Process] = []
        self.connect: Callable[[Process, asyncio.Protocol], Coroutine[Any, Any, None]] | None = None
        """How a process reaches the broker."""
        self._now = 0.0
        self._timers: list[tuple[float, int, _Timer]] = []
        self._set = itertools.count()  # of two timers for one moment the one set first is first

    def time(self) -> float:
        return self._now

    def _run_once(self) -> None:
        timers, ready = self._timers, self._ready
        if not ready:
            if not timers:
                raise RuntimeError("nothing will ever happen again")
            self._now = max(self._now, timers[0][0])
        while timers and timers[0][0] <= self._now:
            ready.append(heapq.heappop(timers)[2])
        for _ in range(len(ready)):
            handle = ready.popleft()
            if not handle._cancelled:
                handle._run()

    def _call_soon(
        self, callback: Callable[..., Any], args: tuple[Any, ...], context: Context | None
    ) -> asyncio.Handle:
        handle = _Gate(callback, args, self, context)
        self._ready.append(handle)
        return handle

    def call_at(
        self, when: float, callback: Callable[[*Ts], object], *args: *Ts, context: Context | None = None
    ) -> asyncio.TimerHandle:
        timer = _Timer(when, callback, args, self, context)
        heapq.heappush(self._timers, (when, next(self._set), timer))
        return timer

    def run_again(self, handles: list[asyncio.Handle]) -> None:
        self._ready.extend(handles)

    async def create_connection(self, protocol_factory: Callable[[], Any], *_: Any, **__: Any) -> Any:
        if self.connect is None:
            raise OSError("there is no network")
        protocol = protocol_factory()
        await self.connect(PROCESS.get(), protocol)
        return None, protocol


def on_virtual_time(story: Callable[[VirtualLoop], Coroutine[Any, Any, None]]) -> None:
    async def main() -> None:
        loop = asyncio.get_running_loop()
        assert isinstance(loop, VirtualLoop)
        await story(loop)

    with asyncio.Runner(loop_factory=VirtualLoop) as runner:
        runner.run(main())
