"""Whatever is changed in a ledger behind the controller's back is found and named, where it shows first."""

import json
from collections.abc import AsyncIterator

import asyncpg
import pytest

from jackpot.cli.verify import LANGUAGE
from jackpot.ledger.connection import connect_writer
from jackpot.ledger.record import Record, chain
from jackpot.ledger.verify import BreakError, links_in, verify
from tests.servers import PostgresProgram


@pytest.fixture
async def ledger_url(postgres: PostgresProgram, played_template: str) -> AsyncIterator[str]:
    """In this file every ledger is one in which everything has happened once."""
    async with postgres.database(played_template) as url:
        yield url


@pytest.fixture
async def reader(ledger_url: str) -> AsyncIterator[asyncpg.Connection]:
    connection = await connect_writer(ledger_url)
    yield connection
    await connection.close()


async def the_break(reader: asyncpg.Connection) -> BreakError:
    with pytest.raises(BreakError) as raised:
        await verify(reader, "megalink", LANGUAGE)
    return raised.value


CLOSED = "type = 'round.closed' AND round = 'first'"
TAMPERINGS = {
    "a changed payload": (
        (
            "UPDATE events SET payload = convert_to(replace(convert_from(payload, 'UTF8'), '\"multiplier\": 3', "
            "'\"multiplier\": 4'), 'UTF8') WHERE type = 'wager.placed' AND round = 'first'"
        ),
        "event 6: the chain breaks",
    ),
    "a payload that is nothing": (
        f"UPDATE events SET payload = 'x' WHERE {CLOSED}",
        "event 10: the chain breaks",
    ),
    "a changed answer": (
        (
            "UPDATE events SET answer = convert_to(replace(convert_from(answer, 'UTF8'), '4000', '5000'), 'UTF8') "
            f"WHERE {CLOSED}"
        ),
        "event 10: its answer was changed",
    ),
    "a changed time": (f"UPDATE events SET at = at + interval '1 ms' WHERE {CLOSED}", "event 10: the chain breaks"),
    "an earlier day": (f"UPDATE events SET day = day - 1 WHERE {CLOSED}", "event 10: its time"),
    "a later day": (f"UPDATE events SET day = day + 1 WHERE {CLOSED}", "event 10: the chain breaks"),
    "all that happened since, a day later": (
        "; ".join(
            f"UPDATE {table} SET day = day + 1 WHERE n >= 10"
            for table in ("events", "journals", "entries", "awards", "payments")
        ),
        "event 10: the chain breaks",
    ),
    "a changed round": (f"UPDATE events SET round = 'last' WHERE {CLOSED}", "event 10: the chain holds, but its round"),
    "a changed posting": (
        "UPDATE journals SET pool = pool + 10000, house = house - 10000 WHERE journal = 3",
        "event 10: journals, journal 3: pool is",
    ),
    "a posting and its balance changed": (
        (
            "UPDATE journals SET pool = pool + 1, house = house - 1, pool_after = pool_after + 1, "
            "house_after = house_after - 1 WHERE journal = 3"
        ),
        "event 10: journals, journal 3: pool is",
    ),
    "wagers miscounted": (
        "UPDATE journals SET wagers = '{2,0,1,0,1}' WHERE journal = 3",
        "event 10: journals, journal 3: wagers is",
    ),
    "a deleted journal": ("DELETE FROM journals WHERE journal = 3", "event 10: journals, journal 3: it is missing"),
    "a journal too many": (
        (
            "INSERT INTO journals SELECT link, 99, n, kind, table_id, round, award, at, day, wagers, wagered, recoverable, "
            "pool, reserve, house, awarded, wagered_after, recoverable_after, pool_after, reserve_after, house_after, "
            "awarded_after FROM journals WHERE journal = 3"
        ),
        "journal 99 is of no event",
    ),
    "a deleted event": ("DELETE FROM events WHERE n = 12", "event 12: it is missing; after event 11 comes 13"),
    "a deleted last event": ("DELETE FROM events WHERE n = (SELECT max(n) FROM events)", "links: n is"),
    "two swapped events": (
        (
            "UPDATE events SET n = CASE n WHEN 5 THEN -6 ELSE -5 END WHERE n IN (5, 6); "
            "UPDATE events SET n = -n WHERE n IN (-5, -6)"
        ),
        "event 5: it has seq 3 of table UTH-01, but seq 2 comes next",
    ),
    "a balance in links": ("UPDATE links SET pool = pool + 1, house = house - 1", "links: pool is"),
    "an entry number in links": ("UPDATE links SET entry = entry + 1", "links: entry is"),
    "the head's chain": ("UPDATE links SET chain = '\\x00'", "links: chain is"),
    "parameters in links": (
        "UPDATE links SET parameters = jsonb_set(parameters, '{reserve_bp}', '0')",
        "links: parameters is",
    ),
    "a link resumed by nobody": ("UPDATE links SET suspended = 'why'", "links: suspended is"),
    "a changed award": (
        "UPDATE awards SET amount_cents = amount_cents + 1 WHERE award = 2",
        "awards, award 2: amount_cents is",
    ),
    "another hand on the slip": (
        "UPDATE awards SET working = jsonb_set(working, '{cards}', '[\"2c\"]') WHERE award = 2",
        "awards, award 2: working is",
    ),
    "a forged award": (
        (
            "INSERT INTO awards SELECT link, 6, n, table_id, round, 6, entry, rank, kind, amount_cents, base_cents, "
            "shared_by, multiplier, rules, decisions, parameters_version, working, at, day FROM awards WHERE award = 5"
        ),
        "awards: it holds 6 rows of this link, the events account for 5; award 6 is of no event",
    ),
    "a forged payment": (
        (
            "INSERT INTO payments SELECT link, 5, n, at, day FROM payments WHERE award = 1; "
            "DELETE FROM unpaid WHERE award = 5"
        ),
        "unpaid: megalink-000005 is not as the events leave it",
    ),
    "a forged payment of an award still to pay": (
        "INSERT INTO payments SELECT link, 5, n, at, day FROM payments WHERE award = 1",
        "payments: it holds 3 rows of this link, the events account for 2; award 5 is of no event",
    ),
    "an unpaid award forgotten": (
        "DELETE FROM unpaid WHERE award = 5",
        "unpaid: megalink-000005 is not as the events leave it",
    ),
    "a changed entry": ("UPDATE entries SET base_micros = base_micros + 1 WHERE entry = 1", "entries, entry 1"),
    "a deleted entry": ("DELETE FROM entries WHERE entry = 2", "entries, entry 2: it is missing"),
    "a concluded round": (
        "UPDATE rounds SET phase = 'voided' WHERE round = 'first'",
        "rounds, round first of table UTH-01: phase is 'voided'",
    ),
    "wagers of a concluded round": (
        "UPDATE rounds SET document = jsonb_set(document, '{wagers}', '[]') WHERE round = 'first'",
        "rounds, round first of table UTH-01: document is",
    ),
    "where a round was opened": (
        "UPDATE rounds SET opened_n = 1 WHERE round = 'first'",
        "rounds, round first of table UTH-01: opened_n is 1",
    ),
    "wagers of an open round": (
        "UPDATE rounds SET document = jsonb_set(document, '{wagers}', '[]') WHERE phase = 'closed'",
        "of table UTH-01: document is",
    ),
    "an open round forgotten": ("DELETE FROM rounds WHERE phase = 'open'", "of table TCX-01: it is missing"),
    "a forged round": (
        (
            "INSERT INTO rounds SELECT table_id, 'forged', link, phase, opened_n, n, document FROM rounds "
            "WHERE round = 'first'"
        ),
        "rounds: it holds 9 rows of this link, the events account for 8",
    ),
    "a parameter of the past": (
        "UPDATE parameters SET parameters = jsonb_set(parameters, '{increment_bp}', '2400') WHERE version = 1",
        "event 1: parameters, version 1: parameters is",
    ),
    "a forged report": (
        "INSERT INTO meter_reports VALUES ('megalink', 5, 'UTH-01', '2026-11-16', 1, 2, 3, 4)",
        "meter_reports: it holds 5 rows of this link, the events account for 4",
    ),
}


@pytest.mark.parametrize("tampering", TAMPERINGS)
async def test_what_was_tampered_with_is_named(
    reader: asyncpg.Connection, intruder: asyncpg.Connection, tampering: str
) -> None:
    statements, named = TAMPERINGS[tampering]
    # No check of ours stops who may drop it.
    await intruder.execute("ALTER TABLE journals DROP CONSTRAINT journals_balanced, DROP CONSTRAINT journals_closes")
    await intruder.execute(statements)
    broken = await the_break(reader)
    assert named in str(broken)
    assert str(broken).startswith("link megalink, event ")


async def test_the_first_of_several_breaks_is_named(reader: asyncpg.Connection, intruder: asyncpg.Connection) -> None:
    await intruder.execute("UPDATE links SET pool = pool + 1, house = house - 1")
    await intruder.execute("DELETE FROM events WHERE n = 30")
    await intruder.execute("UPDATE journals SET award = 77 WHERE journal = 4")
    assert (await the_break(reader)).n == 17


async def test_an_answer_forged_together_with_its_chain_is_not_what_the_rules_say(
    reader: asyncpg.Connection, intruder: asyncpg.Connection
) -> None:
    """Who owns the database can make the chain anew from there on, but not make a refusal right."""
    last = await intruder.fetchrow("SELECT * FROM events ORDER BY n DESC LIMIT 1")
    assert last is not None
    before = await intruder.fetchval("SELECT chain FROM events WHERE n = $1", last["n"] - 1)
    forged = json.dumps(json.loads(last["answer"]) | {"code": "bets_closed"}).encode()
    record = Record(
        last["id"], last["table_id"], last["seq"], last["type"], last["round"], last["payload"], forged, None
    )
    linked = chain(before, link="megalink", n=last["n"], record=record, at=last["at"], day=last["day"], journals=[])
    await intruder.execute("UPDATE events SET answer = $1, chain = $2 WHERE n = $3", forged, linked, last["n"])
    await intruder.execute("UPDATE links SET chain = $1", linked)
    broken = await the_break(reader)
    assert broken.n == last["n"]
    assert broken.what.startswith("the chain holds, but the rules answer ")


async def test_a_head_kept_elsewhere_finds_a_ledger_that_was_cut_short_in_good_order(
    reader: asyncpg.Connection, intruder: asyncpg.Connection
) -> None:
    kept = await verify(reader, "megalink", LANGUAGE)
    await verify(reader, "megalink", LANGUAGE, kept_heads={kept.n: kept.chain})
    with pytest.raises(BreakError, match=f"event {kept.n}: its chain is not the one that was kept"):
        await verify(reader, "megalink", LANGUAGE, kept_heads={kept.n: bytes(32)})
    # The last event is a table's report: with the two and the head set back nothing is amiss.
    await intruder.execute("DELETE FROM events WHERE n = $1", kept.n)
    await intruder.execute("DELETE FROM meter_reports WHERE n = $1", kept.n)
    await intruder.execute("UPDATE links SET (n, chain) = (SELECT n, chain FROM events ORDER BY n DESC LIMIT 1)")
    shortened = await verify(reader, "megalink", LANGUAGE)
    assert shortened.n == kept.n - 1
    with pytest.raises(BreakError, match=f"event {kept.n}: its chain was kept outside the database"):
        await verify(reader, "megalink", LANGUAGE, kept_heads={kept.n: kept.chain})


async def test_a_link_whose_head_is_gone_is_found(reader: asyncpg.Connection, intruder: asyncpg.Connection) -> None:
    await intruder.execute("DELETE FROM links")
    assert await links_in(reader) == ["megalink"]
    assert "links: it cannot be read" in str(await the_break(reader))
