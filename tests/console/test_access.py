"""Every route, every role: refused without login, refused to each role that lacks the permission, by the server."""

import pytest
from fastapi.routing import APIRoute, iter_route_contexts
from sqlalchemy import func, select

from jackpot.ledger.schema import audit, proposals, requests
from jackpot.people import tokens
from jackpot.people.roles import CHANGES, OF_THE_CONFIRMED, PERMISSIONS, Permission, Role
from tests.console.console_client import ConsoleClient
from tests.console.site import INSTALLER, OF_ROLE

pytestmark = pytest.mark.asyncio(loop_scope="session")

PUBLIC = "public"
SIGNED_IN = "signed in"

# Each route, what it asks, and an address of it. A route that is not here fails the first test.
ROUTES: dict[tuple[str, str], tuple[str | tuple[Permission, ...], str]] = {
    ("GET", "/healthz"): (PUBLIC, "/healthz"),
    ("HEAD", "/healthz"): (PUBLIC, "/healthz"),
    ("GET", "/readyz"): (PUBLIC, "/readyz"),
    ("HEAD", "/readyz"): (PUBLIC, "/readyz"),
    ("GET", "/metrics"): (PUBLIC, "/metrics"),
    ("HEAD", "/metrics"): (PUBLIC, "/metrics"),
    ("GET", "/sign/{link}"): (PUBLIC, "/sign/megalink"),
    ("GET", "/sign/{link}/stream"): (PUBLIC, "/sign/megalink/stream"),
    ("GET", "/login"): (PUBLIC, "/login"),
    ("POST", "/login"): (PUBLIC, "/login"),
    ("POST", "/logout"): (SIGNED_IN, "/logout"),
    ("GET", "/password"): (SIGNED_IN, "/password"),
    ("POST", "/password"): (SIGNED_IN, "/password"),
    ("GET", "/api/docs"): (SIGNED_IN, "/api/docs"),
    ("GET", "/api/openapi.json"): (SIGNED_IN, "/api/openapi.json"),
    ("GET", "/api/me"): (SIGNED_IN, "/api/me"),
    ("GET", "/"): ((Permission.WATCH,), "/"),
    ("GET", "/parts/{part}"): ((Permission.WATCH,), "/parts/tables"),
    ("GET", "/tables"): ((Permission.WATCH,), "/tables"),
    ("GET", "/stream"): ((Permission.WATCH,), "/stream"),
    ("GET", "/rounds/{table}/{round:path}"): ((Permission.WATCH,), "/rounds/UTH-01/first"),
    ("GET", "/find"): ((Permission.SEE_EVENTS,), "/find?q=megalink-event-9"),
    ("GET", "/events/{id:path}"): ((Permission.SEE_EVENTS,), "/events/megalink-event-9"),
    ("GET", "/quarantine"): ((Permission.SEE_EVENTS,), "/quarantine"),
    ("GET", "/awards"): ((Permission.SEE_AWARDS,), "/awards"),
    ("GET", "/awards/{id}"): ((Permission.SEE_AWARDS,), "/awards/megalink-000001"),
    ("GET", "/awards/{id}/{form}"): ((Permission.SEE_AWARDS,), "/awards/megalink-000001/json"),
    ("GET", "/journals"): ((Permission.SEE_MONEY,), "/journals"),
    ("GET", "/journals/{link}"): ((Permission.SEE_MONEY,), "/journals/megalink"),
    ("GET", "/journals/{link}/{n}"): ((Permission.SEE_MONEY,), "/journals/megalink/1"),
    ("GET", "/days"): ((Permission.SEE_MONEY,), "/days"),
    ("GET", "/days/{day}"): ((Permission.SEE_MONEY,), "/days/2026-11-15"),
    ("GET", "/days/{day}/{form}"): ((Permission.SEE_MONEY,), "/days/2026-11-15/csv"),
    ("GET", "/adjustments"): ((Permission.SEE_MONEY,), "/adjustments"),
    ("GET", "/parameters"): ((Permission.SEE_MONEY,), "/parameters"),
    ("GET", "/audit"): ((Permission.SEE_AUDIT,), "/audit"),
    ("GET", "/audit/commands"): ((Permission.SEE_AUDIT,), "/audit/commands"),
    ("POST", "/links/{link}/suspend"): ((Permission.SUSPEND,), "/links/megalink/suspend"),
    ("POST", "/links/{link}/resume"): ((Permission.RESUME,), "/links/megalink/resume"),
    ("POST", "/conclusions"): ((Permission.CONCLUDE_ROUNDS,), "/conclusions"),
    ("POST", "/adjustments"): ((Permission.PROPOSE_ADJUSTMENTS,), "/adjustments"),
    ("POST", "/adjustments/{number}/approve"): ((Permission.APPROVE_ADJUSTMENTS,), "/adjustments/999/approve"),
    ("POST", "/adjustments/{number}/reject"): (
        (Permission.APPROVE_ADJUSTMENTS, Permission.PROPOSE_ADJUSTMENTS),
        "/adjustments/999/reject",
    ),
    ("POST", "/parameters"): ((Permission.PROPOSE_PARAMETERS,), "/parameters"),
    ("POST", "/parameters/{number}/approve"): ((Permission.APPROVE_PARAMETERS,), "/parameters/999/approve"),
    ("POST", "/parameters/{number}/reject"): (
        (Permission.APPROVE_PARAMETERS, Permission.PROPOSE_PARAMETERS),
        "/parameters/999/reject",
    ),
    ("GET", "/people"): ((Permission.SEE_PEOPLE,), "/people"),
    ("POST", "/people"): ((Permission.MANAGE_PEOPLE,), "/people"),
    ("POST", "/people/{name}/confirm"): ((Permission.CONFIRM_PEOPLE,), "/people/nobody/confirm"),
    ("POST", "/people/{name}/disable"): ((Permission.MANAGE_PEOPLE,), "/people/nobody/disable"),
    ("POST", "/people/{name}/password"): ((Permission.MANAGE_PEOPLE,), "/people/nobody/password"),
    ("GET", "/api/links"): ((Permission.WATCH,), "/api/links"),
    ("GET", "/api/links/{link}"): ((Permission.WATCH,), "/api/links/megalink"),
    ("GET", "/api/links/{link}/claims"): ((Permission.WATCH,), "/api/links/megalink/claims"),
    ("GET", "/api/links/{link}/history"): ((Permission.WATCH,), "/api/links/megalink/history"),
    ("GET", "/api/links/{link}/journals"): ((Permission.SEE_MONEY,), "/api/links/megalink/journals"),
    ("GET", "/api/links/{link}/awards"): ((Permission.SEE_AWARDS,), "/api/links/megalink/awards"),
    ("GET", "/api/tables"): ((Permission.WATCH,), "/api/tables"),
    ("GET", "/api/boards"): ((Permission.WATCH,), "/api/boards"),
    ("GET", "/api/rounds/{table}/{round:path}"): ((Permission.WATCH,), "/api/rounds/UTH-01/first"),
    ("GET", "/api/events/{event:path}"): ((Permission.SEE_EVENTS,), "/api/events/megalink-event-9"),
    ("GET", "/api/quarantine"): ((Permission.SEE_EVENTS,), "/api/quarantine"),
    ("GET", "/api/awards/{award}"): ((Permission.SEE_AWARDS,), "/api/awards/megalink-000001"),
    ("GET", "/api/journals/{link}/{n}"): ((Permission.SEE_MONEY,), "/api/journals/megalink/1"),
    ("GET", "/api/days/{day}"): ((Permission.SEE_MONEY,), "/api/days/2026-11-15"),
    ("GET", "/api/proposals"): ((Permission.SEE_MONEY,), "/api/proposals?kind=adjustment"),
    ("GET", "/api/audit"): ((Permission.SEE_AUDIT,), "/api/audit"),
    ("GET", "/api/commands"): ((Permission.SEE_AUDIT,), "/api/commands"),
    ("POST", "/api/links/{link}/suspend"): ((Permission.SUSPEND,), "/api/links/megalink/suspend"),
    ("POST", "/api/links/{link}/resume"): ((Permission.RESUME,), "/api/links/megalink/resume"),
    ("POST", "/api/conclusions"): ((Permission.CONCLUDE_ROUNDS,), "/api/conclusions"),
    ("POST", "/api/adjustments"): ((Permission.PROPOSE_ADJUSTMENTS,), "/api/adjustments"),
    ("POST", "/api/adjustments/{number}/approve"): ((Permission.APPROVE_ADJUSTMENTS,), "/api/adjustments/999/approve"),
    ("POST", "/api/adjustments/{number}/reject"): (
        (Permission.APPROVE_ADJUSTMENTS, Permission.PROPOSE_ADJUSTMENTS),
        "/api/adjustments/999/reject",
    ),
    ("POST", "/api/parameters"): ((Permission.PROPOSE_PARAMETERS,), "/api/parameters"),
    ("POST", "/api/parameters/{number}/approve"): ((Permission.APPROVE_PARAMETERS,), "/api/parameters/999/approve"),
    ("POST", "/api/parameters/{number}/reject"): (
        (Permission.APPROVE_PARAMETERS, Permission.PROPOSE_PARAMETERS),
        "/api/parameters/999/reject",
    ),
    ("GET", "/api/people"): ((Permission.SEE_PEOPLE,), "/api/people"),
    ("POST", "/api/people"): ((Permission.MANAGE_PEOPLE,), "/api/people"),
    ("POST", "/api/people/{name}/confirm"): ((Permission.CONFIRM_PEOPLE,), "/api/people/nobody/confirm"),
    ("POST", "/api/people/{name}/disable"): ((Permission.MANAGE_PEOPLE,), "/api/people/nobody/disable"),
    ("POST", "/api/people/{name}/password"): ((Permission.MANAGE_PEOPLE,), "/api/people/nobody/password"),
}

GUARDED = [(method, asked, path) for (method, _), (asked, path) in ROUTES.items() if asked != PUBLIC]
CHANGING = [path for method, _, path in GUARDED if method == "POST"]
ENDLESS = ("/stream", "/sign/megalink/stream")
"""Streams that would not end here; the browser's tests watch them."""


async def test_every_route_is_in_the_table(office: ConsoleClient) -> None:
    routes = {
        (method, route.path)
        for route in iter_route_contexts(office.app.routes)
        if isinstance(route.original_route, APIRoute)
        for method in route.methods or ()
    }
    assert routes == set(ROUTES)


async def test_everything_but_the_public_pages_asks_who_you_are(office: ConsoleClient) -> None:
    async with office.client() as client:
        for method, _, path in GUARDED:
            answer = await client.request(method, path)
            if method == "GET" and not path.startswith("/api/"):
                assert (answer.status_code, answer.headers["location"].partition("?")[0]) == (303, "/login"), path
            else:
                assert answer.status_code == 401, (method, path)


async def test_public_pages_are_public(office: ConsoleClient) -> None:
    async with office.client() as client:
        for (method, _), (asked, path) in ROUTES.items():
            if asked == PUBLIC and method == "GET" and path not in ENDLESS:
                assert (await client.get(path)).status_code == 200, path


def allowed(role: Role, asked: str | tuple[Permission, ...]) -> bool:
    return asked == SIGNED_IN or any(permission in PERMISSIONS[role] for permission in asked)


@pytest.mark.parametrize("role", list(Role))
async def test_a_role_gets_what_it_may_and_nothing_else(office: ConsoleClient, role: Role) -> None:
    """What is sent is empty: whoever may do it is told so, and nobody changes anything."""
    before = await audit_entries(office)
    async with office.client(OF_ROLE[role]) as client:
        for method, asked, path in GUARDED:
            if path in ENDLESS or path == "/logout":
                continue
            answer = await client.request(method, path)
            if allowed(role, asked):
                assert answer.status_code in (200, 303, 404, 409, 422), (method, path, answer.text)
            else:
                assert answer.status_code == 403, (method, path)
    assert await audit_entries(office) == before


@pytest.mark.parametrize("role", list(Role))
async def test_a_token_has_the_role_of_its_person(office: ConsoleClient, role: Role) -> None:
    token = await tokens.issue(office.engine, INSTALLER, OF_ROLE[role], "test")
    async with office.client(headers={"Authorization": f"Bearer {token}"}) as client:
        for method, asked, path in GUARDED:
            answer = await client.request(method, path)
            if not path.startswith("/api/"):
                assert answer.status_code in (303, 401), "a token opens no page"
            elif allowed(role, asked):
                assert answer.status_code in (200, 404, 409, 422), (method, path, answer.text)
            else:
                assert answer.status_code == 403, (method, path)


async def test_a_form_without_the_sessions_token_is_refused(office: ConsoleClient) -> None:
    """Another site can make a browser send the cookie, but not this."""
    before = await audit_entries(office)
    dealers = (await office.session("dora")).csrf
    for name, wrong in (("mona", {}), ("fritz", {"X-CSRF-Token": "0" * 64}), ("emil", {"X-CSRF-Token": dealers})):
        async with office.client(name, csrf=False, headers=wrong) as client:
            for path in CHANGING:
                answer = await client.post(path, data={"reason": "from elsewhere", "csrf": ""})
                assert answer.status_code == 403, path
    assert await audit_entries(office) == before


async def audit_entries(office: ConsoleClient) -> list[int]:
    """How much was ever asked of a desk, proposed, and done; logins and refusals apart."""
    async with office.engine.connect() as connection:
        counted = [
            select(func.count()).select_from(requests),
            select(func.count()).select_from(proposals),
            select(func.count())
            .select_from(audit)
            .where(~audit.c.action.startswith("login"), audit.c.action != "token.issued"),
        ]
        return [(await connection.execute(query)).scalar_one() for query in counted]


async def test_no_role_both_proposes_and_approves_parameters_nor_keeps_accounts_and_money() -> None:
    """Separation of duties, whatever the table says next year."""
    for permissions in PERMISSIONS.values():
        assert not {Permission.PROPOSE_PARAMETERS, Permission.APPROVE_PARAMETERS} <= permissions
        if Permission.MANAGE_PEOPLE in permissions:
            assert not permissions & OF_THE_CONFIRMED
            assert not permissions & {
                Permission.SEE_MONEY,
                Permission.PROPOSE_ADJUSTMENTS,
                Permission.APPROVE_ADJUSTMENTS,
                Permission.RESUME,
            }
        if Permission.SEE_AUDIT in permissions:
            assert not permissions & CHANGES


@pytest.mark.parametrize("role", list(Role))
async def test_what_a_role_may_not_do_is_not_shown(office: ConsoleClient, role: Role) -> None:
    """No page offers a link or a form that would then be refused."""
    may_not = [
        f'{"href" if method == "GET" else "action"}="{path.partition("?")[0]}"'
        for method, asked, path in GUARDED
        if not allowed(role, asked)
    ]
    async with office.client(OF_ROLE[role]) as client:
        for method, asked, path in GUARDED:
            if method != "GET" or path.startswith("/api/") or path in ENDLESS or not allowed(role, asked):
                continue
            page = (await client.get(path, follow_redirects=True)).text
            assert [offered for offered in may_not if offered in page or f"{offered[:-1]}?" in page] == [], path
