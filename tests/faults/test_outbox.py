"""What was committed and not said is said by whoever leads next."""

import pytest

from tests.acceptance.integrator import connected, encoded, event
from tests.acceptance.processes import patience_s
from tests.faults.conftest import LEASE_S, NewDaemon

ORDERS_AT_THE_START = 4
"""Each of the two links is opened, and its tables are recorded."""


@pytest.mark.parametrize("point", ["committed", "replied"])
async def test_an_award_that_was_committed_and_perhaps_never_said(
    ledger_url: str, mosquitto: str, forked_daemon: NewDaemon, point: str
) -> None:
    daemon = forked_daemon(ledger_url, mosquitto)
    daemon.start(DIE_AT=f"{point}:{ORDERS_AT_THE_START + 5}", LEASE_S=LEASE_S)
    async with connected(mosquitto) as pit:
        await pit.status("one", "running")
        await pit.status("two", "running")
        table = pit.table("one", "BE-01")
        await table.deal()
        await table.enter(1, "Ah Ad Ac As 2s")
        settle = event("round.settled", table.seq, round=table.round)
        await pit.publish("one", "BE-01", encoded(settle))
        await pit.status("one", "lost")
        assert daemon.process.wait(patience_s(30)) == -9
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
