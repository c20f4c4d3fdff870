"""Plays world after world: `python -m tests.simulation.run --days 1000`. Exit 1 if the auditor complains of one."""

import argparse
import os
import random
import signal
import sys
import time
from collections import Counter
from concurrent.futures import ProcessPoolExecutor
from itertools import combinations, count, cycle, islice

from jackpot.daemon.link_runner import LEASE_S
from tests.simulation.fault_schedule import KINDS
from tests.simulation.plan import Plan, Verdict
from tests.simulation.world import play

DAYS_OF_A_WORLD = 5.0
WORLD_WITHIN_S = 1800
PAIRS = random.Random(1).sample([*combinations(KINDS, 2)], len(KINDS) * (len(KINDS) - 1) // 2)


def command(plan: Plan) -> str:
    only = f" --only {' '.join(plan.only)}" if plan.only else ""
    whole = " --whole" if plan.whole else ""
    return f"python -m tests.simulation.run --seed {plan.seed} --days {plan.days:g}{whole}{only}"


def played(plan: Plan) -> Verdict:
    """A world that breaks the simulation itself, or never ends, is told by its seed too."""
    signal.signal(signal.SIGALRM, lambda *_: _give_up())
    signal.alarm(WORLD_WITHIN_S)
    try:
        return play(plan)
    except Exception as error:
        return Verdict.broken(plan, error)
    finally:
        signal.alarm(0)


def _give_up() -> None:
    raise TimeoutError(f"no end within {WORLD_WITHIN_S} s")


def explained(verdict: Verdict) -> str:
    """What the auditor says, what happened last, and how to see it again."""
    return "\n".join(
        [
            *verdict.last,
            "",
            *(f"AUDITOR: {complaint}" for complaint in verdict.complaints),
            f"trace {verdict.trace}; the same again: {command(verdict.plan)}",
        ]
    )


def plans(seed: int, days: float) -> list[Plan]:
    """Half of the days in every weather at once, half under each pair of faults in turn; and some days that are whole.

    Two faults that follow each other closely are rare in all kinds of weather, and where the races are.
    """
    seeds = count(seed)
    whole_days = round(days / 500)
    found = [Plan(next(seeds), days=1.2, whole=True) for _ in range(whole_days)]
    found += [Plan(next(seeds), days=DAYS_OF_A_WORLD) for _ in range(int(days / 2 / DAYS_OF_A_WORLD))]
    pairs = islice(cycle(PAIRS), seed - 1, None)
    left = round(days - sum(plan.days for plan in found if not plan.whole))
    return found + [Plan(next(seeds), only=next(pairs)) for _ in range(left)]


def told(counts: Counter[str], verdicts: list[Verdict]) -> str:
    """What was simulated, by the product's own clocks."""
    played_h = sum(verdict.played_s for verdict in verdicts) / 3600
    whole = [verdict for verdict in verdicts if verdict.plan.whole]
    latest_s = max(verdict.latest_s for verdict in verdicts)
    lines = [
        f"{len(verdicts):,} worlds, {played_h:,.1f} hours of play at the pace of the product's own timers",
        f"of these {len(whole)} worlds with whole days, {sum(verdict.played_s for verdict in whole) / 3600:,.1f} hours",
        f"the latest message came {latest_s:,.0f} s late: {latest_s / LEASE_S:,.0f} leases",
        ", ".join(f"{name} {count:,}" for name, count in counts.items()),
    ]
    return "\n".join(lines)


def main(argv: list[str]) -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.simulation.run", description=__doc__)
    parser.add_argument("--days", type=float, default=DAYS_OF_A_WORLD, help="how many, with two minutes of play each")
    parser.add_argument("--seed", type=int, help="of the one world to play; else there are many")
    parser.add_argument("--first", type=int, default=1, metavar="SEED", help="of many worlds, the first one's seed")
    parser.add_argument("--whole", action="store_true", help="with --seed: days of 24 hours of play")
    parser.add_argument("--jobs", type=int, default=os.cpu_count(), help="worlds at a time")
    parser.add_argument(
        "--only", nargs="+", default=[], metavar="FAULT", choices=KINDS, help="let these faults alone happen, and often"
    )
    asked = parser.parse_args(argv)
    if asked.seed is None:
        worlds = plans(asked.first, asked.days)
    else:
        worlds = [Plan(asked.seed, asked.days, tuple(asked.only), asked.whole)]
    started, counts, verdicts = time.monotonic(), Counter[str](), []
    with ProcessPoolExecutor(min(asked.jobs, len(worlds))) as pool:
        for done, verdict in enumerate(pool.map(played, worlds), start=1):
            counts += verdict.counts
            verdicts.append(verdict)
            if verdict.complaints:
                print(explained(verdict), flush=True)
            elif sys.stdout.isatty() or len(worlds) == 1 or done % 20 == 0:
                print(f"{done} of {len(worlds)} worlds, trace {verdict.trace[:16]}", flush=True)
    bad = sum(bool(verdict.complaints) for verdict in verdicts)
    print(told(counts, verdicts))
    print(f"{time.monotonic() - started:.0f} s; {bad} of {len(worlds)} worlds bad")
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
