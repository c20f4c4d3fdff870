"""Clocks that jump, by hours and over the end of the gaming day: the daemon's, and the database's, by which leases end."""

import asyncio
import datetime as dt
import json
from collections.abc import Iterator
from pathlib import Path

import asyncpg
import pytest

from jackpot.contract.gaming_day import GamingDay
from jackpot.ledger import lease
from tests.acceptance import processes
from tests.acceptance.processes import BACK_WITHIN_S, Daemon
from tests.faults.conftest import LEASE_S, TABLES, EndsWell, NewDaemon
from tests.faults.faked_time import FakedClock
from tests.faults.players import playing
from tests.faults.test_takeovers import leads, start_pair
from tests.servers import PostgresProgram
from tests.waiting import patience_s

HOURS = dt.timedelta(hours=1)
DAY = GamingDay.of("Asia/Singapore", "06:00")


async def test_the_daemons_clock_jumps(
    ledger_url: str, mosquitto: str, new_daemon: NewDaemon, ends_well: EndsWell, tmp_path: Path
) -> None:
    """Its lease is a matter of the database's clock and of its own monotonic one: it leads on under the same epoch."""
    clock = FakedClock(tmp_path / "clock")
    daemon = new_daemon(ledger_url, mosquitto)
    daemon.start(LEASE_S=LEASE_S, **clock.environment)
    await leads(daemon)
    ledger = await asyncpg.connect(ledger_url)
    epochs = await ledger.fetch("SELECT link, epoch FROM links ORDER BY link")
    now = dt.datetime.now(dt.UTC)
    until_the_end = DAY.end(DAY.day(now)) - now
    async with playing(mosquitto, TABLES) as floor:
        async with asyncio.timeout(patience_s(BACK_WITHIN_S)):
            while not await ledger.fetchval("SELECT EXISTS (SELECT FROM payments)"):
                await asyncio.sleep(0.05)
        for away in (3 * HOURS, -5 * HOURS, until_the_end + HOURS, dt.timedelta()):
            await floor.goes_on(10)
            floor.hit()
            clock.jump(away)
        await floor.goes_on(10)
        assert await ledger.fetch("SELECT link, epoch FROM links ORDER BY link") == epochs
        await ends_well("the daemon's clock jumps", floor, ledger_url, daemon)
    days = {DAY.day(now), DAY.day(now + until_the_end + HOURS)}
    for table in ("events", "journals", "entries", "awards", "payments"):
        assert {row["day"] for row in await ledger.fetch(f"SELECT DISTINCT day FROM {table}")} == days, table
    events = await ledger.fetch("SELECT at, day FROM events")
    assert all(DAY.day(event["at"]) == event["day"] for event in events)
    assert max(event["at"] for event in events) > now + until_the_end, "the jump back took time back"
    await ledger.close()


@pytest.fixture
def clock(open_dir: Path) -> FakedClock:
    return FakedClock(open_dir / "clock")


@pytest.fixture
def timeless_postgres(used_dir: Path, clock: FakedClock) -> Iterator[PostgresProgram]:
    program = PostgresProgram(used_dir, environment=clock.environment)
    program.start()
    yield program
    program.stop()


async def who_leads(link: str, first: Daemon, second: Daemon) -> tuple[Daemon, Daemon]:
    """Whoever does, and the other one. Each link is a race of its own: the other one may lead another."""
    async with asyncio.timeout(patience_s(BACK_WITHIN_S)):
        while True:
            for leader, other in ((first, second), (second, first)):
                _, told = await asyncio.to_thread(leader.get, "/readyz")
                if told and json.loads(told)["links"][link]["lease"]:
                    return leader, other
            await asyncio.sleep(0.05)


async def test_the_databases_clock_jumps(
    timeless_postgres: PostgresProgram,
    clock: FakedClock,
    mosquitto: str,
    forked_daemon: NewDaemon,
    ends_well: EndsWell,
) -> None:
    """Forwards every lease ends at once, and the standby may take it from a leader that lives: the epoch is the fence.

    Backwards a lease would last for hours longer; a leader that lives renews it by the new clock, and the lease of one
    that died is cut to what a lease lasts. Either way play is held up at most, and never are there two writers.
    """
    url = timeless_postgres.url
    first, second = (forked_daemon(url, mosquitto, name) for name in ("first", "second"))
    assert processes.run("migrate", "--config", first.config).returncode == 0
    await start_pair(first, second)
    async with playing(mosquitto, TABLES) as floor:
        for away in (3 * HOURS, -5 * HOURS, 20 * HOURS, dt.timedelta()):
            await floor.goes_on(10)
            floor.hit()
            clock.jump(away)
        await floor.goes_on(10)
        leader, other = await who_leads("one", first, second)
        floor.hit()
        leader.kill()
        clock.jump(-8 * HOURS)
        await leads(other)
        await ends_well("the database's clock jumps", floor, url, other)


async def test_the_lease_of_a_dead_leader_outlasts_no_clock(ledger_url: str) -> None:
    """As after the database's clock was set back by hours. Its holder may live: it is given the time of a lease."""
    connection = await asyncpg.connect(ledger_url)
    epoch = await lease.take(connection, "one", "leader", 3600.0)
    assert await lease.take(connection, "one", "standby", 0.5) is None, "not at once"
    async with asyncio.timeout(patience_s(10)):
        while (taken := await lease.take(connection, "one", "standby", 0.5)) is None:
            await asyncio.sleep(0.05)
    assert taken == (epoch or 0) + 1
    await connection.close()
