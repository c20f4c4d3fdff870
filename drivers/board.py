"""What every sign board can be told, whatever it speaks, and how a talk with one goes."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Final, Protocol

SAYINGS: Final = 3
"""What no answer proves is said so often."""
REFRESH_SECONDS: Final = 2.0
"""So often a board is asked, or told again: what it shows may be lost with its power, or spoiled."""


class DriverError(Exception):
    """The board's line failed. The figure on the board can no longer be vouched for."""


class PortBusyError(DriverError):
    """Another program has the port."""


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
class Shown:
    """What a board is made to show. `cents` is the figure on it, or None where there is none, as with dashes."""

    text: str
    cents: int | None = None


DARK: Final = Shown("")
"""Nothing: the board's memory is being laid out."""


@dataclass(slots=True)
class Known:
    """What is known of a board beyond one connection to it."""

    asked: bool = False
    """Whether it answers was asked."""
    answers: bool = False
    """It has answered, once: from then on silence is a fault."""
    silent: bool = False
    """It answered before, and does not now."""


@dataclass(frozen=True, slots=True)
class Expected:
    """The answer to a packet."""

    end: bytes
    length: int
    """In bytes, at most."""
    is_mine: Callable[[bytes], bool]
    """Others on the line may answer late, and noise answers nobody."""


@dataclass(frozen=True, slots=True)
class BoardPacket:
    """One packet to a board."""

    data: bytes
    pause_seconds: float
    """So long the board takes no other after it."""
    shows: Shown | None = None
    """What the board shows once it has the packet; None: what it showed before."""
    answer: Expected | None = None
    """None: it is not answered."""


class BoardProtocol(Protocol):
    """What is said to one board, a packet a turn, so that nothing long is ever in the way of a newer figure.

    No line, no clock: time is passed in, in seconds. What a board shall show is only noted here; the next packet is
    made when its turn has come, from the newest. A silent board goes on being told, and its silence is a fault.
    """

    def show_amount(self, amount: Amount) -> Shown: ...

    def show_pending(self, pending: Pending) -> Shown: ...

    def announce(self, win: Win) -> Shown:
        """Takes the board over until it is told something else."""

    def blank(self) -> Shown:
        """Dashes: no figure can be vouched for."""

    def show_test(self) -> Shown: ...

    @property
    def due_at(self) -> float:
        """When the next packet is due."""

    @property
    def urgent(self) -> bool:
        """The next packet changes what the board shows. If not, others on its line go first."""

    @property
    def sure(self) -> bool:
        """The board has said that it shows what it was told, or was told so often enough where it does not answer."""

    @property
    def fault(self) -> str | None: ...

    def next(self, now: float) -> BoardPacket: ...

    def heard(self, answer: bytes | None, now: float) -> bool:
        """What came back, after each packet. True if by that the board says itself that it shows what it was told."""
