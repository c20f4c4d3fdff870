"""A database that asks for everything once more, and one that holds a link up."""

import asyncio
from contextlib import suppress

import asyncpg

from tests.acceptance.integrator import connected
from tests.acceptance.processes import Daemon
from tests.faults.conftest import TABLES, EndsWell, NewDaemon
from tests.faults.players import playing
from tests.waiting import patience_s


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


def retries(daemon: Daemon) -> float:
    lines = [line for line in daemon.get("/metrics")[1].splitlines() if 'why="try_again"' in line and "_total" in line]
    return sum(float(line.split()[-1]) for line in lines)


async def test_a_storm_of_serialization_failures(
    ledger_url: str, mosquitto: str, forked_daemon: NewDaemon, ends_well: EndsWell
) -> None:
    daemon = forked_daemon(ledger_url, mosquitto)
    daemon.start()
    async with playing(mosquitto, TABLES) as floor:
        await floor.goes_on()
        floor.hit()
        storm = [asyncio.create_task(conflict(ledger_url, link)) for link in ("one", "one", "two")]
        await floor.goes_on(40)
        async with asyncio.timeout(patience_s(60)):
            while not await asyncio.to_thread(retries, daemon):
                await floor.goes_on(10)
        for task in storm:
            task.cancel()
        await asyncio.gather(*storm, return_exceptions=True)
        await ends_well("a storm of serialization failures", floor, ledger_url, daemon)


async def test_a_row_that_stays_locked_suspends_the_link_until_it_is_free(
    ledger_url: str, mosquitto: str, forked_daemon: NewDaemon, ends_well: EndsWell
) -> None:
    """Retries are bounded: then the link says so, and goes on by itself."""
    daemon = forked_daemon(ledger_url, mosquitto)
    daemon.start()
    blocker = await asyncpg.connect(ledger_url)
    async with playing(mosquitto, TABLES) as floor, connected(mosquitto) as pit:
        await floor.goes_on()
        floor.hit()
        async with blocker.transaction():
            await blocker.execute("SELECT * FROM links WHERE link = 'one' FOR UPDATE")
            await pit.status("one", "suspended")
            await pit.state("one", "BE-01", accepts_play=False)
            assert pit.last("two/status")["state"] == "running", "the other link plays on"
        await pit.status("one", "running")
        await pit.state("one", "BE-01", accepts_play=True)
        await ends_well("a link's row stays locked", floor, ledger_url, daemon)
    await blocker.close()
