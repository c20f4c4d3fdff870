"""Reads an award's slip from the ledger, by keys alone."""

from typing import Any

import msgspec
from sqlalchemy import Row, select
from sqlalchemy.exc import NoResultFound
from sqlalchemy.ext.asyncio import AsyncConnection

from jackpot.errors import UserError
from jackpot.finance.slips.data import Base, Move, Said, Slip, SlipHand
from jackpot.ledger.load import award_from, award_number, rfc3339
from jackpot.ledger.schema import awards, entries, events, journals, parameters, payments
from jackpot.link.awards import Award, award_id
from jackpot.link.money import Kind
from jackpot.rules.megalink import GAMES

WINDOW = 50
"""How many of a table's events are read at once: a round seldom has more."""


async def read_slip(connection: AsyncConnection, name: str) -> Slip:
    """`name` is an award's, such as megalink-000123."""
    try:
        return await _read(connection, name)
    except (msgspec.DecodeError, NoResultFound, LookupError, StopIteration) as error:
        raise UserError(f"the ledger's record of award {name} cannot be read; run: jackpot verify") from error


async def _read(connection: AsyncConnection, name: str) -> Slip:
    link = name.rpartition("-")[0]
    number = award_number(link, name) if link else None
    if number is None:
        raise UserError(f"{name!r} is no award; an award is named like megalink-000123")
    found = (await connection.execute(select(awards).where(awards.c.link == link, awards.c.award == number))).first()
    if found is None:
        raise UserError(f"there is no award {name} in the ledger")
    award = award_from(found._mapping)  # noqa: SLF001 the documented way to a row's names
    made = await _event(connection, link, found.n)
    claim = [award] if award.kind == "fixed" else await _claim(connection, award)
    terms = await connection.execute(
        select(parameters.c.parameters).where(
            parameters.c.link == link, parameters.c.version == award.parameters_version
        )
    )
    posted = await connection.execute(
        select(journals.c.journal).where(
            journals.c.link == link, journals.c.n == found.n, journals.c.award == award.number
        )
    )
    in_force = terms.scalar_one()
    game = next(game for game in GAMES.values() if award.rules[0] == game.pay_table)
    return Slip(
        award=dict(award.document()),
        currency=in_force["currency"],
        game=game.name,
        parameters_version=award.parameters_version,
        parameters=in_force,
        hands=tuple(_hand(each) for each in claim),
        base=None if award.kind == "fixed" else await _base(connection, claim[0], found.n),
        working=award.working,
        confirmed=await _confirmed(connection, award, made),
        made=_said(made),
        paid=await _paid(connection, award),
        journal=posted.scalar_one(),
        chain=made.chain.hex(),
    )


def _hand(award: Award) -> SlipHand:
    working = award.working
    return SlipHand(
        position=award.position,
        entry=award.entry,
        multiplier=award.multiplier,
        stake_cents=working["stake_cents"],
        cards=tuple(working["cards"]),
        community=tuple(working["community"]),
    )


async def _claim(connection: AsyncConnection, award: Award) -> list[Award]:
    """All percentage awards of the round, first entered first."""
    rows = await connection.execute(
        select(awards)
        .where(awards.c.table_id == award.table, awards.c.round == award.round, awards.c.kind == "percentage")
        .order_by(awards.c.entry)
    )
    return [award_from(row) for row in rows.mappings()]


async def _base(connection: AsyncConnection, first: Award, made_n: int) -> Base:
    entry = (
        await connection.execute(select(entries).where(entries.c.link == first.link, entries.c.entry == first.entry))
    ).one()
    entered = await _event(connection, first.link, entry.n)
    rows = await connection.execute(
        select(journals)
        .where(
            journals.c.link == first.link,
            journals.c.n > entry.n,
            journals.c.n <= made_n,
            journals.c.kind.in_([Kind.SHARE, Kind.FUNDING, Kind.RESET]),
        )
        .order_by(journals.c.journal)
    )
    moved = []
    for row in rows:
        if (row.table_id, row.round) == (first.table, first.round):
            break  # from here on it is our own round that is paid, and others after it
        award = None if row.award is None else award_id(first.link, row.award)
        moved.append(Move(row.journal, row.kind, award, row.table_id, row.pool))
    return Base(first.entry, rfc3339(entered.at), entry.base_micros, tuple(moved))


async def _confirmed(connection: AsyncConnection, award: Award, made: Row[Any]) -> Said:
    """The table's `round.settled`, or the pit manager who settled the round in its stead."""
    if made.round == award.round and _settles(made, award):
        return _said(made)
    entered = (
        await connection.execute(
            select(entries.c.n).where(entries.c.link == award.link, entries.c.entry == award.entry)
        )
    ).scalar_one()
    entry_event = await _event(connection, award.link, entered)
    by_table = await _settled_by_table(connection, award, entry_event.seq, made)
    if by_table is not None:
        return _said(by_table)
    by_person = select(events).where(
        events.c.table_id.is_(None),
        events.c.at.between(entry_event.at, made.at),
        events.c.link == award.link,
        events.c.round == award.round,
        events.c.type == "round.concluded",
    )
    for row in await connection.execute(by_person.order_by(events.c.n)):
        if _settles(row, award):
            return _said(row)
    raise LookupError(f"nobody settled round {award.round} of table {award.table}")


async def _settled_by_table(connection: AsyncConnection, award: Award, seq: int, made: Row[Any]) -> Row[Any] | None:
    """What the table said after this seq, a window at a time, and not beyond the moment when the award was made."""
    while True:
        window = events.c.seq.between(seq + 1, seq + WINDOW)
        query = select(events).where(events.c.table_id == award.table, window).order_by(events.c.seq)
        said = (await connection.execute(query)).all()
        for row in said:
            if row.at > made.at:
                return None
            if row.round == award.round and _settles(row, award):
                return row
        if len(said) < WINDOW:
            return None
        seq += WINDOW


def _settles(event: Row[Any], award: Award) -> bool:
    if msgspec.json.decode(event.answer)["status"] != "accepted":
        return False
    if event.table_id is not None:
        return bool(event.type == "round.settled" and event.table_id == award.table)
    return bool(event.type == "round.concluded" and msgspec.json.decode(event.payload)["table"] == award.table)


async def _paid(connection: AsyncConnection, award: Award) -> Said | None:
    n = await connection.scalar(
        select(payments.c.n).where(payments.c.link == award.link, payments.c.award == award.number)
    )
    return None if n is None else _said(await _event(connection, award.link, n))


async def _event(connection: AsyncConnection, link: str, n: int) -> Row[Any]:
    return (await connection.execute(select(events).where(events.c.link == link, events.c.n == n))).one()


def _said(event: Row[Any]) -> Said:
    by = reason = None
    if event.table_id is None:
        command = msgspec.json.decode(event.payload)
        by, reason = command["by"], command["reason"]
    return Said(event.n, event.id, event.type, rfc3339(event.at), event.table_id, by, reason)
