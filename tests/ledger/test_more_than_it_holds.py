"""More cents than the ledger's integers can count: no retry mends that, and what comes next must not wait for it."""

import asyncio

from jackpot.daemon.batch_attempt import PendingCommand
from jackpot.link.commands import ADJUSTMENT_CENTS_MAX, BalanceAdjusted, LinkResumed
from tests.ledger.processors import desk_at

TABLE = {"id": "UTH-01", "game": "ultimate-texas-holdem", "positions": 7}


def adjusted(number: int) -> BalanceAdjusted:
    about = {"by": "anna", "approved_by": "ben", "reason": "a slip of the pen"}
    return BalanceAdjusted(id=f"a{number}", account="reserve", amount_cents=ADJUSTMENT_CENTS_MAX, **about)


async def test_what_the_ledger_can_not_hold_suspends_its_link_and_is_put_aside(ledger_url: str) -> None:
    async with desk_at(ledger_url, TABLE) as counter:
        loop = asyncio.get_running_loop()
        await counter.processor.serve(
            [PendingCommand(adjusted(number), loop.create_future()) for number in range(1_000)]
        )
        answers = [await counter.order(adjusted(1_000 + number)) for number in range(30)]
        accepted = [answer["status"] for answer in answers].count("accepted")
        assert 0 < accepted < 30
        assert {answer["status"] for answer in answers[accepted:]} == {"refused"}
        assert counter.processor.state is not None
        assert "controller" in (counter.processor.state.suspended or "")
        await counter.order(LinkResumed(id="r", by="anna", reason="nothing was written"))
        await counter.accepted("UTH-01", "round.opened", round="r")
