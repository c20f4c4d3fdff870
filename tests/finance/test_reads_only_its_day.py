"""A day's report reads that day: no statement scans a table, and a long past adds nothing but a few look-ups."""

import json
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import asyncpg
import pytest
from sqlalchemy import event, text
from sqlalchemy.ext.asyncio import AsyncEngine

from jackpot.finance.reconciliation.read_day import reconcile
from tests.ledger.ledger_driver import SINGAPORE, LedgerDriver, play_every_kind, scribe_at

PAST = 60_000
"""Events before the day, each with a journal and an entry, and an award for every tenth."""

MAKE_A_PAST = """
INSERT INTO events SELECT 'megalink', n, 'old-' || n, 'UTH-01', n, 'hand.entered', 'old-' || n / 10,
    now(), date '2026-11-16' - 1 - ((:past - n) / 1000)::int, '{}', '{"status":"refused"}', ''
    FROM generate_series(1, :past) AS n;
INSERT INTO journals SELECT 'megalink', n, n, 'contribution', 'UTH-01', 'old', null, now(),
    date '2026-11-16' - 1 - ((:past - n) / 1000)::int, '{0,0,0,0,0}', 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0
    FROM generate_series(1, :past) AS n;
INSERT INTO entries SELECT 'megalink', n, n, 'UTH-01', 'old', 1, '{}', '{}', 'none', null,
    date '2026-11-16' - 1 - ((:past - n) / 1000)::int FROM generate_series(1, :past) AS n;
INSERT INTO awards SELECT 'megalink', a, a * 10, 'UTH-01', 'old-' || a, 1, a, 'straight', 'fixed', 0, null, 1, 1,
    '{}', '{}', 1, '{}', now(), date '2026-11-16' - 1 - ((:past - a * 10) / 1000)::int
    FROM generate_series(1, :past / 10) AS a;
INSERT INTO payments SELECT link, award, n, at, day FROM awards;
INSERT INTO meter_reports SELECT 'megalink', n, 'UTH-01', date '2026-11-16' - 1 - ((:past - n) / 1000)::int, 0, 0, 0, 0
    FROM generate_series(1, :past, 10) AS n;
INSERT INTO rounds SELECT 'UTH-01', 'old-' || n, 'megalink', 'settled', n, n, '{}' FROM generate_series(1, :past, 10) AS n;
INSERT INTO links (link, n, journal, entry, award) VALUES ('megalink', :past, :past, :past, :past / 10);
ANALYZE
"""


@contextmanager
def statements_of(engine: AsyncEngine) -> Iterator[list[tuple[str, Any]]]:
    """Everything that is asked of the database meanwhile."""
    asked: list[tuple[str, Any]] = []

    def note(_connection: Any, _cursor: Any, statement: str, parameters: Any, *_: Any) -> None:
        asked.append((statement, parameters))

    event.listen(engine.sync_engine, "before_cursor_execute", note)
    try:
        yield asked
    finally:
        event.remove(engine.sync_engine, "before_cursor_execute", note)


async def plans(engine: AsyncEngine, asked: list[tuple[str, Any]]) -> list[tuple[str, dict[str, Any]]]:
    found = []
    async with engine.connect() as connection:
        for statement, parameters in asked:
            if statement.startswith("SET"):
                await connection.exec_driver_sql(statement)
                continue
            explain = f"EXPLAIN (ANALYZE, FORMAT JSON, TIMING OFF) {statement}"
            document = (await connection.exec_driver_sql(explain, parameters)).scalar_one()
            found.append((statement, (json.loads(document) if isinstance(document, str) else document)[0]["Plan"]))
    return found


def nodes(plan: dict[str, Any]) -> Iterator[dict[str, Any]]:
    yield plan
    for below in plan.get("Plans", ()):
        yield from nodes(below)


def rows_read(plan: dict[str, Any]) -> int:
    """Rows that the scans of tables looked at, those they threw away included."""
    read = 0.0
    for node in nodes(plan):
        if "Relation Name" in node:
            looked_at = node["Actual Rows"] + node.get("Rows Removed by Filter", 0)
            looked_at += node.get("Rows Removed by Index Recheck", 0)
            read += looked_at * node["Actual Loops"]
    return round(read)


@pytest.fixture
async def with_a_past(intruder: asyncpg.Connection) -> None:
    await intruder.execute(MAKE_A_PAST.replace(":past", str(PAST)))


async def play_a_day(scribe: LedgerDriver) -> None:
    play_every_kind(scribe)
    scribe.report_all()
    await scribe.commit()
    scribe.pass_time(days=1)
    play_the_day_after(scribe)
    await scribe.commit()


def play_the_day_after(scribe: LedgerDriver) -> None:
    """The day after must not be read either."""
    for _ in range(200):
        scribe.deal("UTH-02", {1: 1})
        scribe.enter("UTH-02", 1, "2c 3d", "4h 5s 6c")
        scribe.settle("UTH-02")


async def measured(engine: AsyncEngine, url: str) -> tuple[int, list[tuple[str, dict[str, Any]]]]:
    async with scribe_at(url, "UTH-01", "UTH-02", "BE-01", "TCX-01") as scribe:
        day = scribe.day
        await play_a_day(scribe)
    async with engine.connect() as connection:
        await connection.execute(text("ANALYZE"))
        await connection.commit()
    with statements_of(engine) as asked:
        assert (await reconcile(engine, SINGAPORE, day)).balanced
    explained = await plans(engine, asked)
    return sum(rows_read(plan) for _, plan in explained), explained


async def test_a_past_of_60000_events_adds_only_look_ups(
    with_a_past: None, engine: AsyncEngine, ledger_url: str
) -> None:
    read, explained = await measured(engine, ledger_url)
    assert len(explained) > 20
    for statement, plan in explained:
        scanned = {node["Relation Name"] for node in nodes(plan) if node["Node Type"] == "Seq Scan"}
        assert scanned == set(), f"{scanned} in {statement}"
        assert rows_read(plan) < 500, statement
    assert read < 1500
