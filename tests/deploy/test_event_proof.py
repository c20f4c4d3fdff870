"""Proof that an event came from its table does not rest on the broker: a key of the table's own, over the exact bytes."""

import asyncio
import hashlib
import hmac
import json
import secrets
import uuid
from collections.abc import AsyncIterator
from typing import Any

import asyncpg
import pytest
from hypothesis import given
from hypothesis import strategies as st

from jackpot.contract import topics
from jackpot.contract.proofs import holds, sealed
from jackpot.floor.table import TableController
from jackpot.mqtt.client import Connection
from jackpot.pki import Kind
from tests.deploy.conftest import Controller, Database
from tests.deploy.installed import Pki
from tests.mqtt.peers import Inbox
from tests.waiting import patience_s

LINK, TABLE = "megalink", "UTH-01"
TOPIC = topics.events(LINK, TABLE)
KEY = bytes(range(32))
EVENT = b'{"id":"e1","seq":1,"type":"round.opened","round":"r1","at":"2026-11-16T02:00:00.000Z"}'


def test_the_proof_as_an_integrator_computes_it() -> None:
    """The worked example of deploy/event-proof.md, made here with nothing of ours."""
    told = EVENT[:-1]
    mac = hmac.new(KEY, b"jackpot/v1/megalink/tables/UTH-01/events\n" + told, hashlib.sha256).hexdigest()
    assert sealed(KEY, TOPIC, EVENT) == told + b',"mac":"' + mac.encode() + b'"}'
    assert holds(KEY, TOPIC, told + b',"mac":"' + mac.encode() + b'"}')


@given(position=st.integers(0, len(sealed(KEY, TOPIC, EVENT)) - 1), change=st.integers(1, 255))
def test_a_changed_byte_breaks_the_proof(position: int, change: int) -> None:
    changed = bytearray(sealed(KEY, TOPIC, EVENT))
    changed[position] ^= change
    assert not holds(KEY, TOPIC, bytes(changed))


@pytest.mark.parametrize(
    "payload",
    [
        b"",
        b"{}",
        EVENT,
        sealed(KEY, TOPIC, EVENT) + b"\n",
        sealed(KEY, TOPIC, EVENT).replace(b'"mac":', b'"mac": '),
        sealed(KEY, TOPIC, EVENT)[:-2] + b'","x":1}',
        sealed(bytes(32), TOPIC, EVENT),
        sealed(KEY, topics.events(LINK, "UTH-02"), EVENT),
        sealed(KEY, topics.events("megalink-2", TABLE), EVENT),
    ],
)
def test_no_proof_half_a_proof_and_anothers_proof_are_none(payload: bytes) -> None:
    assert holds(KEY, TOPIC, sealed(KEY, TOPIC, EVENT))
    assert not holds(KEY, TOPIC, payload)


# -- the daemon, whose table UTH-01 has a key: the attackers have the table's certificate, or the broker itself ------


def event(type_: str, seq: int, **fields: Any) -> bytes:
    content = {"id": str(uuid.uuid4()), "seq": seq, "type": type_, "at": "2026-11-16T02:00:00.000Z", **fields}
    return json.dumps(content).encode()


class Attacker:
    """Speaks as a table at the broker, and hears its replies."""

    def __init__(self, connection: Connection, inbox: Inbox, table: str) -> None:
        self._connection, self._inbox, self._table = connection, inbox, table

    async def say(self, payload: bytes) -> dict[str, Any]:
        heard = len(self._inbox.messages)
        self._connection.publish_nowait(topics.events(LINK, self._table), payload)
        reply: dict[str, Any] = json.loads((await self._inbox.holds(heard + 1))[heard])
        return reply


@pytest.fixture
async def attackers(pki: Pki, controller: Controller) -> AsyncIterator[dict[str, Attacker]]:
    connections, found = [], {}
    for table in ("UTH-01", "UTH-02"):
        inbox = Inbox()
        connection = await Connection.open(
            pki.broker(Kind.TABLE, table),
            table,
            on_message=inbox,
            subscriptions=[(topics.replies(LINK, table), 1)],
            clean_session=True,
        )
        connections.append(connection)
        found[table] = Attacker(connection, inbox, table)
    yield found
    for connection in connections:
        connection.abort()


async def next_seq(database: Database, table: str) -> int:
    connection = await asyncpg.connect(database.url("audit"))
    last = await connection.fetchval("SELECT coalesce(max(seq), 0) FROM events WHERE table_id = $1", table)
    await connection.close()
    return int(last) + 1


async def test_forged_events_are_malformed_counted_and_put_aside(
    attackers: dict[str, Attacker], controller: Controller, database: Database
) -> None:
    key, seq = controller.event_key, await next_seq(database, TABLE)
    opened = event("round.opened", seq, round="forged")
    forgeries = [
        opened,
        sealed(secrets.token_bytes(32), TOPIC, opened),
        sealed(key, topics.events(LINK, "UTH-02"), opened),
        sealed(key, topics.events("megalink-2", TABLE), opened),
        sealed(key, TOPIC, opened).replace(b"forged", b"Forged"),
        sealed(key, TOPIC, opened)[:-2] + b'", "x": 1}',
    ]
    before = controller.metric("jackpot_unproved_total")
    for payload in forgeries:
        reply = await attackers[TABLE].say(payload)
        assert (reply["code"], reply["seq"]) == ("malformed", seq), payload
        assert reply["reply_to"] == json.loads(opened)["id"]
    assert controller.metric("jackpot_unproved_total") - before == len(forgeries)
    assert await next_seq(database, TABLE) == seq
    connection = await asyncpg.connect(database.url("audit"))
    async with asyncio.timeout(patience_s(10)):
        kept: list[bytes] = []
        while len(kept) < len(forgeries):
            rows = await connection.fetch(
                "SELECT payload FROM quarantine WHERE topic = $1 AND payload LIKE '%orged%' ORDER BY id", TOPIC
            )
            kept = [row["payload"] for row in rows]
            await asyncio.sleep(0.1)
    await connection.close()
    assert kept == forgeries


async def test_a_proved_event_is_taken_and_played_back_it_changes_nothing(
    attackers: dict[str, Attacker], controller: Controller, database: Database
) -> None:
    key, seq, name = controller.event_key, await next_seq(database, TABLE), uuid.uuid4().hex
    opened = sealed(key, TOPIC, event("round.opened", seq, round=name))
    wager = sealed(key, TOPIC, event("wager.placed", seq + 1, round=name, position=1))
    assert (await attackers[TABLE].say(opened))["status"] == "accepted"
    assert (await attackers[TABLE].say(wager))["status"] == "accepted"
    for payload in (opened, wager, wager):
        replayed = await attackers[TABLE].say(payload)
        assert (replayed["status"], replayed["duplicate"]) == ("accepted", True)
    again = await attackers[TABLE].say(wager.replace(f'"seq": {seq + 1}'.encode(), f'"seq": {seq + 2}'.encode()))
    assert again["code"] == "malformed"
    assert await next_seq(database, TABLE) == seq + 2
    voided = sealed(key, TOPIC, event("round.voided", seq + 2, round=name, reason="the test is over"))
    assert (await attackers[TABLE].say(voided))["result"] == {"returned_cents": 500}


async def test_what_one_table_proved_is_worth_nothing_at_another(
    attackers: dict[str, Attacker], controller: Controller, database: Database
) -> None:
    """UTH-02 has no key of its own: there the stolen event is a reused id, or an event of UTH-02's own making."""
    key, seq = controller.event_key, await next_seq(database, TABLE)
    opened = sealed(key, TOPIC, event("round.opened", seq, round="across"))
    assert (await attackers[TABLE].say(opened))["status"] == "accepted"
    assert (await attackers["UTH-02"].say(opened))["code"] == "id_reused"
    voided = sealed(key, TOPIC, event("round.voided", seq + 1, round="across", reason="the test is over"))
    assert (await attackers[TABLE].say(voided))["status"] == "accepted"


async def test_a_table_controller_with_the_key_plays(pki: Pki, controller: Controller) -> None:
    broker = pki.broker(Kind.TABLE, TABLE)
    async with asyncio.timeout(patience_s(30)), TableController(broker, LINK, TABLE, key=controller.event_key) as table:
        name = uuid.uuid4().hex
        for type_ in ("round.opened", "round.closed", "round.settled"):
            assert (await table.say(type_, name))["status"] == "accepted"


async def test_a_table_without_a_key_needs_no_proof(pki: Pki, controller: Controller) -> None:
    broker = pki.broker(Kind.TABLE, "BE-01")
    async with asyncio.timeout(patience_s(30)), TableController(broker, LINK, "BE-01") as table:
        name = uuid.uuid4().hex
        assert (await table.say("round.opened", name))["status"] == "accepted"
        assert (await table.say("round.voided", name, reason="the test is over"))["status"] == "accepted"
