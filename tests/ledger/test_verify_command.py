"""`jackpot verify` at a terminal: what it prints, and how it ends."""

import datetime as dt
import json
from collections.abc import AsyncIterator
from pathlib import Path

import asyncpg
import pytest

from jackpot.cli.verify import command
from tests.finance.terminal import at_terminal, write_config
from tests.ledger.agreed import agree_on_all
from tests.ledger.ledger_driver import LedgerDriver, play_every_kind, scribe_at


@pytest.fixture
async def scribe(ledger_url: str) -> AsyncIterator[LedgerDriver]:
    async with scribe_at(ledger_url, "UTH-01", "UTH-02", "BE-01", "TCX-01") as scribe:
        play_every_kind(scribe)
        await scribe.commit()
        connection = await asyncpg.connect(ledger_url)
        await agree_on_all(connection)
        await connection.close()
        yield scribe


@pytest.fixture
def config(tmp_path: Path, ledger_url: str) -> Path:
    return write_config(tmp_path, ledger_url)


async def test_a_ledger_that_holds(scribe: LedgerDriver, config: Path) -> None:
    ended = await at_terminal(command, "--config", config)
    assert ended.exit_code == 0
    assert f"head megalink:{scribe.n}:{scribe.chain.hex()}" in ended.stdout.decode()


async def test_as_json_and_with_a_head_that_was_kept(scribe: LedgerDriver, config: Path) -> None:
    ended = await at_terminal(command, "--config", config, "-o", "json")
    document = json.loads(ended.stdout)
    assert document["verified"] is True
    assert document["break"] is None
    (link,) = document["links"]
    assert (link["link"], link["events"], link["awards"]) == ("megalink", scribe.n, 5)
    kept = await at_terminal(command, "--config", config, "--link", "megalink", "--kept-head", link["head"])
    assert kept.exit_code == 0
    forged = await at_terminal(command, "--config", config, "--kept-head", f"megalink:{scribe.n}:00")
    assert (forged.exit_code, "not the one that was kept" in forged.message) == (1, True)


async def test_a_break_ends_with_1_and_is_named(
    scribe: LedgerDriver, config: Path, intruder: asyncpg.Connection
) -> None:
    await intruder.execute("DELETE FROM events WHERE n = 12")
    ended = await at_terminal(command, "--config", config, "-o", "json")
    assert ended.exit_code == 1
    assert ended.message == ("the ledger is broken: link megalink, event 12: it is missing; after event 11 comes 13")
    found = json.loads(ended.stdout)
    assert found["verified"] is False
    assert found["break"] == {"link": "megalink", "n": 12, "what": "it is missing; after event 11 comes 13"}


async def test_money_that_no_two_people_have_agreed_on_is_a_break(scribe: LedgerDriver, config: Path) -> None:
    """Whoever has the settling role alone writes a good ledger, but makes nobody approve it."""
    scribe.adjust("pool", 100)
    await scribe.commit()
    ended = await at_terminal(command, "--config", config)
    assert ended.exit_code == 1
    unapproved = f"link megalink, event {scribe.n}: it changes money, and no two people have agreed on it"
    assert ended.message == f"the ledger is broken: {unapproved}"


async def test_an_event_that_was_moved_to_another_gaming_day_is_a_break(
    scribe: LedgerDriver, config: Path, intruder: asyncpg.Connection
) -> None:
    """The last one is a refusal: no other row lies on its day."""
    day = await intruder.fetchval("SELECT day FROM events WHERE n = $1", scribe.n)
    await intruder.execute("UPDATE events SET day = day + 1 WHERE n = $1", scribe.n)
    ended = await at_terminal(command, "--config", config)
    assert ended.exit_code == 1
    moved = f"its gaming day was changed: it is {day + dt.timedelta(days=1)}, it was {day}"
    assert ended.message == f"the ledger is broken: link megalink, event {scribe.n}: {moved}"


async def test_a_gaming_day_that_begins_at_another_hour_now_is_no_break_and_is_told(
    scribe: LedgerDriver, config: Path
) -> None:
    config.write_text(config.read_text() + '[gaming_day]\nstarts_at = "23:59"\n')
    ended = await at_terminal(command, "--config", config)
    assert ended.exit_code == 0
    said = (
        f"megalink: {scribe.n} events lie in another gaming day than the configuration gives; was gaming_day changed?"
    )
    assert said in ended.stdout.decode().replace("\n", " ")


async def test_bad_use_is_one_line(scribe: LedgerDriver, config: Path) -> None:
    for arguments, message in (
        ((), "name the ledger's configuration with --config FILE"),
        (("--config", config, "--link", "nolink"), "link 'nolink' is not in the ledger; the links are megalink"),
        (
            ("--config", config, "--kept-head", "megalink"),
            "'megalink' is no head; it is written LINK:N:CHAIN as `jackpot verify` prints it",
        ),
    ):
        ended = await at_terminal(command, *arguments)
        assert (ended.exit_code, ended.message) == (2, message)
