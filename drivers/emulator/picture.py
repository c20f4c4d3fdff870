"""An emulated board as a picture: lamps behind dark glass, with the glow that makes them readable from afar."""

from collections.abc import Callable
from pathlib import Path
from typing import Final

from PIL import Image, ImageChops, ImageDraw, ImageFilter

from drivers.emulator.font import HEIGHT
from drivers.emulator.state import BoardState, Colour, digits

Rgb = tuple[int, int, int]
Draw = Callable[[ImageDraw.ImageDraw, ImageDraw.ImageDraw], None]

LIT: Final[dict[Colour, Rgb]] = {"amber": (255, 146, 8), "red": (255, 52, 28), "green": (70, 255, 96)}
DARK: Final[dict[Colour, Rgb]] = {"amber": (38, 29, 17), "red": (38, 18, 16), "green": (15, 32, 19)}
GLASS: Final[Rgb] = (13, 12, 12)
CASE: Final[Rgb] = (34, 35, 38)
CASE_EDGE: Final[Rgb] = (70, 72, 77)
FINE: Final = 3
"""Drawn this much larger, then scaled down: round lamps need soft edges."""
PITCH: Final = 12 * FINE
LAMP: Final = 9 * FINE
BORDER: Final = 18 * FINE
MARGIN: Final = 2 * PITCH

DIGIT_WIDE: Final = 64 * FINE
DIGIT_HIGH: Final = 112 * FINE
DIGIT_STEP: Final = 96 * FINE
STROKE: Final = 13 * FINE
SLANT: Final = 0.09


def picture(state: BoardState, now: float | None = None) -> Image.Image:
    """Without a time: as it can be read."""
    if state.kind == "digits":
        return _digits(state)
    return _matrix(state, state.legible_at if now is None else now)


def save_png(state: BoardState, path: Path, now: float | None = None) -> None:
    picture(state, now).save(path, "PNG")


def _matrix(state: BoardState, now: float) -> Image.Image:
    size = (state.dot_columns * PITCH + 2 * MARGIN, HEIGHT * PITCH + 2 * MARGIN)
    lit, dark = LIT[state.colour], DARK[state.colour]
    rows = state.lamps(now)

    def draw(panel: ImageDraw.ImageDraw, light: ImageDraw.ImageDraw) -> None:
        for down, row in enumerate(rows):
            for across, lamp in enumerate(row):
                x, y = MARGIN + across * PITCH + PITCH // 2, MARGIN + down * PITCH + PITCH // 2
                if lamp:
                    light.ellipse(_around(x, y, LAMP // 2), fill=lit)
                    light.ellipse(_around(x, y, LAMP // 4), fill=_paler(lit))
                else:
                    panel.ellipse(_around(x, y, LAMP // 2), fill=dark)

    return _board(size, draw)


def _digits(state: BoardState) -> Image.Image:
    size = (state.width * DIGIT_STEP + 2 * MARGIN, DIGIT_HIGH + 2 * MARGIN)
    lit, dark = LIT[state.colour], DARK[state.colour]

    def draw(panel: ImageDraw.ImageDraw, light: ImageDraw.ImageDraw) -> None:
        for place, digit in enumerate(digits(state)):
            left = MARGIN + place * DIGIT_STEP + (DIGIT_STEP - DIGIT_WIDE) // 3
            for name, line in _segments(left).items():
                target, colour = (light, lit) if name in digit.segments else (panel, dark)
                target.polygon(line, fill=colour)
            target, colour = (light, lit) if digit.point else (panel, dark)
            target.ellipse(_around(left + DIGIT_WIDE + STROKE, MARGIN + DIGIT_HIGH - STROKE, STROKE // 2), fill=colour)

    return _board(size, draw)


def _segments(left: int) -> dict[str, list[tuple[float, float]]]:
    half, gap = STROKE / 2, STROKE / 5
    x0, x1 = half, DIGIT_WIDE - half
    y0, y1, y2 = half, DIGIT_HIGH / 2, DIGIT_HIGH - half
    across = {"a": y0, "g": y1, "d": y2}
    down = {"f": (x0, y0, y1), "b": (x1, y0, y1), "e": (x0, y1, y2), "c": (x1, y1, y2)}
    shapes = {
        name: [(x0 + gap, y), (x0 + gap + half, y - half), (x1 - gap - half, y - half),
               (x1 - gap, y), (x1 - gap - half, y + half), (x0 + gap + half, y + half)]
        for name, y in across.items()
    }  # fmt: skip
    shapes |= {
        name: [(x, top + gap), (x + half, top + gap + half), (x + half, foot - gap - half),
               (x, foot - gap), (x - half, foot - gap - half), (x - half, top + gap + half)]
        for name, (x, top, foot) in down.items()
    }  # fmt: skip
    return {
        name: [(left + x + (DIGIT_HIGH - y) * SLANT, MARGIN + y) for x, y in points] for name, points in shapes.items()
    }


def _board(size: tuple[int, int], draw: Draw) -> Image.Image:
    """Dark lamps on the glass, light and its glow over it, a case around."""
    panel, light = Image.new("RGB", size, GLASS), Image.new("RGB", size)
    draw(ImageDraw.Draw(panel), ImageDraw.Draw(light))
    near = light.filter(ImageFilter.GaussianBlur(PITCH * 0.45))
    far = light.filter(ImageFilter.GaussianBlur(PITCH * 1.6)).point(lambda value: value * 0.55)
    for layer in (far, near, light):
        panel = ImageChops.screen(panel, layer)
    whole = Image.new("RGBA", (size[0] + 2 * BORDER, size[1] + 2 * BORDER))
    case = ImageDraw.Draw(whole)
    right, foot = whole.width - 1, whole.height - 1
    case.rounded_rectangle((0, 0, right, foot), radius=BORDER, fill=CASE, outline=CASE_EDGE, width=FINE)
    whole.paste(panel, (BORDER, BORDER))
    case.rectangle((BORDER, BORDER, right - BORDER, foot - BORDER), outline=(0, 0, 0), width=2 * FINE)
    return whole.resize((whole.width // FINE, whole.height // FINE), Image.Resampling.LANCZOS)


def _around(x: float, y: float, radius: float) -> tuple[float, float, float, float]:
    return x - radius, y - radius, x + radius, y + radius


def _paler(colour: Rgb) -> Rgb:
    red, green, blue = ((value + 255) // 2 for value in colour)
    return red, green, blue
