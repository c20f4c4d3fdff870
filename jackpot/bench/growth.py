"""What grows must not cost: more tables, more links, a long history, many open rounds."""

import datetime as dt
from time import perf_counter
from typing import Any

from jackpot.bench.ground import Ground, daemon, ground, link_name
from jackpot.bench.history import make_up
from jackpot.bench.load import Load, Measured
from jackpot.bench.run import TABLES, Say, load_tables
from jackpot.bench.starting import measure_start, measure_take_over
from jackpot.finance.read_day import reconcile
from jackpot.ledger.connection import create_engine
from jackpot.link.gaming_day import GamingDay

IN_FLIGHT = 1280


async def measure_growth(
    say: Say, seconds: float, *, tables: list[int], links: list[int], history: int, open_rounds: int
) -> dict[str, Any]:
    """Events a second as each of these grows, with as many events on their way in every case."""
    found: dict[str, Any] = {"tables": {}, "links": {}, "history": {}}
    async with ground() as at:
        for count in tables:
            found["tables"][str(count)] = await _rate(at, 1, count, seconds)
            say(f"  {count:>5} tables on one link: {found['tables'][str(count)]:,.0f} events/s")
        for count in links:
            found["links"][str(count)] = await _rate(at, count, max(count, 64), seconds)
            say(f"  {count:>5} links: {found['links'][str(count)]:,.0f} events/s")
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
    async with daemon(at, 1, TABLES):
        load = Load(at.broker, await load_tables(at, 1, TABLES))
        await load.connect()
        await load.pace(1000, 5.0)
        await load.close()
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


async def _rate(at: Ground, links: int, tables: int, seconds: float) -> float:
    async with daemon(at, links, tables):
        load = Load(at.broker, await load_tables(at, links, tables))
        await load.connect()
        window = max(1, min(64, IN_FLIGHT // tables))
        await load.flood(1.0, window)
        measured: Measured = await load.flood(seconds, window)
        await load.close()
        return measured.events_per_second
