"""The runbooks' commands are commands that there are, and what they promise happens."""

import asyncio
import importlib
import json
import re
import shlex
import uuid
from typing import Any

import pytest
import typer

from deploy.rehearsal.runbook import blocks
from jackpot.contract.proofs import sealed
from jackpot.floor.table import TableController
from jackpot.people.roles import Role
from jackpot.pki import Kind
from tests.deploy.conftest import Controller, Database
from tests.deploy.installed import DEPLOY, Pki
from tests.deploy.test_roles_at_work import Api
from tests.waiting import patience_s

RUNBOOKS = sorted((DEPLOY / "runbooks").glob("*.md"))
LINK = "megalink"


OURS = re.compile(r"^(?:J|(?:setpriv .* )?(?:/opt/jackpot[0-9.-]*/bin/)?jackpot) (?P<words>[a-z][^>]*)")


def commands() -> list[list[str]]:
    """Every command of ours that a runbook names, as it is typed."""
    lines = [line.strip() for path in RUNBOOKS for block in blocks(path.name) for line in block.splitlines()]
    return [shlex.split(found["words"]) for line in lines if (found := OURS.match(line))]


def command_named(name: str) -> Any:
    found = importlib.import_module(f"jackpot.cli.{name}").command
    if isinstance(found, typer.Typer):
        return typer.main.get_command(found)
    single = typer.Typer()
    single.command()(found)
    return typer.main.get_command(single)


@pytest.mark.parametrize("words", commands(), ids=" ".join)
def test_a_command_of_a_runbook_is_understood(words: list[str]) -> None:
    command = command_named(words[0])
    context = command.make_context(words[0], words[1:])
    if hasattr(command, "resolve_command"):
        name, inner, rest = command.resolve_command(context, [*context._protected_args, *context.args])
        inner.make_context(name, rest, parent=context)


def test_the_runbooks_name_many_commands_and_no_file_that_is_not_there() -> None:
    assert len(commands()) > 25
    for path in RUNBOOKS:
        for target in re.findall(r"\]\(([^)#]+)\)", path.read_text()):
            assert (path.parent / target).exists(), f"{path.name}: {target}"
        for script in re.findall(r"deploy/[a-z./-]+\.(?:sh|sql)", path.read_text()):
            assert (DEPLOY.parent / script).exists(), f"{path.name}: {script}"


def test_heads_are_verified_from_all_of_their_files() -> None:
    """The file is a new one every month."""
    named = [words[words.index("--heads") + 1] for words in commands() if "--heads" in words]
    assert len(named) > 3
    assert [name for name in named if not name.endswith("heads.jsonl*")] == []


def test_an_upgrade_runs_every_part_of_the_install_that_a_release_may_change() -> None:
    (parts,) = re.findall(r"^all=\((.*)\)$", (DEPLOY / "install.sh").read_text(), re.MULTILINE)
    (change_over,) = (block for block in blocks("upgrade.md") if "systemctl stop jackpot" in block)
    typed = change_over.partition("--host jackpot.example ")[2].partition("\n")[0].split()
    made_once = {"packages", "certificates", "keys"}
    assert typed == [part for part in parts.split() if part not in made_once | {"daemon"}], "the daemon is started last"


def test_the_worked_example_of_the_event_proof_is_right() -> None:
    text = (DEPLOY / "event-proof.md").read_text()
    values = dict(re.findall(r"^\| (\w+)[^|]*\| `(.*)` \|$", text, re.MULTILINE))
    sent = sealed(bytes.fromhex(values["key"]), values["topic"], values["told"].encode() + b"}")
    assert sent.decode() == f'{values["told"]},"mac":"{values["digits"]}"}}'
    assert set(json.loads(sent)) == {"id", "seq", "type", "round", "at", "mac"}


# -- what they promise ---------------------------------------------------------------------------------------------


async def test_claim_blocked_a_manager_concludes_the_round_that_holds_the_line(
    controller: Controller, database: Database, pki: Pki
) -> None:
    async with database.terminal() as terminal:
        _, manager = await terminal.hire(Role.PIT_MANAGER)
    first, second = uuid.uuid4().hex, uuid.uuid4().hex
    async with (
        asyncio.timeout(patience_s(60)),
        TableController(pki.broker(Kind.TABLE, "UTH-02"), LINK, "UTH-02") as dead,
        TableController(pki.broker(Kind.TABLE, "BE-01"), LINK, "BE-01") as waiting,
    ):
        for table, name in ((dead, first), (waiting, second)):
            await table.say("round.opened", name)
            await table.say("wager.placed", name, position=1)
            await table.say("round.closed", name)
        hand = {"position": 1, "cards": ["5h", "6h"], "community": ["7h", "8h", "9h"]}
        await dead.say("hand.entered", first, **hand)
        await waiting.say("hand.entered", second, position=1, cards=["5d", "6d", "7d", "8d", "9d"], community=[])
        settled = await waiting.say("round.settled", second)
        assert (settled["result"]["awards"], settled["result"]["pending"]) == ([], [1])
        conclusion = {"table": "UTH-02", "round": first, "outcome": "void", "reason": "the table is dead"}
        status, answer = await asyncio.to_thread(
            Api(controller.daemon).ask, manager, "POST", "/conclusions", conclusion
        )
        assert (status, answer["status"]) == (200, "accepted"), answer
        while (await waiting.known())["pending"]:
            await asyncio.sleep(0.05)
