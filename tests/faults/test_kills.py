"""kill -9 at each named point and at any moment, of the broker and of PostgreSQL, while tables play."""

import asyncio
import itertools
import random

import pytest

from tests.acceptance import processes
from tests.acceptance.processes import Daemon
from tests.faults import counts
from tests.faults.conftest import TABLES, EndsWell, NewDaemon
from tests.faults.launcher import POINTS
from tests.faults.players import PATIENCE_S, playing
from tests.servers import PostgresProgram, RestartableBroker
from tests.waiting import patience_s

pytestmark = pytest.mark.timeout(900)

LEASE_S = "0.8"
"""Each life waits for the end of the last one's lease."""


async def dies(daemon: Daemon) -> None:
    """Until it has killed itself: play goes on meanwhile."""
    async with asyncio.timeout(patience_s(PATIENCE_S)):
        while daemon.runs:
            await asyncio.sleep(0.01)
    assert daemon.process.returncode == -9, daemon.log()


@counts.times(500, short=2 * len(POINTS))
async def test_kill_9_of_the_daemon_at_each_point(
    ledger_url: str, mosquitto: str, forked_daemon: NewDaemon, ends_well: EndsWell, *, lap: int, times: int
) -> None:
    daemon = forked_daemon(ledger_url, mosquitto)
    chance = random.Random(lap)
    async with playing(mosquitto, TABLES, seed=lap) as floor:
        for point in itertools.islice(itertools.cycle(POINTS), times):
            # The first deaths of a life are those of the orders at its start, too.
            daemon.start(DIE_AT=f"{point}:{chance.choice((1, 3, 10, 40))}", LEASE_S=LEASE_S)
            await dies(daemon)
            floor.hit()
        daemon.start(LEASE_S=LEASE_S)
        await ends_well("kill -9 of the daemon at each point", floor, ledger_url, daemon)


@counts.times(500, short=6)
async def test_kill_9_of_the_daemon_at_any_moment(
    ledger_url: str, mosquitto: str, forked_daemon: NewDaemon, ends_well: EndsWell, *, lap: int, times: int
) -> None:
    """While it starts, takes its lease, reads the ledger, plays: whatever the moment hits."""
    daemon = forked_daemon(ledger_url, mosquitto)
    chance = random.Random(lap)
    async with playing(mosquitto, TABLES, seed=lap) as floor:
        for _ in range(times):
            daemon.start(LEASE_S=LEASE_S)
            if chance.random() < 0.8:
                await floor.goes_on(chance.randint(1, 8))
            await asyncio.sleep(chance.uniform(0, 0.3))
            floor.hit()
            daemon.kill()
        daemon.start(LEASE_S=LEASE_S)
        await ends_well("kill -9 of the daemon at any moment", floor, ledger_url, daemon)


@counts.times(150, short=2)
async def test_kill_9_of_the_broker(
    ledger_url: str,
    killable_broker: RestartableBroker,
    forked_daemon: NewDaemon,
    ends_well: EndsWell,
    *,
    lap: int,
    times: int,
) -> None:
    daemon = forked_daemon(ledger_url, killable_broker.url)
    daemon.start()
    async with playing(killable_broker.url, TABLES, seed=lap) as floor:
        for _ in range(times):
            await floor.goes_on(10)
            floor.hit()
            killable_broker.kill()
            killable_broker.start()
        await ends_well(f"kill -9 of the broker ({killable_broker.name})", floor, ledger_url, daemon)


@counts.times(300, short=2)
async def test_kill_9_of_postgresql(
    killable_postgres: PostgresProgram,
    mosquitto: str,
    forked_daemon: NewDaemon,
    ends_well: EndsWell,
    *,
    lap: int,
    times: int,
) -> None:
    """The postmaster alone, whose children find out for themselves, and together with the program that watches it."""
    daemon = forked_daemon(killable_postgres.url, mosquitto)
    assert processes.run("migrate", "--config", daemon.config).returncode == 0
    daemon.start()
    chance = random.Random(lap)
    async with playing(mosquitto, TABLES, seed=lap) as floor:
        for number in range(times):
            await floor.goes_on(10)
            await asyncio.sleep(chance.uniform(0, 0.1))
            floor.hit()
            if number % 4 == 0:
                await asyncio.to_thread(killable_postgres.kill)
                await asyncio.to_thread(killable_postgres.start)
            else:
                killable_postgres.kill_server()
        await ends_well("kill -9 of PostgreSQL", floor, killable_postgres.url, daemon)
