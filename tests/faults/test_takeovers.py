"""Two daemons, of which one leads: it stalls, or its database is gone, and comes back when the other leads."""

import asyncio
import signal

import pytest

from tests.acceptance import processes
from tests.acceptance.processes import BACK_WITHIN_S, Daemon
from tests.faults import counts
from tests.faults.conftest import LEASE_S, TABLES, EndsWell, NewDaemon
from tests.faults.players import playing
from tests.proxy import CuttingProxy
from tests.servers import RestartableBroker


async def leads(daemon: Daemon) -> None:
    await asyncio.to_thread(daemon.wait_ready, BACK_WITHIN_S)


async def start_pair(first: Daemon, second: Daemon) -> None:
    """The first leads, the second stands by."""
    first.start(LEASE_S=LEASE_S)
    await leads(first)
    second.start(LEASE_S=LEASE_S)
    await asyncio.to_thread(second.wait_alive)


@pytest.mark.timeout(900)
@counts.times(200, short=4)
async def test_leaders_that_stall_and_wake(
    ledger_url: str, mosquitto: str, forked_daemon: NewDaemon, ends_well: EndsWell, *, lap: int, times: int
) -> None:
    leader, other = (forked_daemon(ledger_url, mosquitto, name) for name in ("first", "second"))
    await start_pair(leader, other)
    async with playing(mosquitto, TABLES, seed=lap) as floor:
        for _ in range(times):
            await floor.goes_on(10)
            floor.hit()
            leader.signal(signal.SIGSTOP)
            await leads(other)
            await floor.goes_on(10)
            leader.signal(signal.SIGCONT)
            leader, other = other, leader
        await ends_well("a leader stalls, wakes, and is deposed", floor, ledger_url, leader, other)


@pytest.mark.parametrize("fate", ["cut", "stalled"])
async def test_a_leader_that_loses_the_database_is_relieved(
    ledger_url: str, mosquitto: str, forked_daemon: NewDaemon, ends_well: EndsWell, fate: str
) -> None:
    async with CuttingProxy(ledger_url) as proxy:
        first, second = forked_daemon(proxy.url, mosquitto, "first"), forked_daemon(ledger_url, mosquitto, "second")
        await start_pair(first, second)
        async with playing(mosquitto, TABLES) as floor:
            await floor.goes_on()
            floor.hit()
            if fate == "cut":
                proxy.refuses = True
                proxy.cut()
            else:
                proxy.stall()
            await leads(second)
            await floor.goes_on()
            proxy.refuses = False
            proxy.flow()
            await asyncio.to_thread(first.wait_not_ready)
            await floor.goes_on()
            await asyncio.to_thread(second.kill)
            await leads(first)  # it is a good standby again
            await ends_well(f"a leader's database is {fate}", floor, ledger_url, first)


@pytest.mark.parametrize("killable_broker", ["mosquitto"], indirect=True)
async def test_without_a_broker_somebody_leads_all_the_same(
    ledger_url: str, killable_broker: RestartableBroker, forked_daemon: NewDaemon, ends_well: EndsWell
) -> None:
    """Whoever has lost it lets the lease go, in case that another has not; people's orders must not wait for it."""
    first, second = (forked_daemon(ledger_url, killable_broker.url, name) for name in ("first", "second"))
    await start_pair(first, second)
    async with playing(killable_broker.url, TABLES) as floor:
        await floor.goes_on()
        floor.hit()
        killable_broker.kill()
        await asyncio.sleep(3 * float(LEASE_S))  # it has let go, and nobody has taken it
        first.kill()
        ordered = await asyncio.to_thread(
            processes.run, "suspend", "--config", second.config, "--link", "one", "--reason", "the lights are out"
        )
        assert ordered.returncode == 0, ordered.stderr
        killable_broker.start()
        await leads(second)
        resumed = await asyncio.to_thread(
            processes.run, "resume", "--config", second.config, "--link", "one", "--reason", "the lights are on"
        )
        assert resumed.returncode == 0, resumed.stderr
        await ends_well("the broker is away, and then a daemon", floor, ledger_url, second)
