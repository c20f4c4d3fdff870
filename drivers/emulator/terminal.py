"""An emulated board in a terminal: lit lamps bright, dark lamps just visible, as on the wall."""

from typing import Final

from rich.style import Style
from rich.text import Text

from drivers.emulator.state import BoardState, Colour, Digit, Lamps, digits

LIT: Final[dict[Colour, str]] = {"amber": "#ffb000", "red": "#ff3b1f", "green": "#4dff5e"}
DARK: Final[dict[Colour, str]] = {"amber": "#33240a", "red": "#331210", "green": "#0f2b13"}
PANEL: Final = "#0c0a08"
FRAME: Final = Style(color="#4a4a4a", bgcolor=PANEL)

BRAILLE_BASE: Final = 0x2800
BRAILLE_DOTS: Final = ((0x01, 0x08), (0x02, 0x10), (0x04, 0x20), (0x40, 0x80))
"""The dot of each row and column in one braille character."""

DIGIT_ROWS: Final = (" aaa  ", "f   b ", "f   b ", " ggg  ", "e   c ", "e   c ", " ddd .")
"""Which lamp of a numeric place is where."""


def render(state: BoardState, columns: int, now: float = 0.0) -> Text:
    """The board as lines of text: one lamp a character.

    On a screen narrower than the board its dark sides are left out; if lit lamps would be lost, braille.
    """
    if state.kind == "digits":
        return _framed(_digit_rows(state))
    lamps = state.lamps(now)
    side = max(0, -(-(state.dot_columns + 2 - columns) // 2))
    seen = tuple(row[side : state.dot_columns - side] for row in lamps)
    if state.motion == "rotate" or sum(map(sum, seen)) == sum(map(sum, lamps)):
        return _framed(_lamp_rows(seen, state.colour))
    return _framed(_braille_rows(lamps, state.colour))


def _lamp_rows(lamps: Lamps, colour: Colour) -> list[Text]:
    lit, dark = _styles(colour)
    return [Text.assemble(*(("●", lit) if lamp else ("·", dark) for lamp in row)) for row in lamps]


def _braille_rows(lamps: Lamps, colour: Colour) -> list[Text]:
    lit, _ = _styles(colour)
    rows = []
    for top in range(0, len(lamps), 4):
        four = lamps[top : top + 4]
        codes = [0] * (len(lamps[0]) // 2)
        for row, dots in zip(four, BRAILLE_DOTS, strict=False):
            for at, lamp in enumerate(row):
                codes[at // 2] |= dots[at % 2] if lamp else 0
        rows.append(Text("".join(chr(BRAILLE_BASE + code) for code in codes), lit))
    return rows


def _digit_rows(state: BoardState) -> list[Text]:
    lit, dark = _styles(state.colour)
    places = digits(state)
    rows = []
    for shape in DIGIT_ROWS:
        row = Text(" ", dark)
        for place in places:
            for lamp in shape:
                is_lit = _is_lit(place, lamp)
                row.append(" " if lamp == " " else "●" if is_lit else "·", lit if is_lit else dark)
            row.append(" ", dark)
        rows.append(row)
    return rows


def _is_lit(place: Digit, lamp: str) -> bool:
    return place.point if lamp == "." else lamp in place.segments


def _styles(colour: Colour) -> tuple[Style, Style]:
    return Style(color=LIT[colour], bgcolor=PANEL, bold=True), Style(color=DARK[colour], bgcolor=PANEL)


def _framed(rows: list[Text]) -> Text:
    edge = "─" * (rows[0].cell_len if rows else 0)
    lines = [Text(f"╭{edge}╮", FRAME)]
    lines += [Text("│", FRAME).append_text(row).append("│", FRAME) for row in rows]
    lines.append(Text(f"╰{edge}╯", FRAME))
    return Text("\n").join(lines)
