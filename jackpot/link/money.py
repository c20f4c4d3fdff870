"""Money is integers: awards and stakes in cents, the ledger in micros (D1)."""

from dataclasses import dataclass, field
from enum import StrEnum

MICROS_PER_CENT = 10_000


def whole_cents(micros: int) -> int:
    """D2: what is displayed and paid from is truncated to the cent."""
    return micros // MICROS_PER_CENT


def micros(cents: int) -> int:
    return cents * MICROS_PER_CENT


class Kind(StrEnum):
    OPENING = "opening"
    CONTRIBUTION = "contribution"
    RETURN = "return"
    SHARE = "share"
    ODDS = "odds"
    FUNDING = "funding"
    RESET = "reset"
    ADJUSTMENT = "adjustment"


@dataclass(frozen=True, slots=True)
class Balances:
    """The chart of accounts of one link, in micros.

    Debit side: `wagered` (what the players put in, less what went back) and `recoverable` (what later contributions
    owe the house, D4). Credit side: `pool`, `reserve`, `house` (its net; what it put in is negative) and `awarded`.
    Debits equal credits, always.
    """

    wagered: int = 0
    recoverable: int = 0
    pool: int = 0
    reserve: int = 0
    house: int = 0
    awarded: int = 0

    def amounts(self) -> tuple[int, int, int, int, int, int]:
        return self.wagered, self.recoverable, self.pool, self.reserve, self.house, self.awarded

    @property
    def closes(self) -> bool:
        return self.wagered + self.recoverable == self.pool + self.reserve + self.house + self.awarded

    @property
    def possible(self) -> bool:
        """Only the house may be negative: it funds resets and odds out of its own pocket."""
        return min(self.wagered, self.recoverable, self.pool, self.reserve, self.awarded) >= 0


NO_WAGERS = (0, 0, 0, 0, 0)


@dataclass(frozen=True, slots=True)
class Journal:
    """A balanced set of postings: what one cause adds to each account, and the balances after it."""

    kind: Kind
    table: str | None
    round: str | None
    postings: Balances
    after: Balances
    award: int | None = None
    wagers: tuple[int, ...] = field(default=NO_WAGERS)
    """How many wagers of multiplier 1 to 5 it takes in, or gives back if negative."""


class UnbalancedError(Exception):
    """A journal that does not close. It is a bug: the batch is rolled back and the link suspended."""


def post(
    before: Balances,
    kind: Kind,
    *,
    table: str | None = None,
    round: str | None = None,  # noqa: A002 the sheets' word
    award: int | None = None,
    wagers: tuple[int, ...] = NO_WAGERS,
    wagered: int = 0,
    recoverable: int = 0,
    pool: int = 0,
    reserve: int = 0,
    house: int = 0,
    awarded: int = 0,
) -> Journal:
    after = Balances(
        before.wagered + wagered,
        before.recoverable + recoverable,
        before.pool + pool,
        before.reserve + reserve,
        before.house + house,
        before.awarded + awarded,
    )
    postings = Balances(wagered, recoverable, pool, reserve, house, awarded)
    if not (postings.closes and after.possible):
        raise UnbalancedError(f"{kind} of {table} {round}: {postings} gives {after}")
    return Journal(kind, table, round, postings, after, award, wagers)
