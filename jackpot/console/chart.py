"""The pool over a day as the lines of an SVG: no library, no script, and it prints."""

import datetime as dt
from dataclasses import dataclass
from typing import Final

from jackpot.ledger.read.history import Point

WIDTH: Final = 1000
HEIGHT: Final = 240


@dataclass(frozen=True, slots=True)
class Chart:
    line: str
    area: str
    wins: list[int]
    """Where a share was paid, from the left."""
    high_cents: int
    low_cents: int
    start: dt.datetime
    end: dt.datetime


def draw(points: list[Point], now: dt.datetime) -> Chart | None:
    """The pool stands still between two journals, so it is drawn in steps; None if the day has none yet."""
    if not points:
        return None
    start, end = points[0].at, max(now, points[-1].at)
    whole_s = max((end - start).total_seconds(), 1.0)
    low, high = min(p.pool_cents for p in points), max(p.pool_cents for p in points)
    room = max((high - low) // 10, 1)
    bottom, top = low - room, high + room

    def x(at: dt.datetime) -> int:
        return round((at - start).total_seconds() / whole_s * WIDTH)

    def y(cents: int) -> int:
        return HEIGHT - (cents - bottom) * HEIGHT // (top - bottom)

    steps = [f"M0 {y(points[0].pool_cents)}", *(f"H{x(p.at)}V{y(p.pool_cents)}" for p in points[1:]), f"H{WIDTH}"]
    line = "".join(steps)
    return Chart(
        line=line,
        area=f"{line}V{HEIGHT}H0Z",
        wins=[x(point.at) for point in points if point.win],
        high_cents=high,
        low_cents=low,
        start=start,
        end=end,
    )
