"""What the browser is told, and what a session is worth."""

import datetime as dt
import re

import httpx
import pytest
from argon2 import Type
from sqlalchemy import func, select, update

from jackpot.console.access import COOKIE
from jackpot.console.pages.login import inside
from jackpot.ledger.connection import create_engine
from jackpot.ledger.schema import audit
from jackpot.ledger.schema import sessions as session_table
from jackpot.ledger.schema import tokens as token_table
from jackpot.people import accounts, sessions, tokens
from jackpot.people.audit import Actor
from jackpot.people.roles import Role
from tests.console.conftest import HASHER
from tests.console.console_client import ConsoleClient, console
from tests.console.site import INSTALLER, PASSWORD

pytestmark = pytest.mark.asyncio(loop_scope="session")


async def person(office: ConsoleClient, name: str, role: Role = Role.FINANCE, *, must_change: bool = False) -> str:
    """Somebody whom only this test knows."""
    await accounts.add(office.engine, INSTALLER, name, role, PASSWORD, must_change=must_change, vouching=office.engine)
    return name


async def test_every_answer_forbids_what_is_not_ours(office: ConsoleClient) -> None:
    async with office.client("ada") as client:
        for path in ("/", "/awards", "/sign/megalink", "/login", "/healthz", "/no-such-page", "/api/links", "/people"):
            headers = (await client.get(path)).headers
            policy = headers["content-security-policy"]
            assert policy.startswith("default-src 'none'; script-src 'self'; style-src 'self'"), path
            assert "unsafe" not in policy
            assert "frame-ancestors 'none'" in policy
            assert headers["x-content-type-options"] == "nosniff"
            assert headers["cache-control"] == "no-store", path


async def test_a_fault_of_ours_is_said_without_its_traceback(
    office: ConsoleClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(*_: object, **__: object) -> None:
        raise ZeroDivisionError("the inner workings")

    monkeypatch.setattr("jackpot.console.pages.facts.read_awards", fail)
    async with office.client("ada") as client:
        answer = await client.get("/awards")
    assert answer.status_code == 500
    assert "This is a fault of ours" in answer.text
    assert "inner workings" not in answer.text
    assert "default-src 'none'" in answer.headers["content-security-policy"]


async def test_a_database_that_is_away_is_said_so() -> None:
    app = console(create_engine("postgresql://jackpot@127.0.0.1:1/none"))
    transport = httpx.ASGITransport(app=app, raise_app_exceptions=False)
    async with httpx.AsyncClient(transport=transport, base_url="http://console", cookies={COOKIE: "x"}) as client:
        for path in ("/", "/api/links"):
            answer = await client.get(path)
            assert answer.status_code == 503
            assert "The database does not answer now." in answer.text
        assert (await client.get("/healthz")).status_code == 200


async def test_no_page_carries_script_or_style_of_its_own(office: ConsoleClient) -> None:
    """A strict CSP would block it; so nothing may depend on it."""
    async with office.client("mona") as client:
        for path in (
            "/",
            "/tables",
            "/awards/megalink-000001",
            "/rounds/UTH-01/first",
            "/parameters",
            "/sign/megalink",
        ):
            page = (await client.get(path)).text
            assert re.search(r"<style|style=|\son\w+=|javascript:", page) is None, path
            assert re.findall(r"<script(?! src=\"/static/)", page) == [], path
            assert re.findall(r"(?:src|href)=\"(?:https?:)?//", page) == [], "it works without the world outside"


async def test_static_files_are_kept_by_name(office: ConsoleClient) -> None:
    async with office.client() as client:
        page = (await client.get("/login")).text
        (style,) = re.findall(r'href="(/static/console\.css\?v=\w+)"', page)
        assert "immutable" in (await client.get(style)).headers["cache-control"]


async def test_the_cookie_is_for_us_alone(office: ConsoleClient) -> None:
    async with office.client() as client:
        cookie = (await log_in(client, "dora", PASSWORD)).headers["set-cookie"]
        assert "HttpOnly" in cookie
        assert "SameSite=strict" in cookie
    async with office.client() as client:
        client.base_url = "https://console"
        assert "Secure" in (await log_in(client, "dora", PASSWORD)).headers["set-cookie"]


async def log_in(client: httpx.AsyncClient, name: str, password: str, **fields: str) -> httpx.Response:
    page = await client.get("/login")
    (token,) = re.findall(r'name="token" value="([^"]+)"', page.text)
    return await client.post("/login", data={"name": name, "password": password, "token": token, **fields})


async def test_login_needs_its_own_form(office: ConsoleClient) -> None:
    async with office.client() as client:
        answer = await client.post("/login", data={"name": "dora", "password": PASSWORD, "token": "guessed"})
        assert (answer.status_code, COOKIE in answer.cookies) == (403, False)


async def test_login_leads_on_only_to_our_own_pages(office: ConsoleClient) -> None:
    async with office.client() as client:
        answer = await log_in(client, "dora", PASSWORD, next="/awards?link=megalink")
        assert (answer.status_code, answer.headers["location"]) == (303, "/awards?link=megalink")
    for elsewhere in ("https://evil.example/", "//evil.example", "/\\evil.example", "", "javascript:alert(1)", "/\nx"):
        assert inside(elsewhere) == "/"


async def test_wrong_name_and_wrong_password_are_told_alike(office: ConsoleClient) -> None:
    async with office.client() as client:
        pages = [
            re.sub(r'name="token" value="[^"]+"', "", (await log_in(client, name, "wrong password")).text)
            for name in ("dora", "nobody", "Robert'); DROP TABLE people", "x" * 300)
        ]
    assert len(set(pages)) == 1
    assert "The name or the password is wrong." in pages[0]


async def test_too_many_attempts_are_not_looked_at(office: ConsoleClient) -> None:
    name = await person(office, "often.wrong")
    for _ in range(sessions.ATTEMPTS_PER_NAME):
        with pytest.raises(sessions.LoginRefusedError):
            await sessions.log_in(office.engine, name, "wrong password", "10.0.0.1")
    with pytest.raises(sessions.TooManyAttemptsError):
        await sessions.log_in(office.engine, name, PASSWORD, "10.0.0.2")


async def test_too_many_attempts_from_one_address_are_not_looked_at(office: ConsoleClient) -> None:
    for number in range(sessions.ATTEMPTS_PER_ADDRESS):
        with pytest.raises(sessions.LoginRefusedError):
            await sessions.log_in(office.engine, f"guess-{number}", "wrong password", "10.0.0.9")
    with pytest.raises(sessions.TooManyAttemptsError):
        await sessions.log_in(office.engine, "dora", PASSWORD, "10.0.0.9")
    assert await sessions.log_in(office.engine, "dora", PASSWORD, "10.0.0.10")


async def test_a_login_that_went_well_is_no_failed_attempt(office: ConsoleClient) -> None:
    for _ in range(sessions.ATTEMPTS_PER_NAME + 2):
        await sessions.log_in(office.engine, "dora", PASSWORD, "10.0.0.11")


async def test_every_login_is_in_the_trail(office: ConsoleClient) -> None:
    name = await person(office, "comes.and.goes")
    async with office.client() as client:
        await log_in(client, name, "wrong password")
        await log_in(client, name, PASSWORD)
        csrf = await csrf_of(office, client)
        assert (await client.post("/logout", data={"csrf": csrf})).headers["location"] == "/login"
        assert (await client.get("/")).headers["location"].startswith("/login")
    async with office.engine.connect() as connection:
        trail = await connection.execute(select(audit.c.action).where(audit.c.by == name).order_by(audit.c.id))
        assert list(trail.scalars()) == ["login.refused", "login.accepted", "logout"]


async def test_failing_without_end_does_not_fill_the_trail(office: ConsoleClient) -> None:
    """Each fails from another address than other tests do, first with one name, then with many."""
    for names, address in ((["same.name"] * 60, "10.9.0.1"), ([f"name-{number}" for number in range(90)], "10.9.0.2")):
        for name in names:
            with pytest.raises(sessions.LoginRefusedError):
                await sessions.log_in(office.engine, name, "wrong password", address)
    async with office.engine.connect() as connection:
        query = select(audit.c.action, audit.c.by, audit.c.subject, audit.c.detail).order_by(audit.c.id)
        first, limited = (await connection.execute(query.where(audit.c.address == "10.9.0.1"))).all()
        many = (await connection.execute(query.where(audit.c.address == "10.9.0.2"))).all()
    assert first == ("login.refused", "same.name", "same.name", {"attempts_from_there": 1})
    assert limited == ("login.limited", "same.name", "same.name", {"attempts_from_there": 10})
    assert len(many) == sessions.ATTEMPTS_PER_ADDRESS + 1
    assert many[-1] == ("login.limited", "?", "10.9.0.2", {"attempts_from_there": 30})


async def csrf_of(office: ConsoleClient, client: httpx.AsyncClient) -> str:
    found = await sessions.find(office.engine, client.cookies[COOKIE])
    assert found is not None
    return found.csrf


async def test_nothing_of_the_trail_can_be_changed(office: ConsoleClient) -> None:
    for change in (update(audit).values(by="nobody"), audit.delete()):
        with pytest.raises(Exception, match="append-only"):
            async with office.engine.begin() as connection:
                await connection.execute(change)


async def age(office: ConsoleClient, secret: str, **columns: dt.timedelta) -> None:
    values = {name: func.now() - by for name, by in columns.items()}
    async with office.engine.begin() as connection:
        await connection.execute(
            update(session_table).where(session_table.c.hash == sessions._hash(secret)).values(**values)
        )


async def test_a_session_ends_when_idle(office: ConsoleClient) -> None:
    secret = await sessions.log_in(office.engine, "mona", PASSWORD, "here")
    await age(office, secret, seen_at=sessions.IDLE - dt.timedelta(seconds=30))
    assert await sessions.find(office.engine, secret) is not None
    await age(office, secret, seen_at=sessions.IDLE + dt.timedelta(seconds=1))
    assert await sessions.find(office.engine, secret) is None
    await age(office, secret, seen_at=dt.timedelta(0))
    assert await sessions.find(office.engine, secret) is None, "it does not come back to life"


async def test_use_keeps_a_session_but_not_beyond_its_time(office: ConsoleClient) -> None:
    secret = await sessions.log_in(office.engine, "mona", PASSWORD, "here")
    await age(office, secret, seen_at=dt.timedelta(minutes=20))
    await sessions.find(office.engine, secret)
    await age(office, secret, created_at=sessions.WHOLE - dt.timedelta(minutes=1))
    assert await sessions.find(office.engine, secret) is not None
    await age(office, secret, created_at=sessions.WHOLE + dt.timedelta(seconds=1))
    assert await sessions.find(office.engine, secret) is None


async def test_a_page_that_only_listens_does_not_keep_its_session(office: ConsoleClient) -> None:
    secret = await sessions.log_in(office.engine, "mona", PASSWORD, "here")
    await age(office, secret, seen_at=sessions.IDLE - dt.timedelta(minutes=1))
    await sessions.find(office.engine, secret, used=False)
    assert await idle(office, secret) > sessions.IDLE - dt.timedelta(minutes=2)


async def test_what_an_open_page_fetches_by_itself_does_not_keep_its_session(office: ConsoleClient) -> None:
    secret = await sessions.log_in(office.engine, "mona", PASSWORD, "here")
    await age(office, secret, seen_at=sessions.IDLE - dt.timedelta(minutes=1))
    async with office.client() as client:
        client.cookies.set(COOKIE, secret)
        assert (await client.get("/parts/tables")).status_code == 200
        assert await idle(office, secret) > sessions.IDLE - dt.timedelta(minutes=2)
        assert (await client.get("/tables")).status_code == 200
        assert await idle(office, secret) < dt.timedelta(minutes=1)


async def idle(office: ConsoleClient, secret: str) -> dt.timedelta:
    times = select(func.now(), session_table.c.seen_at).where(session_table.c.hash == sessions._hash(secret))
    async with office.engine.connect() as connection:
        now, seen_at = (await connection.execute(times)).one()
    since: dt.timedelta = now - seen_at
    return since


async def test_who_can_only_watch_may_stay_on_a_wall_all_day(office: ConsoleClient) -> None:
    secret = await sessions.log_in(office.engine, "dora", PASSWORD, "wall")
    await age(office, secret, seen_at=dt.timedelta(hours=11))
    assert await sessions.find(office.engine, secret, used=False) is not None


async def test_disabling_ends_sessions_and_tokens_at_once(office: ConsoleClient) -> None:
    name = await person(office, "leaves.today")
    secret = await sessions.log_in(office.engine, name, PASSWORD, "here")
    token = await tokens.issue(office.engine, INSTALLER, name, "script")
    await accounts.disable(office.engine, Actor("emil", "here"), name)
    assert await sessions.find(office.engine, secret) is None
    assert await tokens.find(office.engine, token) is None
    with pytest.raises(sessions.LoginRefusedError):
        await sessions.log_in(office.engine, name, PASSWORD, "here")


async def test_a_revoked_token_and_one_that_ended_open_nothing(office: ConsoleClient) -> None:
    name = await person(office, "token.holder")
    revoked = await tokens.issue(office.engine, INSTALLER, name, "first")
    (listed,) = await tokens.listed(office.engine, name)
    await tokens.revoke(office.engine, INSTALLER, listed.id)
    assert await tokens.find(office.engine, revoked) is None
    kept = await tokens.issue(office.engine, INSTALLER, name, "second")
    assert await tokens.find(office.engine, kept) is not None
    async with office.engine.begin() as connection:
        await connection.execute(update(token_table).values(expires_at=func.now()).where(token_table.c.person == name))
    assert await tokens.find(office.engine, kept) is None


async def test_a_password_that_another_has_set_must_be_changed_first(office: ConsoleClient) -> None:
    name = await person(office, "new.here", must_change=True)
    async with office.client() as client:
        await log_in(client, name, PASSWORD)
        assert (await client.get("/awards")).headers["location"] == "/password"
        assert (await client.get("/api/links")).status_code == 403
        csrf = await csrf_of(office, client)
        chosen = {"old": PASSWORD, "password": "a path through the birches", "again": "a path through the birches"}
        for wrong, why in (
            ({"old": "not that"}, "The present password is wrong."),
            ({"again": "something else entirely"}, "was not typed the same way twice"),
            ({"password": PASSWORD, "again": PASSWORD}, "other than the one you have"),
            ({"password": "short", "again": "short"}, "12 to 256 characters"),
            ({"password": "new.here new.here", "again": "new.here new.here"}, "too easy to guess"),
        ):
            answer = await client.post("/password", data={"csrf": csrf, **chosen, **wrong})
            assert (answer.status_code, why in answer.text) == (422, True), why
        assert (await client.post("/password", data={"csrf": csrf, **chosen})).status_code == 303
        assert (await client.get("/awards")).status_code == 200
    with pytest.raises(sessions.LoginRefusedError):
        await sessions.log_in(office.engine, name, PASSWORD, "here")


async def test_passwords_and_tokens_are_not_kept_as_they_are(office: ConsoleClient) -> None:
    token = await tokens.issue(office.engine, INSTALLER, "ada", "kept as a hash")
    async with office.engine.connect() as connection:
        for table in ("people", "tokens", "sessions", "audit"):
            kept = (await connection.exec_driver_sql(f"SELECT {table}::text FROM {table}")).scalars()
            for row in kept:
                assert PASSWORD not in row
                assert token not in row
        stored = (await connection.exec_driver_sql("SELECT password FROM people")).scalars().all()
        assert all(hash_.startswith("$argon2id$") for hash_ in stored)


async def test_a_guess_costs_what_owasp_asks_at_least() -> None:
    """19 MiB and two passes, or more: https://cheatsheetseries.owasp.org, Password Storage."""
    assert (HASHER.type, HASHER.memory_cost >= 19_456, HASHER.time_cost >= 2) == (Type.ID, True, True)
