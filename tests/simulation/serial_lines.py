"""Serial lines to emulated boards: bytes take their time, are lost or spoiled, and a cable can be pulled."""

import asyncio
import random
from collections.abc import Callable
from contextvars import copy_context
from typing import Any

from drivers.emulator import EmulatedBoard
from tests.simulation.loop import Process, VirtualLoop

BITS_PER_BYTE = 10


class Wire:
    """The line behind a serial server, and the board at its end."""

    def __init__(
        self, loop: VirtualLoop, chance: random.Random, board: EmulatedBoard, baud: int, on_change: Callable[[], None]
    ) -> None:
        """`on_change` is called whenever the board has taken something."""
        self.loop = loop
        self.context = copy_context()  # nobody's: a board goes on whoever is stopped
        self.board = board
        self.plugged = True
        self.stuck = False
        self.noise = 0.0
        """So many bytes are lost or spoiled."""
        self._chance = chance
        self._baud = baud
        self._on_change = on_change
        self._end: End | None = None

    def open(self, ear: Any, process: Process) -> "End":
        if not self.plugged:
            raise ConnectionRefusedError("nothing is plugged in")
        self._end = End(self, ear, process)
        return self._end

    def seconds(self, data: bytes) -> float:
        return len(data) * BITS_PER_BYTE / self._baud

    def take(self, data: bytes, end: "End") -> None:
        """The board has it, and answers."""
        if self.plugged:
            answer = self.spoiled(self.board.feed(self.spoiled(data), self.loop.time()))
            self._on_change()
            if answer:
                end.hear(answer)

    def spoiled(self, data: bytes) -> bytes:
        if not self.noise:
            return data
        kept = [byte for byte in data if self._chance.random() >= self.noise]
        return bytes(self._chance.randrange(128) if self._chance.random() < self.noise else byte for byte in kept)

    # What happens to it.

    def pull(self) -> None:
        self.plugged = False
        if self._end is not None:
            self._end.lose(ConnectionResetError("the cable was pulled"))

    def plug_in(self) -> None:
        self.plugged = True

    def stick(self) -> None:
        self.stuck = True

    def unstick(self) -> None:
        self.stuck = False
        if self._end is not None:
            self._end.go_on()

    def lose_power(self) -> None:
        self.board.power_cycle()
        self._on_change()


class End(asyncio.WriteTransport):
    """The program's end of a line, while it is open."""

    def __init__(self, wire: Wire, ear: Any, process: Process) -> None:
        super().__init__()
        self._wire = wire
        self._ear = ear
        self._process = process
        self._open = True
        self._there_at = self._back_at = 0.0
        self._held: list[bytes] = []

    def write(self, data: bytes | bytearray | memoryview) -> None:
        if self._wire.stuck:
            self._held.append(bytes(data))
            self._ear.pause_writing()
        elif self._open:
            self._pass_on(bytes(data))

    def _pass_on(self, data: bytes) -> None:
        loop = self._wire.loop
        self._there_at = max(self._there_at, loop.time()) + self._wire.seconds(data)
        loop.call_at(self._there_at, self._wire.take, data, self, context=self._wire.context)

    def hear(self, data: bytes) -> None:
        loop = self._wire.loop
        self._back_at = max(self._back_at, loop.time()) + self._wire.seconds(data)
        loop.call_at(self._back_at, self._tell, data, context=self._process.context)

    def _tell(self, data: bytes) -> None:
        if self._open:
            self._ear.data_received(data)

    def go_on(self) -> None:
        held, self._held = self._held, []
        if self._open and held:
            self._pass_on(b"".join(held))
            self._process.loop.call_soon(self._ear.resume_writing, context=self._process.context)

    def lose(self, why: Exception | None) -> None:
        if self._open:
            self._open = False
            self._process.loop.call_soon(self._ear.connection_lost, why, context=self._process.context)

    def close(self) -> None:
        self.lose(None)

    abort = close

    def is_closing(self) -> bool:
        return not self._open

    def set_write_buffer_limits(self, high: int | None = None, low: int | None = None) -> None: ...

    def get_extra_info(self, name: str, default: Any = None) -> Any:
        return default
