"""What boards cost the money's path: the same load without boards, with fifty, and with some of those stuck."""

import asyncio
import os
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

from jackpot.bench.ground import Ground, cpu_seconds, daemon, link_name
from jackpot.bench.load import Load
from jackpot.bench.ptys import board_path
from jackpot.bench.run import TABLES, WINDOW, Say, load_tables

CASES = {"no boards": (0, 0), "50 boards": (50, 0), "50 boards, 10 stuck": (50, 10)}
"""How many, and how many of them stuck."""
TIMES = 4
"""Each case is measured so often, in turn: what differs between two of the same case is noise."""
EVENTS_PER_SECOND = 1000
SETTLE_S = 3.0
"""Of play, until every board that works has its layout and a figure."""
LOWEST_PRIORITY = 19
COMPARED = ("events_per_second", "p50_ms", "p99_ms")

Case = dict[str, float]


async def measure_many_boards(at: Ground, say: Say, seconds: float) -> dict[str, Any]:
    found: dict[str, list[Case]] = {name: [] for name in CASES}
    for _ in range(TIMES):
        for name, (count, stuck) in CASES.items():
            found[name].append(await _case(at, count, stuck, seconds))
    bare = _best(found["no boards"])
    say(f"  boards on the daemon, each case {TIMES} times in turn; {EVENTS_PER_SECOND:,} events/s, then a flood:")
    ratios: dict[str, dict[str, float]] = {}
    for name, cases in found.items():
        ratios[name] = {key: value / bare[key] for key, value in _best(cases).items() if bare[key]}
        say(f"    {name:20} {_line(cases)}")
    for name, ratio in ratios.items():
        beside = ", ".join(f"x {ratio[key]:.2f} {key.removesuffix('_ms').replace('_', ' ')}" for key in COMPARED)
        say(f"    {name:20} {beside}")
    return {"cases": found, "ratios": ratios}


async def _case(at: Ground, count: int, stuck: int, seconds: float) -> Case:
    async with _emulators(at, count, stuck) as emulators, daemon(at, 1, TABLES, more=_signs(at, count)) as serving:
        load = Load(at.broker, await load_tables(at, 1, TABLES))
        await load.connect()
        await load.pace(EVENTS_PER_SECOND, SETTLE_S)
        before, emulated = serving.cpu_seconds(), cpu_seconds(emulators.pid)
        paced = await load.pace(EVENTS_PER_SECOND, seconds)
        used, emulated = serving.cpu_seconds() - before, cpu_seconds(emulators.pid) - emulated
        flood = await load.flood(seconds, WINDOW)
        await load.close()
        return {
            "events_per_second": flood.events_per_second,
            "p50_ms": paced.quantile_ms(0.5),
            "p99_ms": paced.quantile_ms(0.99),
            "daemon_cpu_share": used / paced.seconds,
            "emulators_cpu_share": emulated / paced.seconds,
        }


@asynccontextmanager
async def _emulators(at: Ground, count: int, stuck: int) -> AsyncIterator[asyncio.subprocess.Process]:
    """They are no part of what is measured, so they get what processor time is left over."""
    program = (sys.executable, "-m", "jackpot.bench.ptys", str(at.folder), str(count), str(stuck))
    process = await asyncio.create_subprocess_exec(*program, stdout=asyncio.subprocess.PIPE)
    try:
        if process.stdout is not None:
            await process.stdout.readline()
        os.setpriority(os.PRIO_PROCESS, process.pid, LOWEST_PRIORITY)
        yield process
    finally:
        process.terminate()
        await process.wait()


def _signs(at: Ground, count: int) -> str:
    return "".join(
        f'[[signs]]\nid = "board-{number}"\nlink = "{link_name(0)}"\nprotocol = "alpha"\n'
        f'port = "{board_path(at.folder, number)}"\n'
        for number in range(count)
    )


def _best(cases: list[Case]) -> Case:
    """Whatever else the machine does only ever makes it slower."""
    return {key: (max if key == "events_per_second" else min)(case[key] for case in cases) for key in cases[0]}


def _line(cases: list[Case]) -> str:
    def each(key: str, form: str, scale: float = 1.0) -> str:
        return " / ".join(format(case[key] * scale, form) for case in cases)

    return (
        f"{each('events_per_second', ',.0f')} events/s; "
        f"p50 {each('p50_ms', '.2f')} ms, p99 {each('p99_ms', '.2f')} ms; "
        f"of a processor the daemon {each('daemon_cpu_share', '.0f', 100)} %, "
        f"the emulators {each('emulators_cpu_share', '.0f', 100)} %"
    )
