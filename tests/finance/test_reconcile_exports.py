"""The day's books as table, CSV, JSON, XLSX and PDF, from the terminal and as files."""

import csv
import io
import json
from collections.abc import AsyncIterator
from pathlib import Path

import openpyxl
import pytest
from pypdf import PdfReader

from jackpot.cli.reconcile import command
from jackpot.finance.reconciliation.as_csv import harmless
from jackpot.formatting.money import grouped, plain
from jackpot.link.commands import BalanceAdjusted
from tests.finance.terminal import Ended, at_terminal, write_config
from tests.ledger.ledger_driver import LedgerDriver, play_every_kind, scribe_at

DAY = "2026-11-16"


@pytest.fixture
async def scribe(ledger_url: str) -> AsyncIterator[LedgerDriver]:
    async with scribe_at(ledger_url, "UTH-01", "UTH-02", "BE-01", "TCX-01") as scribe:
        play_every_kind(scribe)
        scribe.void("UTH-01")
        scribe.open("UTH-01", "=2+5")
        scribe.wager("UTH-01", 1, 5)
        scribe.close("UTH-01")
        scribe.enter("UTH-01", 1, "5h 6h", "7h 8h 9h")
        scribe.settle("UTH-01")
        scribe.command(
            BalanceAdjusted(
                id="a", by="陳大文", approved_by="bob <b>", reason="@SUM(A1)", account="pool", amount_cents=-1
            )
        )
        scribe.report_all()
        await scribe.commit()
        yield scribe


@pytest.fixture
def config(tmp_path: Path, ledger_url: str) -> Path:
    return write_config(tmp_path, ledger_url)


async def reconciled(config: Path, *options: str | Path) -> Ended:
    return await at_terminal(command, "--config", config, "--day", DAY, *options)


async def test_json_has_the_shape_of_the_contract(scribe: LedgerDriver, config: Path) -> None:
    ended = await reconciled(config, "-o", "json")
    assert ended.exit_code == 0
    document = json.loads(ended.stdout)
    assert (document["day"], document["balanced"]) == (DAY, True)
    (link,) = document["links"]
    balances = scribe.balances
    assert (link["link"], link["pool_micros"], link["reserve_micros"]) == ("megalink", balances.pool, balances.reserve)
    assert (link["recoverable_micros"], link["house_micros"]) == (balances.recoverable, balances.house)
    assert {table["table"] for table in document["tables"]} == {"UTH-01", "UTH-02", "BE-01", "TCX-01"}
    for table in document["tables"]:
        own = scribe.counters[scribe.day, table["table"]]
        counters = {name: own[name] for name in ("wagers", "wagered_cents", "awards", "awarded_cents")}
        assert {name: table[name] for name in counters} == counters
        assert table["reported"] == counters
        assert table["balanced"] is True


async def test_a_day_that_does_not_balance_ends_with_1_and_names_everything(scribe: LedgerDriver, config: Path) -> None:
    scribe.report("UTH-01", wagers=99)
    scribe.report("BE-01", awards=1)
    await scribe.commit()
    for form in ("table", "json", "csv"):
        ended = await reconciled(config, "-o", form)
        assert ended.exit_code == 1
        assert "gaming day 2026-11-16 does not balance: " in ended.message
        assert "table UTH-01: wagers is 3, the table reported 99 (+96)" in ended.message
        assert "table BE-01: awards is 3, the table reported 1 (-2)" in ended.message
        assert ended.stdout


async def test_csv_is_one_rectangle_of_figures_and_runs_no_formula(scribe: LedgerDriver, config: Path) -> None:
    ended = await reconciled(config, "-o", "csv")
    rows = list(csv.DictReader(io.StringIO(ended.stdout.decode())))
    assert {None} & {key for row in rows for key in row} == set()
    found = {(row["sheet"], row["line"], row["figure"]): row["value"] for row in rows}
    assert found["Books of megalink", "Closing balance", "Pool"] == plain(scribe.balances.pool)
    assert found["Books of megalink", "Closing balance", "House"] == plain(scribe.balances.house)
    assert found["Tables' meters", "UTH-01", "Wagered"] == "65.00"
    values = [row["value"] for row in rows]
    assert "'=2+5" in values
    assert "'@SUM(A1)" in values
    assert not [value for value in values if value.startswith(("=", "+", "@"))]


@pytest.mark.parametrize("text", ["=1+1", "+1", "-1", "@A1", "\t=1", "\r=1"])
def test_a_text_that_starts_like_a_formula_is_made_harmless(text: str) -> None:
    assert harmless(text) == f"'{text}"


def test_other_text_is_left_alone() -> None:
    assert [harmless(text) for text in ("UTH-01", "", "a=b", "5-1")] == ["UTH-01", "", "a=b", "5-1"]


async def test_xlsx_has_figures_as_numbers_and_texts_as_texts(
    scribe: LedgerDriver, config: Path, tmp_path: Path
) -> None:
    out = tmp_path / "day.xlsx"
    assert (await reconciled(config, "-o", "xlsx", "--out", out)).exit_code == 0
    book = openpyxl.load_workbook(out)
    books = book["Books of megalink"]
    closing = next(row for row in books.iter_rows(values_only=True) if row[0] == "Closing balance")
    assert closing[4] == scribe.balances.pool / 1_000_000
    cells = [cell for sheet in book for row in sheet.iter_rows() for cell in row]
    assert {cell.data_type for cell in cells if cell.value in ("=2+5", "@SUM(A1)")} == {"s"}
    assert "f" not in {cell.data_type for cell in cells}


async def test_pdf_prints_the_day_in_the_sheets_words(scribe: LedgerDriver, config: Path, tmp_path: Path) -> None:
    out = tmp_path / "day.pdf"
    assert (await reconciled(config, "-o", "pdf", "--out", out)).exit_code == 0
    pages = PdfReader(out).pages
    text = "\n".join(page.extract_text() for page in pages)
    for words in (
        "Progressive Jackpot, gaming day 16 November 2026",
        "BALANCED",
        "Royal Flush",
        "Straight Flush",
        "Four of a Kind",
        "Resets and who funded them",
        "Awards made and not yet paid",
        grouped(scribe.balances.pool),
        "bob <b>",
        "Prepared by",
        f"Page 1 of {len(pages)}",
    ):
        assert words in text


@pytest.mark.parametrize("columns", [60, 80, 100, 140, 200])
async def test_the_screen_shows_every_figure_whole_however_narrow_it_is(
    scribe: LedgerDriver, config: Path, columns: int
) -> None:
    scribe.report("UTH-02", wagers=12_345)
    await scribe.commit()
    ended = await at_terminal(command, "--config", config, "--day", DAY, columns=columns)
    shown = ended.stdout.decode()
    assert "Gaming day 2026-11-16, does not balance" in shown
    assert "difference 0.00" in shown.replace("\n", " ")
    for figure in (grouped(scribe.balances.pool), grouped(scribe.balances.house), "190,019.12", "reported 12345"):
        assert figure in shown
    assert "…" not in shown


async def test_bad_use_is_one_line(scribe: LedgerDriver, config: Path, tmp_path: Path) -> None:
    ended = await at_terminal(command, "--config", config, "--day", "16.11.2026")
    assert (ended.exit_code, ended.message) == (2, "'16.11.2026' is no gaming day; write it as 2026-11-16")
    ended = await reconciled(config, "-o", "csv", "--out", tmp_path / "no" / "where.csv")
    assert (ended.exit_code, "cannot write" in ended.message) == (2, True)
    ended = await at_terminal(command, "--config", tmp_path / "none.toml", "--day", DAY)
    assert (ended.exit_code, "cannot read" in ended.message) == (2, True)


async def test_an_empty_database_says_what_to_run(database_url: str, tmp_path: Path) -> None:
    ended = await reconciled(write_config(tmp_path, database_url))
    assert (ended.exit_code, "run: jackpot migrate" in ended.message) == (2, True)


async def test_a_database_that_is_not_there_is_one_line(tmp_path: Path) -> None:
    ended = await reconciled(write_config(tmp_path, "postgresql://jackpot@127.0.0.1:1/jackpot"))
    assert (ended.exit_code, "127.0.0.1:1" in ended.message) == (2, True)


@pytest.mark.parametrize(
    ("micros", "written"),
    [
        (0, "0.00"),
        (12_345_678_900, "12,345.678900"),
        (12_345_670_000, "12,345.67"),
        (-500_000, "-0.50"),
        (-1_000_000_000_001, "-1,000,000.000001"),
    ],
)
def test_amounts_are_exact(micros: int, written: str) -> None:
    assert grouped(micros) == written
    assert plain(micros) == written.replace(",", "")
