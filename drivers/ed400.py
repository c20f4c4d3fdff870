"""ED400-style numeric meters: `STX address digits ETX`. They have no checksum and never answer."""

import re
from dataclasses import dataclass
from typing import Final, Self

from drivers.amount import fit_digits
from drivers.board import Amount, Pending, ResolvedWiring, Told, Win
from drivers.line import Line, Pace

PACE_SECONDS: Final = 0.1


class BadFrameError(ValueError):
    """These bytes are no such frame."""


@dataclass(frozen=True, slots=True)
class Frame:
    address: str
    data: str
    """Digits, spaces, minus signs and one point."""

    def to_bytes(self) -> bytes:
        return f"\x02{self.address}{self.data}\x03".encode("ascii")

    @classmethod
    def from_bytes(cls, data: bytes) -> Self:
        found = re.fullmatch(rb"\x02([0-9]{2})([0-9 -]*\.?[0-9 -]*)\x03", data)
        if found is None:
            raise BadFrameError(f"no ED400 frame: {data!r}")
        address, shown = found.groups()
        return cls(address.decode("ascii"), shown.decode("ascii"))


class Ed400Board:
    def __init__(self, line: Line, wiring: ResolvedWiring) -> None:
        self._line = line
        self._wiring = wiring
        self._pace = Pace(PACE_SECONDS)
        self._dashes = "-" * wiring.width
        self._data = self._dashes

    async def start(self) -> None:
        await self._write(self._dashes)

    async def ready(self) -> None:
        await self._pace.ready()
        self._line.check()

    async def show_amount(self, amount: Amount) -> Told:
        digits = fit_digits(amount, self._wiring.width, self._wiring.decimals)
        await self._write(self._dashes if digits is None else digits)
        return Told(self._data, None if digits is None else amount.cut_to(self._wiring.decimals).cents)

    async def show_pending(self, pending: Pending) -> Told:
        """Digits have no word for it: the amount that is held."""
        return await self.show_amount(pending.amount)

    async def announce(self, win: Win) -> Told:
        return await self.show_amount(win.amount)

    async def blank(self) -> Told:
        await self._write(self._dashes)
        return Told(self._dashes)

    async def show_test(self) -> Told:
        await self._write("8" * self._wiring.width)
        return Told(self._data)

    async def probe(self) -> bool:
        await self._write(self._data)
        return False

    async def close(self) -> None:
        self._line.release()

    async def _write(self, data: str) -> None:
        await self.ready()
        self._data = data
        await self._line.send(Frame(self._wiring.address, data).to_bytes())
        self._pace.written()
