"""Money and its parameters are changed by two: refused by the server, and by the database whatever the server says."""

import re
from typing import Any

import pytest
from sqlalchemy import func, insert, select, text, update
from sqlalchemy.exc import DBAPIError, IntegrityError

from jackpot.console import commands
from jackpot.ledger.schema import proposals, requests
from jackpot.people.roles import Permission, Role, may
from tests.console.console_client import OTHER_LINK, ConsoleClient
from tests.console.site import LINK, OF_ROLE

pytestmark = pytest.mark.asyncio(loop_scope="session")

ADJUSTMENT = {"link": LINK, "account": "reserve", "amount_cents": 125_050, "reason": "counted again"}
PARAMETERS = {
    "currency": "SGD", "unit_cents": 500, "increment_bp": 2500, "reserve_bp": 310, "reset_cents": 15_000_000,
    "shared_straight_flush": "successive", "ceiling_cents": None,
}  # fmt: skip
TYPES = {"adjustment": "balance.adjusted", "parameters": "parameters.changed"}
CHANGE = {"link": LINK, "effective": "next_win", "reason": "new terms", "parameters": PARAMETERS}


@pytest.fixture(autouse=True)
def impatient(monkeypatch: pytest.MonkeyPatch) -> None:
    """No daemon leads the link here: the order stands, and nobody waits long for the answer."""
    monkeypatch.setattr(commands, "PATIENCE_S", 0.2)


async def send(office: ConsoleClient, name: str, path: str, **body: Any) -> tuple[int, Any]:
    async with office.client(name) as client:
        answer = await client.post(f"/api/{path}", json=body)
        return answer.status_code, answer.json()


async def proposed(office: ConsoleClient, name: str, path: str = "adjustments", **body: Any) -> int:
    status, answer = await send(office, name, path, **(body or ADJUSTMENT))
    assert status == 201, answer
    number: int = answer["proposals"][0]
    return number


async def row(office: ConsoleClient, number: int) -> Any:
    async with office.engine.connect() as connection:
        return (await connection.execute(select(proposals).where(proposals.c.number == number))).one()


async def test_one_proposes_another_approves_and_the_desk_is_asked(office: ConsoleClient) -> None:
    number = await proposed(office, "fritz")
    status, answer = await send(office, "flora", f"adjustments/{number}/approve")
    assert (status, answer["status"]) == (200, "waiting"), "no daemon leads; the order stands"
    async with office.engine.connect() as connection:
        command = select(requests.c.command).where(requests.c.id == (await row(office, number)).request)
        asked = (await connection.execute(command)).scalar_one()
    assert asked == {
        "type": "balance.adjusted", "id": asked["id"], "by": "fritz", "approved_by": "flora", "reason": "counted again",
        "account": "reserve", "amount_cents": 125_050,
    }  # fmt: skip


async def test_nobody_approves_his_own_proposal(office: ConsoleClient) -> None:
    number = await proposed(office, "fritz")
    status, answer = await send(office, "fritz", f"adjustments/{number}/approve")
    assert (status, answer["detail"]) == (409, "You proposed this yourself; somebody else must approve it.")
    assert (await row(office, number)).decided_at is None


async def test_the_database_refuses_it_too(office: ConsoleClient) -> None:
    number = await proposed(office, "fritz")
    command = {**(await row(office, number)).command, "approved_by": "fritz"}
    forged = {"approved_by": "fritz", "decided_at": func.now(), "request": command["id"]}
    async with office.engine.connect() as connection:
        await connection.execute(insert(requests).values(id=command["id"], link=LINK, command=command))
        with pytest.raises(IntegrityError, match="proposals_four_eyes"):
            await connection.execute(update(proposals).where(proposals.c.number == number).values(**forged))


@pytest.mark.parametrize("approved_by", [{}, {"approved_by": "fritz"}, {"approved_by": None}, {"approved_by": "flora"}])
@pytest.mark.parametrize("type_", ["balance.adjusted", "parameters.changed"])
async def test_no_request_for_money_without_an_approved_proposal(
    office: ConsoleClient, type_: str, approved_by: dict[str, Any]
) -> None:
    command = {"type": type_, "id": "forged", "by": "fritz", "reason": "alone", **approved_by}
    with pytest.raises(DBAPIError, match="no two people have agreed on request forged"):
        async with office.engine.begin() as connection:
            await connection.execute(insert(requests).values(id="forged", link=LINK, command=command))


async def test_a_request_says_what_was_proposed_and_on_its_link(office: ConsoleClient) -> None:
    number = await proposed(office, "fritz")
    command = {**(await row(office, number)).command, "approved_by": "flora"}
    approval = {"approved_by": "flora", "decided_at": func.now(), "request": command["id"]}
    for link, said in ((LINK, {**command, "amount_cents": 9**9}), (OTHER_LINK, command), (LINK, {**command, "x": 1})):
        async with office.engine.connect() as connection:
            await connection.execute(insert(requests).values(id=command["id"], link=link, command=said))
            await connection.execute(update(proposals).where(proposals.c.number == number).values(**approval))
            with pytest.raises(DBAPIError, match="no two people have agreed"):
                await connection.commit()
    assert (await row(office, number)).decided_at is None


async def test_when_it_was_decided_is_the_databases_word(office: ConsoleClient) -> None:
    number = await proposed(office, "fritz")
    async with office.engine.begin() as connection:
        early = {"rejected_by": "fritz", "decided_at": text("'2020-01-01Z'")}
        await connection.execute(update(proposals).where(proposals.c.number == number).values(**early))
    decided = await row(office, number)
    assert decided.decided_at >= decided.at


async def test_nobody_rejects_what_is_not_his_to_decide(office: ConsoleClient) -> None:
    number = await proposed(office, "fritz")
    rejection = update(proposals).where(proposals.c.number == number).values(rejected_by="dora", decided_at=func.now())
    with pytest.raises(DBAPIError, match="dora may not approve this"):
        async with office.engine.begin() as connection:
            await connection.execute(rejection)


@pytest.mark.parametrize("role", list(Role))
@pytest.mark.parametrize(
    ("kind", "propose", "approve"),
    [
        ("adjustment", Permission.PROPOSE_ADJUSTMENTS, Permission.APPROVE_ADJUSTMENTS),
        ("parameters", Permission.PROPOSE_PARAMETERS, Permission.APPROVE_PARAMETERS),
    ],
)
async def test_the_database_knows_who_may_propose_and_approve(
    office: ConsoleClient, role: Role, kind: str, propose: Permission, approve: Permission
) -> None:
    """The trigger and the table of permissions say the same."""
    someone = OF_ROLE[role]

    def fields(by: str) -> dict[str, Any]:
        command = {"type": TYPES[kind], "id": "try", "by": by}
        return {"kind": kind, "link": LINK, "by": by, "command": command}

    async with office.engine.connect() as connection:
        await _tried(connection, insert(proposals).values(**fields(someone)), allowed=may(role, propose))
        await connection.rollback()
        proposer = "fritz" if someone != "fritz" else "flora"
        await connection.execute(insert(requests).values(id="try", link=LINK, command=fields(proposer)["command"]))
        added = await connection.execute(insert(proposals).values(**fields(proposer)).returning(proposals.c.number))
        decision = {"approved_by": someone, "decided_at": func.now(), "request": "try"}
        approval = update(proposals).where(proposals.c.number == added.scalar_one()).values(**decision)
        await _tried(connection, approval, allowed=may(role, approve))
        await connection.rollback()


async def _tried(connection: Any, statement: Any, *, allowed: bool) -> None:
    if allowed:
        await connection.execute(statement)
        return
    with pytest.raises(DBAPIError, match=r"may not (propose|approve) this"):
        await connection.execute(statement)


async def test_a_decided_proposal_is_never_changed(office: ConsoleClient) -> None:
    number = await proposed(office, "fritz")
    assert await send(office, "flora", f"adjustments/{number}/reject") == (200, {"status": "done"})
    status, answer = await send(office, "flora", f"adjustments/{number}/approve")
    assert (status, answer["detail"]) == (409, f"Proposal {number} was decided before, by flora.")
    for change in (update(proposals).values(rejected_by="mona"), update(proposals).values(command={"amount_cents": 1})):
        with pytest.raises(DBAPIError, match="decided once and never changed"):
            async with office.engine.begin() as connection:
                await connection.execute(change.where(proposals.c.number == number))
    with pytest.raises(DBAPIError, match="append-only"):
        async with office.engine.begin() as connection:
            await connection.execute(proposals.delete().where(proposals.c.number == number))


async def test_a_proposal_waiting_for_approval_cannot_be_made_into_another(office: ConsoleClient) -> None:
    number = await proposed(office, "fritz")
    raised = update(proposals).where(proposals.c.number == number).values(command={**ADJUSTMENT, "amount_cents": 9**9})
    with pytest.raises(DBAPIError, match="decided once and never changed"):
        async with office.engine.begin() as connection:
            await connection.execute(raised)


async def test_its_proposer_withdraws_it_and_nobody_else_without_the_right(office: ConsoleClient) -> None:
    by_mona = await proposed(office, "mona")
    assert await send(office, "mona", f"adjustments/{by_mona}/reject") == (200, {"status": "done"})
    by_fritz = await proposed(office, "fritz")
    assert (await send(office, "mona", f"adjustments/{by_fritz}/reject"))[0] == 409
    assert (await send(office, "ada", f"adjustments/{by_fritz}/reject"))[0] == 403


async def test_a_transfer_is_two_proposals_that_cancel_each_other(office: ConsoleClient) -> None:
    status, answer = await send(office, "fritz", "adjustments", **ADJUSTMENT, to_link="nolink")
    assert (status, answer["detail"]) == (404, "There is no link nolink.")
    status, answer = await send(office, "fritz", "adjustments", **ADJUSTMENT, to_link=OTHER_LINK)
    taken, given = [await row(office, number) for number in answer["proposals"]]
    assert (taken.link, taken.command["amount_cents"]) == (LINK, -125_050)
    assert (given.link, given.command["amount_cents"]) == (OTHER_LINK, 125_050)
    async with office.client("flora") as client:
        page = re.sub(r"<[^>]*>", "", (await client.get("/adjustments")).text)
    assert f"1,250.50 from the reserve of {LINK}" in page
    assert f"1,250.50 to the reserve of {OTHER_LINK}" in page


@pytest.mark.parametrize(
    ("changed", "why"),
    [
        ({"amount_cents": 0}, "changes nothing"),
        ({"amount_cents": 1.5}, "amount_cents"),
        ({"amount_cents": "100"}, "amount_cents"),
        ({"amount_cents": 2**60}, "amount_cents"),
        ({"account": "house"}, "account"),
        ({"reason": "   "}, "reason"),
        ({"reason": "two\nlines"}, "reason"),
        ({"more": "than asked"}, "more"),
        ({"to_link": LINK}, "another link"),
    ],
)
async def test_an_adjustment_that_cannot_be_is_refused_in_words(
    office: ConsoleClient, changed: dict[str, Any], why: str
) -> None:
    status, answer = await send(office, "fritz", "adjustments", **{**ADJUSTMENT, **changed})
    assert status in (409, 422)
    assert why in answer["detail"]


async def test_parameters_are_proposed_by_finance_and_approved_by_a_pit_manager(office: ConsoleClient) -> None:
    number = await proposed(office, "fritz", "parameters", **CHANGE)
    assert (await send(office, "flora", f"parameters/{number}/approve"))[0] == 403
    status, _ = await send(office, "mona", f"parameters/{number}/approve")
    assert status == 200
    assert (await row(office, number)).approved_by == "mona"


async def test_parameters_that_cannot_be_are_refused_in_words(office: ConsoleClient) -> None:
    both = {**CHANGE, "parameters": {**PARAMETERS, "increment_bp": 9_900, "reserve_bp": 900, "ceiling_cents": 1}}
    status, answer = await send(office, "fritz", "parameters", **both)
    assert status == 409
    assert "together at most 10000" in answer["detail"]
    assert "D14" in answer["detail"]


@pytest.mark.parametrize(
    ("typed", "cents"),
    [("1,234.56", 123_456), ("-0.5", -50), ("\N{MINUS SIGN}12", -1200), ("+7", 700), (" 100,000 ", 10_000_000)],
)
async def test_amounts_as_people_type_them(office: ConsoleClient, typed: str, cents: int) -> None:
    async with office.client("fritz") as client:
        fields = {"link": LINK, "account": "pool", "amount": typed, "reason": "typed"}
        assert (await client.post("/adjustments", data=fields)).status_code == 303
        waiting = (await client.get("/api/proposals", params={"kind": "adjustment"})).json()
    assert waiting[-1]["command"]["amount_cents"] == cents


@pytest.mark.parametrize("typed", ["1.234,56", "12,34", "1e3", "0x10", "ten", "1.234", "", "1 000"])
async def test_an_amount_that_could_be_read_in_two_ways_is_refused(office: ConsoleClient, typed: str) -> None:
    async with office.client("fritz") as client:
        await client.post("/adjustments", data={"link": LINK, "account": "pool", "amount": typed, "reason": "typed"})
        assert "is no amount such as 1,234.56" in (await client.get("/adjustments")).text
