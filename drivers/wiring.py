"""How boards are reached, and which of them could not share a line."""

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from itertools import combinations
from typing import Final, Literal

ProtocolName = Literal["alpha", "ed400", "icpdas"]
LineFormat = Literal["8N1", "7E1"]


@dataclass(frozen=True, slots=True)
class Wiring:
    """How one board is reached. A width or format of None is what is usual for the protocol."""

    protocol: ProtocolName
    port: str
    baud: int = 9600
    address: str = "01"
    format: LineFormat | None = None
    width: int | None = None
    decimals: Literal[0, 2] = 2
    """0: the board is declared to show whole units, always. What is cut off is never rounded up."""
    answers: bool | None = None
    """Of an Alpha board. None: it is asked, and once it has answered its silence is a fault."""

    def resolved(self) -> "ResolvedWiring":
        """Checks the values and fills in what is usual. Raises ValueError that says what is wrong."""
        usual = USUAL.get(self.protocol)
        if usual is None:
            raise ValueError(f"unknown protocol {self.protocol!r}: use one of {', '.join(USUAL)}")
        if not re.fullmatch(usual.address, self.address):
            raise ValueError(f"{self.protocol}: {self.address!r} is no address of such a board")
        if not _is_place(self.port):
            raise ValueError(f"port {self.port!r} should be a path such as /dev/ttyUSB0, or socket://host:port")
        if self.format not in {None, "8N1", "7E1"}:
            raise ValueError(f"unknown line format {self.format!r}: use 8N1 or 7E1")
        if self.decimals not in {0, 2}:
            raise ValueError(f"decimals is 0 or 2, not {self.decimals!r}")
        width = usual.width if self.width is None else self.width
        if not 1 <= width <= usual.width_max:
            raise ValueError(f"{self.protocol}: a width of {width} is not between 1 and {usual.width_max}")
        if not 300 <= self.baud <= 921_600:
            raise ValueError(f"a baud rate of {self.baud} is not between 300 and 921600")
        if self.answers is not None and self.protocol != "alpha":
            always = "always" if self.protocol == "icpdas" else "never"
            raise ValueError(f"{self.protocol}: such boards {always} answer; leave answers out")
        if self.answers and is_shared(self.address):
            raise ValueError(f"boards at address {self.address!r} would answer all at once")
        return ResolvedWiring(
            self.protocol,
            self.port,
            self.baud,
            self.address,
            self.format or usual.format,
            width,
            self.decimals,
            answers=self.answers,
        )


def _is_place(port: str) -> bool:
    """A path, or the address of a serial server; whether anything is there shows when it is opened."""
    if not port.startswith("socket:"):
        return port.strip() != "" and "\0" not in port
    found = re.fullmatch(r"socket://([^/:\s]+|\[[0-9a-fA-F:]+\]):([0-9]{1,5})", port)
    if found is None or not 1 <= int(found[2]) <= 65_535:
        return False
    try:
        found[1].encode("idna")
    except UnicodeError:
        return False
    return True


@dataclass(frozen=True, slots=True)
class ResolvedWiring:
    protocol: ProtocolName
    port: str
    baud: int
    address: str
    format: LineFormat
    width: int
    decimals: Literal[0, 2]
    answers: bool | None


@dataclass(frozen=True, slots=True)
class Usual:
    format: LineFormat
    width: int
    width_max: int
    address: str


USUAL: Final[dict[str, Usual]] = {
    "alpha": Usual("7E1", width=16, width_max=80, address="[0-9A-F?]{2}"),
    "ed400": Usual("8N1", width=10, width_max=16, address="[0-9]{2}"),
    "icpdas": Usual("8N1", width=5, width_max=16, address="[0-9A-F]{2}"),  # I-7080D: five digits
}


def is_shared(address: str) -> bool:
    """More than one Alpha board may have it: `00` is every board, `?` any digit."""
    return address == "00" or "?" in address


def clashes(wirings: Mapping[str, ResolvedWiring]) -> Iterator[str]:
    """What keeps boards from sharing a line, in words. The same packet must never be meant for two of them."""
    for (name, one), (other_name, other) in combinations(wirings.items(), 2):
        if one.port != other.port:
            continue
        if (one.baud, one.format) != (other.baud, other.format):
            yield (
                f"{other_name}: {other.baud} baud, {other.format} on {other.port}, where {name} has {one.baud} baud, "
                f"{one.format}; boards on one line need one baud rate and one format"
            )
        elif one.protocol == other.protocol and _overlap(one, other):
            yield f"{other_name}: its address {other.address!r} on {other.port} is also that of {name}, {one.address!r}"


def _overlap(one: ResolvedWiring, other: ResolvedWiring) -> bool:
    if one.protocol == "alpha" and "00" in (one.address, other.address):
        return True
    pairs = zip(one.address, other.address, strict=True)
    return all(digit == other_digit or "?" in (digit, other_digit) for digit, other_digit in pairs)
