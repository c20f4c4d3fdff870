"""A database that asks for everything once more, daemons that stall, and a leader whose database is gone."""

import asyncio
import signal
from contextlib import suppress

import asyncpg
import pytest

from tests.acceptance.integrator import connected
from tests.acceptance.processes import BACK_WITHIN_S, Daemon
from tests.faults.auditor import audit
from tests.faults.conftest import LEASE_S, TABLES, NewDaemon
from tests.faults.players import playing
from tests.proxy import CuttingProxy


async def conflict(url: str, link: str) -> None:
    """Somebody else writes the link's row in serializable transactions, as fast as he can."""
    connection = await asyncpg.connect(url)
    try:
        while True:
            with suppress(asyncpg.SerializationError):
                async with connection.transaction(isolation="serializable"):
                    await connection.fetch("SELECT * FROM links")
                    await connection.execute("UPDATE links SET sent = sent WHERE link = $1", link)
                    await asyncio.sleep(0.002)
    finally:
        await connection.close()


async def test_a_storm_of_serialization_failures(ledger_url: str, mosquitto: str, new_daemon: NewDaemon) -> None:
    daemon = new_daemon(ledger_url, mosquitto)
    daemon.start()
    async with playing(mosquitto, TABLES) as floor:
        await floor.goes_on()
        storm = [asyncio.create_task(conflict(ledger_url, link)) for link in ("one", "one", "two")]
        await floor.goes_on(40)
        retries = [line for line in daemon.get("/metrics")[1].splitlines() if 'why="try_again"' in line]
        for task in storm:
            task.cancel()
        await asyncio.gather(*storm, return_exceptions=True)
        assert sum(float(line.split()[-1]) for line in retries if "_total" in line) > 0, "there was no storm"
        await floor.goes_on()
        await floor.finish()
        assert await asyncio.to_thread(daemon.terminate) == 0
        assert await audit(ledger_url, floor.players) == floor.answered


async def test_a_row_that_stays_locked_suspends_the_link_until_it_is_free(
    ledger_url: str, mosquitto: str, new_daemon: NewDaemon
) -> None:
    """Retries are bounded: then the link says so, and goes on by itself."""
    daemon = new_daemon(ledger_url, mosquitto)
    daemon.start()
    blocker = await asyncpg.connect(ledger_url)
    async with playing(mosquitto, TABLES) as floor, connected(mosquitto) as pit:
        await floor.goes_on()
        async with blocker.transaction():
            await blocker.execute("SELECT * FROM links WHERE link = 'one' FOR UPDATE")
            await pit.status("one", "suspended")
            await pit.state("one", "BE-01", accepts_play=False)
            assert pit.last("two/status")["state"] == "running", "the other link plays on"
        await pit.status("one", "running")
        await pit.state("one", "BE-01", accepts_play=True)
        await floor.goes_on()
        await floor.finish()
        assert await audit(ledger_url, floor.players) == floor.answered
    await blocker.close()


async def other_takes_over(pair: list[Daemon], leader: Daemon) -> Daemon:
    (other,) = (daemon for daemon in pair if daemon is not leader)
    await asyncio.to_thread(other.wait_ready, BACK_WITHIN_S)
    return other


async def test_leaders_that_stall_and_wake(ledger_url: str, mosquitto: str, new_daemon: NewDaemon) -> None:
    pair = [new_daemon(ledger_url, mosquitto, name) for name in ("first", "second")]
    leader = pair[0]
    leader.start(LEASE_S=LEASE_S)
    await asyncio.to_thread(leader.wait_ready)
    pair[1].start(LEASE_S=LEASE_S)
    await asyncio.to_thread(pair[1].wait_alive)
    async with playing(mosquitto, TABLES) as floor:
        for _ in range(4):
            await floor.goes_on(10)
            leader.signal(signal.SIGSTOP)
            stalled = leader
            leader = await other_takes_over(pair, leader)
            await floor.goes_on(10)
            stalled.signal(signal.SIGCONT)
        await floor.goes_on()
        await floor.finish()
        for daemon in pair:
            assert await asyncio.to_thread(daemon.terminate) == 0, daemon.log()
        assert await audit(ledger_url, floor.players) == floor.answered


@pytest.mark.parametrize("fate", ["cut", "stalled"])
async def test_a_leader_that_loses_the_database_is_relieved(
    ledger_url: str, mosquitto: str, new_daemon: NewDaemon, fate: str
) -> None:
    async with CuttingProxy(ledger_url) as proxy:
        first, second = new_daemon(proxy.url, mosquitto, "first"), new_daemon(ledger_url, mosquitto, "second")
        first.start(LEASE_S=LEASE_S)
        await asyncio.to_thread(first.wait_ready)
        second.start(LEASE_S=LEASE_S)
        await asyncio.to_thread(second.wait_alive)
        async with playing(mosquitto, TABLES) as floor:
            await floor.goes_on()
            if fate == "cut":
                proxy.refuses = True
                proxy.cut()
            else:
                proxy.stall()
            await asyncio.to_thread(second.wait_ready, BACK_WITHIN_S)
            await floor.goes_on()
            proxy.refuses = False
            proxy.flow()
            await asyncio.to_thread(first.wait_not_ready)
            await floor.goes_on()
            await asyncio.to_thread(second.kill)  # the first is a good standby again
            await asyncio.to_thread(first.wait_ready, BACK_WITHIN_S)
            await floor.goes_on()
            await floor.finish()
            assert await asyncio.to_thread(first.terminate) == 0
            assert await audit(ledger_url, floor.players) == floor.answered
