"""`jackpot user`: the first engineer, passwords, and tokens, from the terminal."""

import json
from asyncio import to_thread
from pathlib import Path

import httpx
import pytest
from sqlalchemy import update
from typer.testing import CliRunner

from jackpot.cli import user
from jackpot.errors import UserError
from jackpot.ledger.connection import create_engine
from jackpot.ledger.schema import people
from jackpot.ledger.seal import Seal
from jackpot.people import accounts, sessions, tokens
from jackpot.people.audit import Actor
from tests.console.console_client import console

PASSWORD = "a long walk in the rain"


@pytest.fixture
def config(ledger_url: str, tmp_path: Path) -> Path:
    path = tmp_path / "jackpot.toml"
    path.write_text(f'[database]\nurl = "{ledger_url}"\n')
    return path


def run(config: Path, *arguments: str, typed: str = "") -> str:
    done = CliRunner().invoke(user.command, [*arguments, "--config", str(config)], input=typed)
    if done.exception is not None:
        raise done.exception
    return done.stdout.strip()


def test_somebody_is_added_listed_and_disabled(config: Path) -> None:
    assert "must choose a password" in run(config, "add", "emil", "--role", "engineer", typed=PASSWORD)
    run(config, "add", "mona", "--role", "pit_manager", typed=PASSWORD)
    run(config, "disable", "mona")
    found = json.loads(run(config, "list", "-o", "json"))
    assert [(one["name"], one["role"], one["disabled_at"] is None) for one in found] == [
        ("emil", "engineer", True),
        ("mona", "pit_manager", False),
    ]
    assert "emil" in run(config, "list")


@pytest.mark.parametrize(
    ("arguments", "typed", "why"),
    [
        (("add", "Emil", "--role", "dealer"), PASSWORD, "lower-case"),
        (("add", "emil", "--role", "dealer"), "short", "12 to 256"),
        (("add", "emil", "--role", "dealer"), "emil emil emil", "too easy"),
        (("disable", "nobody"), "", "no account nobody"),
        (("password", "nobody"), PASSWORD, "no account nobody"),
        (("token", "nobody", "--label", "x"), "", "no account nobody"),
        (("revoke", "12345678"), "", "no token 12345678"),
    ],
)
def test_what_cannot_be_done_is_said_in_one_line(
    config: Path, arguments: tuple[str, ...], typed: str, why: str
) -> None:
    with pytest.raises(UserError, match=why):
        run(config, *arguments, typed=typed)


async def test_a_key_seals_the_accounts_that_are_there(config: Path, ledger_url: str, tmp_path: Path) -> None:
    """Until then nobody comes in: whoever wrote them had no key."""
    await to_thread(run, config, "add", "emil", "--role", "engineer", typed=PASSWORD)
    key = tmp_path / "people.key"
    made = CliRunner().invoke(user.command, ["new-key", str(key)])
    assert (made.exit_code, key.stat().st_mode & 0o777) == (0, 0o600)
    engine = create_engine(ledger_url, seal=Seal(bytes.fromhex(key.read_text())))
    try:
        with pytest.raises(sessions.LoginRefusedError):
            await sessions.log_in(engine, "emil", PASSWORD, "here")
        with pytest.raises(UserError, match="name a key_file"):
            await to_thread(run, config, "seal")
        config.write_text(config.read_text() + f'[people]\nkey_file = "{key}"\n')
        assert await to_thread(run, config, "seal") == "sealed: emil"
        assert await sessions.find(engine, await sessions.log_in(engine, "emil", PASSWORD, "here")) is not None
        assert await accounts.forged(engine) == []
    finally:
        await engine.dispose()


async def test_an_account_that_somebody_changed_is_mended_here_alone(
    config: Path, ledger_url: str, tmp_path: Path
) -> None:
    key = tmp_path / "people.key"
    CliRunner().invoke(user.command, ["new-key", str(key)])
    config.write_text(config.read_text() + f'[people]\nkey_file = "{key}"\n')
    await to_thread(run, config, "add", "fritz", "--role", "finance", typed=PASSWORD)
    engine = create_engine(ledger_url, seal=Seal(bytes.fromhex(key.read_text())))
    try:
        async with engine.begin() as connection:
            await connection.execute(update(people).values(must_change=False))
        assert await accounts.forged(engine) == ["fritz"]
        with pytest.raises(accounts.AccountRefusedError, match="jackpot user password fritz"):
            await accounts.set_password(engine, Actor("emil", "10.0.0.1"), "fritz", PASSWORD)
        await to_thread(run, config, "password", "fritz", typed=PASSWORD)
        assert await accounts.forged(engine) == []
        session = await sessions.find(engine, await sessions.log_in(engine, "fritz", PASSWORD, "here"))
        assert session is not None
        assert session.person.confirmed
    finally:
        await engine.dispose()


async def test_a_password_set_here_opens_the_door_once(config: Path, ledger_url: str) -> None:

    await to_thread(run, config, "add", "emil", "--role", "engineer", typed=PASSWORD)
    await to_thread(run, config, "password", "emil", typed="another walk in the rain")
    engine = create_engine(ledger_url)
    try:
        with pytest.raises(sessions.LoginRefusedError):
            await sessions.log_in(engine, "emil", PASSWORD, "here")
        session = await sessions.find(engine, await sessions.log_in(engine, "emil", "another walk in the rain", "here"))
        assert session is not None
        assert session.person.must_change
    finally:
        await engine.dispose()


async def test_a_token_serves_a_program_until_it_is_revoked(config: Path, ledger_url: str) -> None:

    await to_thread(run, config, "add", "grafana", "--role", "auditor", typed=PASSWORD)
    token = await to_thread(run, config, "token", "grafana", "--label", "dashboards", "--days", "30")
    assert token.startswith(tokens.PREFIX)
    engine = create_engine(ledger_url)
    transport = httpx.ASGITransport(app=console(engine))
    headers = {"Authorization": f"Bearer {token}"}
    try:
        async with httpx.AsyncClient(transport=transport, base_url="http://console", headers=headers) as client:
            assert (await client.get("/api/me")).json()["role"] == "auditor"
            (found,) = json.loads(await to_thread(run, config, "list", "-o", "json"))
            await to_thread(run, config, "revoke", found["tokens"][0]["id"])
            assert (await client.get("/api/me")).status_code == 401
    finally:
        await engine.dispose()
