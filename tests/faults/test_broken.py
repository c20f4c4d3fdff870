"""What must never be: a bug of ours, a ledger that disagrees with itself, more events than memory."""

import asyncio
from pathlib import Path

import asyncpg
import pytest

from jackpot.mqtt.client import Broker, Connection, Message
from tests.acceptance.integrator import ROOT, connected, encoded, event
from tests.faults.conftest import EndsWell, NewDaemon
from tests.faults.witness import Witness
from tests.proxy import CuttingProxy
from tests.waiting import patience_s


async def test_an_event_we_choke_on_suspends_its_link_alone_and_is_put_aside(
    ledger_url: str, mosquitto: str, forked_daemon: NewDaemon, ends_well: EndsWell
) -> None:
    daemon = forked_daemon(ledger_url, mosquitto)
    daemon.start(CHOKE_ON="a bone")
    await asyncio.to_thread(daemon.wait_ready)
    ledger = await asyncpg.connect(ledger_url)
    async with connected(mosquitto) as pit:
        before, bone, after = (
            event("round.opened", 1, round="r"),
            event("round.closed", 2, round="r", note="a bone"),
            event("round.voided", 2, round="r", reason="5.1"),
        )
        for content in (before, bone, after):
            await pit.publish("one", "BE-01", encoded(content))
        await pit.status("one", "suspended")
        await pit.until(lambda: pit.replies("one", "BE-01", after["id"]))
        assert pit.replies("one", "BE-01", bone["id"]) == []
        recorded = await ledger.fetchval("SELECT count(*) FROM events WHERE link = 'one'")
        elsewhere = pit.table("two", "TCX-01")
        await elsewhere.deal()
        await elsewhere.settle()
        assert pit.last("two/status")["state"] == "running"
        # Again: it costs the ledger nothing, and what comes behind it is answered.
        await pit.publish("one", "BE-01", encoded(bone))
        assert (await pit.send("one", "UTH-01", event("round.opened", 1, round="r")))["code"] == "link_suspended"
        assert await ledger.fetchval("SELECT count(*) FROM events WHERE link = 'one'") == recorded
        async with asyncio.timeout(patience_s(30)):
            while not await ledger.fetchval("SELECT count(*) FROM quarantine WHERE message LIKE '%too much for me%'"):
                await asyncio.sleep(0.1)
        await asyncio.to_thread(daemon.wait_ready)
        await ends_well("an event that the daemon chokes on", Witness(pit), ledger_url, daemon)
    await ledger.close()


async def test_a_ledger_that_disagrees_with_itself_suspends_the_link(
    ledger_url: str, mosquitto: str, forked_daemon: NewDaemon, ends_well: EndsWell
) -> None:
    daemon = forked_daemon(ledger_url, mosquitto)
    daemon.start(AUDIT_EVERY_S="0.3")
    await asyncio.to_thread(daemon.wait_ready)
    ledger = await asyncpg.connect(ledger_url)
    async with connected(mosquitto) as pit:
        await pit.table("one", "BE-01").deal()
        await pit.status("one", "running")
        await ledger.execute("UPDATE links SET pool = pool + 5, house = house - 5 WHERE link = 'one'")
        status = await pit.status("one", "suspended")
        assert "pool" in status["reason"]
        await pit.state("one", "UTH-01", accepts_play=False)
        assert (await pit.send("one", "UTH-01", event("round.opened", 1, round="r")))["code"] == "link_suspended"
        await pit.table("two", "TCX-01").deal()
        await ends_well("a ledger that disagrees with itself", Witness(pit), ledger_url, daemon)
    await ledger.close()


def memory_mib(pid: int) -> int:
    return int(Path(f"/proc/{pid}/status").read_text().partition("VmRSS:")[2].split()[0]) // 1024


@pytest.mark.parametrize("events", [20_000])
async def test_memory_is_bounded_while_the_database_does_not_answer(
    ledger_url: str, mosquitto: str, forked_daemon: NewDaemon, ends_well: EndsWell, events: int
) -> None:
    """The broker keeps what is not read: 20,000 events of 4 kB would be 80 MB and more. Afterwards all are answered."""
    answered = 0
    moved = asyncio.Event()

    def count(_: Message) -> None:
        nonlocal answered
        answered += 1
        moved.set()

    async with CuttingProxy(ledger_url) as proxy:
        daemon = forked_daemon(proxy.url, mosquitto)
        daemon.start()
        await asyncio.to_thread(daemon.wait_ready)
        before = memory_mib(daemon.process.pid)
        proxy.stall()
        flood = await Connection.open(
            Broker.from_url(mosquitto),
            "flood",
            on_message=count,
            subscriptions=[(f"{ROOT}/one/tables/BE-01/replies", 0)],
            clean_session=True,
        )
        gap = event("round.opened", 2, round="r", note="x" * 4_000)
        for number in range(events):
            flood.publish_nowait(f"{ROOT}/one/tables/BE-01/events", encoded(gap | {"id": f"gap-{number}"}))
            if number % 500 == 0:
                await flood.settled(1_000)
        await flood.settled()
        assert memory_mib(daemon.process.pid) < before + 70
        proxy.flow()
        async with asyncio.timeout(patience_s(60)):
            while answered < events:
                moved.clear()
                await moved.wait()
        await flood.close()
        await asyncio.to_thread(daemon.wait_ready)
        async with connected(mosquitto) as pit:
            await pit.status("one", "running")
            table = pit.table("one", "BE-01")
            await table.deal()
            await table.settle()
            await ends_well("more events than memory while the database hangs", Witness(pit), ledger_url, daemon)
