"""How long tests wait for what must come. A generous bound costs nothing when all is well."""

import os

GENEROUS = 3.0


def patience_s(seconds: float) -> float:
    """Three times as long as it should take, and longer where many wait for each processor.

    The load of the last minute says nothing of a burst that has just begun.
    """
    return seconds * max(GENEROUS, os.getloadavg()[0] / (os.cpu_count() or 1))
