"""What every sign board can be told, whatever it speaks."""

import re
from dataclasses import dataclass
from typing import Final, Literal, Protocol

ProtocolName = Literal["alpha", "ed400", "icpdas"]
LineFormat = Literal["8N1", "7E1"]


class DriverError(Exception):
    """The board or its line failed. The figure on the board can no longer be vouched for."""


class NoAnswerError(DriverError):
    """A board that answers did not, or answered what it was not asked."""


@dataclass(frozen=True, slots=True)
class Amount:
    cents: int
    currency: str = "SGD"

    def __post_init__(self) -> None:
        if type(self.cents) is not int or self.cents < 0:
            raise ValueError(f"an amount is a whole number of cents, not {self.cents!r}")

    def cut_to(self, decimals: int) -> "Amount":
        """What a board with so many decimals shows of it: never more than there is."""
        return self if decimals else Amount(self.cents - self.cents % 100, self.currency)


@dataclass(frozen=True, slots=True)
class Pending:
    """A hand that has won and is not yet paid: the amount is held for it (D5)."""

    hand: str
    amount: Amount


@dataclass(frozen=True, slots=True)
class Win:
    table: str
    hand: str
    amount: Amount


@dataclass(frozen=True, slots=True)
class Told:
    """What the board was made to show. `cents` is the figure on it, or None where there is none, as with dashes."""

    text: str
    cents: int | None = None
    confirmed: bool = False
    """The board itself said so. Boards that cannot answer never do."""


class Board(Protocol):
    """Every call ends within a few seconds, in success or in DriverError."""

    async def ready(self) -> None:
        """Returns when the board can take the next write, so that the caller sends the newest figure.

        Raises DriverError at once if the line is lost.
        """

    async def show_amount(self, amount: Amount) -> Told: ...

    async def show_pending(self, pending: Pending) -> Told: ...

    async def announce(self, win: Win) -> Told:
        """Takes the board over until it is told something else."""

    async def blank(self) -> Told:
        """Dashes: no figure can be vouched for."""

    async def show_test(self) -> Told: ...

    async def probe(self) -> bool:
        """Makes sure that the board still shows what it was told; True if the board said so itself."""

    async def close(self) -> None: ...


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
        return ResolvedWiring(
            self.protocol, self.port, self.baud, self.address, self.format or usual.format, width, self.decimals
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
