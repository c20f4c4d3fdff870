"""Hours of play at one rate: is memory flat?"""

import asyncio
from typing import Any

from jackpot.bench.ground import Ground, daemon
from jackpot.bench.run import TABLES, Say, tables_of
from jackpot.bench.verdict import judged

RATE = 1000
SLICE_S = 60.0


async def measure_soak(at: Ground, say: Say, minutes: int) -> dict[str, Any]:
    """The daemon's memory at the end of each minute, with the latency in it."""
    found: list[dict[str, float]] = []
    async with daemon(at, 1, TABLES) as serving, tables_of(at, 1, TABLES) as load:
        for minute in range(1, minutes + 1):
            measured = await load.pace(RATE, SLICE_S)
            found.append({"memory_mib": serving.memory_mib(), "p50_ms": measured.quantile_ms(0.5)})
            say(f"  minute {minute}: {found[-1]['memory_mib']:.1f} MiB, p50 {found[-1]['p50_ms']:.2f} ms")
            await asyncio.sleep(0)
    grown = found[-1]["memory_mib"] / found[0]["memory_mib"]
    return {"events_per_second": RATE, "minutes": found, "verdict": judged({"memory_after_to_before": grown})}
