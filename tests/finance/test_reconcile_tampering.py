"""What keeps a day's books from closing because somebody changed the ledger is named."""

import datetime as dt
from collections.abc import AsyncIterator

import asyncpg
import pytest
from sqlalchemy.ext.asyncio import AsyncEngine

from jackpot.finance.reconciliation.read_day import reconcile
from tests.ledger.ledger_driver import SINGAPORE
from tests.servers import PostgresProgram

DAY = dt.date(2026, 11, 16)


@pytest.fixture
async def ledger_url(postgres: PostgresProgram, played_template: str) -> AsyncIterator[str]:
    """In this file every ledger is one in which everything has happened once."""
    async with postgres.database(played_template) as url:
        yield url


TAMPERINGS = {
    "a tampered posting": (
        "UPDATE journals SET pool = pool + 10000, house = house - 10000 WHERE journal = 3",
        (
            "link megalink: journal 3 (contribution, event 10): pool was 100000000000 micros, 10010000 were posted, and "
            "100010000000 is what it says after"
        ),
    ),
    "a posting that does not balance": (
        "UPDATE journals SET pool = pool + 1 WHERE journal = 3",
        "link megalink: journal 3 (contribution, event 10) does not balance",
    ),
    "a missing journal": ("DELETE FROM journals WHERE journal = 5", "link megalink: journals: journal 5 is missing"),
    "a missing last journal": (
        "DELETE FROM journals WHERE journal = 19",
        "link megalink: journals: journal 19 is missing",
    ),
    "missing journals": (
        "DELETE FROM journals WHERE journal BETWEEN 5 AND 7",
        "link megalink: journals: journal 5 to 7 are missing",
    ),
    "a missing event": ("DELETE FROM events WHERE n = 12", "link megalink: events: n 12 is missing"),
    "a missing entry": ("DELETE FROM entries WHERE entry = 2", "link megalink: entries: entry 2 is missing"),
    "all entries missing": ("DELETE FROM entries", "link megalink: entries: entry 1 to 6 are missing"),
    "a missing award": (
        "DELETE FROM awards WHERE award = 4",
        "link megalink: award megalink-000004 has a journal of 95009560000 micros on this day, but is no award of it",
    ),
    "another amount on an award": (
        "UPDATE awards SET amount_cents = amount_cents + 1 WHERE award = 4",
        "link megalink: award megalink-000004 is 9500957 cents, its journal 95009560000 micros",
    ),
    "an award moved to another day": (
        "UPDATE awards SET day = day + 1 WHERE award = 5",
        "link megalink: award megalink-000005 has a journal of 95009560000 micros on this day, but is no award of it",
    ),
    "an award neither paid nor unpaid": (
        "DELETE FROM unpaid WHERE award = 5",
        "link megalink: award megalink-000005 is not paid, yet not listed as unpaid",
    ),
    "a paid award still unpaid": (
        "INSERT INTO unpaid VALUES ('megalink', 1)",
        "link megalink: award megalink-000001 is paid, yet listed as unpaid",
    ),
    "a journal moved to another day": (
        "UPDATE journals SET day = day - 1 WHERE journal = 5",
        "link megalink: journals: 18 rows lie on this day, but",
    ),
    "a balance of the link": (
        "UPDATE links SET pool = pool + 1, house = house - 1",
        "link megalink: the link is not where its journals end: pool is 100004060001 micros, not 100004060000",
    ),
    "an event too many": (
        (
            "INSERT INTO events SELECT link, 999, 'x', null, null, type, round, at, day, payload, answer, chain "
            "FROM events WHERE n = 5"
        ),
        "link megalink: events: n 999 lies beyond the last that was given",
    ),
    "a payload that is nothing": ("UPDATE events SET payload = 'x'", ""),
}


@pytest.mark.parametrize("tampering", TAMPERINGS)
async def test_what_was_tampered_with_is_named(
    engine: AsyncEngine, intruder: asyncpg.Connection, tampering: str
) -> None:
    statement, named = TAMPERINGS[tampering]
    await intruder.execute("ALTER TABLE journals DROP CONSTRAINT journals_balanced")
    await intruder.execute(statement)
    day = await reconcile(engine, SINGAPORE, DAY)
    assert any(problem.startswith(named) for problem in day.problems) or not named, day.problems
    assert day.balanced == (not named)
