"""The measurements, one after another, each beside its limit."""

import asyncio
import json
import sys
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from typing import Any

from jackpot.bench import limits
from jackpot.bench.ground import Ground, daemon, link_name, table_name
from jackpot.bench.load import Load, LoadTable, Measured
from jackpot.wire import topics
from jackpot.wire.mqtt import Connection, Message

TABLES = 40
WINDOW = 32
CLIENTS = 8
RATES = (10, 1000, 5000)
TIMES = 3
COMPARED_RATES = RATES[:2]
"""Those that a commit an event could keep up with: here the latency is set beside a bare echo and a bare commit."""
ECHO_LINK = "echo"

Say = Callable[[str], None]


async def measure(at: Ground, say: Say, seconds: float) -> dict[str, Any]:
    """Throughput and latency with their limits, as one document of plain figures."""
    say(f"PostgreSQL and {at.broker_name}")
    found: dict[str, Any] = {"broker": at.broker_name, "tables": TABLES, "seconds": seconds}
    async with daemon(at, 1, TABLES) as serving:
        found["wagers"] = await _throughput(at, seconds, say)
        found["daemon_cpu_us_per_event"] = serving.cpu_seconds() * 1e6 / found["wagers"]["total_events"]
        found["latency"] = await _latencies(at, seconds, say)
    found["limits"] = await _limits(at, seconds, found["wagers"]["batch"], say)
    found["echo_latency"] = await _echo_latencies(at, seconds, say)
    found["bare_commit_ms"] = await _bare_commits(at, seconds, say)
    found["ratios"] = ratios(found)
    return found


async def load_tables(at: Ground, links: int, count: int) -> list[LoadTable]:
    """The tables with the seq and the round each is at, from their retained states."""
    at_seq: dict[str, tuple[int, str | None]] = {}

    def on_state(message: Message) -> None:
        state = json.loads(message.payload)
        at_seq[state["table"]] = state["next_seq"], state["round"] and state["round"]["id"]
        message.connection.ack(message)

    connection = await Connection.open(
        at.broker, "bench-states", on_message=on_state, subscriptions=[(topics.state("+", "+"), 1)], clean_session=True
    )
    await asyncio.sleep(1.0)
    await connection.close()
    names = [(link_name(n % links), table_name(n)) for n in range(count)]
    return [LoadTable(link, table, *at_seq.get(table, (1, None))) for link, table in names]


async def _throughput(at: Ground, seconds: float, say: Say) -> dict[str, Any]:
    load = Load(at.broker, await load_tables(at, 1, TABLES))
    await load.connect()
    warm = await load.flood(1.0, WINDOW)
    measured = await load.flood(seconds, WINDOW)
    await load.close()
    say(f"  {measured.events_per_second:,.0f} events/s, {measured.wagers_per_second:,.0f} of them wagers")
    return {
        "events_per_second": measured.events_per_second,
        "wagers_per_second": measured.wagers_per_second,
        "refused": measured.refused,
        "total_events": warm.events + measured.events,
        "batch": TABLES * WINDOW // 4,
    }


async def _latencies(at: Ground, seconds: float, say: Say) -> dict[str, dict[str, float]]:
    load = Load(at.broker, await load_tables(at, 1, TABLES))
    await load.connect()
    found = {}
    for rate in RATES:
        found[str(rate)] = await _typical(load, rate, seconds)
        say(f"  at {rate:>5} events/s: " + _line(found[str(rate)]))
    await load.close()
    return found


async def _echo_latencies(at: Ground, seconds: float, say: Say) -> dict[str, dict[str, float]]:
    found = {}
    async with _echo_load(at) as load:
        for rate in RATES:
            found[str(rate)] = await _typical(load, rate, seconds)
            say(f"  bare echo at {rate:>5}/s: " + _line(found[str(rate)]))
    return found


async def _bare_commits(at: Ground, seconds: float, say: Say) -> dict[str, float]:
    found = {}
    for rate in COMPARED_RATES:
        found[str(rate)] = await limits.bare_commit_ms(at.database_url, rate, seconds)
        say(f"  bare commit at {rate:>5}/s: p50 {found[str(rate)]:.2f} ms")
    return found


async def _typical(load: Load, rate: int, seconds: float) -> dict[str, float]:
    """Measured a few times, for single runs differ: the one whose median is in the middle."""
    found = [_quantiles(await load.pace(rate, seconds)) for _ in range(TIMES)]
    return sorted(found, key=lambda quantiles: quantiles["p50"])[TIMES // 2]


def _quantiles(measured: Measured) -> dict[str, float]:
    return {name: measured.quantile_ms(share) for name, share in (("p50", 0.5), ("p99", 0.99), ("p99.9", 0.999))}


def _line(quantiles: dict[str, float]) -> str:
    return "  ".join(f"{name} {value:.2f} ms" for name, value in quantiles.items())


async def _limits(at: Ground, seconds: float, batch: int, say: Say) -> dict[str, float]:
    one = await limits.one_transaction_a_wager(at.database_url, seconds, CLIENTS)
    say(f"  (a) one SERIALIZABLE transaction a wager, {CLIENTS} clients: {one:,.0f} wagers/s")
    tables = [LoadTable("scratch", f"S-{n:04d}") for n in range(TABLES)]
    payloads = [(table.table, table.next()) for _ in range(500) for table in tables]
    bare = await limits.same_batches_bare(at.database_url, payloads, batch)
    say(f"  (b) the same batches by bare asyncpg, {batch} events each: {bare:,.0f} events/s")
    async with _echo_load(at) as load:
        await load.flood(0.5, WINDOW)
        echo = (await load.flood(seconds, WINDOW)).events_per_second
    say(f"  (c) a bare MQTT echo with the same client: {echo:,.0f} events/s")
    return {"one_transaction_a_wager": one, "same_batches_bare": bare, "mqtt_echo": echo}


@asynccontextmanager
async def _echo_load(at: Ground) -> AsyncIterator[Load]:
    """A load whose events are echoed by a process of its own, as the daemon is one."""
    program = (sys.executable, "-m", "jackpot.bench.echo", at.mqtt_url, ECHO_LINK)
    process = await asyncio.create_subprocess_exec(*program, stdout=asyncio.subprocess.PIPE)
    load = Load(at.broker, [LoadTable(ECHO_LINK, table_name(n)) for n in range(TABLES)])
    try:
        if process.stdout is not None:
            await process.stdout.readline()
        await load.connect()
        yield load
        await load.close()
    finally:
        process.terminate()
        await process.wait()


def ratios(found: dict[str, Any]) -> dict[str, float]:
    wagers, events, bound = (
        found["wagers"]["wagers_per_second"],
        found["wagers"]["events_per_second"],
        found["limits"],
    )
    smaller = min(bound["same_batches_bare"], bound["mqtt_echo"])
    result = {
        "wagers_to_one_transaction_a_wager": wagers / bound["one_transaction_a_wager"],
        "events_to_one_transaction_a_wager": events / bound["one_transaction_a_wager"],
        "events_to_smaller_limit": events / smaller,
    }
    for rate in map(str, COMPARED_RATES):
        floor = found["echo_latency"][rate]["p50"] + found["bare_commit_ms"][rate]
        result[f"p50_at_{rate}_to_echo_and_commit"] = found["latency"][rate]["p50"] / floor
    return result
