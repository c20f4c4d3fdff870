"""Plots in plain text: an area under a line, and bars."""

from collections.abc import Sequence

EIGHTHS = " ▁▂▃▄▅▆▇█"
BARS = " ▏▎▍▌▋▊▉█"


def area(values: Sequence[int], *, width: int, height: int) -> list[str]:
    """Lines from the top down: the mean of each stretch of values as a column, the highest one full."""
    columns = _means(values, width)
    top = max(columns) or 1
    steps = [round(value / top * height * 8) for value in columns]
    return ["".join(EIGHTHS[min(max(step - line * 8, 0), 8)] for step in steps) for line in range(height - 1, -1, -1)]


def highest_mean(values: Sequence[int], width: int) -> int:
    """What the full column of such an area stands for."""
    return round(max(_means(values, width)))


def _means(values: Sequence[int], width: int) -> list[float]:
    means = []
    for column in range(width):
        first = column * len(values) // width
        part = values[first : max(first + 1, (column + 1) * len(values) // width)]
        means.append(sum(part) / len(part))
    return means


def bar(value: float, most: float, width: int) -> str:
    eighths = round(value / most * width * 8) if most else 0
    return "█" * (eighths // 8) + (BARS[eighths % 8] if eighths % 8 else "")


def histogram(values: Sequence[int], bins: int) -> list[tuple[int, int, int]]:
    """From, to and how many, of as many equal stretches."""
    if not values:
        return []
    low, high = min(values), max(values)
    step = max(1, -(-(high - low + 1) // bins))
    counts = [0] * bins
    for value in values:
        counts[min((value - low) // step, bins - 1)] += 1
    return [(low + number * step, low + (number + 1) * step, count) for number, count in enumerate(counts)]
