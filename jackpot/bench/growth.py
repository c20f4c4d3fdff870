"""What grows must not cost: more tables, more links, a long history, many open rounds."""

import asyncio
import datetime as dt
from contextlib import AsyncExitStack
from time import perf_counter
from typing import Any

import asyncpg

from jackpot.bench.ground import Ground, daemon, ground, link_name, starting
from jackpot.bench.history import make_up
from jackpot.bench.run import TABLES, Say, tables_of
from jackpot.bench.starting import measure_start, measure_take_over
from jackpot.contract.gaming_day import GamingDay
from jackpot.daemon.lease_balancer import loads
from jackpot.errors import UserError
from jackpot.finance.reconciliation.read_day import reconcile
from jackpot.ledger.connection import create_engine
from jackpot.ledger.lease import survey

IN_FLIGHT = 1280
SHARED_LINKS, TABLES_OF_SHARED = 8, 64
LOOKS, LOOK_EVERY_S = 300, 0.2


async def measure_growth(
    say: Say, seconds: float, *, tables: list[int], links: list[int], history: int, open_rounds: int
) -> dict[str, Any]:
    """Events a second as each of these grows, with as many events on their way in every case."""
    found: dict[str, Any] = {"tables": {}, "links": {}, "daemons": {}, "history": {}}
    async with ground() as at:
        for count in tables:
            found["tables"][str(count)] = await _rate(at, 1, count, seconds)
            say(f"  {count:>5} tables on one link: {found['tables'][str(count)]:,.0f} events/s")
        for count in links:
            found["links"][str(count)] = await _rate(at, count, max(count, 64), seconds)
            say(f"  {count:>5} links: {found['links'][str(count)]:,.0f} events/s")
        for count in (1, 2):
            found["daemons"][str(count)] = await _shared(at, count, seconds, say)
    for count in (0, history):
        async with ground() as at:
            found["history"][str(count)] = await _with_history(at, count, seconds, say)
    async with ground() as at:
        found["start_s"] = await measure_start(at, say, open_rounds)
    async with ground() as at:
        found["take_over_s"] = await measure_take_over(at, say)
    return found


async def _with_history(at: Ground, events: int, seconds: float, say: Say) -> dict[str, float]:
    """The rate, and how long it takes to reconcile a day of 5,000 events, with this much of a past."""
    if events:
        async with daemon(at, 1, TABLES):
            pass  # the link is there
        await make_up(at.database_url, link_name(0), events)
    async with daemon(at, 1, TABLES), tables_of(at, 1, TABLES) as load:
        await load.pace(1000, 5.0)
    found = {"reconcile_ms": await _reconcile_ms(at.database_url), "events_per_second": await _rate(at, 1, 40, seconds)}
    say(
        f"  {events:,} events of history: {found['events_per_second']:,.0f} events/s, "
        f"today reconciled in {found['reconcile_ms']:.0f} ms"
    )
    return found


async def _reconcile_ms(url: str) -> float:
    """The median of several."""
    gaming_day = GamingDay.of("UTC", "00:00")
    engine = create_engine(url)
    taken = []
    try:
        for _ in range(11):
            started = perf_counter()
            await reconcile(engine, gaming_day, gaming_day.day(dt.datetime.now(dt.UTC)))
            taken.append(perf_counter() - started)
    finally:
        await engine.dispose()
    return sorted(taken)[len(taken) // 2] * 1000


async def _shared(at: Ground, daemons: int, seconds: float, say: Say) -> dict[str, float]:
    """The same links, led by so many daemons that share them: what each of these costs."""
    shared = "[leases]\nshare = true\n"
    async with AsyncExitStack() as stack:
        starts = [daemon(at, SHARED_LINKS, TABLES_OF_SHARED, shared)]
        starts += [starting(at, SHARED_LINKS, TABLES_OF_SHARED, shared) for _ in range(1, daemons)]
        serving = [await stack.enter_async_context(start) for start in starts]
        await _until_even(at, daemons)
        load = await stack.enter_async_context(tables_of(at, SHARED_LINKS, TABLES_OF_SHARED))
        await load.flood(1.0, IN_FLIGHT // TABLES_OF_SHARED)
        before = sum(one.cpu_seconds() for one in serving)
        measured = await load.flood(seconds, IN_FLIGHT // TABLES_OF_SHARED)
        used = sum(one.cpu_seconds() for one in serving) - before
        found = {
            "events_per_second": measured.events_per_second,
            "cpu_us_per_event": used * 1e6 / measured.events,
            "memory_mib": sum(one.memory_mib() for one in serving),
        }
    say(
        f"  {SHARED_LINKS:>5} links led by {daemons} daemon{'s' * (daemons > 1)}: {found['events_per_second']:,.0f} "
        f"events/s, {found['cpu_us_per_event']:.0f} us of processor time an event, {found['memory_mib']:.0f} MiB"
    )
    return found


async def _until_even(at: Ground, daemons: int) -> None:
    """Until each of them leads as many links as any other."""
    connection = await asyncpg.connect(at.database_url)
    try:
        for _ in range(LOOKS):
            if sorted(loads(await survey(connection)).values()) == [SHARED_LINKS // daemons] * daemons:
                return
            await asyncio.sleep(LOOK_EVERY_S)
        raise UserError(f"{daemons} daemons did not share {SHARED_LINKS} links evenly")
    finally:
        await connection.close()


async def _rate(at: Ground, links: int, tables: int, seconds: float) -> float:
    async with daemon(at, links, tables), tables_of(at, links, tables) as load:
        window = max(1, min(64, IN_FLIGHT // tables))
        await load.flood(1.0, window)
        return (await load.flood(seconds, window)).events_per_second
