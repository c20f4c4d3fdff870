"""With no more than its grants, each role can do its work: the daemon is run with them by all tests in this folder."""

import datetime as dt
import http.client
import json
import uuid
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import asyncpg
import pytest
from typer.testing import CliRunner

from jackpot.cli import user
from jackpot.floor.table import TableController
from jackpot.people import accounts, sessions, tokens
from jackpot.people.roles import Role
from jackpot.pki import Kind
from tests.acceptance import processes
from tests.acceptance.processes import Daemon
from tests.deploy.conftest import Controller, Database
from tests.deploy.installed import Pki
from tests.deploy.terminal import INSTALLER, PASSWORD, Terminal

LINK = "megalink"


@pytest.fixture
async def terminal(database: Database) -> AsyncIterator[Terminal]:
    async with database.terminal() as made:
        yield made


class Api:
    def __init__(self, daemon: Daemon) -> None:
        self._address = daemon.listen

    def ask(self, token: str, method: str, path: str, body: Any = None) -> tuple[int, Any]:
        connection = http.client.HTTPConnection(self._address, timeout=20)
        headers = {"Authorization": f"Bearer {token}", "Content-Type": "application/json"}
        connection.request(method, f"/api{path}", None if body is None else json.dumps(body), headers)
        answer = connection.getresponse()
        return answer.status, json.loads(answer.read())


async def test_people_come_and_go_with_the_consoles_role_alone(terminal: Terminal) -> None:
    engine = terminal.console
    name, token = await terminal.hire(Role.AUDITOR)
    assert await tokens.find(engine, token) is not None
    secret = await sessions.log_in(engine, name, PASSWORD, "127.0.0.1")
    assert await sessions.find(engine, secret) is not None
    await sessions.leave_note(engine, secret, {"done": True})
    with pytest.raises(sessions.LoginRefusedError):
        await sessions.log_in(engine, name, "wrong", "127.0.0.1")
    await accounts.set_password(engine, INSTALLER, name, PASSWORD + " staple")
    assert await sessions.find(engine, secret) is None
    await accounts.disable(engine, INSTALLER, name)
    assert await tokens.find(engine, token) is None


async def test_the_console_does_its_work_with_its_own_role(
    terminal: Terminal, controller: Controller, pki: Pki
) -> None:
    _, auditor = await terminal.hire(Role.AUDITOR)
    _, engineer = await terminal.hire(Role.ENGINEER)
    _, finance = await terminal.hire(Role.FINANCE)
    _, approver = await terminal.hire(Role.FINANCE)
    _, manager = await terminal.hire(Role.PIT_MANAGER)
    async with TableController(pki.broker(Kind.TABLE, "BE-01"), LINK, "BE-01") as table:
        name = uuid.uuid4().hex
        await table.say("round.opened", name)
        await table.say("wager.placed", name, position=1)
        await table.say("round.closed", name)
        await table.say("hand.entered", name, position=1, cards=["2c", "2d", "2h", "2s", "9c"], community=[])
        settled = await table.say("round.settled", name)
    (award,) = settled["result"]["awards"]
    api = Api(controller.daemon)
    today = dt.datetime.now(dt.UTC).date().isoformat()
    for path in (
        "/me",
        "/links",
        f"/links/{LINK}",
        f"/links/{LINK}/claims",
        f"/links/{LINK}/history",
        f"/links/{LINK}/journals",
        f"/links/{LINK}/awards",
        "/tables",
        "/boards",
        f"/awards/{award['award']}",
        f"/rounds/BE-01/{name}",
        f"/days/{today}",
        "/quarantine",
        "/audit",
        "/commands",
        "/proposals?kind=adjustment",
    ):
        status, answer = api.ask(auditor, "GET", path)
        assert status == 200, (path, answer)
    assert api.ask(engineer, "GET", "/people")[0] == 200
    reason = {"reason": "a test of the roles"}
    for order in ("suspend", "resume"):
        status, answer = api.ask(manager, "POST", f"/links/{LINK}/{order}", reason)
        assert (status, answer["status"]) == (200, "accepted"), answer
    wanted = {"link": LINK, "account": "reserve", "amount_cents": 100, **reason}
    status, answer = api.ask(finance, "POST", "/adjustments", wanted)
    assert status == 201, answer
    (number,) = answer["proposals"]
    status, answer = api.ask(approver, "POST", f"/adjustments/{number}/approve")
    assert (status, answer["status"]) == (200, "accepted"), answer


def as_role(controller: Controller, database: Database, role: str, folder: Path) -> Path:
    """The configuration of somebody's own machine: the daemon's, with his role in it."""
    config = folder / f"{role}.toml"
    text = controller.daemon.config.read_text().replace(database.url("settle"), database.url(role))
    config.write_text("".join(line for line in text.splitlines(keepends=True) if not line.startswith("console_")))
    return config


def test_finance_reconciles_with_its_own_role(controller: Controller, database: Database, tmp_path: Path) -> None:
    config = as_role(controller, database, "finance", tmp_path)
    done = processes.run("reconcile", "--config", config, "--day", "2026-01-01", "-o", "json")
    assert (done.returncode, json.loads(done.stdout)["day"]) == (0, "2026-01-01"), done.stderr


def test_the_first_person_is_made_from_the_terminal(controller: Controller) -> None:
    name = f"first-{uuid.uuid4().hex[:6]}"
    argv = ["add", name, "--role", "engineer", "--config", str(controller.daemon.config)]
    done = CliRunner().invoke(user.command, argv, input=PASSWORD + "\n")
    assert done.exit_code == 0, done.output


def test_the_doctor_finds_the_site_in_order(controller: Controller) -> None:
    done = processes.run("check", "--config", controller.daemon.config, "-o", "json")
    bad = {one["part"] for one in json.loads(done.stdout)["findings"] if one["verdict"] == "bad"}
    assert bad <= {"board"}, done.stdout  # no board is plugged in here


def test_orders_from_the_terminal_are_left_in_the_consoles_role(controller: Controller) -> None:
    for order in ("suspend", "resume"):
        config = controller.daemon.config
        done = processes.run(order, "--config", config, "--link", LINK, "--reason", "a test")
        assert done.returncode == 0, done.stderr


async def test_the_monitor_sees_how_a_link_is(database: Database, controller: Controller) -> None:
    connection = await asyncpg.connect(database.url("metrics"))
    assert await connection.fetchval("SELECT count(*) FROM links WHERE suspended IS NULL") == 1
    assert await connection.fetchval("SELECT count(*) FROM pg_stat_activity WHERE usename = 'jackpot_settle'") > 0
    await connection.close()
