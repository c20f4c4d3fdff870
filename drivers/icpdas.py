"""ICP DAS-style numeric meters: `$AA9data` with checksum, answered by `!AA` or `?AA`.

The meter must be set to use checksums: without one a digit changed on the wire would be shown, and
confirmed. It shows digits only. Where other boards show dashes it shows `0.0000`, the least its manual
knows, which no pool ever is.
"""

import re
from dataclasses import dataclass
from typing import Final, Self

from drivers.amount import fit_digits
from drivers.board import Amount, DriverError, NoAnswerError, Pending, ResolvedWiring, Told, Win
from drivers.line import Line, Pace

PACE_SECONDS: Final = 0.1
ANSWER_SECONDS: Final = 0.25
TRIES: Final = 4
CR: Final = b"\r"
HOST_CONTROL: Final = "82"
"""`$AA82`: the host controls the digits, not the meter's own counter."""
SHOW: Final = "9"


class BadFrameError(ValueError):
    """These bytes are no such frame, or their checksum is wrong."""


def checksum(body: bytes) -> bytes:
    return b"%02X" % (sum(body) % 0x100)


@dataclass(frozen=True, slots=True)
class Command:
    address: str
    text: str

    def to_bytes(self) -> bytes:
        body = f"${self.address}{self.text}".encode("ascii")
        return body + checksum(body) + CR

    @classmethod
    def from_bytes(cls, data: bytes) -> Self:
        return cls(*_read(b"$", data))


@dataclass(frozen=True, slots=True)
class Accepted:
    address: str
    text: str = ""

    def to_bytes(self) -> bytes:
        body = f"!{self.address}{self.text}".encode("ascii")
        return body + checksum(body) + CR

    @classmethod
    def from_bytes(cls, data: bytes) -> Self:
        return cls(*_read(b"!", data))


@dataclass(frozen=True, slots=True)
class Invalid:
    address: str

    def to_bytes(self) -> bytes:
        body = f"?{self.address}".encode("ascii")
        return body + checksum(body) + CR

    @classmethod
    def from_bytes(cls, data: bytes) -> Self:
        return cls(_read(b"?", data)[0])


def answer_from_bytes(data: bytes) -> Accepted | Invalid:
    return Invalid.from_bytes(data) if data.rfind(b"?") > data.rfind(b"!") else Accepted.from_bytes(data)


def _read(lead: bytes, data: bytes) -> tuple[str, str]:
    """Address and text of the frame that ends `data`; what comes before its leading character is noise."""
    frame = data[max(data.rfind(lead), 0) :]
    found = re.fullmatch(rb"(.([0-9A-F]{2})([\x20-\x7e]*))([0-9A-F]{2})\r", frame)
    if found is None or not frame.startswith(lead):
        raise BadFrameError(f"no ICP DAS frame: {data!r}")
    body, address, text, summed = found.groups()
    if summed != checksum(body):
        raise BadFrameError(f"checksum is {checksum(body)!r}, not {summed!r}")
    return address.decode("ascii"), text.decode("ascii")


class IcpDasBoard:
    def __init__(self, line: Line, wiring: ResolvedWiring) -> None:
        self._line = line
        self._wiring = wiring
        self._pace = Pace(PACE_SECONDS)
        self._dashes = "0." + "0" * (wiring.width - 1)
        self._data = self._dashes

    async def start(self) -> None:
        if not await self._ask(HOST_CONTROL):
            raise DriverError("the meter does not let the host control its digits")
        await self._write(self._dashes)

    async def ready(self) -> None:
        await self._pace.ready()
        self._line.check()

    async def show_amount(self, amount: Amount) -> Told:
        digits = fit_digits(amount, self._wiring.width, self._wiring.decimals)
        if digits is None:
            return await self.blank()
        # Always the whole width: five digits and a point.
        await self._write((digits if "." in digits else digits + ".").rjust(self._wiring.width + 1, "0"))
        return Told(self._data, amount.cut_to(self._wiring.decimals).cents, confirmed=True)

    async def show_pending(self, pending: Pending) -> Told:
        """Digits have no word for it: the amount that is held."""
        return await self.show_amount(pending.amount)

    async def announce(self, win: Win) -> Told:
        return await self.show_amount(win.amount)

    async def blank(self) -> Told:
        await self._write(self._dashes)
        return Told(self._dashes, confirmed=True)

    async def show_test(self) -> Told:
        await self._write("8" * self._wiring.width + ".")
        return Told(self._data, confirmed=True)

    async def probe(self) -> bool:
        await self._write(self._data)
        return True

    async def close(self) -> None:
        self._line.release()

    async def _write(self, data: str) -> None:
        self._data = data
        if await self._ask(SHOW + data):
            return
        # After a loss of power the meter shows its own counter again: take the digits back.
        if not (await self._ask(HOST_CONTROL) and await self._ask(SHOW + data)):
            raise DriverError(f"the meter calls {data!r} invalid")

    async def _ask(self, text: str) -> bool:
        """True for `!AA`, False for `?AA`. No answer at all, after some tries, is a fault."""
        question = Command(self._wiring.address, text).to_bytes()
        for _ in range(TRIES):
            await self.ready()
            try:
                answer = answer_from_bytes(await self._line.ask(question, CR, ANSWER_SECONDS))
            except (NoAnswerError, BadFrameError):
                continue
            finally:
                self._pace.written()
            if answer.address == self._wiring.address:
                return isinstance(answer, Accepted)
        raise NoAnswerError(f"no answer to {TRIES} tries")
