"""`jackpot verify --heads`: what was signed tells of a ledger that was rewritten, set back or replaced, and of heads lost."""

import gzip
import json
from collections.abc import AsyncIterator, Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from jackpot.contract import topics
from jackpot.ledger.heads.file import HeadsFile, read
from jackpot.ledger.heads.form import fingerprint, load_public_key
from jackpot.mqtt.client import Connection
from jackpot.pki import Kind
from tests.acceptance import processes
from tests.deploy.conftest import Controller, Database
from tests.deploy.installed import Pki
from tests.deploy.test_heads import AT, KEY, public_key
from tests.deploy.test_roles_at_work import as_role
from tests.ledger.ledger_driver import LedgerDriver, scribe_at
from tests.mqtt.peers import Inbox
from tests.servers import PostgresProgram


@dataclass(frozen=True, slots=True)
class Ledger:
    config: Path
    scribe: LedgerDriver


@pytest.fixture
async def ledgers(postgres: PostgresProgram, ledger_template: str, tmp_path: Path) -> AsyncIterator[list[Ledger]]:
    """Two ledgers of one link with the same past, until one of them takes another course."""
    made = []
    async with postgres.database(ledger_template) as first, postgres.database(ledger_template) as second:
        for name, url in (("true", first), ("rewritten", second)):
            config = tmp_path / f"{name}.toml"
            config.write_text(f'[database]\nurl = "{url}"\n')
            async with scribe_at(url, "UTH-01") as scribe:
                made.append(Ledger(config, scribe))
                scribe.deal("UTH-01", {1: 1})
                scribe.settle("UTH-01")
                await scribe.commit()
        yield made


def signed(ledger: Ledger, file: Path) -> None:
    head = ledger.scribe._head
    HeadsFile(file, KEY).keep("megalink", head, AT)


def verify(ledger: Ledger, *arguments: str | Path) -> processes.Finished:
    heads_key = ("--heads-key", public_key(ledger.config.parent)) if "--heads" in arguments else ()
    return processes.run("verify", "--config", ledger.config, *arguments, *heads_key)


def verified(ledger: Ledger, *heads_files: str | Path) -> tuple[int, str]:
    done = verify(ledger, *(part for file in heads_files for part in ("--heads", file)))
    return done.returncode, done.stderr


async def test_a_history_rewritten_with_its_chain_is_told_by_the_heads_alone(
    ledgers: list[Ledger], tmp_path: Path
) -> None:
    true, rewritten = ledgers
    file = tmp_path / "heads.jsonl"
    signed(true, file)
    assert verified(true, file) == verified(rewritten, file) == (0, "")
    # The owner writes the next round anew, with a wager that was never placed, and everything after it.
    true.scribe.deal("UTH-01", {1: 1})
    rewritten.scribe.deal("UTH-01", {1: 1, 2: 5})
    for ledger in ledgers:
        ledger.scribe.settle("UTH-01")
        await ledger.scribe.commit()
        ledger.scribe.deal("UTH-01", {1: 1})
        await ledger.scribe.commit()
    signed(true, file)
    assert verified(true, file) == (0, "")
    assert verified(rewritten) == (0, ""), "by itself it is a true ledger"
    code, said = verified(rewritten, file)
    assert code == 1
    assert "its chain is not the one that was kept outside the database" in said


async def test_a_history_cut_short_is_told_by_the_heads(ledgers: list[Ledger], tmp_path: Path) -> None:
    true, cut = ledgers
    file = tmp_path / "heads.jsonl"
    true.scribe.deal("UTH-01", {1: 1})
    await true.scribe.commit()
    signed(true, file)
    assert verified(cut) == (0, "")
    code, said = verified(cut, file)
    assert code == 1
    assert "kept outside the database, but it is not there" in said


async def test_heads_that_contradict_each_other_need_no_database(ledgers: list[Ledger], tmp_path: Path) -> None:
    true, rewritten = ledgers
    file = tmp_path / "heads.jsonl"
    true.scribe.deal("UTH-01", {1: 1})
    rewritten.scribe.deal("UTH-01", {2: 1})
    for ledger in ledgers:
        await ledger.scribe.commit()
        signed(ledger, file)
    code, said = verified(true, file)
    assert code == 1
    assert "was rewritten between" in said


HARM: dict[str, Callable[[bytes], bytes]] = {
    "empty": lambda _: b"",
    "garbage": lambda _: b"garbage\n",
    "every line cut short": lambda lines: b"".join(line[:40] + b"\n" for line in lines.splitlines()),
    "one byte": lambda lines: b"[" + lines[1:],
    "the last line cut short": lambda lines: lines[:40],
}


@pytest.mark.parametrize("harm", HARM.values(), ids=list(HARM))
async def test_no_head_is_no_proof(ledgers: list[Ledger], tmp_path: Path, harm: Callable[[bytes], bytes]) -> None:
    """The ledger is set back, and its keeper has seen to the heads too."""
    true, cut = ledgers
    file = tmp_path / "heads.jsonl"
    true.scribe.deal("UTH-01", {1: 1})
    await true.scribe.commit()
    signed(true, file)
    file.write_bytes(harm(file.read_bytes()))
    code, said = verified(cut, file)
    assert code == 1
    assert "nothing proves it" in said or "line 1" in said
    checked = processes.run("heads", "check", file, "--key", public_key(tmp_path))
    assert checked.returncode == 1
    assert "are true" not in checked.stdout


async def test_a_link_that_was_removed_is_a_break(ledgers: list[Ledger], tmp_path: Path) -> None:
    true, _ = ledgers
    file = tmp_path / "heads.jsonl"
    signed(true, file)
    HeadsFile(file, KEY).keep("minilink", true.scribe._head, AT)
    code, said = verified(true, file)
    assert code == 1
    assert f"link minilink, event {true.scribe.n}: it was kept outside the database, but the link is not there" in said


async def test_it_is_said_how_much_was_proved(ledgers: list[Ledger], tmp_path: Path) -> None:
    true, _ = ledgers
    file = tmp_path / "heads.jsonl"
    for _ in range(2):
        true.scribe.deal("UTH-01", {1: 1})
        true.scribe.settle("UTH-01")
        await true.scribe.commit()
        signed(true, file)
    n = true.scribe.n
    # The month turns, and the link is quiet: there is no new file yet.
    packed = tmp_path / "heads.jsonl-202611.gz"
    packed.write_bytes(gzip.compress(file.read_bytes() + b'{"link":"mega'))
    file.unlink()
    true.scribe.deal("UTH-01", {1: 1})
    await true.scribe.commit()
    pattern = f"{tmp_path}/heads.jsonl*"
    done = verify(true, "--heads", pattern)
    assert done.returncode == 0, done.stderr
    proved = f"megalink: 2 signed heads hold, the newest of event {n}, signed at 2026-11-16 02:00:00Z; 3 events came after it"
    assert proved in done.stdout
    assert f"{packed}: its last line is cut short" in done.stdout
    document = json.loads(verify(true, "--heads", pattern, "-o", "json").stdout)
    assert document["verified"] is True
    told: dict[str, Any] = document["heads"]
    assert (told["files"], told["heads"], told["cut_short"]) == (1, 2, [str(packed)])
    (link,) = told["links"]
    assert (link["compared"], link["newest"]["n"], link["accepted"]) == (2, n, [])
    assert (link["series"][0]["first"], link["series"][0]["last"]) == (1, 2)
    missing = verify(true, "--heads", tmp_path / "nowhere.jsonl")
    assert missing.returncode == 2


async def test_what_is_wrong_with_the_heads_is_in_the_json_too(ledgers: list[Ledger], tmp_path: Path) -> None:
    true, _ = ledgers
    file = tmp_path / "heads.jsonl"
    for _ in range(3):
        signed(true, file)
    first, _, third = file.read_bytes().splitlines(keepends=True)
    file.write_bytes(first + third)
    done = verify(true, "--heads", file, "-o", "json")
    assert done.returncode == 1
    document = json.loads(done.stdout)
    assert document["verified"] is False
    assert "head 2 is missing" in document["break"]["what"]


@pytest.mark.parametrize("alone", ["--heads", "--heads-key"])
def test_heads_and_their_key_prove_nothing_without_each_other(tmp_path: Path, alone: str) -> None:
    done = processes.run("verify", "--config", tmp_path / "jackpot.toml", alone, tmp_path / "heads")
    assert done.returncode == 2
    (line,) = done.stderr.splitlines()
    other = {"--heads": "--heads-key", "--heads-key": "--heads"}[alone]
    assert f"{other} FILE" in line


# -- the daemon ----------------------------------------------------------------------------------------------------


async def test_the_daemon_signs_its_heads_and_the_auditor_proves_the_ledger_with_them(
    controller: Controller, database: Database, pki: Pki, tmp_path: Path
) -> None:
    config = as_role(controller, database, "audit", tmp_path)
    heads_file, public = controller.heads_file, controller.heads_public_key
    done = processes.run("verify", "--config", config, "--heads", heads_file, "--heads-key", public, "-o", "json")
    assert (done.returncode, json.loads(done.stdout)["verified"]) == (0, True), done.stderr
    keys = {fingerprint(key): key for key in [load_public_key(public)]}
    kept, _ = read(heads_file, keys)
    assert {head.link for head in kept} == {"megalink"}
    inbox = Inbox()
    # Whoever keeps copies elsewhere comes in by the controllers' door, and may not write there either.
    broker = pki.broker(Kind.CONTROLLER, "control-1")
    connection = await Connection.open(broker, "copies", on_message=inbox, subscriptions=[(topics.head("+"), 1)])
    assert await inbox.holds(1) == [heads_file.read_bytes().splitlines()[-1]]
    connection.abort()
