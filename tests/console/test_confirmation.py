"""An engineer who makes accounts cannot be two people: they change no money before another has confirmed them."""

import uuid
from typing import Any

import pytest
from sqlalchemy import insert, select, update
from sqlalchemy.exc import DBAPIError

from jackpot.console import commands
from jackpot.console.access import COOKIE
from jackpot.ledger.schema import audit, people, proposals
from jackpot.people import accounts, sessions, tokens
from jackpot.people.audit import Actor
from jackpot.people.roles import Role
from tests.console.console_client import ConsoleClient
from tests.console.site import INSTALLER, LINK, PASSWORD

pytestmark = pytest.mark.asyncio(loop_scope="session")

OWN = "a path through the birches"
ADJUSTMENT = {"link": LINK, "account": "reserve", "amount_cents": 100, "reason": "alone"}


@pytest.fixture(autouse=True)
def impatient(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(commands, "PATIENCE_S", 0.05)


async def asked(office: ConsoleClient, name: str, path: str, **body: Any) -> tuple[int, Any]:
    """As the person of an account that is not the office's own."""
    session = await sessions.find(office.engine, await sessions.log_in(office.engine, name, OWN, "10.1.0.1"))
    assert session is not None
    async with office.client() as client:
        client.cookies.set(COOKIE, session.secret)
        client.headers["X-CSRF-Token"] = session.csrf
        answer = await client.post(f"/api/{path}", json=body)
        return answer.status_code, answer.json()


async def by(office: ConsoleClient, who: str, path: str, **body: Any) -> tuple[int, Any]:
    async with office.client(who) as client:
        answer = await client.post(f"/api/{path}", json=body)
        return answer.status_code, answer.json()


async def made(office: ConsoleClient, role: Role = Role.FINANCE) -> str:
    """By the engineer in the console; then he logs in with it and chooses a password, as anyone could."""
    name = f"puppet-{uuid.uuid4().hex[:8]}"
    assert (await by(office, "emil", "people", name=name, role=role.value, password=PASSWORD))[0] == 201
    await accounts.set_password(office.engine, Actor(name, "10.1.0.1"), name, OWN)
    return name


async def test_one_engineer_with_two_accounts_moves_nothing(office: ConsoleClient) -> None:
    first, second = await made(office), await made(office)
    status, answer = await asked(office, first, "adjustments", **ADJUSTMENT)
    assert (status, answer["detail"]) == (403, accounts.TO_BE_CONFIRMED)
    _, answer = await by(office, "fritz", "adjustments", **ADJUSTMENT)
    number = answer["proposals"][0]
    assert (await asked(office, second, f"adjustments/{number}/approve"))[0] == 403
    for confirmer, confirmed in ((first, second), (first, first)):
        assert (await asked(office, confirmer, f"people/{confirmed}/confirm"))[0] == 403
    assert (await by(office, "emil", f"people/{first}/confirm"))[0] == 403


async def test_the_database_knows_it_too(office: ConsoleClient) -> None:
    puppet = await made(office)
    command = {"type": "balance.adjusted", "id": "puppets", "by": puppet}
    proposal = insert(proposals).values(kind="adjustment", link=LINK, command=command, by=puppet)
    confirmation = update(people).where(people.c.name == puppet)
    for statement, error, why in (
        (proposal, DBAPIError, "may not propose this"),
        (confirmation.values(confirmed_by=puppet), DBAPIError, "may not confirm this"),
        (update(people).where(people.c.name == "mona").values(confirmed_by="mona"), DBAPIError, "may not confirm this"),
        (confirmation.values(confirmed_by="emil"), DBAPIError, "emil may not confirm this"),
        (confirmation.values(confirmed_by=await made(office)), DBAPIError, "may not confirm this"),
    ):
        with pytest.raises(error, match=why):
            async with office.engine.begin() as connection:
                await connection.execute(statement)


@pytest.mark.parametrize(("role", "confirmer"), [(Role.FINANCE, "mona"), (Role.PIT_MANAGER, "fritz")])
async def test_another_confirms_and_a_new_password_asks_again(
    office: ConsoleClient, role: Role, confirmer: str
) -> None:
    name = await made(office, role)
    async with office.client(confirmer) as client:
        assert f"Confirm {name}" in (await client.get("/people")).text
    assert await by(office, confirmer, f"people/{name}/confirm") == (200, {"status": "done"})
    assert (await asked(office, name, "adjustments", **ADJUSTMENT))[0] == 201
    status, answer = await by(office, confirmer, f"people/{name}/confirm")
    assert (status, answer["detail"]) == (409, f"There is no account {name} that waits to be confirmed.")
    async with office.engine.connect() as connection:
        query = select(audit.c.by, audit.c.action).where(audit.c.subject == name).order_by(audit.c.id)
        trail = [tuple(row) for row in await connection.execute(query)]
    assert trail[:2] == [("emil", "person.added"), (name, "password.set")]
    assert (confirmer, "person.confirmed") in trail

    await accounts.set_password(office.engine, Actor(name, "10.1.0.1"), name, OWN)
    assert (await asked(office, name, "adjustments", **ADJUSTMENT))[0] == 201, "one's own password changes nothing"

    assert (await by(office, "emil", f"people/{name}/password", password=PASSWORD))[0] == 200
    status, answer = await by(office, confirmer, f"people/{name}/confirm")
    assert (status, "has not chosen a password yet" in answer["detail"]) == (409, True)
    await accounts.set_password(office.engine, Actor(name, "10.1.0.1"), name, OWN)
    assert (await asked(office, name, "adjustments", **ADJUSTMENT))[0] == 403


async def test_a_token_is_no_way_around_it(office: ConsoleClient) -> None:
    name = await made(office)
    token = await tokens.issue(office.engine, INSTALLER, name, "script")
    async with office.client(headers={"Authorization": f"Bearer {token}"}) as client:
        assert (await client.post("/api/adjustments", json=ADJUSTMENT)).status_code == 403
        assert "propose_adjustments" not in (await client.get("/api/me")).json()["permissions"]


async def test_whoever_cannot_change_money_needs_nobody(office: ConsoleClient) -> None:
    name = await made(office, Role.DEALER)
    assert (await by(office, "mona", f"people/{name}/confirm"))[0] == 409


async def test_what_is_set_at_the_terminal_is_confirmed(office: ConsoleClient) -> None:
    name = await made(office)
    await accounts.set_password(office.engine, INSTALLER, name, PASSWORD, vouching=office.engine)
    await accounts.set_password(office.engine, Actor(name, "10.1.0.1"), name, OWN)
    assert (await asked(office, name, "adjustments", **ADJUSTMENT))[0] == 201
