"""The answer to a COMMIT is lost: before the database had it, or after. The ledger is asked what became of it."""

import asyncio
from contextlib import suppress
from enum import Enum
from functools import partial

import asyncpg
import pytest

from jackpot.ledger import lease
from tests.acceptance.integrator import connected, encoded, event
from tests.acceptance.processes import Daemon
from tests.faults import counts
from tests.faults.conftest import TABLES, EndsWell, NewDaemon
from tests.faults.players import playing
from tests.faults.witness import Witness
from tests.proxy import Connection, CuttingProxy, Towards
from tests.waiting import patience_s


class Cut(Enum):
    BEFORE = "not executed"
    AFTER = "executed"


class CommitCutter(CuttingProxy):
    """Cuts the connection on which a given text goes to the database, once: before it, or before its answer."""

    def __init__(self, url: str) -> None:
        super().__init__(url)
        self.text = b""
        self.cut_at = Cut.BEFORE
        self.cuts = 0
        self._mute: Connection | None = None

    async def cut_once(self, text: str, cut_at: Cut) -> None:
        """From now on until it is done."""
        self.text, self.cut_at, before = text.encode(), cut_at, self.cuts
        async with asyncio.timeout(patience_s(60)):
            while self.cuts == before:
                await asyncio.sleep(0.01)

    async def _pump(
        self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter, towards: Towards, connection: Connection
    ) -> None:
        with suppress(ConnectionError):
            while data := await reader.read(65536):
                if towards is Towards.SERVER and self.text and self.text in data:
                    self.text = b""
                    self.cuts += 1
                    if self.cut_at is Cut.BEFORE:
                        break
                    self._mute = connection
                if towards is Towards.CLIENT and self._mute is connection:
                    break
                writer.write(data)
                await writer.drain()
        connection.cut()


async def ready(daemon: Daemon) -> None:
    await asyncio.to_thread(daemon.wait_ready)


TYPES = ("round.opened", "wager.placed", "round.closed", "hand.entered", "round.settled", "award.paid")


@pytest.mark.parametrize("cut_at", Cut)
async def test_one_lost_answer(
    ledger_url: str, mosquitto: str, forked_daemon: NewDaemon, ends_well: EndsWell, cut_at: Cut
) -> None:
    """Of a commit that holds such an event, while all tables play."""
    async with CommitCutter(ledger_url) as proxy:
        daemon = forked_daemon(proxy.url, mosquitto)
        daemon.start()
        async with playing(mosquitto, TABLES) as floor:
            await floor.goes_on()
            for type_ in TYPES:
                floor.hit()
                await proxy.cut_once(type_, cut_at)
                await floor.goes_on(10)
            await ends_well(f"an answer to a COMMIT is lost, {cut_at.value}", floor, ledger_url, daemon)


@pytest.mark.parametrize("cut_at", Cut)
async def test_one_lost_answer_to_what_is_not_said_again(
    ledger_url: str, mosquitto: str, forked_daemon: NewDaemon, ends_well: EndsWell, cut_at: Cut
) -> None:
    async with CommitCutter(ledger_url) as proxy:
        daemon = forked_daemon(proxy.url, mosquitto)
        daemon.start()
        await ready(daemon)
        async with connected(mosquitto) as pit:
            table = pit.table("one", "BE-01")
            types = ("round.opened", "wager.placed", "round.closed", "round.settled")
            for type_ in types:
                content = event(type_, table.seq, round=f"{cut_at.name}", position=1)
                cutting = asyncio.create_task(proxy.cut_once(content["id"], cut_at))
                await pit.publish("one", "BE-01", encoded(content))
                replies = await pit.until(partial(pit.replies, "one", "BE-01", content["id"]))
                await cutting
                assert {reply["status"] for reply in replies} == {"accepted"}
                table.seq += 1
            what = f"the same, and the event comes once, {cut_at.value}"
            await ends_well(what, Witness(pit), ledger_url, daemon, times=len(types))


@pytest.mark.parametrize("cut_at", Cut)
async def test_an_order_whose_answer_was_lost_is_carried_out_once(
    ledger_url: str, mosquitto: str, forked_daemon: NewDaemon, ends_well: EndsWell, cut_at: Cut
) -> None:
    """And the database stays away until nobody waits for that answer any more."""
    async with CommitCutter(ledger_url) as proxy:
        daemon = forked_daemon(proxy.url, mosquitto)
        daemon.start()
        await ready(daemon)
        ledger = await asyncpg.connect(ledger_url)
        async with connected(mosquitto) as pit:
            reason = f"the fire alarm rings {cut_at.name}"
            # The order's own record holds this text as it is committed, and so does the state it leads to.
            cutting = asyncio.create_task(proxy.cut_once(reason, cut_at))
            command = f'{{"type": "link.suspended", "id": "order-1", "by": "anna", "reason": "{reason}"}}'
            # On its way through the proxy the request itself would be taken for the commit: leave it beside.
            await ledger.execute(
                "INSERT INTO requests (id, link, command) VALUES ('order-1', 'one', $1::jsonb)", command
            )
            await cutting
            proxy.refuses = True
            proxy.cut()
            await pit.until(lambda: pit.last("one/status").get("reason") == "the ledger cannot be reached")
            proxy.refuses = False
            await pit.until(lambda: pit.last("one/status").get("reason") == reason)
            await ready(daemon)
            async with asyncio.timeout(patience_s(30)):
                while await ledger.fetchval("SELECT answer FROM requests WHERE id = 'order-1'") is None:
                    await asyncio.sleep(0.05)
            assert await ledger.fetchval("SELECT count(*) FROM events WHERE id = 'order-1'") == 1
            # The link is not held up by the order: it answers.
            reply = await pit.send("one", "BE-01", event("round.opened", 1, round="r"))
            assert reply["code"] == "link_suspended"
            await ends_well(f"an answer to an order is lost, {cut_at.value}", Witness(pit), ledger_url, daemon)
        await ledger.close()


@pytest.mark.timeout(900)
@counts.times(300, short=30)
async def test_a_connection_that_is_cut_again_and_again(
    ledger_url: str, mosquitto: str, forked_daemon: NewDaemon, ends_well: EndsWell, *, lap: int, times: int
) -> None:
    async with CuttingProxy(ledger_url) as proxy:
        daemon = forked_daemon(proxy.url, mosquitto)
        daemon.start()
        async with playing(mosquitto, TABLES, seed=lap) as floor:
            await floor.goes_on()
            for number in range(times):
                await floor.goes_on(3)
                floor.hit()
                proxy.cut_after(37 * number, Towards.SERVER if number % 2 else Towards.CLIENT)
            await ends_well("the database's connection is cut at any byte", floor, ledger_url, daemon)


class NeverCommits(CuttingProxy):
    """As for a daemon that stalls between the last statement of a transaction and its COMMIT."""

    async def _pass_on(self, data: bytes, writer: asyncio.StreamWriter, towards: Towards) -> bool:
        if towards is Towards.SERVER and b"COMMIT" in data:
            self.stall()
            await self._flowing.wait()
        return await super()._pass_on(data, writer, towards)


async def test_a_leader_that_stalls_while_it_renews_its_lease_keeps_nobody_from_it(ledger_url: str) -> None:
    """A renewal that waited for its COMMIT would keep the lease's row locked, and a standby out, for as long."""
    standby = await asyncpg.connect(ledger_url)
    epoch = await lease.take(standby, "one", "leader", 60.0)
    assert epoch is not None
    async with NeverCommits(ledger_url) as proxy:
        leader = await asyncpg.connect(proxy.url)
        async with asyncio.timeout(patience_s(10)):
            await lease.renew(leader, "one", "leader", epoch, 0.0)
        async with asyncio.timeout(patience_s(10)):
            while await lease.take(standby, "one", "standby", 60.0) is None:
                await asyncio.sleep(0.05)
        leader.terminate()
    await standby.close()
