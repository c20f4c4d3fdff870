"""How often everything was done, and what came of it: one table at the end of `make faults`.

`JACKPOT_KILLS` is how many times a daemon is killed; the other faults are done in proportion. Without it each is done a
few times, for the suite.
"""

import os
from collections.abc import Iterable
from statistics import median
from typing import Any

import pytest

from tests.faults.auditor import Audit

KILLS = int(os.environ.get("JACKPOT_KILLS", "0"))
LAP = 50
PROPERTY = "fault"


def times(per_thousand_kills: int, short: int) -> pytest.MarkDecorator:
    """Parameters `lap` and `times`: each lap has tables and a ledger of its own, and ends with an audit."""
    left = KILLS * per_thousand_kills // 1000 or short
    laps = [min(LAP, left - begun) for begun in range(0, left, LAP)]
    return pytest.mark.parametrize(("lap", "times"), list(enumerate(laps)))


def row(what: str, times: int, audit: Audit, silences_s: list[float], seconds: float) -> dict[str, Any]:
    seen = {"events": audit.events, "shares": audit.shares, "resets": audit.resets}
    found = {"lost": len(audit.lost), "twice": len(audit.twice), "wrong": len(audit.wrong)}
    return {"what": what, "times": times, **seen, **found, "silences_s": silences_s, "seconds": seconds}


def table(rows: Iterable[dict[str, Any]]) -> list[str]:
    """The rows of all laps, added up for each kind of fault."""
    kinds: dict[str, list[dict[str, Any]]] = {}
    for row in rows:
        kinds.setdefault(row["what"], []).append(row)
    if not kinds:
        return []
    width = max(map(len, kinds))
    columns = {"times": 6, "events": 8, "shares": 6, "resets": 6, "lost": 5, "twice": 5, "wrong": 5}
    heading = " ".join(f"{name:>{wide}}" for name, wide in columns.items())
    lines = [f"{'':{width}} {heading} {'silent s':>8} {'s':>6}"]
    for what, laps in kinds.items():
        counted = " ".join(f"{sum(lap[name] for lap in laps):{wide},}" for name, wide in columns.items())
        silences = [silence for lap in laps for silence in lap["silences_s"]]
        silent = f"{median(silences):.1f}" if silences else ""
        lines.append(f"{what:{width}} {counted} {silent:>8} {sum(lap['seconds'] for lap in laps):6,.0f}")
    return [
        *lines,
        "shares: awards from the pool; resets: after a Royal",
        "silent: the median, over all times, of how long no event of any table was accepted",
    ]
