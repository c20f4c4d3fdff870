"""An award slip holds everything its award was worked out from, and works out again with nothing else."""

import json
from collections.abc import AsyncIterator, Callable
from pathlib import Path
from typing import Any

import asyncpg
import msgspec
import pytest
from pypdf import PdfReader
from sqlalchemy.ext.asyncio import AsyncEngine

from jackpot.cli import slip as slip_command
from jackpot.cli import verify as verify_command
from jackpot.finance.slips.as_text import as_text
from jackpot.finance.slips.data import Slip, arithmetic, problems
from jackpot.finance.slips.reading import read_slip
from tests.finance.terminal import at_terminal, write_config
from tests.ledger.ledger_driver import LedgerDriver, play_every_kind, scribe_at

TABLES = ("UTH-01", "UTH-02", "BE-01", "TCX-01")


@pytest.fixture
async def scribe(ledger_url: str) -> AsyncIterator[LedgerDriver]:
    async with scribe_at(ledger_url, *TABLES) as scribe:
        yield scribe


async def slips(scribe: LedgerDriver, engine: AsyncEngine) -> list[Slip]:
    """Of every award so far, each written to JSON and read back."""
    await scribe.commit()
    async with engine.connect() as connection:
        found = [await read_slip(connection, award.id) for award in scribe.awards]
    return [msgspec.json.decode(msgspec.json.encode(slip), type=Slip) for slip in found]


def two_straight_flushes(scribe: LedgerDriver) -> None:
    scribe.deal("UTH-01", {1: 1, 2: 5})
    scribe.enter("UTH-01", 1, "5h 6h", "7h 8h 9h")
    scribe.enter("UTH-01", 2, "Th Jh", "9h 8h 7h")
    scribe.settle("UTH-01")


def everything_in_one_round(scribe: LedgerDriver) -> None:
    scribe.deal("BE-01", {1: 1, 2: 1, 3: 1, 4: 1, 5: 1})
    for position, cards in enumerate(
        ("As Ks Qs Js Ts", "5h 6h 7h 8h 9h", "5c 6c 7c 8c 9c", "Ad Kd Qd Jd Td", "2c 2d 2h 2s 3c"), start=1
    ):
        scribe.enter("BE-01", position, cards)
    scribe.settle("BE-01")


def freed_by_a_void(scribe: LedgerDriver) -> None:
    scribe.deal("UTH-01")
    scribe.enter("UTH-01", 1, "Ah Kh", "Qh Jh Th")
    two_tables_wait(scribe)
    scribe.void("UTH-01")


def freed_by_a_pit_manager(scribe: LedgerDriver) -> None:
    scribe.deal("UTH-01")
    scribe.enter("UTH-01", 1, "Ah Kh", "Qh Jh Th")
    two_tables_wait(scribe)
    scribe.conclude("UTH-01", "settled")


def two_tables_wait(scribe: LedgerDriver) -> None:
    scribe.deal("UTH-02", {1: 3})
    scribe.enter("UTH-02", 1, "5h 6h", "7h 8h 9h")
    scribe.deal("BE-01", {1: 1})
    scribe.enter("BE-01", 1, "5h 6h 7h 8h 9h")
    scribe.settle("BE-01")
    scribe.conclude("UTH-02", "settled")


def new_parameters_with_the_win(scribe: LedgerDriver) -> None:
    scribe.change_parameters("next_win", reset_cents=12_345_678, unit_cents=700)
    everything_in_one_round(scribe)
    everything_in_one_round(scribe)


def the_unit_changed_since_the_wager(scribe: LedgerDriver) -> None:
    scribe.deal("UTH-01", {1: 2, 2: 3, 3: 1})
    scribe.change_parameters("at_once", unit_cents=1_000)
    scribe.enter("UTH-01", 1, "5h 6h", "7h 8h 9h")
    scribe.enter("UTH-01", 2, "Ah 2h", "7h 8h 9h")
    scribe.settle("UTH-01")


SCENES: dict[str, Callable[[LedgerDriver], None]] = {
    "every kind": play_every_kind,
    "two Straight Flushes": two_straight_flushes,
    "everything in one round": everything_in_one_round,
    "freed by a void": freed_by_a_void,
    "freed by a pit manager": freed_by_a_pit_manager,
    "new parameters with the win": new_parameters_with_the_win,
    "the unit changed since the wager": the_unit_changed_since_the_wager,
}


@pytest.mark.parametrize("scene", SCENES)
@pytest.mark.parametrize("reading", ["successive", "reset_amount"])
async def test_every_slip_works_out(scribe: LedgerDriver, engine: AsyncEngine, scene: str, reading: str) -> None:
    scribe.change_parameters("at_once", shared_straight_flush=reading)
    SCENES[scene](scribe)
    found = await slips(scribe, engine)
    assert found
    for slip, award in zip(found, scribe.awards, strict=True):
        assert problems(slip) == []
        assert slip.award["amount_cents"] == award.amount_cents
        *_, last = arithmetic(slip)
        assert f"{award.amount_cents // 100:,}.{award.amount_cents % 100:02d}" in last


async def test_the_stake_is_as_it_was_placed(scribe: LedgerDriver, engine: AsyncEngine) -> None:
    the_unit_changed_since_the_wager(scribe)
    fixed, share = sorted(await slips(scribe, engine), key=lambda slip: -slip.winner.multiplier)
    assert [(slip.winner.multiplier, slip.winner.stake_cents) for slip in (fixed, share)] == [(3, 1_500), (2, 1_000)]
    assert next(arithmetic(fixed)) == "Stake: 3 x 5.00 = 15.00"
    assert "2 x 5.00 SGD" in as_text(share)


async def test_it_names_who_confirmed_and_what_it_waited_for(scribe: LedgerDriver, engine: AsyncEngine) -> None:
    freed_by_a_pit_manager(scribe)
    royal, behind, last = await slips(scribe, engine)
    assert (royal.confirmed.by, royal.confirmed.reason) == ("pit manager", "the table does not answer")
    assert not royal.waited
    assert (behind.confirmed.by, behind.made.n) == ("pit manager", royal.made.n)
    assert behind.waited
    assert (last.confirmed.table, last.confirmed.type) == ("BE-01", "round.settled")
    assert last.base is not None
    assert [(move.kind, move.table) for move in last.base.moved] == [
        ("share", "UTH-01"),
        ("reset", "UTH-01"),
        ("share", "UTH-02"),
    ]


async def test_the_arithmetic_reads_as_it_is_done_by_hand(scribe: LedgerDriver, engine: AsyncEngine) -> None:
    scribe.deal("BE-01", {1: 1, 2: 1, 3: 1})
    scribe.display(48_000_001)
    scribe.enter("BE-01", 1, "As Ks Qs Js Ts")
    scribe.enter("BE-01", 2, "Ah Kh Qh Jh Th")
    scribe.enter("BE-01", 3, "5c 6c 7c 8c 9c")
    scribe.settle("BE-01")
    flush, royal, _ = await slips(scribe, engine)
    assert list(arithmetic(flush)) == [
        "Pool when entry 1 was made: 480,000.01",
        "As displayed, truncated to the cent: 480,000.01",
        "10 % of 480,000.01 = 48,000.00",
    ]
    assert list(arithmetic(royal)) == [
        "Pool when entry 1 was made: 480,000.01",
        "As displayed, truncated to the cent: 480,000.01",
        "After the round's Straight Flushes: 432,000.01",
        "432,000.01 + reset amount 100,000.00 = 532,000.01",
        "532,000.01 / 2 = 266,000.00, odd cents left in the pool: 1",
    ]


def changed(document: dict[str, Any], path: str, value: Any) -> dict[str, Any]:
    copy: dict[str, Any] = json.loads(json.dumps(document))
    *above, last = path.split(".")
    place: Any = copy
    for key in above:
        place = place[int(key) if key.isdigit() else key]
    place[int(last) if last.isdigit() else last] = value
    return copy


@pytest.mark.parametrize(
    ("path", "value"),
    [
        ("award.amount_cents", 1),
        ("award.base_cents", 48_000_002),
        ("award.rank", "royal_flush"),
        ("award.kind", "fixed"),
        ("award.shared_by", 1),
        ("award.multiplier", 2),
        ("award.entry", 9),
        ("award.rules", ["UTH 4.2"]),
        ("award.decisions", []),
        ("award.position", 2),
        ("award.position", 7),
        ("award.position", "one"),
        ("hands.0.cards", ["5h", "7d"]),
        ("hands.0.cards", ["5h"]),
        ("hands.0.cards", ["5h", "5h"]),
        ("hands.0.cards", ["5h", "7h"]),
        ("hands.0.cards", ["5h", "1x"]),
        ("hands.0.entry", 5),
        ("hands.0.multiplier", 3),
        ("hands", []),
        ("base.pool_micros", 1),
        ("base.entry", 2),
        ("base.moved", [{"journal": 1, "kind": "share", "award": None, "table": "x", "micros": -10_000}]),
        ("base", None),
        ("game", "bullseye"),
        ("game", "fast-action-roulette"),
        ("parameters.shared_straight_flush", "reset_amount"),
        ("parameters.unit_cents", "5"),
        ("parameters.increment_bp", 99_999),
        ("working.draws_cents", [1, 2]),
        ("made.n", 1),
    ],
)
async def test_a_slip_that_was_changed_does_not_work_out(
    scribe: LedgerDriver, engine: AsyncEngine, path: str, value: Any
) -> None:
    two_straight_flushes(scribe)
    true, _ = await slips(scribe, engine)
    forged = changed(msgspec.to_builtins(true), path, value)
    assert problems(msgspec.convert(forged, Slip)) != []


async def test_at_the_terminal(scribe: LedgerDriver, ledger_url: str, tmp_path: Path) -> None:
    two_straight_flushes(scribe)
    await scribe.commit()
    config = write_config(tmp_path, ledger_url)
    name = "megalink-000001"
    text = await at_terminal(slip_command.command, name, "--config", config)
    assert text.stdout.decode().startswith("AWARD megalink-000001\n9,500.71 SGD\n")
    file = tmp_path / "slip.json"
    assert (
        await at_terminal(slip_command.command, name, "--config", config, "-o", "json", "--out", file)
    ).exit_code == 0
    # Offline: from the file alone.
    right = await at_terminal(verify_command.command, "--award", file)
    assert right.exit_code == 0
    assert "award megalink-000001 is right" in right.stdout.decode()
    by_name = await at_terminal(verify_command.command, "--award", name, "--config", config, "-o", "json")
    assert json.loads(by_name.stdout) == {"award": name, "verified": True, "problems": []}
    file.write_text(json.dumps(changed(json.loads(file.read_text()), "award.amount_cents", 5)))
    wrong = await at_terminal(verify_command.command, "--award", file)
    assert (wrong.exit_code, wrong.message) == (
        1,
        "award megalink-000001 does not work out: amount_cents is 5, it works out as 950071",
    )


async def test_on_paper(scribe: LedgerDriver, ledger_url: str, tmp_path: Path) -> None:
    play_every_kind(scribe)
    await scribe.commit()
    config, out = write_config(tmp_path, ledger_url), tmp_path / "slip.pdf"
    await at_terminal(slip_command.command, "megalink-000004", "--config", config, "-o", "pdf", "--out", out)
    pages = PdfReader(out).pages
    text = pages[0].extract_text()
    assert len(pages) == 1
    for words in (
        "megalink-000004",
        "95,009.56 SGD",
        "Royal Flush",
        "BE 3.20.1",
        "first entered, first paid",
        "Player",
    ):
        assert words in text


async def test_bad_use_is_one_line(
    scribe: LedgerDriver, ledger_url: str, tmp_path: Path, intruder: asyncpg.Connection
) -> None:
    two_straight_flushes(scribe)
    await scribe.commit()
    config = write_config(tmp_path, ledger_url)
    for award, message in {
        "megalink-000009": "there is no award megalink-000009 in the ledger",
        "megalink-9": "'megalink-9' is no award; an award is named like megalink-000123",
        "nonsense": "'nonsense' is no award; an award is named like megalink-000123",
    }.items():
        ended = await at_terminal(slip_command.command, award, "--config", config)
        assert (ended.exit_code, ended.message) == (2, message)
    ended = await at_terminal(verify_command.command, "--award", "megalink-000001")
    assert (ended.exit_code, "add --config FILE" in ended.message) == (2, True)
    ended = await at_terminal(verify_command.command, "--award", config)
    assert (ended.exit_code, "is no award slip" in ended.message) == (2, True)
    await intruder.execute("DELETE FROM entries")
    ended = await at_terminal(slip_command.command, "megalink-000001", "--config", config)
    assert (ended.exit_code, "run: jackpot verify" in ended.message) == (2, True)
