"""kill -9 at each named point, of the broker and of PostgreSQL, while tables play: nothing lost, nothing twice.

`JACKPOT_KILLS` is how many times it is done (`make faults` does it for long); the default is a short run.
"""

import asyncio
import itertools
import os
import random

import pytest

from tests.acceptance import processes
from tests.acceptance.processes import Daemon, patience_s
from tests.faults.auditor import audit
from tests.faults.conftest import LEASE_S, TABLES, NewDaemon
from tests.faults.launcher import POINTS
from tests.faults.players import PATIENCE_S, Floor, playing
from tests.servers import PostgresProgram, RestartableBroker

KILLS = int(os.environ.get("JACKPOT_KILLS", "0"))


async def dies(daemon: Daemon, floor: Floor) -> None:
    """Until it has killed itself: play goes on meanwhile."""
    async with asyncio.timeout(patience_s(PATIENCE_S)):
        while daemon.runs:
            await asyncio.sleep(0.01)
    assert daemon.process.returncode == -9, daemon.log()


@pytest.mark.timeout(max(300, 30 * KILLS))
@pytest.mark.parametrize("killable_broker", ["mosquitto"], indirect=True)
async def test_kill_9_of_the_daemon_at_each_point(
    ledger_url: str, killable_broker: RestartableBroker, new_daemon: NewDaemon
) -> None:
    daemon = new_daemon(ledger_url, killable_broker.url)
    chance = random.Random(9)
    async with playing(killable_broker.url, TABLES) as floor:
        for point in itertools.islice(itertools.cycle(POINTS), KILLS or 2 * len(POINTS)):
            # The first deaths of a life are those of the orders at its start, too.
            daemon.start(DIE_AT=f"{point}:{chance.choice((1, 3, 10, 40))}", LEASE_S=LEASE_S)
            await dies(daemon, floor)
        daemon.start(LEASE_S=LEASE_S)
        await floor.goes_on()
        await floor.finish()
        assert await asyncio.to_thread(daemon.terminate) == 0
        assert await audit(ledger_url, floor.players) == floor.answered


@pytest.mark.timeout(max(300, 30 * KILLS))
async def test_kill_9_of_the_broker(ledger_url: str, killable_broker: RestartableBroker, new_daemon: NewDaemon) -> None:
    daemon = new_daemon(ledger_url, killable_broker.url)
    daemon.start()
    async with playing(killable_broker.url, TABLES) as floor:
        for _ in range(KILLS or 2):
            await floor.goes_on()
            killable_broker.kill()
            killable_broker.start()
        await floor.goes_on()
        await floor.finish()
        assert await asyncio.to_thread(daemon.terminate) == 0
        assert await audit(ledger_url, floor.players) == floor.answered


@pytest.mark.timeout(max(300, 30 * KILLS))
async def test_kill_9_of_postgresql(killable_postgres: PostgresProgram, mosquitto: str, new_daemon: NewDaemon) -> None:
    daemon = new_daemon(killable_postgres.url, mosquitto)
    assert processes.run("migrate", "--config", daemon.config).returncode == 0
    daemon.start()
    async with playing(mosquitto, TABLES) as floor:
        for _ in range(KILLS or 2):
            await floor.goes_on()
            await asyncio.to_thread(killable_postgres.kill)
            await asyncio.to_thread(killable_postgres.start)
        await floor.goes_on()
        await floor.finish()
        assert await asyncio.to_thread(daemon.terminate) == 0
        assert await audit(killable_postgres.url, floor.players) == floor.answered
