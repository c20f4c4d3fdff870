"""The serial line: a tty or pty by its path, or `socket://host:port` for a serial server.

Nothing waits here without a limit: an unread line takes about 20 kB and then blocks for ever.
"""

import asyncio
import errno
import os
import socket
import termios
from contextlib import suppress
from typing import Final, Self
from urllib.parse import urlsplit

import serialx

from drivers.board import DriverError, Expected, PortBusyError
from drivers.protocol import Turns
from drivers.wiring import LineFormat, ResolvedWiring

OPEN_SECONDS: Final = 3.0
STUCK_SECONDS: Final = 2.0
TURNAROUND_SECONDS: Final = 0.25
"""A board begins to answer within this. How long the answer then takes is a matter of its length and the baud rate."""
KEPT_BYTES: Final = 1024
"""Of what a board says unasked only the end is kept."""

BITS_PER_BYTE: Final = 10
"""On the wire 8N1 and 7E1 both take ten bits."""


def wire_seconds(length: int, baud: int) -> float:
    return length * BITS_PER_BYTE / baud


class _Ear(asyncio.Protocol):
    def __init__(self) -> None:
        self.heard = bytearray()
        self.news = asyncio.Event()
        self.writable = asyncio.Event()
        self.writable.set()
        self.lost: str | None = None

    def data_received(self, data: bytes) -> None:
        self.heard += data
        del self.heard[:-KEPT_BYTES]
        self.news.set()

    def take(self, end: bytes) -> bytes | None:
        """What was heard up to and with the first `end`."""
        at = self.heard.find(end)
        if at < 0:
            return None
        frame = bytes(self.heard[: at + len(end)])
        del self.heard[: at + len(end)]
        return frame

    def pause_writing(self) -> None:
        self.writable.clear()

    def resume_writing(self) -> None:
        self.writable.set()

    def connection_lost(self, exc: Exception | None) -> None:
        self.lost = str(exc) if exc else "closed by the other side"
        self.news.set()
        self.writable.set()


class Line:
    """One open line. Boards that share it take turns: a packet and its answer are never interleaved."""

    def __init__(self, transport: asyncio.WriteTransport, ear: _Ear, port: str, baud: int) -> None:
        self._transport = transport
        self._ear = ear
        self.turns = Turns()
        self.port = port
        self._baud = baud
        self.users = 0
        # With no room in the program's own buffer "writable" means that the system has taken every byte.
        transport.set_write_buffer_limits(high=0)

    @classmethod
    async def open(cls, port: str, baud: int, line_format: LineFormat) -> Self:
        ear = _Ear()
        try:
            async with asyncio.timeout(OPEN_SECONDS):
                if port.startswith("socket://"):
                    transport = await _open_socket(port, ear)
                else:
                    transport = await _open_tty(port, baud, line_format, ear)
        except TimeoutError as error:
            raise DriverError(f"{port}: did not open within {OPEN_SECONDS:g} s") from error
        except (OSError, termios.error, serialx.SerialException) as error:
            kind = PortBusyError if getattr(error, "errno", None) == errno.EBUSY else DriverError
            raise kind(f"{port}: {_words(error)}") from error
        return cls(transport, ear, port, baud)

    @property
    def usable(self) -> bool:
        return self._ear.lost is None and not self._transport.is_closing()

    async def send(self, data: bytes) -> None:
        """In one's turn. Returns when the last byte is on the wire."""
        self.check()
        try:
            self._transport.write(data)
            async with asyncio.timeout(STUCK_SECONDS):
                await self._ear.writable.wait()
        except TimeoutError as error:
            self.close()
            raise DriverError(f"{self.port}: takes no more bytes") from error
        except OSError as error:
            self.close()
            raise DriverError(f"{self.port}: {error.strerror or error}") from error
        self.check()
        # A pty and a socket know no baud rate: without this wait, figures would queue up on their way.
        await asyncio.sleep(wire_seconds(len(data), self._baud))

    async def ask(self, data: bytes, answer: Expected) -> bytes | None:
        """In one's turn. Sends, then returns the answer; None if none came while it could."""
        self._ear.heard.clear()
        await self.send(data)
        try:
            async with asyncio.timeout(TURNAROUND_SECONDS + wire_seconds(answer.length, self._baud)):
                while True:
                    frame = self._ear.take(answer.end)
                    if frame is None:
                        self.check()
                        self._ear.news.clear()
                        await self._ear.news.wait()
                    elif answer.is_mine(frame):
                        return frame
        except TimeoutError:
            return None

    def check(self) -> None:
        if not self.usable:
            raise DriverError(f"{self.port}: line lost ({self._ear.lost or 'closed'})")

    def release(self) -> None:
        self.users -= 1
        if not self.users:
            self.close()

    def close(self) -> None:
        if self._transport.is_closing():
            return
        if self._ear.writable.is_set():
            self._transport.close()
            return
        # What a stuck board did not take must not come out later, and must not hold up closing.
        if (port := self._transport.get_extra_info("serial")) is not None:
            with suppress(OSError, termios.error):
                termios.tcflush(port.fileno(), termios.TCIOFLUSH)
        self._transport.abort()


def _words(error: Exception) -> str:
    """The system's own word for it: what asyncio says of a connection that was refused is for programmers."""
    number = getattr(error, "errno", None) or 0
    return os.strerror(number) if number > 0 else str(getattr(error, "strerror", None) or error)


async def _open_tty(path: str, baud: int, line_format: LineFormat, ear: _Ear) -> asyncio.WriteTransport:
    # A pty has eight bits and no parity, and from the second time on says "Invalid argument" to 7E1.
    seven = line_format == "7E1" and not await asyncio.to_thread(_is_pty, path)
    transport, _ = await serialx.create_serial_connection(
        asyncio.get_running_loop(),
        lambda: ear,
        path,
        baud,
        parity=serialx.Parity.EVEN if seven else serialx.Parity.NONE,
        byte_size=7 if seven else 8,
    )
    return transport


def _is_pty(path: str) -> bool:
    return os.path.realpath(path).startswith("/dev/pts/")


async def _open_socket(url: str, ear: _Ear) -> asyncio.WriteTransport:
    """A name may have several addresses, of which some lead nowhere: each is tried for its part of the time."""
    where = urlsplit(url)
    loop = asyncio.get_running_loop()
    found = await loop.getaddrinfo(where.hostname, where.port, type=socket.SOCK_STREAM)
    failed = OSError("has no address")
    for family, kind, number, _, address in found:
        sock = socket.socket(family, kind, number)
        try:
            sock.setblocking(False)
            sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            # A serial server that is gone or stuck is found within seconds, and holds few old figures.
            sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_USER_TIMEOUT, int(STUCK_SECONDS * 1000))
            sock.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, 4096)
            async with asyncio.timeout(OPEN_SECONDS / len(found)):
                await loop.sock_connect(sock, address)
            transport, _ = await loop.create_connection(lambda: ear, sock=sock)
        except OSError as error:
            sock.close()
            failed = error
        except BaseException:
            sock.close()
            raise
        else:
            return transport
    raise failed


class Lines:
    """The open lines of one program, so that the boards on one RS-485 line share it."""

    def __init__(self) -> None:
        self._open: dict[str, Line] = {}
        self._opening: dict[str, asyncio.Lock] = {}

    async def take(self, wiring: ResolvedWiring) -> Line:
        """The line of this wiring's port, opened if it is not. Release it when done."""
        async with self._opening.setdefault(wiring.port, asyncio.Lock()):
            line = self._open.get(wiring.port)
            if line is None or not line.usable:
                line = await Line.open(wiring.port, wiring.baud, wiring.format)
                self._open[wiring.port] = line
            line.users += 1
            return line
