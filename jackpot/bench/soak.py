"""Hours of play at one rate: is memory flat?"""

import asyncio
from typing import Any

from jackpot.bench.ground import Ground, daemon
from jackpot.bench.load import Load
from jackpot.bench.run import TABLES, Say, load_tables

RATE = 1000
SLICE_S = 60.0


async def measure_soak(at: Ground, say: Say, minutes: int) -> dict[str, Any]:
    """The daemon's memory at the end of each minute, with the latency in it."""
    found: list[dict[str, float]] = []
    async with daemon(at, 1, TABLES) as serving:
        load = Load(at.broker, await load_tables(at, 1, TABLES))
        await load.connect()
        for minute in range(1, minutes + 1):
            measured = await load.pace(RATE, SLICE_S)
            found.append({"memory_mib": serving.memory_mib(), "p50_ms": measured.quantile_ms(0.5)})
            say(f"  minute {minute}: {found[-1]['memory_mib']:.1f} MiB, p50 {found[-1]['p50_ms']:.2f} ms")
            await asyncio.sleep(0)
        await load.close()
    return {"events_per_second": RATE, "minutes": found}
