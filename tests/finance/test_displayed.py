"""The displayed amount at a day's end is what the sign showed then, whatever became of the claims afterwards."""

import datetime as dt
import random
from collections.abc import Callable

import pytest
from sqlalchemy.ext.asyncio import AsyncEngine

from jackpot.finance.reconciliation.read_day import reconcile
from jackpot.link.rounds import Phase
from tests.ledger.ledger_driver import SINGAPORE, LedgerDriver, scribe_at

TABLES = ("UTH-01", "UTH-02", "BE-01")
STRAIGHT_FLUSH = {"UTH": ("5h 6h", "7h 8h 9h"), "BE": ("5h 6h 7h 8h 9h", "")}
ROYAL = {"UTH": ("Ah Kh", "Qh Jh Th"), "BE": ("Ah Kh Qh Jh Th", "")}
NOTHING = {"UTH": ("2c 7d", "9s Jh 4c"), "BE": ("2c 7d 9s Jh 4c", "")}


async def displayed(engine: AsyncEngine, day: dt.date) -> tuple[int, bool]:
    (link,) = (await reconcile(engine, SINGAPORE, day)).links
    return link.displayed_cents, link.held_by is not None


AFTERWARDS: dict[str, Callable[[LedgerDriver], object]] = {
    "it still stands": lambda scribe: None,
    "it is paid": lambda scribe: scribe.settle("UTH-01"),
    "it is withdrawn": lambda scribe: scribe.withdraw("UTH-01", 1),
    "its wager is returned": lambda scribe: scribe.return_wager("UTH-01", 1),
    "its round is void": lambda scribe: scribe.void("UTH-01"),
    "a pit manager settles it": lambda scribe: scribe.conclude("UTH-01", "settled"),
    "a pit manager voids it": lambda scribe: scribe.conclude("UTH-01", "void"),
}


@pytest.mark.parametrize("afterwards", AFTERWARDS)
async def test_a_claim_holds_the_displayed_amount_of_the_day_it_stood_in(
    ledger_url: str, engine: AsyncEngine, afterwards: str
) -> None:
    async with scribe_at(ledger_url, *TABLES) as scribe:
        scribe.deal("UTH-01", {1: 1, 2: 1})
        scribe.enter("UTH-01", 1, *STRAIGHT_FLUSH["UTH"])
        scribe.deal("BE-01", {1: 1})
        scribe.enter("BE-01", 1, *ROYAL["BE"])
        scribe.settle("BE-01")
        scribe.deal("UTH-02", {1: 5})
        scribe.refused("UTH-01", "hand.withdrawn", position=2, reason="none there")
        await scribe.commit()
        day, held = scribe.day, scribe.displayed_cents
        assert held < scribe.pool_cents
        scribe.pass_time(days=1)
        AFTERWARDS[afterwards](scribe)
        scribe.pass_time(days=1) if afterwards == "it still stands" else await scribe.commit()
        assert await displayed(engine, day) == (held, True)
        assert await displayed(engine, scribe.day) == (scribe.displayed_cents, bool(scribe.pending))


@pytest.mark.parametrize("seed", [0, 1, 2, 4])
async def test_however_play_goes_every_day_ends_with_what_the_sign_showed(
    ledger_url: str, engine: AsyncEngine, seed: int
) -> None:
    choose = random.Random(seed)
    shown: dict[dt.date, tuple[int, bool]] = {}
    async with scribe_at(ledger_url, *TABLES) as scribe:
        for _ in range(12):
            for _ in range(choose.randint(0, 12)):
                act(scribe, choose)
            await scribe.commit()
            shown[scribe.day] = (scribe.displayed_cents, bool(scribe.pending))
            scribe.pass_time(days=choose.randint(1, 2))
    assert any(held for _, held in shown.values())
    assert {day: await displayed(engine, day) for day in shown} == shown


def act(scribe: LedgerDriver, choose: random.Random) -> None:
    """One thing that can happen at one of the tables, percentage hands far more often than in life."""
    table = choose.choice(TABLES)
    game = table.partition("-")[0]
    round_ = scribe.state.current.get(table)
    if round_ is None:
        scribe.deal(table, {1: 1, 2: 1})
        return
    assert round_.phase is Phase.CLOSED
    standing = [position for position in round_.standing_wagers() if position not in round_.hands]
    match choose.randint(0, 9):
        case 0:
            scribe.void(table)
        case 1 if round_.hands:
            scribe.withdraw(table, choose.choice(list(round_.hands)))
        case 2 if round_.hands:
            scribe.return_wager(table, choose.choice(list(round_.hands)))
        case 3:
            scribe.conclude(table, choose.choice(["settled", "void"]))
        case 4 | 5:
            scribe.settle(table)
        case 6:
            scribe.say(table, "round.opened", round=scribe._name("round"))
        case _ if standing and not round_.hands:
            scribe.enter(table, choose.choice(standing), *choose.choice([STRAIGHT_FLUSH, ROYAL, NOTHING])[game])
        case _:
            pass
