"""`jackpot reconcile`: a gaming day's books, on the screen or in a file."""

import datetime as dt
import io
import sys
from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console
from rich.table import Table
from rich.text import Text

from jackpot.cli.common import open_ledger, read_day, run, write_out
from jackpot.cli.heads import HeadsKeyOption, HeadsOption, finder, require_both
from jackpot.cli.options import ConfigOption
from jackpot.cli.output import Page
from jackpot.config import Config, load
from jackpot.contract.gaming_day import GamingDay
from jackpot.errors import CheckFailedError, UserError
from jackpot.finance.reconciliation.data import Reconciliation
from jackpot.finance.reconciliation.day_head import Finder
from jackpot.finance.reconciliation.export import render
from jackpot.finance.reconciliation.read_day import reconcile
from jackpot.finance.reconciliation.sheets import METERS, Cell, Money, Sheet, sheets
from jackpot.formatting.money import cents, grouped
from jackpot.pki.secrets import heads_file

WIDTH_IN_FILE = 160


class Output(StrEnum):
    TABLE = "table"
    CSV = "csv"
    JSON = "json"
    XLSX = "xlsx"
    PDF = "pdf"


def command(
    *,
    config: ConfigOption,
    day: Annotated[str, typer.Option("--day", metavar="YYYY-MM-DD", help="The gaming day: the date of its start.")],
    output: Annotated[Output, typer.Option("-o", "--output", help="How it is written.")] = Output.TABLE,
    out: Annotated[Path | None, typer.Option("--out", help="Write to this file instead of standard output.")] = None,
    heads: HeadsOption = None,
    heads_key: HeadsKeyOption = None,
) -> None:
    if output in (Output.XLSX, Output.PDF) and out is None and sys.stdout.isatty():
        raise UserError(f"{output.value} is not for a terminal; name a file with --out FILE")
    require_both(heads, heads_key)
    read = load(config)
    find_head = finder(heads, heads_key or []) if heads else _own_heads(read)
    reconciled = run(_reconcile(read, read_day(day), find_head))
    if output is not Output.TABLE:
        write_out(render(reconciled, output.value), out)
    elif out is None:
        _show(reconciled, Page())
    else:
        page = io.StringIO()
        _show(reconciled, Console(file=page, width=WIDTH_IN_FILE))
        write_out(page.getvalue().encode(), out)
    if not reconciled.balanced:
        raise CheckFailedError(f"gaming day {day} does not balance: {'; '.join(reconciled.problems)}")


def _own_heads(config: Config) -> Finder | None:
    """What the daemon of this machine has signed, for whoever may read it."""
    try:
        file = heads_file(config)
    except UserError:
        return None
    return None if file is None else file.find


async def _reconcile(config: Config, day: dt.date, find_head: Finder | None) -> Reconciliation:
    gaming_day = GamingDay.of(config.gaming_day.timezone, config.gaming_day.starts_at)
    async with open_ledger(config) as ledger:
        return await reconcile(ledger.engine, gaming_day, day, find_head)


def _show(day: Reconciliation, console: Console) -> None:
    state = Text("balanced", "bold green") if day.balanced else Text("does not balance", "bold red")
    console.print(Text(f"Gaming day {day.day}, ", "bold") + state)
    for note in day.notes:
        console.print(Text(note, "dim"))
    for sheet in sheets(day):
        widths = [_least_width(sheet, column) for column in range(len(sheet.columns))]
        if sheet.title == METERS:
            console.print(_meters(day))
        elif sum(widths) + 3 * len(widths) + 1 <= console.width:
            console.print(_table(sheet, widths))
        else:
            _print_narrow(sheet, console)
        if sheet.note:
            console.print(Text(sheet.note, "dim"))


def _is_figures(sheet: Sheet, column: int) -> bool:
    return any(isinstance(row[column], int | Money) for row in sheet.rows)


def _least_width(sheet: Sheet, column: int) -> int:
    """A text may go over several lines, a figure never."""
    cells = [_text(row[column]) for row in sheet.rows]
    whole = cells if _is_figures(sheet, column) else [word for cell in cells for word in cell.split()]
    return max(len(part) for part in (*sheet.columns[column].split(), *whole))


def _table(sheet: Sheet, widths: list[int]) -> Table:
    table = Table(title=sheet.title, title_justify="left", title_style="bold")
    for column, name in enumerate(sheet.columns):
        figures = _is_figures(sheet, column)
        table.add_column(name, justify="right" if figures else "left", min_width=widths[column])
    for number, row in enumerate(sheet.rows):
        table.add_row(*(Text(_text(cell)) for cell in row), style="bold" if number in sheet.strong else None)
    return table


def _meters(day: Reconciliation) -> Table:
    """Ours, and the table's own figure below it where that is another."""
    names = {"Wagers": "wagers", "Wagered": "wagered_cents", "Awards": "awards", "Awarded": "awarded_cents"}
    table = Table("Table", title=METERS, title_justify="left", title_style="bold")
    for title in names:
        table.add_column(title, justify="right", overflow="fold")
    table.add_column("State", overflow="fold")
    for row in day.tables:
        cells = []
        for name in names.values():
            written = cents if name.endswith("_cents") else str
            text = Text(written(getattr(row.ours, name)))
            if name in row.variances:
                text.append(f"\nreported {written(getattr(row.reported, name))}", "red")
            cells.append(text)
        table.add_row(row.table, *cells, Text(row.state, "" if row.balanced else "red"))
    return table


def _print_narrow(sheet: Sheet, console: Console) -> None:
    """For a terminal with too little room: each row as a sentence, without what is nothing."""
    console.print(Text(sheet.title, "bold"))
    for row in sheet.rows:
        pairs = zip(sheet.columns[1:], row[1:], strict=True)
        said = ", ".join(f"{name} {_text(cell)}" for name, cell in pairs if cell not in ("", 0, Money(0)))
        console.print(Text(f"  {_text(row[0])}: {said}" if said else f"  {_text(row[0])}"))


def _text(cell: Cell) -> str:
    return grouped(cell.micros) if isinstance(cell, Money) else str(cell)
