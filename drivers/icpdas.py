"""ICP DAS-style numeric meters: `$AA9data` with checksum, answered by `!AA` or `?AA`.

The meter must be set to use checksums: without one a digit changed on the wire would be shown, and
confirmed. It shows digits only. Where other boards show dashes it shows `0.0000`, the least its manual
knows, which no pool ever is.
"""

import re
from collections import deque
from dataclasses import dataclass
from typing import Final, Self

from drivers.board import REFRESH_SECONDS, BoardPacket, Expected, Known, Shown
from drivers.numeric import NumericProtocol
from drivers.wiring import ResolvedWiring

PACE_SECONDS: Final = 0.1
ANSWER_BYTES: Final = 6
TRIES: Final = 4
BLIND_SAYINGS: Final = 2
REFUSALS_MAX: Final = 2
LATE_SECONDS: Final = 2.0
"""An answer that has not come by then does not come."""
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


class IcpDasProtocol(NumericProtocol):
    """Every command is answered, and the answer to a figure proves that it is on view.

    A meter that does not answer may still hear: it goes on being told, digits and who controls them by turns.
    """

    def __init__(self, wiring: ResolvedWiring, known: Known) -> None:
        # Always the whole width: five digits and a point.
        super().__init__(wiring, dashes="0." + "0" * (wiring.width - 1), test="8" * wiring.width + ".")
        self._known = known
        self._control_due = True
        self._unanswered: deque[tuple[float, str]] = deque()
        """When what was asked; the answers come in this order, however late."""
        self._said = self._silences = self._refusals = 0
        self._refused = ""
        self._proved = False
        self._due_at = 0.0

    @property
    def due_at(self) -> float:
        return self._due_at

    @property
    def urgent(self) -> bool:
        return not (self._proved or self._silences or self._known.silent)

    @property
    def sure(self) -> bool:
        return self._proved or self._said >= (BLIND_SAYINGS if self._known.silent else TRIES)

    @property
    def fault(self) -> str | None:
        if self._known.silent:
            return f"no answer to {TRIES} questions, and is told blindly"
        if self._refusals < REFUSALS_MAX:
            return None
        if self._refused == HOST_CONTROL:
            return "the meter does not let the host control its digits"
        return f"the meter calls {self._refused.removeprefix(SHOW)!r} invalid"

    def next(self, now: float) -> BoardPacket:
        text = HOST_CONTROL if self._control_due else SHOW + self._told.text
        self._unanswered.append((now, text))
        data = Command(self._wiring.address, text).to_bytes()
        shows = None if self._control_due else self._told
        return BoardPacket(data, PACE_SECONDS, shows, Expected(CR, ANSWER_BYTES, self._is_mine))

    def heard(self, answer: bytes | None, now: float) -> bool:
        self._said += not self._control_due
        if answer is None:
            self._note_silence(now)
            return False
        while self._unanswered[0][0] < now - LATE_SECONDS and len(self._unanswered) > 1:
            self._unanswered.popleft()
        _, asked = self._unanswered.popleft()
        self._silences, self._known.silent = 0, False
        self._due_at = now
        if isinstance(answer_from_bytes(answer), Invalid):
            self._note_refusal(asked, now)
        elif asked == HOST_CONTROL:
            self._control_due = False
        elif asked == SHOW + self._told.text:
            self._proved, self._refusals = True, 0
            self._due_at = now + REFRESH_SECONDS
            return True
        return False

    def _note_silence(self, now: float) -> None:
        self._silences += 1
        self._proved = False
        if self._silences >= TRIES:
            self._known.silent = True
        if self._known.silent:
            self._control_due = not self._control_due
        self._due_at = now + (REFRESH_SECONDS / 2 if self._known.silent else 0.0)

    def _note_refusal(self, asked: str, now: float) -> None:
        """After a loss of power the meter shows its own counter again: take the digits back."""
        self._refused = asked
        self._refusals += 1
        self._proved, self._control_due = False, True
        if self._refusals >= REFUSALS_MAX:
            self._due_at = now + REFRESH_SECONDS

    def _is_mine(self, frame: bytes) -> bool:
        try:
            return answer_from_bytes(frame).address == self._wiring.address
        except BadFrameError:
            return False

    def _tell(self, told: Shown) -> Shown:
        self._due_at, self._said, self._proved = 0.0, 0, False
        if self._known.silent:
            self._control_due = False
        return super()._tell(told)

    def _form(self, digits: str) -> str:
        return (digits if "." in digits else digits + ".").rjust(self._wiring.width + 1, "0")
