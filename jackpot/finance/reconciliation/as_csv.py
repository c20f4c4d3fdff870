"""The reconciliation as one rectangular CSV: a line for each figure, ready to be filtered or imported."""

import csv
import io

from jackpot.finance.reconciliation.data import Reconciliation
from jackpot.finance.reconciliation.sheets import Cell, Money, sheets
from jackpot.formatting.money import plain

HEADER = ("day", "sheet", "row", "line", "figure", "value")

_FORMULA_STARTS = ("=", "+", "-", "@", "\t", "\r")


def render(day: Reconciliation) -> bytes:
    """`line` is the row's first cell, `row` its number on its sheet."""
    text = io.StringIO()
    writer = csv.writer(text)
    writer.writerow(HEADER)
    written = day.day.isoformat()
    for name, value in (("balanced", "yes" if day.balanced else "no"), *(("note", note) for note in day.notes)):
        writer.writerow((written, "Gaming day", 1, written, name, harmless(value)))
    for sheet in sheets(day):
        for number, row in enumerate(sheet.rows, start=1):
            figures = list(zip(sheet.columns, row, strict=True))
            for column, cell in figures[1:] or figures:
                writer.writerow((written, sheet.title, number, _value(row[0]), column, _value(cell)))
    return text.getvalue().encode()


def _value(cell: Cell) -> str:
    match cell:
        case Money():
            return plain(cell.micros)
        case int():
            return str(cell)
        case str():
            return harmless(cell)


def harmless(text: str) -> str:
    """A spreadsheet would run a text that starts like a formula; an apostrophe before it makes it text."""
    return f"'{text}" if text.startswith(_FORMULA_STARTS) else text
