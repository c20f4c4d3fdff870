"""What a granted INSERT or UPDATE may say: whoever has the console's role alone moves no money and is nobody."""

import asyncio
import http.client
import json
import uuid
from collections.abc import AsyncIterator
from typing import Any

import asyncpg
import pytest

from jackpot.console.access import COOKIE
from jackpot.people import accounts, passwords, sessions, tokens
from jackpot.people.roles import Role
from tests.deploy.conftest import Controller, Database
from tests.deploy.terminal import INSTALLER, PASSWORD, Terminal
from tests.deploy.test_roles_at_work import Api
from tests.waiting import patience_s

LINK = "megalink"
ADJUSTED = {"type": "balance.adjusted", "reason": "why not", "account": "pool", "amount_cents": 500_000_000}
TERMS = {"unit_cents": 500, "increment_bp": 1, "reserve_bp": 1, "reset_cents": 90_000_000}


@pytest.fixture
async def intruder(database: Database) -> AsyncIterator[asyncpg.Connection]:
    """The console's role, and nothing else. What it made is found and ended afterwards."""
    connection = await asyncpg.connect(database.url("console"))
    yield connection
    await connection.close()
    async with database.terminal() as terminal:
        for name in await accounts.forged(terminal.console):
            await accounts.disable(terminal.console, INSTALLER, name)


@pytest.fixture
async def terminal(database: Database) -> AsyncIterator[Terminal]:
    async with database.terminal() as made:
        yield made


def command(**fields: Any) -> tuple[str, str]:
    id_ = str(uuid.uuid4())
    return id_, json.dumps({"id": id_, "by": "nobody", "reason": "why not", **fields})


async def leave(connection: asyncpg.Connection, id_: str, document: str) -> None:
    await connection.execute("INSERT INTO requests (id, link, command) VALUES ($1, $2, $3::jsonb)", id_, LINK, document)


async def stands(database: Database) -> tuple[Any, ...]:
    connection = await asyncpg.connect(database.superuser_url)
    row = await connection.fetchrow("SELECT n, pool, reserve, parameters, tables FROM links WHERE link = $1", LINK)
    await connection.close()
    return tuple(row or ())


async def answered(connection: asyncpg.Connection, id_: str) -> dict[str, Any]:
    async with asyncio.timeout(patience_s(30)):
        while (found := await connection.fetchval("SELECT answer FROM requests WHERE id = $1", id_)) is None:
            await asyncio.sleep(0.05)
    answer: dict[str, Any] = json.loads(found)
    return answer


@pytest.mark.parametrize(
    "said",
    [
        {"type": "link.opened", "parameters": TERMS},
        {"type": "tables.configured", "tables": [{"id": "EVIL-1", "game": "bullseye", "positions": 6}]},
        {"type": "link.painted"},
        {"type": None},
        {},
        {"type": "link.resumed", "by": "controller"},
        {"type": "link.resumed", "by": None},
        {"type": "link.resumed", "id": "another"},
        ADJUSTED | {"approved_by": "ghost"},
        ADJUSTED | {"approved_by": "nobody"},
        {"type": "parameters.changed", "approved_by": "b", "parameters": TERMS, "effective": "at_once"},
    ],
    ids=str,
)
async def test_what_nobody_may_ask_for_is_not_even_left(intruder: asyncpg.Connection, said: dict[str, Any]) -> None:
    with pytest.raises(asyncpg.PostgresError) as refused:
        await leave(intruder, *command(**said))
    assert refused.value.sqlstate in ("23514", "JP005")


async def test_no_confirmed_person_is_made(intruder: asyncpg.Connection, terminal: Terminal) -> None:
    """Neither outright, nor afterwards by a name that is no account, by itself, by an engineer or an unconfirmed one."""
    engineer, _ = await terminal.hire(Role.ENGINEER)
    puppets = [f"puppet-{uuid.uuid4().hex[:6]}" for _ in range(2)]
    insert = (
        "INSERT INTO people (name, role, password, must_change, created_by{}) VALUES ($1, 'finance', '-', false, 'x'{})"
    )
    with pytest.raises(asyncpg.InsufficientPrivilegeError):
        await intruder.execute(insert.format(", confirmed_by", ", 'root (terminal)'"), puppets[0])
    for puppet in puppets:
        await intruder.execute(insert.format("", ""), puppet)
    for confirmer in ("root (terminal)", "nobody", "", engineer, *puppets):
        with pytest.raises(asyncpg.PostgresError) as refused:
            await intruder.execute("UPDATE people SET confirmed_by = $2 WHERE name = $1", puppets[0], confirmer)
        assert refused.value.sqlstate in ("JP005", "23514")
    with pytest.raises(asyncpg.PostgresError, match="may not propose"):
        await intruder.execute(
            "INSERT INTO proposals (kind, link, command, by) VALUES ('adjustment', $1, $2::jsonb, $3)",
            LINK,
            command(**ADJUSTED | {"by": puppets[0]})[1],
            puppets[0],
        )


async def test_what_has_ended_stays_ended(intruder: asyncpg.Connection, terminal: Terminal) -> None:
    name, _ = await terminal.hire(Role.FINANCE)
    (listed,) = await tokens.listed(terminal.console, name)
    for statement in (
        "UPDATE tokens SET revoked_at = '2000-01-01' WHERE person = $1",
        "UPDATE people SET disabled_at = '2000-01-01' WHERE name = $1",
    ):
        await intruder.execute(statement, name)
    for statement in (
        "UPDATE tokens SET revoked_at = NULL WHERE person = $1",
        "UPDATE people SET disabled_at = NULL WHERE name = $1",
        "UPDATE people SET password = 'x' WHERE name = $1",
    ):
        with pytest.raises(asyncpg.PostgresError, match=r"is revoked|has ended"):
            await intruder.execute(statement, name)
    for question, key in (
        ("SELECT revoked_at FROM tokens WHERE id = $1", listed.id),
        ("SELECT disabled_at FROM people WHERE name = $1", name),
    ):
        assert (await intruder.fetchval(question, key)).year > 2000, "when is the database's word"
    with pytest.raises(asyncpg.CheckViolationError, match="tokens_end"):
        await intruder.execute(
            "INSERT INTO tokens (id, hash, person, label, expires_at) VALUES ('x', 'x', $1, 'for ever', '2999-01-01')",
            name,
        )


# -- two people who are there, and whose names are known --------------------------------------------------------------


async def test_an_order_in_two_good_names_is_refused_for_want_of_its_seal(
    intruder: asyncpg.Connection, terminal: Terminal, database: Database, controller: Controller
) -> None:
    fiona, _ = await terminal.hire(Role.FINANCE)
    felix, _ = await terminal.hire(Role.FINANCE)
    before, forged = await stands(database), controller.metric("jackpot_forged_total")
    id_, proposed = command(**ADJUSTED | {"by": fiona})
    async with intruder.transaction():
        await intruder.execute(
            "INSERT INTO proposals (kind, link, command, by) VALUES ('adjustment', $1, $2::jsonb, $3)",
            LINK,
            proposed,
            fiona,
        )
        await leave(intruder, id_, json.dumps(json.loads(proposed) | {"approved_by": felix}))
        await intruder.execute(
            "UPDATE proposals SET approved_by = $2, request = $1, decided_at = now() WHERE command ->> 'id' = $1",
            id_,
            felix,
        )
    answer = await answered(intruder, id_)
    assert (answer["status"], "No program of ours" in answer["message"]) == ("refused", True)
    id_, suspension = command(type="link.suspended", by=fiona)
    await leave(intruder, id_, suspension)
    assert (await answered(intruder, id_))["status"] == "refused"
    assert await stands(database) == before
    assert controller.metric("jackpot_forged_total") == forged + 2


async def test_a_proposal_that_no_console_wrote_is_approved_by_nobody(
    intruder: asyncpg.Connection, terminal: Terminal, controller: Controller
) -> None:
    fiona, _ = await terminal.hire(Role.FINANCE)
    _, felix = await terminal.hire(Role.FINANCE)
    number = await intruder.fetchval(
        "INSERT INTO proposals (kind, link, command, by) VALUES ('adjustment', $1, $2::jsonb, $3) RETURNING number",
        LINK,
        command(**ADJUSTED | {"by": fiona})[1],
        fiona,
    )
    status, answer = Api(controller.daemon).ask(felix, "POST", f"/adjustments/{number}/approve")
    assert (status, "Do not approve it" in answer["detail"]) == (409, True)


async def test_nobody_is_somebody_else_by_a_row_in_the_database(
    intruder: asyncpg.Connection, terminal: Terminal, controller: Controller
) -> None:
    """A session, a token, a password, and one's own password or session in another's place."""
    fiona, _ = await terminal.hire(Role.FINANCE)
    dora, of_dora = await terminal.hire(Role.DEALER)
    api = Api(controller.daemon)
    assert api.ask(of_dora, "GET", "/me")[0] == 200

    def comes_in(secret: str) -> int:
        connection = http.client.HTTPConnection(controller.daemon.listen, timeout=20)
        connection.request("GET", "/api/me", headers={"Cookie": f"{COOKIE}={secret}"})
        return connection.getresponse().status

    session = await sessions.log_in(terminal.console, dora, PASSWORD, "127.0.0.1")
    assert comes_in(session) == 200
    row = await intruder.fetchrow("DELETE FROM sessions WHERE person = $1 RETURNING hash, seal", dora)
    assert row is not None
    await intruder.execute("INSERT INTO sessions (hash, person, seal) VALUES ($1, $2, $3)", row[0], fiona, row[1])
    assert comes_in(session) == 401
    await intruder.execute("INSERT INTO sessions (hash, person) VALUES (sha256('guessed'), $1)", fiona)
    assert comes_in("guessed") == 401
    await intruder.execute(
        "INSERT INTO tokens (id, hash, person, label, expires_at) VALUES ($1, sha256($2), $3, 'x', now() + interval '1 day')",
        uuid.uuid4().hex[:8],
        b"jackpot_guessed",
        fiona,
    )
    assert api.ask("jackpot_guessed", "GET", "/me")[0] == 401
    for stolen in (
        await passwords.hashed("chosen by the intruder"),
        await intruder.fetchval("SELECT password FROM people WHERE name = $1", dora),
    ):
        await intruder.execute("UPDATE people SET password = $2, must_change = false WHERE name = $1", fiona, stolen)
        for password in ("chosen by the intruder", PASSWORD):
            with pytest.raises(sessions.LoginRefusedError):
                await sessions.log_in(terminal.console, fiona, password, "127.0.0.1")
    assert fiona in await accounts.forged(terminal.console)


async def test_a_request_is_answered_once_and_never_changed(
    intruder: asyncpg.Connection, database: Database, controller: Controller
) -> None:
    order, suspension = command(type="link.suspended")
    await leave(intruder, order, suspension)
    await answered(intruder, order)
    settle = await asyncpg.connect(database.url("settle"))
    for answer in ("NULL", "'{}'"):
        with pytest.raises(asyncpg.PostgresError, match="answered once"):
            await settle.execute(f"UPDATE requests SET answer = {answer} WHERE id = $1", order)
    await settle.close()
