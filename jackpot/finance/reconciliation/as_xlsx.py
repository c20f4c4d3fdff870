"""The reconciliation as a workbook: one worksheet a sheet, figures as numbers."""

import io
from typing import Any

import xlsxwriter  # type: ignore[import-untyped]  # it has no types

from jackpot.finance.reconciliation.data import Reconciliation
from jackpot.finance.reconciliation.sheets import Cell, Money, Sheet, sheets

NAME_MAX = 31
"""What Excel allows for the name of a worksheet."""
WIDTH_MAX = 60
MICROS_PER_UNIT = 1_000_000
MONEY = "#,##0.00####;[Red]-#,##0.00####"
A4 = 9


def render(day: Reconciliation) -> bytes:
    memory = io.BytesIO()
    # What came from a table or a person is text, also if it looks like a formula or a link.
    options = {"in_memory": True, "strings_to_formulas": False, "strings_to_urls": False, "strings_to_numbers": False}
    with xlsxwriter.Workbook(memory, options) as book:
        book.set_properties({"title": f"Gaming day {day.day}", "created": day.read_at.replace(tzinfo=None)})
        writer = _Writer(book, f"Gaming day {day.day}: {'balanced' if day.balanced else 'does not balance'}")
        for sheet in sheets(day):
            writer.write(sheet)
    return memory.getvalue()


class _Writer:
    def __init__(self, book: Any, subtitle: str) -> None:
        self._book = book
        self._subtitle = subtitle
        self._names: set[str] = set()
        self._title = book.add_format({"bold": True, "font_size": 14})
        self._head = book.add_format({"bold": True, "bottom": 1, "text_wrap": True, "valign": "top"})
        self._plain = {"text": book.add_format(), "money": book.add_format({"num_format": MONEY})}
        self._strong = {
            "text": book.add_format({"bold": True}),
            "money": book.add_format({"bold": True, "num_format": MONEY}),
        }

    def write(self, sheet: Sheet) -> None:
        page = self._book.add_worksheet(self._name(sheet.title))
        page.write_string(0, 0, sheet.title, self._title)
        page.write_string(1, 0, self._subtitle)
        for column, name in enumerate(sheet.columns):
            page.write_string(3, column, name, self._head)
        widths = [len(name) for name in sheet.columns]
        for number, row in enumerate(sheet.rows):
            formats = self._strong if number in sheet.strong else self._plain
            for column, cell in enumerate(row):
                widths[column] = max(widths[column], _write(page, (4 + number, column), cell, formats))
        if sheet.note:
            page.write_string(5 + len(sheet.rows), 0, sheet.note)
        for column, width in enumerate(widths):
            page.set_column(column, column, min(width, WIDTH_MAX) + 2)
        page.freeze_panes(4, 1)
        page.set_landscape()
        page.set_paper(A4)
        page.fit_to_pages(1, 0)
        page.repeat_rows(3)

    def _name(self, title: str) -> str:
        """A name that Excel takes, and that no worksheet has yet, whatever the case."""
        plain = "".join(" " if letter in r"[]:*?/\'" else letter for letter in title).strip()
        name, number = plain[:NAME_MAX], 1
        while name.lower() in self._names:
            number += 1
            suffix = f" {number}"
            name = plain[: NAME_MAX - len(suffix)] + suffix
        self._names.add(name.lower())
        return name


def _write(page: Any, place: tuple[int, int], cell: Cell, formats: dict[str, Any]) -> int:
    """Write one cell. Returns how many characters wide it is."""
    match cell:
        case Money():
            value = cell.micros / MICROS_PER_UNIT  # a workbook knows no other numbers; nothing is computed with it
            page.write_number(*place, value, formats["money"])
            return len(f"{value:,.2f}")
        case int():
            page.write_number(*place, cell, formats["text"])
            return len(str(cell))
        case str():
            page.write_string(*place, cell, formats["text"])
            return len(cell)
