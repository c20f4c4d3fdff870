"""How soon there is a leader: at a start with many rounds open, and when the leader dies."""

import signal
from time import perf_counter
from typing import Any

import asyncpg

from jackpot.bench.ground import Ground, daemon, link_name, starting, table_name
from jackpot.bench.run import Say, tables_of

WAGERS = "[[1, 1, 500, false], [2, 5, 2500, false], [3, 1, 500, false]]"
_OPEN_ROUNDS = """
INSERT INTO rounds (table_id, round, link, phase, opened_n, n, document)
SELECT table_id, 'open', $2, 'open', 0, 0,
    jsonb_build_object('hands', '[]'::jsonb, 'rates', '[0, 0]'::jsonb, 'wagers', $3::jsonb, 'declined', '[]'::jsonb)
FROM unnest($1::text[]) AS table_id
"""


async def measure_start(at: Ground, say: Say, open_rounds: int) -> dict[str, Any]:
    """Seconds from the process's start to its first `/readyz`, with no round open and with this many."""
    found = {"0": await _seconds_to_ready(at, open_rounds)}
    connection = await asyncpg.connect(
        at.database_url, server_settings={"default_transaction_isolation": "serializable"}
    )
    try:
        tables = [table_name(number) for number in range(open_rounds)]
        await connection.execute(_OPEN_ROUNDS, tables, link_name(0), WAGERS)
    finally:
        await connection.close()
    found[str(open_rounds)] = await _seconds_to_ready(at, open_rounds)
    for count, seconds in found.items():
        say(f"  start with {int(count):,} open rounds on {open_rounds:,} tables: ready after {seconds:.2f} s")
    return found


async def _seconds_to_ready(at: Ground, tables: int) -> float:
    async with starting(at, 1, tables) as started:
        began = perf_counter()
        await started.ready()
        return perf_counter() - began


async def measure_take_over(at: Ground, say: Say, times: int = 5) -> dict[str, float]:
    """Seconds from the leader's kill -9 to the first answer by its standby, and from a SIGTERM."""
    found = {}
    for name, number in (("kill -9", signal.SIGKILL), ("SIGTERM", signal.SIGTERM)):
        taken = sorted([await _take_over(at, number) for _ in range(times)])
        found[name] = taken[len(taken) // 2]
        say(f"  take-over after {name}: {found[name]:.2f} s, at most {taken[-1]:.2f} s, of {times}")
    return found


async def _take_over(at: Ground, number: signal.Signals) -> float:
    async with daemon(at, 1, 1) as leader, starting(at, 1, 1) as standby, tables_of(at, 1, 1) as load:
        await load.pace(20, 2.0)  # the standby is up by then
        leader.process.send_signal(number)
        began = perf_counter()
        await load.pace(1, 1.0)  # returns with the answer
        taken = perf_counter() - began
        await standby.ready()
        return taken
