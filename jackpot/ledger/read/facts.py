"""Facts one by one: rounds, events, journals and awards, each with what leads on from it."""

import datetime as dt
import json
from dataclasses import dataclass
from typing import Any

from sqlalchemy import Row, Select, select, tuple_
from sqlalchemy.ext.asyncio import AsyncConnection

from jackpot.ledger.load import award_number
from jackpot.ledger.read import PAGE_ROWS
from jackpot.ledger.schema import ACCOUNTS, awards, events, journals, links, payments, rounds
from jackpot.link.awards import award_id

ROUND_EVENTS_MAX = 400
JOURNALS_OF_EVENT_MAX = 200


@dataclass(frozen=True, slots=True)
class EventFact:
    id: str
    link: str
    n: int
    table: str | None
    """Null for a command of a person or of the controller."""
    seq: int | None
    type: str
    round: str | None
    at: dt.datetime
    day: dt.date
    payload: str
    answer: dict[str, Any]
    chain: str
    replied: bool
    """The answer has reached the broker."""

    @property
    def said(self) -> dict[str, Any]:
        """What was sent, as far as it is JSON; a recorded event always is."""
        found: dict[str, Any] = json.loads(self.payload)
        return found


@dataclass(frozen=True, slots=True)
class JournalFact:
    link: str
    journal: int
    n: int
    kind: str
    table: str | None
    round: str | None
    award: str | None
    at: dt.datetime
    day: dt.date
    wagers: list[int]
    postings_micros: dict[str, int]
    after_micros: dict[str, int]


@dataclass(frozen=True, slots=True)
class AwardFact:
    award: str
    link: str
    n: int
    table: str
    round: str
    position: int
    entry: int
    rank: str
    kind: str
    amount_cents: int
    base_cents: int | None
    shared_by: int
    multiplier: int
    rules: list[str]
    decisions: list[str]
    parameters_version: int
    working: dict[str, Any]
    at: dt.datetime
    day: dt.date
    paid_at: dt.datetime | None
    currency: str


@dataclass(frozen=True, slots=True)
class RoundFact:
    table: str
    round: str
    link: str
    phase: str
    positions: list[dict[str, Any]]
    increment_bp: int
    reserve_bp: int
    events: list[EventFact]
    journals: list[JournalFact]
    awards: list[AwardFact]


async def read_event(connection: AsyncConnection, id_: str) -> EventFact | None:
    row = (await connection.execute(_events().where(events.c.id == id_))).first()
    return None if row is None else _event(row)


async def read_event_number(connection: AsyncConnection, link: str, n: int) -> EventFact | None:
    row = (await connection.execute(_events().where(events.c.link == link, events.c.n == n))).first()
    return None if row is None else _event(row)


async def read_commands(connection: AsyncConnection, before: EventFact | None = None) -> list[EventFact]:
    """A page of what people and the controller did to the links, newest first."""
    query = _events().where(events.c.table_id.is_(None))
    order = (events.c.at, events.c.link, events.c.n)
    if before is not None:
        query = query.where(tuple_(*order) < (before.at, before.link, before.n))
    newest_first = (column.desc() for column in order)
    return [_event(row) for row in await connection.execute(query.order_by(*newest_first).limit(PAGE_ROWS))]


async def read_journals_of(connection: AsyncConnection, link: str, ns: list[int]) -> list[JournalFact]:
    query = _journals().where(journals.c.link == link, journals.c.n.in_(ns)).order_by(journals.c.journal)
    return [_journal(row) for row in await connection.execute(query.limit(JOURNALS_OF_EVENT_MAX))]


async def read_journals(
    connection: AsyncConnection, link: str, *, day: dt.date | None = None, before: int | None = None
) -> list[JournalFact]:
    """A page, newest first."""
    query = _journals().where(journals.c.link == link)
    if day is not None:
        query = query.where(journals.c.day == day)
    if before is not None:
        query = query.where(journals.c.journal < before)
    return [
        _journal(row) for row in await connection.execute(query.order_by(journals.c.journal.desc()).limit(PAGE_ROWS))
    ]


async def read_awards(connection: AsyncConnection, link: str, *, before: int | None = None) -> list[AwardFact]:
    """A page, newest first."""
    query = _awards().where(awards.c.link == link)
    if before is not None:
        query = query.where(awards.c.award < before)
    return [_award(row) for row in await connection.execute(query.order_by(awards.c.award.desc()).limit(PAGE_ROWS))]


async def read_award(connection: AsyncConnection, id_: str) -> AwardFact | None:
    link = id_.rpartition("-")[0]
    number = award_number(link, id_)
    if number is None:
        return None
    row = (await connection.execute(_awards().where(awards.c.link == link, awards.c.award == number))).first()
    return None if row is None else _award(row)


async def read_round(connection: AsyncConnection, table: str, id_: str) -> RoundFact | None:
    row = (await connection.execute(select(rounds).where(rounds.c.table_id == table, rounds.c.round == id_))).first()
    if row is None:
        return None
    made = await connection.execute(
        _awards().where(awards.c.table_id == table, awards.c.round == id_).order_by(awards.c.award)
    )
    own_awards = [_award(found) for found in made]
    own_events = await _events_of_round(connection, row)
    caused_by = {event.n for event in own_events} | {award.n for award in own_awards}
    return RoundFact(
        table=table,
        round=id_,
        link=row.link,
        phase=row.phase,
        positions=_positions(row.document),
        increment_bp=row.document["rates"][0],
        reserve_bp=row.document["rates"][1],
        events=own_events,
        journals=[
            journal
            for journal in await read_journals_of(connection, row.link, sorted(caused_by))
            if (journal.table, journal.round) == (table, id_)
        ],
        awards=own_awards,
    )


async def _events_of_round(connection: AsyncConnection, round_: Row[Any]) -> list[EventFact]:
    """A table says all about a round in one run of its own sequence, so that index finds it.

    What comes from elsewhere is asked for by number: the command that ended it, and the payments of its awards.
    """
    of_link = events.c.link == round_.link
    first = (await connection.execute(select(events.c.seq).where(of_link, events.c.n == round_.opened_n))).scalar()
    if first is None:
        return []
    run = events.c.seq.between(first, first + ROUND_EVENTS_MAX)
    said = await connection.execute(
        _events()
        .where(events.c.table_id == round_.table_id, run, events.c.round == round_.round)
        .order_by(events.c.seq)
    )
    found = {row.n: _event(row) for row in said}
    paid = (
        select(payments.c.n)
        .join(awards, (awards.c.link == payments.c.link) & (awards.c.award == payments.c.award))
        .where(awards.c.table_id == round_.table_id, awards.c.round == round_.round)
    )
    others = await connection.execute(
        _events().where(of_link, events.c.n.in_([round_.n, *(await connection.execute(paid)).scalars()]))
    )
    found |= {row.n: _event(row) for row in others}
    return [found[n] for n in sorted(found)]


def _positions(document: dict[str, Any]) -> list[dict[str, Any]]:
    hands = {hand[0]: hand for hand in document["hands"]}
    found = []
    for position, multiplier, stake_cents, returned in sorted(document["wagers"]):
        hand = hands.get(position)
        found.append(
            {
                "position": position,
                "multiplier": multiplier,
                "stake_cents": stake_cents,
                "returned": returned,
                "declined": position in document["declined"],
                "hand": None if hand is None else dict(zip(_HAND_FIELDS, hand[1:], strict=True)),
            }
        )
    return found


_HAND_FIELDS = ("entry", "cards", "community", "rank", "base_micros")


def _events() -> Select[Any]:
    return select(events, (links.c.sent >= events.c.n).label("replied")).join(links, links.c.link == events.c.link)


def _journals() -> Select[Any]:
    return select(journals)


def _awards() -> Select[Any]:
    paid = (payments.c.link == awards.c.link) & (payments.c.award == awards.c.award)
    return (
        select(awards, payments.c.at.label("paid_at"), links.c.parameters["currency"].astext.label("currency"))
        .join(links, links.c.link == awards.c.link)
        .outerjoin(payments, paid)
    )


def _event(row: Row[Any]) -> EventFact:
    return EventFact(
        id=row.id,
        link=row.link,
        n=row.n,
        table=row.table_id,
        seq=row.seq,
        type=row.type,
        round=row.round,
        at=row.at,
        day=row.day,
        payload=row.payload.decode("utf-8", "backslashreplace"),
        answer=json.loads(row.answer),
        chain=row.chain.hex(),
        replied=row.replied,
    )


def _journal(row: Row[Any]) -> JournalFact:
    amounts = row._mapping  # noqa: SLF001 SQLAlchemy's public name for a row as a mapping
    return JournalFact(
        link=row.link,
        journal=row.journal,
        n=row.n,
        kind=row.kind,
        table=row.table_id,
        round=row.round,
        award=None if row.award is None else award_id(row.link, row.award),
        at=row.at,
        day=row.day,
        wagers=row.wagers,
        postings_micros={name: amounts[name] for name in ACCOUNTS},
        after_micros={name: amounts[f"{name}_after"] for name in ACCOUNTS},
    )


def _award(row: Row[Any]) -> AwardFact:
    return AwardFact(
        award=award_id(row.link, row.award),
        link=row.link,
        n=row.n,
        table=row.table_id,
        round=row.round,
        position=row.position,
        entry=row.entry,
        rank=row.rank,
        kind=row.kind,
        amount_cents=row.amount_cents,
        base_cents=row.base_cents,
        shared_by=row.shared_by,
        multiplier=row.multiplier,
        rules=row.rules,
        decisions=row.decisions,
        parameters_version=row.parameters_version,
        working=row.working,
        at=row.at,
        day=row.day,
        paid_at=row.paid_at,
        currency=row.currency,
    )
