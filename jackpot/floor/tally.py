"""A table's own counters of each gaming day, taken from what it said and was answered: its side of the reconciliation.

They are kept in a file, so that a table that comes back on the same day goes on counting where it was.
"""

import datetime as dt
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import Any

import msgspec
from msgspec import Struct

from jackpot.contract.gaming_day import GamingDay
from jackpot.errors import UserError


class Counters(Struct, frozen=True):
    """As `meters.reported` has them."""

    wagers: int = 0
    wagered_cents: int = 0
    awards: int = 0
    awarded_cents: int = 0

    def plus(self, *, wagers: int = 0, wagered_cents: int = 0, awards: int = 0, awarded_cents: int = 0) -> "Counters":
        return Counters(
            self.wagers + wagers,
            self.wagered_cents + wagered_cents,
            self.awards + awards,
            self.awarded_cents + awarded_cents,
        )


class OpenRound(Struct):
    id: str
    stakes_cents: dict[int, int] = {}
    """By position: the wagers that stand."""
    closed: bool = False
    concluding: str | None = None
    """The conclusion that was said and not answered yet."""


class Book(Struct):
    """What is in the file."""

    round: OpenRound | None = None
    days: dict[str, Counters] = {}
    unreported: set[str] = set()
    unpaid: set[str] = set()
    """Awards that were counted; they are announced again until they are paid."""
    expected: set[tuple[str, int]] = set()
    """Round and position of awards that the link has promised and not announced yet."""


class Tally:
    def __init__(
        self,
        unit_cents: int,
        gaming_day: GamingDay,
        *,
        path: Path | None = None,
        now: Callable[[], dt.datetime] = lambda: dt.datetime.now(dt.UTC),
    ) -> None:
        """Without a `path` it counts in memory alone."""
        self._unit_cents = unit_cents
        self._gaming_day = gaming_day
        self._path = path
        self._now = now
        self._book = Book() if path is None or not path.exists() else _read(path)

    @property
    def round(self) -> str | None:
        """The round that was opened and, as far as the table knows, not concluded."""
        return None if self._book.round is None else self._book.round.id

    @property
    def expects_awards(self) -> bool:
        return bool(self._book.expected)

    def counters(self, day: dt.date) -> Counters:
        return self._book.days.get(day.isoformat(), Counters())

    def unreported(self) -> dict[str, Counters]:
        """The gaming days whose counters have changed since they were reported."""
        return {day: self._book.days[day] for day in sorted(self._book.unreported)}

    def accepted(self, event: Mapping[str, Any]) -> None:
        """The link has accepted this event of the table."""
        book = self._book
        match event["type"], book.round:
            case "round.opened", _:
                book.round = OpenRound(event["round"])
            case "wager.placed", OpenRound(stakes_cents=stakes):
                stakes[event["position"]] = self._unit_cents * event.get("multiplier", 1)
            case "wager.cancelled", OpenRound(stakes_cents=stakes):
                stakes.pop(event["position"], None)
            case "round.closed", OpenRound(stakes_cents=stakes) as round_:
                round_.closed = True
                self._count(wagers=len(stakes), wagered_cents=sum(stakes.values()))
            case "wager.returned", OpenRound(stakes_cents=stakes):
                self._count(wagers=-1, wagered_cents=-stakes.pop(event["position"]))
            case "round.voided", OpenRound(stakes_cents=stakes, closed=closed):
                if closed:
                    self._count(wagers=-len(stakes), wagered_cents=-sum(stakes.values()))
                book.round = None
            case "round.settled", _:
                book.round = None
            case "award.paid", _:
                book.unpaid.discard(event["award"])
            case "meters.reported", _:
                self._reported(event)
        self._save()

    def concluding(self, type_: str) -> None:
        """The table is about to settle or void its round, and may never hear what came of it."""
        if self._book.round is not None and self._book.round.concluding is None:
            self._book.round.concluding = type_
            self._save()

    def already_concluded(self) -> bool:
        """The round was concluded while the table was away. Whether it was settled: what is counted then stays."""
        was = None if self._book.round is None else self._book.round.concluding
        self.accepted({"type": was or "round.voided"})
        return was == "round.settled"

    def expect(self, awards: Iterable[tuple[str, int]]) -> None:
        self._book.expected.update(awards)
        self._save()

    def award(self, award: Mapping[str, Any]) -> None:
        """Count an award once, however often it is announced."""
        self._book.expected.discard((award["round"], award["position"]))
        if award["award"] not in self._book.unpaid:
            self._book.unpaid.add(award["award"])
            self._count(awards=1, awarded_cents=award["amount_cents"])
            self._save()

    def _count(self, **more: int) -> None:
        day = self._gaming_day.day(self._now()).isoformat()
        self._book.days[day] = self._book.days.get(day, Counters()).plus(**more)
        self._book.unreported.add(day)

    def _reported(self, event: Mapping[str, Any]) -> None:
        """A day that is over and reported is not needed any more."""
        day = event["day"]
        if self._book.days.get(day) == Counters(**{name: event[name] for name in Counters.__struct_fields__}):
            self._book.unreported.discard(day)
            if day < self._gaming_day.day(self._now()).isoformat():
                del self._book.days[day]

    def _save(self) -> None:
        if self._path is not None:
            new = self._path.with_suffix(".new")
            new.write_bytes(msgspec.json.encode(self._book))
            new.replace(self._path)


def _read(path: Path) -> Book:
    try:
        return msgspec.json.decode(path.read_bytes(), type=Book)
    except (OSError, msgspec.DecodeError) as error:
        raise UserError(f"the table's counters in {path} cannot be read: {error}") from error
