"""Connections between processes and the broker: bytes arrive in order, in pieces, late, or not at all."""

import asyncio
import itertools
import random
from collections.abc import Callable, Sequence
from contextvars import copy_context
from typing import Any, Protocol

from jackpot.mqtt.client import Connection
from tests.simulation.loop import Process, VirtualLoop

CONNECT_TIMEOUT_S = 5.0
UP, DOWN = "up", "down"
"""To the broker, and from it."""


class Listener(Protocol):
    """The broker's end of a connection."""

    def received(self, data: bytes) -> None: ...
    def lost(self) -> None: ...


class Pipe(asyncio.Transport):
    """One connection. The client sees a transport, the broker sees the pipe."""

    def __init__(self, network: "Network", process: Process, client: asyncio.Protocol) -> None:
        super().__init__()
        self.network = network
        self.process = process
        self.client = client
        self.listener: Listener | None = None
        self.open = True
        self._up_at = self._down_at = 0.0
        self._paused = False
        self._kept: list[tuple[Callable[..., object], tuple[Any, ...]]] = []

    # The client's end.

    def write(self, data: bytes | bytearray | memoryview) -> None:
        if self.open and not self.process.killed:
            for piece in self.network.pieces(bytes(data)):
                self._up_at = self.network.arrival(self.process, UP, self._up_at)
                self.network.loop.call_at(self._up_at, self._received, piece, context=self.network.context)

    def is_closing(self) -> bool:
        return not self.open

    def abort(self) -> None:
        if self.open:
            self.open = False
            self.process.loop.call_soon(self.client.connection_lost, None, context=self.process.context)
            self._tell_the_broker()

    def pause_reading(self) -> None:
        self._paused = True

    def resume_reading(self) -> None:
        self._paused = False
        kept, self._kept = self._kept, []
        for callback, args in kept:
            callback(*args)

    # The broker's end.

    def send(self, data: bytes, on_arrival: Callable[[], None] | None = None) -> None:
        """`on_arrival` is called when the last of it is there."""
        if self.open:
            *pieces, last = self.network.pieces(data)
            for piece in pieces:
                self._down_at = self.network.arrival(self.process, DOWN, self._down_at)
                self._later(self._deliver, piece, None)
            self._down_at = self.network.arrival(self.process, DOWN, self._down_at)
            self._later(self._deliver, last, on_arrival)

    def close(self) -> None:
        """The broker ends it; the client hears of it after what was sent."""
        if self.open:
            self._down_at = self.network.arrival(self.process, DOWN, self._down_at)
            self._later(self._broken)
            self.listener = None

    # The network's.

    def snap(self) -> None:
        """The connection breaks in the middle, for both ends to see."""
        listener = self.listener
        self.close()
        if listener is not None:
            listener.lost()

    def cut(self, *, silently: bool) -> None:
        """The process is gone. Its machine says so for it, or has gone with it."""
        self.open = False
        if not silently:
            self._tell_the_broker()

    def _later(self, callback: Callable[..., object], *args: object) -> None:
        """In the process: if it is stopped, whatever comes waits for it."""
        self.process.loop.call_at(self._down_at, callback, *args, context=self.process.context)

    def _tell_the_broker(self) -> None:
        self._up_at = self.network.arrival(self.process, UP, self._up_at)
        self.network.loop.call_at(self._up_at, self._lost, context=self.network.context)

    def _received(self, data: bytes) -> None:
        if self.listener is not None:
            self.listener.received(data)

    def _lost(self) -> None:
        if self.listener is not None:
            self.listener.lost()

    def _deliver(self, data: bytes, on_arrival: Callable[[], None] | None) -> None:
        if self._paused:
            self._kept.append((self._deliver, (data, on_arrival)))
        elif self.open:
            if on_arrival is not None:
                on_arrival()
            self.client.data_received(data)

    def _broken(self) -> None:
        if self.open:
            self.open = False
            self.client.connection_lost(None)


class Network:
    """Every process has its own way to the broker and back; each direction can be blocked for a while."""

    def __init__(self, loop: VirtualLoop, chance: random.Random, typical_s: float, torn: float = 0.0) -> None:
        """`typical_s` is how long one way takes; so many of the writes do not arrive in one piece."""
        self.loop = loop
        self.context = copy_context()  # nobody's: the network runs whoever is stopped
        self.accept: Callable[[Pipe], Listener | None] = lambda _: None
        """The broker's door: None while it is down."""
        self.broker_up: Callable[[], bool] = lambda: True
        self._chance = chance
        self._typical_s = typical_s
        self._torn = torn
        self.on_connect: Callable[[Process], None] = lambda _: None
        """Hears who is about to connect, and may still stop it."""
        self._blocked_until: dict[tuple[str, str], float] = {}
        self._pipes: list[Pipe] = []
        loop.connect = self.connect

    def arrival(self, process: Process, way: str, after: float) -> float:
        takes_s = self._chance.expovariate(1 / self._typical_s)
        return max(after, self._blocked_until.get((process.name, way), 0.0), self.loop.time() + takes_s)

    def pieces(self, data: bytes) -> list[bytes]:
        if len(data) < 2 or self._chance.random() >= self._torn:
            return [data]
        places = sorted({0, len(data), *(self._chance.randrange(1, len(data)) for _ in range(2))})
        return [data[start:end] for start, end in itertools.pairwise(places)]

    def block(self, process: Process, seconds: float, ways: Sequence[str] = (UP, DOWN)) -> None:
        """What is sent from now on arrives when it is over, if the connection lives so long."""
        for way in ways:
            self._blocked_until[process.name, way] = self.loop.time() + seconds

    def reaches_broker(self, process: Process) -> bool:
        return self.broker_up() and not self._blocked(process)

    def _blocked(self, process: Process) -> bool:
        return any(self._blocked_until.get((process.name, way), 0.0) > self.loop.time() for way in (UP, DOWN))

    async def connect(self, process: Process, client: asyncio.Protocol) -> None:
        self.on_connect(process)
        await asyncio.sleep(self._chance.expovariate(1 / self._typical_s))
        if self._blocked(process):
            await asyncio.sleep(CONNECT_TIMEOUT_S)
            raise TimeoutError("no route to the broker")
        pipe = Pipe(self, process, client)
        pipe.listener = self.accept(pipe)
        if pipe.listener is None:
            raise ConnectionRefusedError("the broker is down")
        self._pipes = [known for known in self._pipes if known.open]
        self._pipes.append(pipe)
        client.connection_made(pipe)

    def connected(self, process: Process) -> bool:
        """As far as it knows itself."""
        return any(pipe.process is process and pipe.open for pipe in self._pipes)

    def cut(self, process: Process, *, silently: bool = False) -> None:
        for pipe in self._pipes:
            if pipe.process is process and pipe.open:
                pipe.cut(silently=silently)

    def flush(self, process: Process) -> None:
        """What it has written has left."""
        for pipe in self._pipes:
            if pipe.process is process and pipe.open and isinstance(pipe.client, Connection):
                pipe.client.flush()

    def flap(self, process: Process) -> None:
        """A cable is pulled and put back."""
        for pipe in self._pipes:
            if pipe.process is process and pipe.open:
                pipe.snap()

    def shut(self) -> None:
        """The world is over."""
        self.loop.connect = None
