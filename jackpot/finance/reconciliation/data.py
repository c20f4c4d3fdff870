"""A gaming day's books: what each link opened and closed with, what moved between, and whatever does not balance."""

import datetime as dt
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from typing import Any

from jackpot.finance.reconciliation.day_head import DayHead
from jackpot.ledger.load import rfc3339
from jackpot.ledger.schema import ACCOUNTS
from jackpot.link.money import Balances, Kind
from jackpot.rules.megalink import Rank

CLOCK_SKEW_S_MAX = 120


@dataclass(frozen=True, slots=True)
class Movement:
    """All journals of one kind in the day, added up."""

    kind: Kind
    journals: int
    postings: Balances


@dataclass(frozen=True, slots=True)
class Wagers:
    """A table's jackpot wagers on a link: how many of each multiplier were taken in, and given back after closing."""

    table: str
    taken: tuple[int, ...]
    taken_cents: int
    returned: tuple[int, ...]
    returned_cents: int


@dataclass(frozen=True, slots=True)
class Awards:
    """A table's awards of one rank."""

    table: str
    rank: Rank
    kind: str
    awards: int
    amount_cents: int


@dataclass(frozen=True, slots=True)
class Funding:
    """Money put into the pool: the first opening, a reset, or what a shared award needed (D7, D8, D11)."""

    journal: int
    kind: Kind
    at: dt.datetime
    table: str | None
    round: str | None
    reserve_micros: int
    house_micros: int


@dataclass(frozen=True, slots=True)
class Adjustment:
    """A correction, with who asked for it and who else approved it."""

    journal: int
    at: dt.datetime
    account: str
    micros: int
    by: str
    approved_by: str
    reason: str


@dataclass(frozen=True, slots=True)
class NewParameters:
    version: int
    at: dt.datetime
    parameters: Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Unpaid:
    """An award that was made up to this day and has not been handed over yet."""

    award: str
    table: str
    round: str
    position: int
    rank: Rank
    amount_cents: int
    at: dt.datetime


@dataclass(frozen=True, slots=True)
class Numbers:
    """A series of numbers without holes: which of them the day holds."""

    first: int
    count: int
    missing: tuple[tuple[int, int], ...] = ()
    """The first few holes, each from and to."""

    @property
    def last(self) -> int:
        return self.first + self.count - 1


@dataclass(frozen=True, slots=True, kw_only=True)
class LinkDay:
    link: str
    currency: str
    opening: Balances
    closing: Balances
    displayed_cents: int
    held_by: str | None
    """The round whose claim holds the displayed amount at the day's end, as `table round`."""
    movements: tuple[Movement, ...]
    wagers: tuple[Wagers, ...]
    awards: tuple[Awards, ...]
    payments: int
    paid_cents: int
    fundings: tuple[Funding, ...]
    adjustments: tuple[Adjustment, ...]
    parameters: tuple[NewParameters, ...]
    unpaid: tuple[Unpaid, ...]
    numbers: Mapping[str, Numbers]
    """Of events, journals, entries and awards."""
    head: DayHead | None
    problems: tuple[str, ...]

    @property
    def awards_by_rank(self) -> dict[Rank, tuple[int, int]]:
        """How many awards, and how many cents, of each rank that won."""
        found = {}
        for rank in Rank:
            of_rank = [awards for awards in self.awards if awards.rank is rank]
            if of_rank:
                found[rank] = (sum(a.awards for a in of_rank), sum(a.amount_cents for a in of_rank))
        return found

    @property
    def difference_micros(self) -> int:
        """What is left of wagered + recoverable - (pool + reserve + house + awarded): 0 if the books close."""
        debit = self.closing.wagered + self.closing.recoverable
        return debit - (self.closing.pool + self.closing.reserve + self.closing.house + self.closing.awarded)

    def document(self) -> dict[str, Any]:
        closing = self.closing
        return {
            "link": self.link,
            "currency": self.currency,
            "balanced": not self.problems,
            "pool_micros": closing.pool,
            "reserve_micros": closing.reserve,
            "recoverable_micros": closing.recoverable,
            "house_micros": closing.house,
            "wagered_micros": closing.wagered,
            "awarded_micros": closing.awarded,
            "displayed_cents": self.displayed_cents,
            "held_by": self.held_by,
            "opening": _micros(self.opening),
            "movements": [
                {"kind": move.kind.value, "journals": move.journals, **_micros(move.postings)}
                for move in self.movements
            ],
            "closing": _micros(closing),
            "difference_micros": self.difference_micros,
            "wagers": [asdict(wagers) for wagers in self.wagers],
            "awards": [asdict(awards) for awards in self.awards],
            "awards_by_rank": {
                rank.value: {"awards": awards, "amount_cents": cents}
                for rank, (awards, cents) in self.awards_by_rank.items()
            },
            "payments": self.payments,
            "paid_cents": self.paid_cents,
            "fundings": [_with_time(asdict(funding)) for funding in self.fundings],
            "adjustments": [_with_time(asdict(adjustment)) for adjustment in self.adjustments],
            "parameters": [_with_time(asdict(changed)) for changed in self.parameters],
            "unpaid": [_with_time(asdict(award)) for award in self.unpaid],
            "numbers": {
                name: {"first": series.first, "last": series.last, "count": series.count, "missing": series.missing}
                for name, series in self.numbers.items()
            },
            "head": None if self.head is None else self.head.document(),
            "problems": list(self.problems),
        }


@dataclass(frozen=True, slots=True)
class Counters:
    """What a table counts in a gaming day."""

    wagers: int = 0
    wagered_cents: int = 0
    awards: int = 0
    awarded_cents: int = 0

    def __add__(self, other: "Counters") -> "Counters":
        return Counters(
            self.wagers + other.wagers,
            self.wagered_cents + other.wagered_cents,
            self.awards + other.awards,
            self.awarded_cents + other.awarded_cents,
        )


@dataclass(frozen=True, slots=True)
class TableDay:
    table: str
    ours: Counters
    reported: Counters | None
    """The table's last report of the day; None if it sent none."""
    played: bool
    clock_skew_s: float | None = None
    """By how much the table's clock is ahead of the controller's; None if nothing shows it."""

    @property
    def variances(self) -> dict[str, int]:
        """What the table reported less what the ledger says, where they differ.

        A counter cannot be negative in a report: a table that gave back more of yesterday's wagers than it took in
        today reports 0, and that is as right as it can be.
        """
        if self.reported is None:
            return {}
        ours, reported = asdict(self.ours), asdict(self.reported)
        return {name: reported[name] - due for name, due in ours.items() if reported[name] != max(0, due)}

    @property
    def problems(self) -> tuple[str, ...]:
        if self.reported is None:
            return (f"table {self.table}: it had play but reported no meters",) if self.played else ()
        return tuple(
            f"table {self.table}: {name} is {getattr(self.ours, name)}, the table reported "
            f"{getattr(self.reported, name)} ({variance:+d})"
            for name, variance in self.variances.items()
        )

    @property
    def balanced(self) -> bool:
        return not self.problems

    @property
    def state(self) -> str:
        if self.reported is None:
            return "no report" if self.played else "no play"
        return "balanced" if self.balanced else "variance"

    @property
    def clock_is_off(self) -> bool:
        return self.clock_skew_s is not None and abs(self.clock_skew_s) > CLOCK_SKEW_S_MAX

    def document(self) -> dict[str, Any]:
        return {
            "table": self.table,
            **asdict(self.ours),
            "reported": None if self.reported is None else asdict(self.reported),
            "variances": self.variances,
            "balanced": self.balanced,
            "clock_skew_seconds": self.clock_skew_s,
        }


@dataclass(frozen=True, slots=True)
class Reconciliation:
    day: dt.date
    starts: dt.datetime
    """In the casino's own time zone, as `ends` is."""
    ends: dt.datetime
    read_at: dt.datetime
    links: tuple[LinkDay, ...]
    tables: tuple[TableDay, ...]
    notes: tuple[str, ...] = field(default=())

    @property
    def problems(self) -> tuple[str, ...]:
        """Everything that does not balance, each as one sentence that names it."""
        of_links = [f"link {link.link}: {problem}" for link in self.links for problem in link.problems]
        return (*of_links, *(problem for table in self.tables for problem in table.problems))

    @property
    def balanced(self) -> bool:
        return not self.problems

    def document(self) -> dict[str, Any]:
        return {
            "day": self.day.isoformat(),
            "balanced": self.balanced,
            "starts": _utc(self.starts),
            "ends": _utc(self.ends),
            "read_at": _utc(self.read_at),
            "problems": list(self.problems),
            "notes": list(self.notes),
            "links": [link.document() for link in self.links],
            "tables": [table.document() for table in self.tables],
        }


def _micros(balances: Balances) -> dict[str, int]:
    return {f"{name}_micros": amount for name, amount in zip(ACCOUNTS, balances.amounts(), strict=True)}


def _with_time(document: dict[str, Any]) -> dict[str, Any]:
    return document | {"at": _utc(document["at"])}


def _utc(at: dt.datetime) -> str:
    return rfc3339(at.astimezone(dt.UTC))
