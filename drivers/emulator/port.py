"""A pty with emulated boards at its far end, and everything that goes wrong on a line."""

import asyncio
import os
import pty
import random
import tty
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Self

from drivers.emulator.boards import EmulatedBoard


@dataclass(frozen=True, slots=True)
class Faults:
    drop: float = 0.0
    """Chance that a byte is lost, either way."""
    garble: float = 0.0
    """Chance that a byte arrives as another."""
    slow_seconds: float = 0.0
    """Every piece is late by up to this much."""
    byte_by_byte: bool = False
    mute: bool = False
    """What the boards answer does not arrive: the return wire is cut, or was never there."""
    late_seconds: float = 0.0
    """They answer so late."""


class EmulatedPort:
    """`path` is a symbolic link to the pty, and stays the same when the port is unplugged and comes back."""

    def __init__(
        self, boards: Sequence[EmulatedBoard], path: Path, *, faults: Faults | None = None, seed: int = 0
    ) -> None:
        self.boards = tuple(boards)
        self.path = path
        self.faults = faults or Faults()
        self._random = random.Random(seed)  # noqa: S311  chance, not secrecy
        self._loop = asyncio.get_running_loop()
        self._main: int | None = None
        self._other: int | None = None
        self._stuck = False
        self._inbox: asyncio.Queue[bytes] = asyncio.Queue()
        self._pump: asyncio.Task[None] | None = None

    async def __aenter__(self) -> Self:
        self.replug()
        self._pump = asyncio.create_task(self._run(), name=f"emulated port {self.path}")
        return self

    async def __aexit__(self, *_: object) -> None:
        self.unplug()
        if self._pump is not None:
            self._pump.cancel()
            with suppress(asyncio.CancelledError):
                await self._pump

    def replug(self) -> None:
        """Raises OSError if the link cannot be made: only that of a former emulator is replaced."""
        if self._main is not None:
            return
        if _left_behind(self.path):
            self.path.unlink()
        # The far end is kept open here too, so that the pty lives on when a driver closes it.
        main, other = pty.openpty()
        try:
            tty.setraw(other)
            os.set_blocking(main, False)
            self.path.symlink_to(os.ttyname(other))
        except OSError:
            os.close(main)
            os.close(other)
            raise
        self._main, self._other = main, other
        if not self._stuck:
            self._loop.add_reader(self._main, self._read)

    def unplug(self) -> None:
        if self._main is None or self._other is None:
            return
        ours = self.path.is_symlink() and str(self.path.readlink()) == os.ttyname(self._other)
        self._loop.remove_reader(self._main)
        os.close(self._main)
        os.close(self._other)
        self._main = self._other = None
        if ours:
            self.path.unlink()

    def stick(self) -> None:
        """The board stops reading, and its line fills up."""
        self._stuck = True
        if self._main is not None:
            self._loop.remove_reader(self._main)

    def unstick(self) -> None:
        self._stuck = False
        if self._main is not None:
            self._loop.add_reader(self._main, self._read)

    def noise(self, length: int) -> None:
        """Bytes that no one sent, both ways."""
        self._inbox.put_nowait(self._random.randbytes(length))
        self._answer(self._random.randbytes(length))

    def _read(self) -> None:
        if self._main is None:
            return
        with suppress(OSError):
            self._inbox.put_nowait(os.read(self._main, 4096))

    async def _run(self) -> None:
        while True:
            data = await self._inbox.get()
            if self.faults.slow_seconds:
                await asyncio.sleep(self._random.uniform(0, self.faults.slow_seconds))
            for piece in self._pieces(self._spoil(data)):
                for board in self.boards:
                    for answer in self._pieces(self._spoil(board.feed(piece, self._loop.time()))):
                        self._answer_in_time(answer)
                        await asyncio.sleep(0)
                await asyncio.sleep(0)

    def _pieces(self, data: bytes) -> list[bytes]:
        return [data[at : at + 1] for at in range(len(data))] if self.faults.byte_by_byte else [data]

    def _spoil(self, data: bytes) -> bytes:
        kept = bytes(byte for byte in data if self._random.random() >= self.faults.drop)
        return bytes(
            self._random.randrange(128) if self._random.random() < self.faults.garble else byte for byte in kept
        )

    def _answer_in_time(self, data: bytes) -> None:
        if self.faults.mute:
            return
        if self.faults.late_seconds:
            self._loop.call_later(self.faults.late_seconds, self._answer, data)
        else:
            self._answer(data)

    def _answer(self, data: bytes) -> None:
        if data and self._main is not None:
            # A full pty swallows the answer, as a real line would.
            with suppress(OSError):
                os.write(self._main, data)


def _left_behind(path: Path) -> bool:
    """A link to a pty, as an emulator leaves when it is killed."""
    return path.is_symlink() and path.readlink().is_relative_to("/dev/pts")
