"""The floor as it stands: links, their tables, and the claims with who waits for whom."""

import datetime as dt
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from sqlalchemy import ARRAY, Text, column, func, literal, select, true
from sqlalchemy.ext.asyncio import AsyncConnection

from jackpot.ledger.schema import events, leases, links, rounds, unpaid
from jackpot.link.rounds import PERCENTAGE, Phase, Round, from_document
from jackpot.link.state import claim_entry, displayed_cents

LINKS_MAX = 100
UNFINISHED_MAX = 2000


@dataclass(frozen=True, slots=True)
class RoundNow:
    id: str
    phase: str
    wagers: int
    hands: int


@dataclass(frozen=True, slots=True)
class EventLine:
    id: str
    seq: int
    type: str
    at: dt.datetime


@dataclass(frozen=True, slots=True)
class TableNow:
    id: str
    link: str
    game: str
    positions: int
    next_seq: int
    last_event: EventLine | None
    round: RoundNow | None
    waiting: list[str]
    """Its settled rounds that wait to be paid (D6)."""


@dataclass(frozen=True, slots=True)
class Claim:
    """A round that holds a standing Royal or Straight Flush not yet paid, in the order of payment (D6)."""

    link: str
    table: str
    round: str
    phase: str
    entry: int
    rank: str
    base_cents: int
    waits_for: list[str]
    """Earlier-entered rounds that are not finished, each as "table round"."""
    holds_up: list[str]
    """Later-entered rounds that are settled and wait for this one."""


@dataclass(frozen=True, slots=True)
class LinkNow:
    link: str
    currency: str
    displayed_cents: int
    reset_cents: int
    n: int
    entry: int
    awards: int
    awards_unpaid: int
    at: dt.datetime
    suspended: str | None
    """Why, or null while the link is in play."""
    parameters_version: int
    parameters_wait: bool
    """Approved parameters wait for the next win."""
    holder: str | None
    """The daemon that writes the link; null while none holds its lease."""
    claims: list[Claim]
    tables: list[TableNow]


async def read_floor(connection: AsyncConnection, link: str | None = None) -> list[LinkNow]:
    """All links, or only this one."""
    which = true() if link is None else links.c.link == link
    rows = (await connection.execute(select(links).where(which).order_by(links.c.link).limit(LINKS_MAX))).all()
    found = await _unfinished(connection, [row.link for row in rows])
    owed = await _unpaid(connection)
    holders = await _holders(connection)
    last = await _last_events(connection, [table["id"] for row in rows for table in row.tables])
    return [_link_now(row, found[row.link], owed, holders, last) for row in rows if row.parameters is not None]


def _link_now(
    row: Any,
    unfinished: list[Round],
    owed: Mapping[str, int],
    holders: Mapping[str, str],
    last: Mapping[str, EventLine],
) -> LinkNow:
    claims = [round_ for round_ in unfinished if claim_entry(round_) is not None]
    claims.sort(key=lambda round_: claim_entry(round_) or 0)
    return LinkNow(
        link=row.link,
        currency=row.parameters["currency"],
        displayed_cents=displayed_cents(claims, row.pool),
        reset_cents=row.parameters["reset_cents"],
        n=row.n,
        entry=row.entry,
        awards=row.award,
        awards_unpaid=owed.get(row.link, 0),
        at=row.at,
        suspended=row.suspended,
        parameters_version=row.parameters_version,
        parameters_wait=row.parameters_next is not None,
        holder=holders.get(row.link),
        claims=_who_waits_for_whom(row.link, claims),
        tables=[_table_now(row.link, table, unfinished, last.get(table["id"])) for table in row.tables],
    )


def _who_waits_for_whom(link: str, claims: list[Round]) -> list[Claim]:
    found = []
    for place, round_ in enumerate(claims):
        finished = round_.phase is Phase.WAITING
        ranks = {hand.rank for hand in round_.hands.values()} & PERCENTAGE
        found.append(
            Claim(
                link=link,
                table=round_.table,
                round=round_.id,
                phase=round_.phase.value,
                entry=claim_entry(round_) or 0,
                rank=min(ranks).value,  # royal_flush comes before straight_flush
                base_cents=round_.base_cents,
                waits_for=_names(r for r in claims[:place] if r.phase is not Phase.WAITING),
                holds_up=[] if finished else _names(r for r in claims[place + 1 :] if r.phase is Phase.WAITING),
            )
        )
    return found


def _names(found: Iterable[Round]) -> list[str]:
    return [f"{round_.table} {round_.id}" for round_ in found]


def _table_now(link: str, table: Mapping[str, Any], unfinished: list[Round], last: EventLine | None) -> TableNow:
    own = [round_ for round_ in unfinished if round_.table == table["id"]]
    current = next((round_ for round_ in own if not round_.phase.concluded), None)
    return TableNow(
        id=table["id"],
        link=link,
        game=table["game"],
        positions=table["positions"],
        next_seq=1 if last is None else last.seq + 1,
        last_event=last,
        round=None
        if current is None
        else RoundNow(current.id, current.phase.value, len(current.standing_wagers()), len(current.hands)),
        waiting=[round_.id for round_ in own if round_.phase is Phase.WAITING],
    )


async def _unfinished(connection: AsyncConnection, names: list[str]) -> dict[str, list[Round]]:
    query = select(rounds.c.link, rounds.c.table_id, rounds.c.round, rounds.c.phase, rounds.c.document)
    # The phases stand in the query as they stand in the partial index, or it would not be used.
    phases = rounds.c.phase.in_([literal(p, literal_execute=True) for p in ("open", "closed", "waiting")])
    rows = await connection.execute(query.where(rounds.c.link.in_(names), phases).limit(UNFINISHED_MAX))
    found: dict[str, list[Round]] = {name: [] for name in names}
    for row in rows:
        found[row.link].append(from_document(row.table_id, row.round, row.phase, row.document))
    return found


async def _unpaid(connection: AsyncConnection) -> dict[str, int]:
    rows = await connection.execute(select(unpaid.c.link, func.count()).group_by(unpaid.c.link))
    return dict(rows.all())


async def _holders(connection: AsyncConnection) -> dict[str, str]:
    rows = await connection.execute(
        select(leases.c.link, leases.c.holder).where(leases.c.expires_at > func.now()).limit(LINKS_MAX)
    )
    return dict(rows.all())


async def _last_events(connection: AsyncConnection, tables: list[str]) -> dict[str, EventLine]:
    """One look-up in the index a table, however long its history."""
    asked = func.unnest(literal(tables, ARRAY(Text))).table_valued(column("id", Text), name="asked").render_derived()
    newest = (
        select(events.c.table_id, events.c.id.label("event"), events.c.seq, events.c.type, events.c.at)
        .where(events.c.table_id == asked.c.id)
        .order_by(events.c.seq.desc())
        .limit(1)
        .lateral("newest")
    )
    rows = await connection.execute(select(newest).select_from(asked).join(newest, true()))
    return {row.table_id: EventLine(row.event, row.seq, row.type, row.at) for row in rows}
