"""What grows must not cost: more tables, more links, a long history, many open rounds."""

from typing import Any

from jackpot.bench.ground import Ground, daemon, ground, link_name
from jackpot.bench.history import make_up
from jackpot.bench.load import Load, Measured
from jackpot.bench.run import Say, load_tables
from jackpot.bench.starting import measure_start, measure_take_over

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
    if history:
        async with ground() as at:
            found["history"]["0"] = await _rate(at, 1, 40, seconds)
            say(f"  no history: {found['history']['0']:,.0f} events/s")
            await make_up(at.database_url, link_name(0), history)
            found["history"][str(history)] = await _rate(at, 1, 40, seconds)
            say(f"  {history:,} events of history: {found['history'][str(history)]:,.0f} events/s")
    async with ground() as at:
        found["start_s"] = await measure_start(at, say, open_rounds)
    async with ground() as at:
        found["take_over_s"] = await measure_take_over(at, say)
    return found


async def _rate(at: Ground, links: int, tables: int, seconds: float) -> float:
    async with daemon(at, links, tables):
        load = Load(at.broker, await load_tables(at, links, tables))
        await load.connect()
        window = max(1, min(64, IN_FLIGHT // tables))
        await load.flood(1.0, window)
        measured: Measured = await load.flood(seconds, window)
        await load.close()
        return measured.events_per_second
