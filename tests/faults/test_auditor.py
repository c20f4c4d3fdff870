"""The audit at the end of every fault is worth what it finds: each of these is planted in a ledger that was right."""

import asyncpg
import pytest

from tests.faults.auditor import Audit, audit
from tests.faults.conftest import TABLES, NewDaemon
from tests.faults.players import Floor, playing
from tests.servers import PostgresProgram

LAST = "(SELECT max(n) FROM events WHERE link = 'two')"
COPY_OF_AN_EVENT = """
    INSERT INTO events SELECT link, n + 1, id || '-again', table_id, seq + 1, type, round, at, day, payload, answer, chain
    FROM events WHERE link = 'two' AND n = (SELECT max(n) FROM events WHERE link = 'two');
    UPDATE links SET n = n + 1 WHERE link = 'two'
"""
COPY_OF_AN_AWARD = """
    ALTER TABLE awards DROP CONSTRAINT awards_table_id_round_position_key;
    CREATE TEMPORARY TABLE again ON COMMIT DROP AS SELECT * FROM awards WHERE link = 'one' AND award = 1;
    UPDATE again SET award = (SELECT max(award) + 1 FROM awards WHERE link = 'one');
    INSERT INTO awards SELECT * FROM again;
    UPDATE links SET award = award + 1 WHERE link = 'one'
"""
PAID_AGAIN = """
    ALTER TABLE payments DROP CONSTRAINT payments_pkey;
    INSERT INTO payments SELECT * FROM payments WHERE link = 'one' AND award = 1
"""

ANOTHER_RANK = """
    UPDATE events SET answer = convert_to(regexp_replace(convert_from(answer, 'UTF8'),
    '"rank":"[a-z_]+"', '"rank":"royal_flush"'), 'UTF8') WHERE type = 'hand.entered'
"""
PLANTED = {
    "an event lost": (f"DELETE FROM events WHERE link = 'two' AND n = {LAST}", "lost: TCX-01"),
    "an event twice": (COPY_OF_AN_EVENT, "twice: TCX-01"),
    "an event that nobody sent": (
        f"UPDATE events SET payload = convert_to(convert_from(payload, 'UTF8') || ' ', 'UTF8') WHERE n = {LAST}",
        "never sent like this",
    ),
    "an event of nobody": (f"UPDATE events SET table_id = 'BE-09' WHERE n = {LAST}", "where nobody plays"),
    "another answer": (
        "UPDATE events SET answer = convert_to(replace(convert_from(answer, 'UTF8'), 'accepted', 'refused'), 'UTF8')",
        "was answered otherwise",
    ),
    "a gap in the seq": ("UPDATE events SET seq = seq + 1000 WHERE table_id = 'BE-01' AND seq > 5", "a gap in the seq"),
    "a hole in the events": ("DELETE FROM events WHERE link = 'one' AND n = 1", "a hole in the events"),
    "time that goes back": (f"UPDATE events SET at = 'epoch' WHERE link = 'two' AND n = {LAST}", "time goes back"),
    "a journal that does not balance": (
        "ALTER TABLE journals DROP CONSTRAINT journals_balanced; UPDATE journals SET pool = pool + 1 WHERE journal = 1",
        "journal 1 does not balance",
    ),
    "a journal lost": ("DELETE FROM journals WHERE link = 'one' AND journal = 2", "a hole in the journals"),
    "a pool that is no sum": ("UPDATE links SET pool = pool + 1, house = house - 1", "pool is not the sum"),
    "a broken chain": ("UPDATE events SET chain = '\\x00' WHERE link = 'one' AND n = 3", "the chain breaks at event 3"),
    "another head": ("UPDATE links SET chain = '\\x00'", "not the end of the chain"),
    "a hand with two awards": (COPY_OF_AN_AWARD, "has 2 awards"),
    "an award lost": ("DELETE FROM awards WHERE link = 'one' AND award = 1", "lost: one: award one-000001"),
    "an award of another amount": (
        "UPDATE awards SET amount_cents = amount_cents + 1 WHERE award = 1",
        "told of other awards",
    ),
    "a payment lost": ("DELETE FROM payments WHERE link = 'one' AND award = 1", "paid are other awards"),
    "a payment twice": (PAID_AGAIN, "is paid 2 times"),
    "a hand of another rank": (
        ANOTHER_RANK,
        "is due",
    ),
    "money in the wrong account": (
        "UPDATE links SET reserve = reserve + 1, house = house - 1 WHERE link = 'one'",
        "one: reserve must be",
    ),
    "an entry lost": ("DELETE FROM entries WHERE link = 'one' AND entry = 1", "a hole in the entries"),
}


async def played(ledger_url: str, mosquitto: str, daemon_of: NewDaemon) -> Floor:
    daemon = daemon_of(ledger_url, mosquitto)
    daemon.start()
    async with playing(mosquitto, TABLES) as floor:
        await floor.goes_on(100)
        await floor.finish()
    return floor


async def test_what_is_planted_is_found(
    postgres: PostgresProgram, ledger_url: str, mosquitto: str, forked_daemon: NewDaemon
) -> None:
    floor = await played(ledger_url, mosquitto, forked_daemon)
    database = ledger_url.rpartition("/")[2].partition("?")[0]
    connection = await asyncpg.connect(postgres.url_of("postgres", database))

    async def with_planted(statement: str) -> Audit:
        planting = connection.transaction()
        await planting.start()
        try:
            await connection.execute("SET LOCAL session_replication_role = replica")  # no triggers
            await connection.execute(statement)
            return await audit(connection, floor.players)
        finally:
            await planting.rollback()

    try:
        assert (await with_planted("SELECT 1")).found == []
        for what, (statement, sign) in PLANTED.items():
            found = (await with_planted(statement)).found
            assert any(sign in finding for finding in found), (what, found)
        # And from the other side: what a table was told, and what it never said.
        truth = floor.players[0].truth
        id_, answer = next(iter(truth.answers.items()))
        truth.answers["never recorded"] = answer
        assert (await audit(connection, floor.players)).lost == ["BE-01: never recorded"]
        del truth.answers["never recorded"], truth.answers[id_]
        assert (await audit(connection, floor.players)).found == [f"wrong: BE-01: {id_} was not answered"]
    finally:
        await connection.close()


@pytest.mark.parametrize("what", ["lost", "twice", "wrong"])
def test_a_finding_of_any_kind_is_a_finding(what: str) -> None:
    assert Audit(**{what: ["something"]}).found == [f"{what}: something"]  # type: ignore[arg-type]
