"""What the sign showed when a day ended: the pool, or the base of the first claim that stood then (D2, D5).

The first claim is always that of a round not yet settled: if it were settled nothing would hold it up, and it would
be paid (D6). So it is enough to look at the last round of each table, as that table's own events tell it.
"""

import datetime as dt
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import msgspec
from sqlalchemy import Row, func, select
from sqlalchemy.ext.asyncio import AsyncConnection

from jackpot.finance.reconciliation.sequences import TABLE_EVENTS, start_of
from jackpot.ledger.schema import entries, events, journals, rounds
from jackpot.link.money import Kind, whole_cents
from jackpot.link.rounds import PERCENTAGE, Phase


@dataclass(frozen=True, slots=True)
class DayEnd:
    link: str
    day: dt.date
    n: int
    """The link's last event of the day."""
    pool_micros: int


@dataclass(frozen=True, slots=True)
class Displayed:
    cents: int
    held_by: str | None = None
    """Table and round of the claim that holds it."""


async def displayed_at(connection: AsyncConnection, end: DayEnd, tables: Iterable[str]) -> Displayed:
    """`tables` are those that may have had a round on the link."""
    standing = [hand for table in sorted(tables) for hand in await _percentage_hands(connection, end, table)]
    if not standing:
        return Displayed(whole_cents(end.pool_micros))
    found = await connection.execute(
        select(entries).where(entries.c.link == end.link, entries.c.entry == min(standing))
    )
    first = found.one()
    # D5: what earlier-entered rounds were paid since has moved its base, and none but those were paid.
    moved = await connection.scalar(
        select(func.coalesce(func.sum(journals.c.pool), 0)).where(
            journals.c.link == end.link,
            journals.c.n > first.n,
            journals.c.n <= end.n,
            journals.c.kind.in_([Kind.SHARE, Kind.FUNDING, Kind.RESET]),
        )
    )
    return Displayed(whole_cents(first.base_micros + int(moved or 0)), f"{first.table_id} {first.round}")


WINDOW = 100
"""How many of a table's events are read at once, going back: a round seldom has more."""


class _Said(msgspec.Struct, frozen=True):
    position: int | None = None


class _Result(msgspec.Struct, frozen=True):
    rank: str = ""
    entry: int = 0


class _Answered(msgspec.Struct, frozen=True):
    status: str
    result: _Result = _Result()


async def _percentage_hands(connection: AsyncConnection, end: DayEnd, table: str) -> list[int]:
    """Entry numbers of the percentage hands that stood in the table's round, if that was not settled or void yet."""
    last_seq = await connection.scalar(select(func.max(events.c.seq)).where(events.c.table_id == table))
    if last_seq is None:
        return []
    before = await start_of(connection, TABLE_EVENTS, table, end.day + dt.timedelta(days=1), last_seq)
    opened, said = await _last_round(connection, table, before)
    if opened is None or opened.link != end.link:
        return []
    found = await connection.execute(
        select(rounds.c.n, rounds.c.phase).where(rounds.c.table_id == table, rounds.c.round == opened.round)
    )
    stands = found.first()
    if stands is None or (stands.n <= end.n and stands.phase not in (Phase.OPEN, Phase.CLOSED)):
        return []
    return _standing([event for event in said if event.round == opened.round])


async def _last_round(connection: AsyncConnection, table: str, before: int) -> tuple[Row[Any] | None, list[Row[Any]]]:
    """The table's last accepted `round.opened` before this seq, and all that it said after it, in order."""
    said: list[Row[Any]] = []
    while before > 1:
        rows = await connection.execute(
            select(events)
            .where(events.c.table_id == table, events.c.seq < before, events.c.seq >= before - WINDOW)
            .order_by(events.c.seq.desc())
        )
        for event in rows:
            if event.type == "round.opened" and _accepted(event) is not None:
                return event, said[::-1]
            said.append(event)
        before -= WINDOW
    return None, []


def _accepted(event: Row[Any]) -> _Result | None:
    """What came of an event; None if it was refused."""
    try:
        answered = msgspec.json.decode(event.answer, type=_Answered)
    except msgspec.DecodeError:
        return None  # somebody has changed it: `jackpot verify` says so
    return answered.result if answered.status == "accepted" else None


def _standing(said: list[Row[Any]]) -> list[int]:
    """Entry numbers of the percentage hands that stand after these events of one round."""
    hands: dict[int | None, int] = {}
    for event in said:
        result = _accepted(event)
        if result is None:
            continue
        try:
            position = msgspec.json.decode(event.payload, type=_Said).position
        except msgspec.DecodeError:
            continue
        match event.type:
            case "hand.entered" if result.rank in PERCENTAGE:
                hands[position] = result.entry
            case "hand.withdrawn" | "wager.returned":
                hands.pop(position, None)
            case "round.settled" | "round.voided":
                return []
            case _:
                pass
    return list(hands.values())
