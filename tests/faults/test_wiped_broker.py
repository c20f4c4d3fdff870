"""The broker's data is deleted: it knows no session, no queue and no retained message any more."""

import asyncio

import pytest

from tests.acceptance.integrator import connected
from tests.faults import counts
from tests.faults.conftest import TABLES, EndsWell, NewDaemon
from tests.faults.players import playing
from tests.servers import RestartableBroker


@counts.times(20, short=1)
async def test_tables_send_again_and_the_controller_says_everything_again(
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
            killable_broker.wipe()
            killable_broker.start()
            await floor.goes_on(10)
        async with connected(killable_broker.url) as pit:  # a sign or a table that comes only now
            for link in set(TABLES.values()):
                await pit.status(link, "running")
                await pit.meter(link)
            for table, link in TABLES.items():
                await pit.state(link, table, accepts_play=True)
        await ends_well(f"the broker's data is deleted ({killable_broker.name})", floor, ledger_url, daemon)


@pytest.mark.parametrize("killable_broker", ["mosquitto"], indirect=True)
async def test_while_the_daemon_is_down_too(
    ledger_url: str, killable_broker: RestartableBroker, forked_daemon: NewDaemon, ends_well: EndsWell
) -> None:
    """What was on its way to the daemon is with the tables alone."""
    daemon = forked_daemon(ledger_url, killable_broker.url)
    daemon.start()
    async with playing(killable_broker.url, TABLES) as floor:
        await floor.goes_on(10)
        floor.hit()
        daemon.kill()
        await asyncio.sleep(0.2)  # tables go on speaking to the broker
        killable_broker.kill()
        killable_broker.wipe()
        killable_broker.start()
        daemon.start()
        await ends_well("the broker's data is deleted while the daemon is down", floor, ledger_url, daemon)
