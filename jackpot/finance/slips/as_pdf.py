"""The award slip as a paper that is signed and filed."""

from typing import Any

from reportlab.lib.pagesizes import A5  # type: ignore[import-untyped]  # it has no types
from reportlab.lib.units import mm  # type: ignore[import-untyped]  # likewise
from reportlab.platypus import KeepTogether, Spacer, Table, TableStyle  # type: ignore[import-untyped]  # likewise

from jackpot.finance.pdf_layout import FAINT, INK, MARGIN, RULE, line, print_paper, style
from jackpot.finance.reconciliation.sheets import RANKS
from jackpot.finance.slips.as_text import sections
from jackpot.finance.slips.data import Slip
from jackpot.formatting.money import cents
from jackpot.rules.megalink import Rank


def as_pdf(slip: Slip) -> bytes:
    width = A5[0] - 2 * MARGIN
    award = slip.award
    story: list[Any] = [
        line("Progressive Jackpot award", style(9.5, color=FAINT)),
        line(award["award"], style(13, bold=True)),
        Spacer(1, 2 * mm),
        _amount(f"{cents(award['amount_cents'])} {slip.currency}", RANKS[Rank(award["rank"])], width),
    ]
    for title, rows in sections(slip):
        heading = line(title, style(8, bold=True))
        story.append(KeepTogether([Spacer(1, 1.8 * mm), heading, Spacer(1, 0.6 * mm), _rows(rows, width)]))
    story.append(KeepTogether([Spacer(1, 9 * mm), _signatures(width)]))
    return print_paper(story, title=f"Award {award['award']}", size=A5, foot=f"Award {award['award']}")


def _amount(amount: str, rank: str, width: float) -> Table:
    big = style(20, bold=True)
    big.leading = 24
    table = Table([[line(amount, big), line(rank, style(10, right=True))]], colWidths=[width * 0.68, width * 0.32])
    table.setStyle(
        TableStyle(
            [
                ("VALIGN", (0, 0), (-1, -1), "MIDDLE"),
                ("LINEABOVE", (0, 0), (-1, 0), 1, INK),
                ("LINEBELOW", (0, 0), (-1, 0), 1, INK),
                ("LEFTPADDING", (0, 0), (0, 0), 0),
                ("RIGHTPADDING", (-1, 0), (-1, 0), 0),
                ("TOPPADDING", (0, 0), (-1, 0), 5),
                ("BOTTOMPADDING", (0, 0), (-1, 0), 7),
            ]
        )
    )
    return table


def _rows(rows: list[tuple[str, str]], width: float) -> Table:
    faint, plain = style(7, color=FAINT), style(7)
    label_width = 20 * mm if any(label for label, _ in rows) else 0.1
    body = [[line(label, faint), line(text, plain)] for label, text in rows]
    table = Table(body, colWidths=[label_width, width - label_width])
    table.setStyle(
        TableStyle(
            [
                ("VALIGN", (0, 0), (-1, -1), "TOP"),
                ("LINEBELOW", (0, 0), (-1, -1), 0.3, RULE),
                ("LEFTPADDING", (0, 0), (-1, -1), 0),
                ("RIGHTPADDING", (0, 0), (-1, -1), 0),
                ("TOPPADDING", (0, 0), (-1, -1), 0.9),
                ("BOTTOMPADDING", (0, 0), (-1, -1), 1.4),
            ]
        )
    )
    return table


def _signatures(width: float) -> Table:
    gap = 6 * mm
    each = (width - 2 * gap) / 3
    names = ("Player", "", "Pit supervisor", "", "Finance")
    table = Table([[line(name, style(7.5, color=FAINT)) for name in names]], colWidths=[each, gap, each, gap, each])
    lines = [("LINEABOVE", (column, 0), (column, 0), 0.6, INK) for column in (0, 2, 4)]
    table.setStyle(TableStyle([*lines, ("LEFTPADDING", (0, 0), (-1, -1), 0)]))
    return table
