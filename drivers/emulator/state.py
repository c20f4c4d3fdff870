"""What an emulated board shows at one moment, and which of its lamps are lit."""

from dataclasses import dataclass
from typing import Final, Literal

from drivers.emulator.font import GAP, HEIGHT, glyph

Colour = Literal["amber", "red", "green"]
Motion = Literal["hold", "flash", "rotate"]
Lamps = tuple[tuple[bool, ...], ...]
"""A dot matrix, row by row."""

FLASHES_PER_SECOND: Final = 2
DOTS_PER_SECOND: Final = 48
CHARACTER_DOTS: Final = 6


@dataclass(frozen=True, slots=True)
class BoardState:
    text: str
    width: int
    """Characters of a dot matrix, digits of a numeric meter."""
    kind: Literal["matrix", "digits"] = "matrix"
    colour: Colour = "amber"
    motion: Motion = "hold"

    @property
    def dot_columns(self) -> int:
        return self.width * CHARACTER_DOTS

    @property
    def legible_at(self) -> float:
        """When a rotating text has come to the left edge: it begins with a dark board."""
        return self.dot_columns / DOTS_PER_SECOND if self.motion == "rotate" else 0.0

    def lamps(self, now: float = 0.0) -> Lamps:
        """Which lamps are lit at a time in seconds: rotating and flashing texts move with it."""
        rows = _rows(self.text)
        if self.motion == "flash" and int(now * FLASHES_PER_SECOND * 2) % 2:
            rows = ("",) * HEIGHT
        blank = "." * self.dot_columns
        if self.motion == "rotate":
            length = len(rows[0]) + self.dot_columns
            at = int(now * DOTS_PER_SECOND) % length
            rows = tuple((blank + row + blank)[at : at + self.dot_columns] for row in rows)
        else:
            left = max(0, (self.dot_columns - len(rows[0])) // 2)
            rows = tuple((blank[:left] + row + blank)[: self.dot_columns] for row in rows)
        return tuple(tuple(dot == "#" for dot in row) for row in rows)


def _rows(text: str) -> tuple[str, ...]:
    drawn = [glyph(char) for char in text]
    return tuple(GAP.join(shape[row] for shape in drawn) for row in range(HEIGHT))


SEGMENTS: Final = {
    "0": "abcdef", "1": "bc", "2": "abged", "3": "abgcd", "4": "fgbc", "5": "afgcd", "6": "afgedc",
    "7": "abc", "8": "abcdefg", "9": "abcdfg", "-": "g", " ": "",
}  # fmt: skip


@dataclass(frozen=True, slots=True)
class Digit:
    segments: str
    """Of the seven, `a` at the top, clockwise, `g` in the middle."""
    point: bool


def digits(state: BoardState) -> tuple[Digit, ...]:
    """A numeric meter's places from left to right. The point shares the place of the digit before it."""
    places: list[Digit] = []
    for char in state.text:
        if char == "." and places:
            places[-1] = Digit(places[-1].segments, point=True)
        else:
            places.append(Digit(SEGMENTS.get(char, ""), point=char == "."))
    return (Digit("", point=False),) * (state.width - len(places)) + tuple(places)
