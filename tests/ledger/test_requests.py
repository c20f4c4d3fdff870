"""What people ask of a link is answered by who leads it, and by nobody else; money only if two have agreed on it."""

import asyncio
import json

import asyncpg
import pytest

from jackpot.ledger import commands, lease
from jackpot.ledger.seal import Seal
from jackpot.link.commands import BalanceAdjusted, LinkSuspended, MoneyCommand, ParametersChanged
from jackpot.people import approvals
from tests.ledger.agreed import agree, leave

ORDER = LinkSuspended(id="c1", by="ann", reason="fire alarm")
REFUSED = {"status": "refused", "message": "A claim waits."}


async def test_a_refusal_that_arrives_after_a_takeover_says_nothing(ledger_url: str) -> None:
    first, second = await asyncpg.connect(ledger_url), await asyncpg.connect(ledger_url)
    before = await lease.take(first, "one", "A", -1.0)
    assert before is not None
    await commands.leave(first, "one", ORDER)
    async with second.transaction():
        # The takeover is not committed yet when the late answer comes: it waits, and finds another epoch.
        await second.execute("UPDATE links SET epoch = epoch + 1 WHERE link = 'one'")
        late = asyncio.create_task(commands.answer(first, "one", before, "c1", REFUSED))
        await asyncio.sleep(0.2)
        assert not late.done()
    await late
    assert [request.id for request in await commands.waiting(second, "one")] == ["c1"]
    await commands.answer(second, "one", before + 1, "c1", {"status": "accepted"})
    assert await commands.answer_to(second, "c1", 0.0) == {"status": "accepted"}
    await first.close()
    await second.close()


NAMES = {"by": "fiona", "approved_by": "felix"}
ADJUSTED = BalanceAdjusted(id="a1", reason="counted again", account="pool", amount_cents=100, **NAMES)
CHANGED = ParametersChanged(id="p1", reason="new terms", parameters={}, effective="next_win", **NAMES)


async def test_only_what_people_may_ask_for_is_read(ledger_url: str, intruder: asyncpg.Connection) -> None:
    """Whatever the database lets through: here somebody has its triggers and checks out of the way."""
    await intruder.execute("ALTER TABLE requests DROP CONSTRAINT requests_asked")
    for number, type_ in enumerate(("link.opened", "tables.configured", "link.painted", "link.suspended")):
        command = {"type": type_, "id": str(number), "by": "x", "reason": "y", "parameters": {}, "tables": []}
        await intruder.execute(
            "INSERT INTO requests (id, link, command) VALUES ($1, 'one', $2::jsonb)", str(number), json.dumps(command)
        )
    found = {request.id: request.command for request in await commands.waiting(intruder, "one")}
    assert [type(found[str(number)]) for number in range(4)] == [type(None)] * 3 + [LinkSuspended]


async def test_a_request_is_sealed_with_its_link(ledger_url: str) -> None:
    connection, seal = await asyncpg.connect(ledger_url), Seal(b"k" * 32)
    await commands.leave(connection, "one", ORDER, seal)
    assert [request.sealed for request in await commands.waiting(connection, "one", seal)] == [True]
    assert [request.sealed for request in await commands.waiting(connection, "one", Seal(b"x" * 32))] == [False]
    assert [request.sealed for request in await commands.waiting(connection, "one")] == [True], "nobody has a key"
    await connection.execute(
        "INSERT INTO requests (id, link, command, seal) SELECT 'c2', 'two', jsonb_set(command, '{id}', '\"c2\"'), seal "
        "FROM requests"
    )
    assert [request.sealed for request in await commands.waiting(connection, "two", seal)] == [False]
    await connection.close()


@pytest.mark.parametrize("command", [ADJUSTED, CHANGED], ids=["money", "terms"])
async def test_what_two_have_agreed_on_may_be_carried_out(ledger_url: str, command: MoneyCommand) -> None:
    connection = await asyncpg.connect(ledger_url)
    await agree(connection, "one", command)
    assert await approvals.problem(connection, "one", command) is None
    assert await approvals.problem(connection, "two", command) is not None
    await connection.close()


@pytest.mark.parametrize(
    ("meanwhile", "why"),
    [
        ("UPDATE people SET disabled_at = now() WHERE name = 'fiona'", "fiona may not propose adjustments"),
        ("UPDATE people SET confirmed_by = NULL WHERE name = 'felix'", "felix may not approve adjustments"),
        ("UPDATE people SET role = 'engineer' WHERE name = 'felix'", "felix may not approve adjustments"),
        ("UPDATE proposals SET command = command || '{\"amount_cents\": 1}'", "no two people have agreed"),
        ("UPDATE proposals SET approved_by = NULL, request = NULL", "no two people have agreed"),
        ("DELETE FROM proposals", "no two people have agreed"),
    ],
)
async def test_who_carries_it_out_asks_again(
    ledger_url: str, intruder: asyncpg.Connection, meanwhile: str, why: str
) -> None:
    connection = await asyncpg.connect(ledger_url)
    await agree(connection, "one", ADJUSTED)
    await connection.close()
    await intruder.execute("ALTER TABLE proposals DROP CONSTRAINT proposals_decided")
    await intruder.execute(meanwhile)
    found = await approvals.problem(intruder, "one", ADJUSTED)
    assert found is not None
    assert why in found


async def test_an_order_without_a_proposal_is_not_carried_out(intruder: asyncpg.Connection) -> None:
    await leave(intruder, "one", ADJUSTED)
    assert "no two people have agreed" in str(await approvals.problem(intruder, "one", ADJUSTED))


async def test_what_is_in_the_ledger_is_not_asked_about_again(intruder: asyncpg.Connection) -> None:
    """It was carried out, its answer was lost, and its approver has left since: it gets the answer it had."""
    await intruder.execute(
        "INSERT INTO events (link, n, id, type, at, day, payload, answer, chain) "
        "VALUES ('one', 1, 'a1', 'balance.adjusted', now(), '2026-11-16', '', '', '')"
    )
    assert await approvals.problem(intruder, "one", ADJUSTED) is None
