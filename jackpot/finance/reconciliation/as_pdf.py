"""The reconciliation on paper, to be signed and filed."""

from typing import Any

from reportlab.lib.pagesizes import A4, landscape  # type: ignore[import-untyped]  # it has no types
from reportlab.lib.units import mm  # type: ignore[import-untyped]  # likewise
from reportlab.platypus import CondPageBreak, Spacer, Table, TableStyle  # type: ignore[import-untyped]  # likewise

from jackpot.finance.pdf_layout import (
    BAD,
    FAINT,
    GOOD,
    HEADING,
    INK,
    MARGIN,
    NOTE,
    SUBTITLE,
    TITLE,
    WHITE,
    columns_that_fit,
    line,
    print_paper,
    ruled,
    style,
    width_of,
)
from jackpot.finance.reconciliation.data import Reconciliation
from jackpot.finance.reconciliation.sheets import DOES_NOT_BALANCE, Cell, Money, Sheet, sheets
from jackpot.formatting.money import grouped

PAGE = landscape(A4)
WIDTH = PAGE[0] - 2 * MARGIN
SIZE = 7.5
PAD = 4
WORD_MAX = 40 * mm
"""A longer word is broken."""
ALARMING = frozenset({"does not balance", "variance", "no report"})


def render(day: Reconciliation) -> bytes:
    story: list[Any] = [_head(day), Spacer(1, 5 * mm), *(line(note, NOTE) for note in day.notes)]
    for sheet in sheets(day):
        heading = style(10.5, bold=True, color=BAD) if sheet.title == DOES_NOT_BALANCE else HEADING
        story += [CondPageBreak(30 * mm), Spacer(1, 4 * mm), line(sheet.title, heading), Spacer(1, 1.2 * mm)]
        story.append(_table(sheet))
        if sheet.note:
            story += [Spacer(1, 1 * mm), line(sheet.note, NOTE)]
    story += [CondPageBreak(25 * mm), Spacer(1, 14 * mm), _signatures()]
    read = f"{day.read_at.astimezone(day.starts.tzinfo):%Y-%m-%d %H:%M:%S %Z}"
    foot = f"Gaming day {day.day}, read from the ledger at {read}"
    return print_paper(story, title=f"Reconciliation of gaming day {day.day}", size=PAGE, foot=foot)


def _head(day: Reconciliation) -> Table:
    state, color = ("BALANCED", GOOD) if day.balanced else ("DOES NOT BALANCE", BAD)
    period = f"{day.starts:%d %B %Y %H:%M} to {day.ends:%d %B %Y %H:%M} ({day.starts.tzinfo})"
    words = [line(f"Progressive Jackpot, gaming day {day.day:%d %B %Y}", TITLE), line(period, SUBTITLE)]
    pill = line(state, style(10, bold=True, right=True, color=WHITE))
    pill.style.alignment = 1
    head = Table([[words, pill]], colWidths=[WIDTH - 48 * mm, 48 * mm], rowHeights=[16 * mm])
    head.setStyle(
        TableStyle(
            [
                ("VALIGN", (0, 0), (-1, -1), "MIDDLE"),
                ("BACKGROUND", (1, 0), (1, 0), color),
                ("LEFTPADDING", (0, 0), (0, 0), 0),
            ]
        )
    )
    return head


def _table(sheet: Sheet) -> Table:
    strong = style(SIZE, bold=True)
    figures = [any(isinstance(row[column], int | Money) for row in sheet.rows) for column in range(len(sheet.columns))]
    liked, needed = [], []
    for column, name in enumerate(sheet.columns):
        texts = [_text(row[column]) for row in sheet.rows]
        words = [word for text in (name, *([] if figures[column] else texts)) for word in text.split()]
        longest_word = min(max(width_of(word, strong) for word in words), WORD_MAX)
        widest = max(width_of(text, strong) for text in texts)
        liked.append(max(longest_word, widest) + 2 * PAD)
        needed.append((max(longest_word, widest) if figures[column] else longest_word) + 2 * PAD)
    widths = columns_that_fit(liked, needed, WIDTH)
    head = [
        line(name, style(SIZE, bold=True, right=figure, color=FAINT))
        for name, figure in zip(sheet.columns, figures, strict=True)
    ]
    body = [
        [_cell(cell, strong_row=number in sheet.strong, right=figures[column]) for column, cell in enumerate(row)]
        for number, row in enumerate(sheet.rows)
    ]
    return ruled([head, *body], widths, [number + 1 for number in sheet.strong], pad=PAD)


def _cell(cell: Cell, *, strong_row: bool, right: bool) -> Any:
    """What is nothing recedes, so that what moved is seen."""
    nothing = cell in (0, Money(0)) and not strong_row
    color = BAD if cell in ALARMING else FAINT if nothing else INK
    return line(_text(cell), style(SIZE, bold=strong_row, right=right, color=color))


def _text(cell: Cell) -> str:
    return grouped(cell.micros) if isinstance(cell, Money) else str(cell)


def _signatures() -> Table:
    gap = 10 * mm
    table = Table(
        [[line(name, style(8, color=FAINT)) for name in ("Prepared by", "", "Reviewed by", "", "Date")]],
        colWidths=[(WIDTH - 2 * gap) * 0.4, gap, (WIDTH - 2 * gap) * 0.4, gap, (WIDTH - 2 * gap) * 0.2],
    )
    lines = [("LINEABOVE", (column, 0), (column, 0), 0.6, INK) for column in (0, 2, 4)]
    table.setStyle(TableStyle([*lines, ("LEFTPADDING", (0, 0), (-1, -1), 0)]))
    return table
