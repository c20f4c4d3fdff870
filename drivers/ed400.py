"""ED400-style numeric meters: `STX address digits ETX`. They have no checksum and never answer."""

import re
from dataclasses import dataclass
from typing import Final, Self

from drivers.board import REFRESH_SECONDS, SAYINGS, BoardPacket, Shown
from drivers.numeric import NumericProtocol
from drivers.wiring import ResolvedWiring

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


class Ed400Talk(NumericProtocol):
    """Told, and told again."""

    def __init__(self, wiring: ResolvedWiring) -> None:
        super().__init__(wiring, dashes="-" * wiring.width, test="8" * wiring.width)
        self._due_at = 0.0
        self._said = 0

    @property
    def due_at(self) -> float:
        return self._due_at

    @property
    def urgent(self) -> bool:
        return self._said == 0

    @property
    def sure(self) -> bool:
        return self._said >= SAYINGS

    @property
    def fault(self) -> None:
        return None

    def next(self, now: float) -> BoardPacket:  # noqa: ARG002  nothing here depends on it
        return BoardPacket(Frame(self._wiring.address, self._told.text).to_bytes(), PACE_SECONDS, shows=self._told)

    def heard(self, answer: bytes | None, now: float) -> bool:  # noqa: ARG002  it never answers
        self._said += 1
        self._due_at = now + (REFRESH_SECONDS if self.sure else 0.0)
        return False

    def _tell(self, told: Shown) -> Shown:
        self._due_at, self._said = 0.0, 0
        return super()._tell(told)

    def _form(self, digits: str) -> str:
        return digits
