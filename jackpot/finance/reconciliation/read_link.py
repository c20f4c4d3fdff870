"""One link's part of a gaming day, as the ledger has it."""

import datetime as dt
from collections import defaultdict
from collections.abc import Sequence
from typing import Any

import msgspec
from sqlalchemy import Row, func, select, text
from sqlalchemy.ext.asyncio import AsyncConnection

from jackpot.finance.reconciliation.checks import check_balances, check_rows, differences
from jackpot.finance.reconciliation.data import (
    Adjustment,
    Awards,
    Funding,
    LinkDay,
    Movement,
    NewParameters,
    Numbers,
    Unpaid,
    Wagers,
)
from jackpot.finance.reconciliation.day_head import read_head
from jackpot.finance.reconciliation.displayed import DayEnd, displayed_at
from jackpot.finance.reconciliation.sequences import SERIES, numbers_of
from jackpot.ledger.schema import ACCOUNTS, awards, events, journals, parameters, payments, unpaid
from jackpot.link.awards import award_id
from jackpot.link.commands import BalanceAdjusted
from jackpot.link.money import Balances, Kind, whole_cents
from jackpot.rules.megalink import Rank

_SUMS = ", ".join(f"sum({name})::bigint AS {name}" for name in ACCOUNTS)
_MULTIPLIERS = ", ".join(f"sum(wagers[{multiplier}])::bigint AS x{multiplier}" for multiplier in range(1, 6))
_MOVEMENTS = text(
    f"SELECT kind, table_id, count(*) AS journals, {_SUMS}, {_MULTIPLIERS} FROM journals "  # noqa: S608 our own names
    "WHERE link = :link AND day = :day GROUP BY kind, table_id ORDER BY kind, table_id"
)


async def read_link(connection: AsyncConnection, head: Row[Any], day: dt.date) -> LinkDay:
    """`head` is the link's row in `links`."""
    link: str = head.link
    where = {"link": link, "day": day}
    numbers, problems = await _numbers(connection, head, day)
    opening = await _balances_at(connection, link, numbers["journals"].first - 1)
    closing = await _balances_at(connection, link, numbers["journals"].last)
    rows = (await connection.execute(_MOVEMENTS, where)).all()
    movements = _movements(rows)
    problems += check_balances(opening, movements, closing)
    problems += await check_rows(connection, where, opening)
    if numbers["journals"].last == head.journal:
        there = Balances(*(getattr(head, name) for name in ACCOUNTS))
        problems += differences("the link is not where its journals end", there, closing)
    wagers = _wagers(rows)
    tables = {table["id"] for table in head.tables} | {table.table for table in wagers}
    end = DayEnd(link, day, numbers["events"].last, closing.pool)
    displayed = await displayed_at(connection, end, tables)
    paid = await _paid(connection, link, day)
    return LinkDay(
        link=link,
        currency=(head.parameters or {}).get("currency", ""),
        opening=opening,
        closing=closing,
        displayed_cents=displayed.cents,
        held_by=displayed.held_by,
        movements=movements,
        wagers=wagers,
        awards=await _awards(connection, link, day),
        payments=paid.payments,
        paid_cents=int(paid.cents),
        fundings=await _fundings(connection, link, day),
        adjustments=await _adjustments(connection, link, day),
        parameters=await _parameters(connection, link, numbers["events"]),
        unpaid=await _unpaid(connection, link, numbers["awards"].last),
        numbers=numbers,
        head=await read_head(connection, link, numbers["events"].last),
        problems=tuple(problems),
    )


async def _numbers(connection: AsyncConnection, head: Row[Any], day: dt.date) -> tuple[dict[str, Numbers], list[str]]:
    heads = {"events": head.n, "journals": head.journal, "entries": head.entry, "awards": head.award}
    numbers, problems = {}, []
    for series in SERIES:
        numbers[series.table], found = await numbers_of(connection, series, head.link, day, heads[series.table])
        problems += found
    return numbers, problems


async def _balances_at(connection: AsyncConnection, link: str, journal: int) -> Balances:
    """The balances after this journal or, if it is missing, after the last before it."""
    after = [journals.c[f"{name}_after"] for name in ACCOUNTS]
    found = await connection.execute(
        select(*after)
        .where(journals.c.link == link, journals.c.journal <= journal)
        .order_by(journals.c.journal.desc())
        .limit(1)
    )
    row = found.first()
    return Balances() if row is None else Balances(*row)


def _movements(rows: Sequence[Row[Any]]) -> tuple[Movement, ...]:
    counts: dict[str, int] = defaultdict(int)
    sums: dict[str, list[int]] = defaultdict(lambda: [0] * len(ACCOUNTS))
    for row in rows:
        counts[row.kind] += row.journals
        sums[row.kind] = [total + getattr(row, name) for total, name in zip(sums[row.kind], ACCOUNTS, strict=True)]
    return tuple(Movement(kind, counts[kind], Balances(*sums[kind])) for kind in Kind if kind in counts)


def _wagers(rows: Sequence[Row[Any]]) -> tuple[Wagers, ...]:
    found: dict[str, dict[str, Row[Any]]] = defaultdict(dict)
    for row in rows:
        if row.kind in (Kind.CONTRIBUTION, Kind.RETURN):
            found[row.table_id][row.kind] = row
    return tuple(
        Wagers(table, *_counted(kinds.get(Kind.CONTRIBUTION), 1), *_counted(kinds.get(Kind.RETURN), -1))
        for table, kinds in sorted(found.items())
    )


def _counted(row: Row[Any] | None, sign: int) -> tuple[tuple[int, ...], int]:
    if row is None:
        return (0,) * 5, 0
    return tuple(sign * count for count in (row.x1, row.x2, row.x3, row.x4, row.x5)), whole_cents(sign * row.wagered)


async def _awards(connection: AsyncConnection, link: str, day: dt.date) -> tuple[Awards, ...]:
    cents = func.sum(awards.c.amount_cents)
    rows = await connection.execute(
        select(awards.c.table_id, awards.c.rank, awards.c.kind, func.count().label("awards"), cents.label("cents"))
        .where(awards.c.link == link, awards.c.day == day)
        .group_by(awards.c.table_id, awards.c.rank, awards.c.kind)
        .order_by(awards.c.table_id, awards.c.rank)
    )
    return tuple(Awards(row.table_id, Rank(row.rank), row.kind, row.awards, int(row.cents)) for row in rows)


async def _paid(connection: AsyncConnection, link: str, day: dt.date) -> Row[Any]:
    cents = func.coalesce(func.sum(awards.c.amount_cents), 0)
    found = await connection.execute(
        select(func.count().label("payments"), cents.label("cents"))
        .select_from(payments.join(awards, (awards.c.link == payments.c.link) & (awards.c.award == payments.c.award)))
        .where(payments.c.link == link, payments.c.day == day)
    )
    return found.one()


async def _fundings(connection: AsyncConnection, link: str, day: dt.date) -> tuple[Funding, ...]:
    rows = await connection.execute(
        select(journals)
        .where(
            journals.c.link == link,
            journals.c.day == day,
            journals.c.kind.in_([Kind.OPENING, Kind.RESET, Kind.FUNDING]),
        )
        .order_by(journals.c.journal)
    )
    return tuple(
        Funding(row.journal, Kind(row.kind), row.at, row.table_id, row.round, -row.reserve, -row.house) for row in rows
    )


async def _adjustments(connection: AsyncConnection, link: str, day: dt.date) -> tuple[Adjustment, ...]:
    rows = await connection.execute(
        select(journals.c.journal, journals.c.at, journals.c.pool, journals.c.reserve, events.c.payload)
        .join(events, (events.c.link == journals.c.link) & (events.c.n == journals.c.n))
        .where(journals.c.link == link, journals.c.day == day, journals.c.kind == Kind.ADJUSTMENT)
        .order_by(journals.c.journal)
    )
    found = []
    for row in rows:
        account, amount = ("reserve", row.reserve) if row.reserve else ("pool", row.pool)
        try:
            command = msgspec.json.decode(row.payload, type=BalanceAdjusted)
            by = (command.by, command.approved_by, command.reason)
        except msgspec.DecodeError:  # somebody has changed it: `jackpot verify` says so
            by = ("?", "?", "?")
        found.append(Adjustment(row.journal, row.at, account, amount, *by))
    return tuple(found)


async def _parameters(connection: AsyncConnection, link: str, numbers: Numbers) -> tuple[NewParameters, ...]:
    """Those that came into force on this day. There is a handful of versions in a link's life."""
    rows = await connection.execute(
        select(parameters)
        .where(parameters.c.link == link, parameters.c.n.between(numbers.first, numbers.last))
        .order_by(parameters.c.version)
    )
    return tuple(NewParameters(row.version, row.at, row.parameters) for row in rows)


async def _unpaid(connection: AsyncConnection, link: str, last_award: int) -> tuple[Unpaid, ...]:
    rows = await connection.execute(
        select(awards)
        .join(unpaid, (unpaid.c.link == awards.c.link) & (unpaid.c.award == awards.c.award))
        .where(unpaid.c.link == link, unpaid.c.award <= last_award)
        .order_by(unpaid.c.award)
    )
    return tuple(
        Unpaid(
            award_id(link, row.award), row.table_id, row.round, row.position, Rank(row.rank), row.amount_cents, row.at
        )
        for row in rows
    )
