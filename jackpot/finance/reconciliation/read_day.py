"""Reads one gaming day of the ledger: that day's rows by their indexes, and of the past only where it ended.

All of it in one read-only snapshot with a time limit: a long snapshot would slow the writer down.
"""

import asyncio
import datetime as dt
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import replace

import msgspec
from sqlalchemy import Row, select, text
from sqlalchemy.ext.asyncio import AsyncConnection, AsyncEngine

from jackpot.contract.gaming_day import GamingDay
from jackpot.finance.reconciliation.data import Counters, LinkDay, Reconciliation, TableDay
from jackpot.finance.reconciliation.day_head import Finder, signed
from jackpot.finance.reconciliation.read_link import read_link
from jackpot.ledger.schema import links

TIME_LIMIT_S = 60

_SETTINGS = {
    "statement_timeout": f"{TIME_LIMIT_S}s",
    # A day is few rows of long tables: always by their keys, whatever the planner believes of the lengths.
    "enable_seqscan": "off",
    "enable_hashjoin": "off",
    "enable_mergejoin": "off",
    "max_parallel_workers_per_gather": "0",
}

_REPORTS = text(
    "SELECT reports.* FROM meter_reports AS reports JOIN events ON events.link = reports.link AND events.n = reports.n "
    "WHERE reports.day = :day ORDER BY events.seq"
)
"""A table counts its seq on, whatever link it is on: its last report has the highest."""

_SKEW_SAMPLE = 20
_LATEST_EVENTS = text(
    "SELECT latest.table_id, events.at, events.payload FROM ("
    "SELECT table_id, n, row_number() OVER (PARTITION BY table_id ORDER BY journal DESC) AS nth "
    "FROM journals WHERE link = :link AND day = :day AND kind = 'contribution') AS latest "
    "JOIN events ON events.link = :link AND events.n = latest.n WHERE nth <= :sample"
)


async def reconcile(
    engine: AsyncEngine, gaming_day: GamingDay, day: dt.date, find_head: Finder | None = None
) -> Reconciliation:
    """The books of `day`, of all links in the ledger; with the signatures of their heads, if somebody finds them."""
    async with asyncio.timeout(TIME_LIMIT_S), engine.connect() as connection:
        snapshot = await connection.execution_options(isolation_level="REPEATABLE READ", postgresql_readonly=True)
        for name, value in _SETTINGS.items():
            await snapshot.execute(text(f"SET LOCAL {name} = '{value}'"))
        read_at = await snapshot.scalar(text("SELECT now()"))
        heads = (await snapshot.execute(select(links).where(links.c.n > 0).order_by(links.c.link))).all()
        link_days = [await read_link(snapshot, head, day) for head in heads]
        tables = await _tables(snapshot, heads, link_days, day)
    return Reconciliation(
        day,
        gaming_day.start(day).astimezone(gaming_day.timezone),
        gaming_day.end(day).astimezone(gaming_day.timezone),
        read_at,
        tuple([replace(one, head=await signed(one.head, one.link, find_head)) for one in link_days]),
        tuple(tables),
        tuple(_notes(gaming_day, day, read_at, tables)),
    )


async def _tables(
    connection: AsyncConnection, heads: Sequence[Row[tuple[object, ...]]], link_days: list[LinkDay], day: dt.date
) -> list[TableDay]:
    ours: dict[str, Counters] = defaultdict(Counters)
    played = set()
    for link_day in link_days:
        for wagers in link_day.wagers:
            count = sum(wagers.taken) - sum(wagers.returned)
            ours[wagers.table] += Counters(count, wagers.taken_cents - wagers.returned_cents)
            played.add(wagers.table)
        for awards in link_day.awards:
            ours[awards.table] += Counters(0, 0, awards.awards, awards.amount_cents)
            played.add(awards.table)
    known = {table["id"] for head in heads for table in head.tables}
    reported = {
        row.table_id: Counters(row.wagers, row.wagered_cents, row.awards, row.awarded_cents)
        for row in await connection.execute(_REPORTS, {"day": day})
    }
    skews = {
        table: skew
        for link_day in link_days
        for table, skew in (await _clock_skews(connection, link_day.link, day)).items()
    }
    return [
        TableDay(table, ours[table], reported.get(table), table in played, skews.get(table))
        for table in sorted(known | played | reported.keys())
    ]


async def _clock_skews(connection: AsyncConnection, link: str, day: dt.date) -> dict[str, float]:
    """By how much each table's clock is ahead. An event may have waited on its way, so the freshest one counts."""
    values = {"link": link, "day": day, "sample": _SKEW_SAMPLE}
    freshest: dict[str, float] = {}
    for row in await connection.execute(_LATEST_EVENTS, values):
        try:
            said = dt.datetime.fromisoformat(msgspec.json.decode(row.payload)["at"])
        except (msgspec.DecodeError, ValueError, KeyError, TypeError):
            continue  # somebody has changed it: `jackpot verify` says so
        ahead = round((said - row.at).total_seconds(), 3)
        if abs(ahead) < abs(freshest.get(row.table_id, float("inf"))):
            freshest[row.table_id] = ahead
    return freshest


def _notes(gaming_day: GamingDay, day: dt.date, read_at: dt.datetime, tables: list[TableDay]) -> list[str]:
    notes = []
    if read_at < gaming_day.end(day):
        notes.append(f"The gaming day ends at {gaming_day.end(day).astimezone(gaming_day.timezone):%Y-%m-%d %H:%M %Z}.")
    notes += [
        f"Clock skew: table {table.table} is {abs(table.clock_skew_s):.0f} seconds "
        f"{'ahead of' if table.clock_skew_s > 0 else 'behind'} the controller."
        for table in tables
        if table.clock_skew_s is not None and table.clock_is_off
    ]
    return notes
