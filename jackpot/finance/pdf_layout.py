"""How our papers look: colours, type, figures in columns, and a foot on every page."""

import io
from collections.abc import Sequence
from itertools import groupby
from typing import Any
from xml.sax.saxutils import escape

from reportlab.lib import colors  # type: ignore[import-untyped]  # it has no types
from reportlab.lib.enums import TA_RIGHT  # type: ignore[import-untyped]  # likewise
from reportlab.lib.styles import ParagraphStyle  # type: ignore[import-untyped]  # likewise
from reportlab.lib.units import mm  # type: ignore[import-untyped]  # likewise
from reportlab.pdfbase import pdfmetrics  # type: ignore[import-untyped]  # likewise
from reportlab.pdfbase.cidfonts import UnicodeCIDFont  # type: ignore[import-untyped]  # likewise
from reportlab.pdfgen.canvas import Canvas  # type: ignore[import-untyped]  # likewise
from reportlab.platypus import BaseDocTemplate, Frame, PageTemplate, Paragraph, Table, TableStyle  # type: ignore[import-untyped]  # likewise

WHITE = colors.white
INK = colors.HexColor("#1d2733")
FAINT = colors.HexColor("#66717f")
RULE = colors.HexColor("#cfd6de")
BAND = colors.HexColor("#f2f5f8")
GOOD = colors.HexColor("#1f7a4d")
BAD = colors.HexColor("#b3261e")
RED_SUIT = "#b3261e"

MARGIN = 14 * mm
SUITS = "♣♦♥♠"
EAST_ASIAN = "STSong-Light"
"""Viewers bring a face for it: it takes the characters that Helvetica does not have."""

pdfmetrics.registerFont(UnicodeCIDFont(EAST_ASIAN))


def style(size: float, *, bold: bool = False, right: bool = False, color: Any = INK) -> ParagraphStyle:
    return ParagraphStyle(
        f"{size}{bold}{right}",
        fontName="Helvetica-Bold" if bold else "Helvetica",
        fontSize=size,
        leading=size * 1.3,
        textColor=color,
        alignment=TA_RIGHT if right else 0,
        splitLongWords=1,
    )


TITLE = style(17, bold=True)
SUBTITLE = style(9.5, color=FAINT)
HEADING = style(10.5, bold=True)
NOTE = style(7.5, color=FAINT)


def line(text: str, form: ParagraphStyle) -> Paragraph:
    """Text as it is: nothing in it is taken for markup, and every character finds a face."""
    return Paragraph(_faced(text), form)


def _face(letter: str) -> str:
    if letter in SUITS:
        return "ZapfDingbats"
    try:
        letter.encode("cp1252")
    except UnicodeEncodeError:
        return EAST_ASIAN
    return ""


def _faced(text: str) -> str:
    parts = []
    for face, letters in groupby(text, _face):
        run = "".join(letters)
        if face == "ZapfDingbats":
            parts += [f'<font name="{face}"{_suit_color(suit)}>{suit}</font>' for suit in run]
        else:
            parts.append(f'<font name="{face}">{escape(run)}</font>' if face else escape(run))
    return "".join(parts)


def _suit_color(suit: str) -> str:
    return f' color="{RED_SUIT}"' if suit in "♦♥" else ""


def width_of(text: str, form: ParagraphStyle) -> float:
    width: float = pdfmetrics.stringWidth(text, form.fontName, form.fontSize)
    return width


def columns_that_fit(liked: Sequence[float], needed: Sequence[float], available: float) -> list[float]:
    """Each column as wide as it likes, stretched to the page; where there is too little room, what can wrap does."""
    if sum(liked) <= available:
        return [width * available / sum(liked) for width in liked]
    room, wishes = available - sum(needed), sum(liked) - sum(needed)
    if room < 0:
        return [width * available / sum(needed) for width in needed]
    return [least + (most - least) * room / wishes for least, most in zip(needed, liked, strict=True)]


def ruled(rows: list[list[Any]], widths: Sequence[float], strong: Sequence[int], *, pad: float = 3) -> Table:
    """A table with a head, thin rules between its rows, and a band behind those that are results."""
    table = Table(rows, colWidths=list(widths), repeatRows=1)
    commands: list[tuple[Any, ...]] = [
        ("VALIGN", (0, 0), (-1, -1), "TOP"),
        ("LINEBELOW", (0, 0), (-1, 0), 0.8, INK),
        ("LINEBELOW", (0, 1), (-1, -1), 0.3, RULE),
        ("TOPPADDING", (0, 0), (-1, -1), 2.2),
        ("BOTTOMPADDING", (0, 0), (-1, -1), 2.6),
        ("LEFTPADDING", (0, 0), (-1, -1), pad),
        ("LEFTPADDING", (0, 0), (0, -1), 0),
        ("RIGHTPADDING", (0, 0), (-1, -1), pad),
    ]
    commands += [("BACKGROUND", (0, number), (-1, number), BAND) for number in strong]
    table.setStyle(TableStyle(commands))
    return table


def print_paper(story: list[Any], *, title: str, size: tuple[float, float], foot: str) -> bytes:
    memory = io.BytesIO()
    paper = BaseDocTemplate(memory, pagesize=size, title=title, author="jackpot")
    foot_height = 5 * mm
    frame = Frame(
        MARGIN,
        MARGIN + foot_height,
        size[0] - 2 * MARGIN,
        size[1] - 2 * MARGIN - foot_height,
        leftPadding=0,
        rightPadding=0,
        topPadding=0,
        bottomPadding=0,
    )
    paper.addPageTemplates(PageTemplate(frames=[frame]))

    class Footed(_FootedCanvas):
        text = foot

    paper.build(story, canvasmaker=Footed)
    return memory.getvalue()


class _FootedCanvas(Canvas):  # type: ignore[misc]  # its base has no types
    """Keeps its pages until their number is known, then writes the foot."""

    text = ""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self._kept: list[dict[str, Any]] = []

    def showPage(self) -> None:  # noqa: N802 reportlab's name
        self._kept.append(dict(self.__dict__))
        self._startPage()

    def save(self) -> None:
        for number, page in enumerate(self._kept, start=1):
            self.__dict__.update(page)
            width = self._pagesize[0]
            self.setStrokeColor(RULE)
            self.setLineWidth(0.4)
            self.line(MARGIN, MARGIN, width - MARGIN, MARGIN)
            self.setFillColor(FAINT)
            self.setFont("Helvetica", 7)
            self.drawString(MARGIN, MARGIN - 9, self.text)
            self.drawRightString(width - MARGIN, MARGIN - 9, f"Page {number} of {len(self._kept)}")
            super().showPage()
        super().save()
