"""Plays world after world: `python -m tests.simulation.run --days 1000`. Exit 1 if the auditor complains of one."""

import argparse
import math
import os
import sys
import time
from collections import Counter
from concurrent.futures import ProcessPoolExecutor
from functools import partial

from tests.simulation.world import Verdict, play

DAYS_OF_A_WORLD = 5.0


def command(verdict: Verdict) -> str:
    only = f" --only {' '.join(verdict.only)}" if verdict.only else ""
    return f"python -m tests.simulation.run --seed {verdict.seed} --days {verdict.days:g}{only}"


def explained(verdict: Verdict) -> str:
    """What the auditor says, what happened last, and how to see it again."""
    return "\n".join(
        [
            *verdict.last,
            "",
            *(f"AUDITOR: {complaint}" for complaint in verdict.complaints),
            f"trace {verdict.trace}; the same again: {command(verdict)}",
        ]
    )


def main(argv: list[str]) -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.simulation.run", description=__doc__)
    parser.add_argument("--days", type=float, default=DAYS_OF_A_WORLD, help="simulated days, five to a world")
    parser.add_argument("--seed", type=int, default=1, help="of the first world; the next has the next")
    parser.add_argument("--jobs", type=int, default=os.cpu_count(), help="worlds at a time")
    parser.add_argument(
        "--only", nargs="+", default=[], metavar="FAULT", help="let these faults alone happen, and often"
    )
    asked = parser.parse_args(argv)
    worlds = math.ceil(asked.days / DAYS_OF_A_WORLD)
    each = min(asked.days, DAYS_OF_A_WORLD)
    started, counts, bad = time.monotonic(), Counter[str](), 0
    with ProcessPoolExecutor(min(asked.jobs, worlds)) as pool:
        seeds = range(asked.seed, asked.seed + worlds)
        for done, verdict in enumerate(pool.map(partial(play, days=each, only=asked.only), seeds), start=1):
            counts += verdict.counts
            if verdict.complaints:
                bad += 1
                print(explained(verdict), flush=True)
            elif sys.stdout.isatty() or worlds == 1 or done % 20 == 0:
                print(f"{done} of {worlds} worlds, trace {verdict.trace[:16]}", flush=True)
    took = time.monotonic() - started
    print(", ".join(f"{name} {count:,}" for name, count in counts.items()))
    print(
        f"{worlds * each:g} days in {took:.0f} s, {worlds * each / took:.2f} days a second; {bad} of {worlds} worlds bad"
    )
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
