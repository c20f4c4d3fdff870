"""The day's reconciliation carries the audit chain's head at the day's end, with the signature that left the database."""

import csv
import datetime as dt
import io
import json
import os
from collections.abc import AsyncIterator
from dataclasses import replace
from pathlib import Path

import openpyxl
import pytest
from pypdf import PdfReader

from jackpot.cli.reconcile import command
from jackpot.ledger.heads.file import HeadsFile
from jackpot.ledger.heads.form import load_key, new_key, signature_of
from tests.finance.terminal import Ended, at_terminal, write_config
from tests.ledger.ledger_driver import NOON, LedgerDriver, scribe_at

DAY = NOON.date()


@pytest.fixture
async def scribe(ledger_url: str) -> AsyncIterator[LedgerDriver]:
    """Two days are played; the first is asked about."""
    async with scribe_at(ledger_url, "UTH-01") as scribe:
        scribe.deal("UTH-01", {1: 1})
        scribe.settle("UTH-01")
        scribe.report_all()
        await scribe.commit()
        yield scribe


@pytest.fixture
def config(tmp_path: Path, ledger_url: str) -> Path:
    return write_config(tmp_path, ledger_url)


@pytest.fixture
def file(tmp_path: Path) -> HeadsFile:
    private, public = new_key()
    (tmp_path / "heads.key").write_bytes(private)
    (tmp_path / "heads.pub").write_bytes(public)
    return HeadsFile(tmp_path / "heads.jsonl", load_key(tmp_path / "heads.key"))


async def reconciled(config: Path, *options: str | Path) -> Ended:
    ended = await at_terminal(command, "--config", config, "--day", DAY.isoformat(), *options, columns=400)
    assert ended.exit_code == 0, ended.message
    return ended


async def test_in_every_form(scribe: LedgerDriver, config: Path, file: HeadsFile, tmp_path: Path) -> None:
    closing = scribe._head
    scribe.pass_time(days=1)
    scribe.deal("UTH-01", {1: 1})
    await scribe.commit()
    file.keep("megalink", closing, NOON)
    signed = signature_of(file.keep("megalink", closing, NOON + dt.timedelta(days=1), DAY))
    file.keep("megalink", scribe._head, NOON + dt.timedelta(days=1))
    heads = ("--heads", f"{tmp_path}/heads.jsonl*", "--heads-key", tmp_path / "heads.pub")

    (link,) = json.loads((await reconciled(config, "-o", "json", *heads)).stdout)["links"]
    head = link["head"]
    assert (head["n"], head["chain"], head["signature"]) == (closing.n, closing.chain.hex(), signed)
    assert head["signed_at"] == "2026-11-17T04:00:00.000Z"

    rows = list(csv.DictReader(io.StringIO((await reconciled(config, "-o", "csv", *heads)).stdout.decode())))
    told = {row["figure"]: row["value"] for row in rows if row["sheet"] == "Audit chain at the day's end"}
    assert (told["Event"], told["Chain"], told["Signature"]) == (str(closing.n), closing.chain.hex(), signed)

    table = (await reconciled(config, *heads)).stdout.decode()
    assert closing.chain.hex() in table
    assert signed in table

    for form in ("xlsx", "pdf"):
        await reconciled(config, "-o", form, "--out", tmp_path / f"day.{form}", *heads)
    book = openpyxl.load_workbook(tmp_path / "day.xlsx")
    cells = {cell.value for row in book["Audit chain at the day s end"].iter_rows() for cell in row}
    assert {closing.chain.hex(), signed} <= cells
    paper = "".join(page.extract_text() for page in PdfReader(tmp_path / "day.pdf").pages)
    words = "".join(paper.split())
    assert closing.chain.hex() in words
    assert signed in words


async def test_the_daemons_own_file_is_asked_without_being_named(
    scribe: LedgerDriver, config: Path, file: HeadsFile
) -> None:
    folder = file.path.parent
    config.write_text(config.read_text() + f'[heads]\nfile = "{file.path}"\nkey_file = "{folder}/heads.key"\n')
    (link,) = json.loads((await reconciled(config, "-o", "json")).stdout)["links"]
    assert (link["head"]["n"], link["head"]["signature"]) == (scribe.n, None), "nothing is signed yet"
    signed = signature_of(file.keep("megalink", scribe._head, NOON, DAY))
    written = (NOON + dt.timedelta(days=1)).timestamp()
    os.utime(file.path, (written, written))  # whatever day it is here
    (link,) = json.loads((await reconciled(config, "-o", "json")).stdout)["links"]
    assert link["head"]["signature"] == signed


async def test_a_head_of_another_chain_is_not_this_days(scribe: LedgerDriver, config: Path, file: HeadsFile) -> None:
    other = replace(scribe._head, chain=b"another")
    file.keep("megalink", other, NOON, DAY)
    heads = ("--heads", file.path, "--heads-key", file.path.with_name("heads.pub"))
    (link,) = json.loads((await reconciled(config, "-o", "json", *heads)).stdout)["links"]
    assert (link["head"]["chain"], link["head"]["signature"]) == (scribe.chain.hex(), None)
    assert "not found" in (await reconciled(config, *heads)).stdout.decode()
