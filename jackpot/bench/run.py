"""The measurements, each in turn with its limits, several times over: what differs between two turns is noise."""

import asyncio
import json
import statistics
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from typing import Any

from jackpot.bench import limits
from jackpot.bench.echo import echo_load
from jackpot.bench.ground import Daemon, Ground, daemon, link_name, table_name
from jackpot.bench.load import Load, LoadTable, Measured
from jackpot.contract import topics
from jackpot.errors import UserError
from jackpot.mqtt.client import Connection, Message

TABLES = 40
WINDOW = 32
CLIENTS = 8
RATES = (10, 1000, 5000)
TURNS = 3
COMPARED_RATES = RATES[:2]
"""Those that a commit an event could keep up with: here the latency is set beside a bare echo and a bare commit."""
BARE_EVENTS_PER_SECOND = 4_000
"""So many are made for the bare batches, for each second of a measurement."""
SAMPLES_OF_A_THOUSANDTH = 1000

Say = Callable[[str], None]


async def measure(at: Ground, say: Say, seconds: float) -> dict[str, Any]:
    """Throughput and latency with their limits, as one document of plain figures."""
    say(f"PostgreSQL and {at.broker_name}, {TABLES} tables, each measured {TURNS} times in turn with its limits")
    found: dict[str, Any] = {"broker": at.broker_name, "tables": TABLES, "seconds": seconds}
    async with daemon(at, 1, TABLES) as serving, echo_load(at, TABLES) as echo, tables_of(at, 1, TABLES) as load:
        await load.flood(1.0, WINDOW)
        turns = [await _throughput(at, serving, load, echo, seconds) for _ in range(TURNS)]
        found["throughput"] = _medians(turns)
        found["ratios"] = _medians([_ratios(turn) for turn in turns])
        _say_throughput(found, say)
        found["latency"] = {}
        for rate in RATES:
            waits = [await _latency(at, load, echo, rate, seconds) for _ in range(TURNS)]
            found["latency"][str(rate)] = typical = sorted(waits, key=lambda wait: wait["p50_ms"])[TURNS // 2]
            _say_latency(rate, typical, say)
            if rate in COMPARED_RATES:
                found["ratios"][f"p50_at_{rate}_to_echo_and_commit"] = statistics.median(map(_to_its_floor, waits))
    return found


async def _throughput(at: Ground, serving: Daemon, load: Load, echo: Load, seconds: float) -> dict[str, float]:
    cpu, batches = serving.cpu_seconds(), await serving.batches()
    flood = _accepted(await load.flood(seconds, WINDOW))
    cpu, batches = serving.cpu_seconds() - cpu, await serving.batches() - batches
    return {
        "wagers_per_second": flood.wagers_per_second,
        "events_per_second": flood.events_per_second,
        "batch_events": flood.events / max(1, batches),
        "daemon_cpu_us": cpu * 1e6 / flood.events,
        "one_transaction_a_wager": await limits.one_transaction_a_wager(at.database_url, seconds, CLIENTS),
        "same_batches_bare": await limits.same_batches_bare(
            at.database_url, round(BARE_EVENTS_PER_SECOND * seconds), round(flood.events / max(1, batches))
        ),
        "mqtt_echo": _accepted(await echo.flood(seconds, WINDOW)).events_per_second,
    }


def _ratios(turn: dict[str, float]) -> dict[str, float]:
    smaller = min(turn["same_batches_bare"], turn["mqtt_echo"])
    return {
        "wagers_to_one_transaction_a_wager": turn["wagers_per_second"] / turn["one_transaction_a_wager"],
        "events_to_same_batches_bare": turn["events_per_second"] / turn["same_batches_bare"],
        "events_to_mqtt_echo": turn["events_per_second"] / turn["mqtt_echo"],
        "events_to_smaller_limit": turn["events_per_second"] / smaller,
    }


async def _latency(at: Ground, load: Load, echo: Load, rate: int, seconds: float) -> dict[str, float]:
    paced = _accepted(await load.pace(rate, seconds))
    found = {"p50_ms": paced.quantile_ms(0.5), "p99_ms": paced.quantile_ms(0.99)}
    if paced.events >= SAMPLES_OF_A_THOUSANDTH:
        found["p99.9_ms"] = paced.quantile_ms(0.999)
    found["echo_p50_ms"] = _accepted(await echo.pace(rate, seconds)).quantile_ms(0.5)
    if rate in COMPARED_RATES:
        found["commit_p50_ms"] = await limits.bare_commit_ms(at.database_url, rate, seconds)
    return found


def _to_its_floor(wait: dict[str, float]) -> float:
    return wait["p50_ms"] / (wait["echo_p50_ms"] + wait["commit_p50_ms"])


def _accepted(measured: Measured) -> Measured:
    if measured.refused:
        raise UserError(f"{measured.refused} of {measured.events} events were refused: nothing was measured")
    return measured


def _medians(turns: list[dict[str, float]]) -> dict[str, float]:
    return {key: statistics.median(turn[key] for turn in turns) for key in turns[0]}


def _say_throughput(found: dict[str, Any], say: Say) -> None:
    rate, ratio = found["throughput"], found["ratios"]
    say(f"  {rate['wagers_per_second']:>8,.0f} wagers/s among {rate['events_per_second']:,.0f} events/s, beside")
    say(
        f"  {rate['one_transaction_a_wager']:>8,.0f} wagers/s: one SERIALIZABLE transaction each, {CLIENTS} clients "
        f"(a): {ratio['wagers_to_one_transaction_a_wager']:.1f} x"
    )
    say(
        f"  {rate['same_batches_bare']:>8,.0f} events/s: the same batches, {rate['batch_events']:.0f} events each, "
        f"by bare asyncpg (b): {ratio['events_to_same_batches_bare']:.2f}"
    )
    say(
        f"  {rate['mqtt_echo']:>8,.0f} events/s: a bare MQTT echo with the same client (c): "
        f"{ratio['events_to_mqtt_echo']:.2f}"
    )


def _say_latency(rate: int, wait: dict[str, float], say: Say) -> None:
    quantiles = ", ".join(f"{name.removesuffix('_ms')} {wait[name]:.2f}" for name in wait if name[0] == "p")
    beside = f"a bare echo {wait['echo_p50_ms']:.2f}"
    if "commit_p50_ms" in wait:
        beside += f", a bare commit {wait['commit_p50_ms']:.2f}"
    say(f"  {rate:>8,} events/s: {quantiles} ms; {beside}")


@asynccontextmanager
async def tables_of(at: Ground, links: int, count: int) -> AsyncIterator[Load]:
    load = Load(at.broker, await load_tables(at, links, count))
    await load.connect()
    yield load
    await load.close()


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
