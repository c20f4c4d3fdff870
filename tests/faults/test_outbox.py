"""What was said once is answered once and for all, whoever dies in between: no table says it again here."""

import asyncio

import pytest

from tests.acceptance.integrator import connected, encoded, event
from tests.faults.conftest import LEASE_S, EndsWell, NewDaemon
from tests.faults.launcher import POINTS
from tests.faults.witness import Witness
from tests.proxy import CuttingProxy
from tests.waiting import patience_s

LEFT = {"replied", "acknowledged"}
"""The points after which the answer is on its way."""


@pytest.mark.parametrize("point", POINTS)
async def test_an_event_that_was_said_once(
    ledger_url: str, mosquitto: str, forked_daemon: NewDaemon, ends_well: EndsWell, point: str
) -> None:
    """Before the commit the broker has it still: it is not acknowledged. After it, the ledger has the answer."""
    daemon = forked_daemon(ledger_url, mosquitto)
    daemon.start(DIE_AT=f"{point}:1", ARMED_BY="round.settled", LEASE_S=LEASE_S)
    async with connected(mosquitto) as pit:
        await pit.status("one", "running")
        await pit.status("two", "running")
        table = pit.table("one", "BE-01")
        await table.deal()
        await table.enter(1, "Ah Ad Ac As 2s")
        settle = event("round.settled", table.seq, round=table.round)
        await pit.publish("one", "BE-01", encoded(settle))
        await pit.status("one", "lost")
        assert await asyncio.to_thread(daemon.process.wait, patience_s(30)) == -9
        if point != "written":  # which may be anything
            assert bool(pit.replies("one", "BE-01", settle["id"])) == (point in LEFT)
        daemon.start(LEASE_S=LEASE_S)
        (award,) = (await pit.until(lambda: pit.replies("one", "BE-01", settle["id"])))[0]["result"]["awards"]
        assert await table.notice(award["award"]) == award
        await pit.until(lambda: award in pit.on("one/awards"))
        said = pit.on("one/tables/BE-01/replies")
        reply = next(place for place, message in enumerate(said) if message.get("reply_to") == settle["id"])
        notice = next(place for place, message in enumerate(said) if "notice" in message)
        assert reply < notice, "the reply comes first, then the notices"
        table.seq += 1
        await table.pay(award)
        await ends_well(f"kill -9 {point}, and the event comes once", Witness(pit), ledger_url, daemon)


async def test_an_event_that_was_said_once_and_whose_commit_never_left(
    ledger_url: str, mosquitto: str, forked_daemon: NewDaemon, ends_well: EndsWell
) -> None:
    """The daemon dies while the statement is on its way, and takes it along. Only the broker has the event: still."""
    async with CuttingProxy(ledger_url) as proxy:
        daemon = forked_daemon(proxy.url, mosquitto)
        daemon.start(DIE_AT="written:1", ARMED_BY="round.opened", LEASE_S=LEASE_S)
        async with connected(mosquitto) as pit:
            await pit.status("one", "running")
            await pit.status("two", "running")
            proxy.stall()
            opened = event("round.opened", 1, round="r1")
            await pit.publish("one", "BE-01", encoded(opened))
            assert await asyncio.to_thread(daemon.process.wait, patience_s(30)) == -9
            proxy.cut()
            proxy.flow()
            daemon.start(LEASE_S=LEASE_S)
            reply, *_ = await pit.until(lambda: pit.replies("one", "BE-01", opened["id"]))
            assert (reply["status"], reply["duplicate"]) == ("accepted", False)
            await ends_well("kill -9 with a COMMIT that never left", Witness(pit), ledger_url, daemon)
