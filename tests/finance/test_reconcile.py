"""A gaming day's books close to zero, and whatever keeps them from it is named."""

import datetime as dt
from collections.abc import AsyncIterator

import asyncpg
import pytest
from sqlalchemy.ext.asyncio import AsyncEngine

from jackpot.finance.reconciliation.data import Counters, LinkDay, Reconciliation
from jackpot.finance.reconciliation.read_day import reconcile
from jackpot.link.commands import BalanceAdjusted
from jackpot.link.money import Balances, Kind
from jackpot.rules.megalink import Rank
from tests.ledger.ledger_driver import NOON, SINGAPORE, LedgerDriver, play_every_kind, scribe_at

TABLES = ("UTH-01", "UTH-02", "BE-01", "TCX-01")
DAY = dt.date(2026, 11, 16)


@pytest.fixture
async def scribe(ledger_url: str) -> AsyncIterator[LedgerDriver]:
    async with scribe_at(ledger_url, *TABLES) as scribe:
        yield scribe


async def books(engine: AsyncEngine, day: dt.date = DAY) -> Reconciliation:
    return await reconcile(engine, SINGAPORE, day)


def of(day: Reconciliation, link: str = "megalink") -> LinkDay:
    return next(found for found in day.links if found.link == link)


def ours(day: Reconciliation, table: str) -> Counters:
    return next(found.ours for found in day.tables if found.table == table)


def postings(link: LinkDay, kind: Kind) -> Balances:
    return next(move.postings for move in link.movements if move.kind is kind)


async def test_a_day_with_every_kind_of_event_reconciles_to_zero(scribe: LedgerDriver, engine: AsyncEngine) -> None:
    play_every_kind(scribe)
    scribe.report_all()
    await scribe.commit()
    day = await books(engine)
    link = of(day)
    assert day.problems == ()
    assert day.balanced
    assert link.opening == Balances()
    assert link.closing == scribe.balances
    assert link.difference_micros == 0
    assert {move.kind for move in link.movements} == set(Kind) - {Kind.FUNDING}
    assert link.displayed_cents == scribe.displayed_cents
    assert {name: (series.first, series.last) for name, series in link.numbers.items()} == {
        "events": (1, scribe.n),
        "journals": (1, 19),
        "entries": (1, 6),
        "awards": (1, 5),
    }
    assert link.awards_by_rank == {
        Rank.ROYAL_FLUSH: (2, 19_001_912),
        Rank.STRAIGHT_FLUSH: (1, 1_000_212),
        Rank.FOUR_OF_A_KIND: (2, 600_000),
    }
    assert (link.payments, link.paid_cents) == (2, 600_000)
    assert [award.award for award in link.unpaid] == ["megalink-000003", "megalink-000004", "megalink-000005"]
    assert [changed.version for changed in link.parameters] == [1, 2]


async def test_wagers_are_counted_by_table_and_multiplier(scribe: LedgerDriver, engine: AsyncEngine) -> None:
    scribe.deal("UTH-01", {1: 5, 2: 3, 3: 3})
    scribe.return_wager("UTH-01", 2)
    scribe.deal("BE-01", {1: 1, 2: 1})
    await scribe.commit()
    day = await books(engine)
    be, uth = of(day).wagers
    assert (be.taken, be.taken_cents, be.returned_cents) == ((2, 0, 0, 0, 0), 1000, 0)
    assert (uth.taken, uth.taken_cents) == ((0, 0, 2, 0, 1), 5500)
    assert (uth.returned, uth.returned_cents) == ((0, 0, 1, 0, 0), 1500)
    assert ours(day, "UTH-01") == Counters(wagers=2, wagered_cents=4000)


async def test_a_reset_names_who_funded_it(scribe: LedgerDriver, engine: AsyncEngine) -> None:
    scribe.adjust("reserve", 3_000_000)
    scribe.deal("UTH-01")
    scribe.enter("UTH-01", 1, "Ah Kh", "Qh Jh Th")
    scribe.settle("UTH-01")
    await scribe.commit()
    opening, reset = of(await books(engine)).fundings
    assert (opening.kind, opening.house_micros, opening.reserve_micros) == (Kind.OPENING, 10**11, 0)
    assert (reset.kind, reset.table) == (Kind.RESET, "UTH-01")
    assert reset.reserve_micros == 3_000_000 * 10_000 + 500 * 310
    assert reset.reserve_micros + reset.house_micros == 10**11


async def test_an_adjustment_names_who_asked_and_who_approved(scribe: LedgerDriver, engine: AsyncEngine) -> None:
    scribe.command(
        BalanceAdjusted(
            id="a", by="ann", approved_by="bob", reason="meter fault 4711", account="pool", amount_cents=-123
        )
    )
    await scribe.commit()
    (adjustment,) = of(await books(engine)).adjustments
    assert (adjustment.account, adjustment.micros) == ("pool", -1_230_000)
    assert (adjustment.by, adjustment.approved_by, adjustment.reason) == ("ann", "bob", "meter fault 4711")


async def test_each_day_opens_where_the_last_one_closed(scribe: LedgerDriver, engine: AsyncEngine) -> None:
    scribe.deal("UTH-01", {1: 5})
    scribe.settle("UTH-01")
    scribe.report_all()
    await scribe.commit()
    closed = scribe.balances
    scribe.pass_time(days=3)
    scribe.deal("UTH-01", {1: 1})
    scribe.settle("UTH-01")
    scribe.report_all()
    await scribe.commit()
    first, idle, last = [await books(engine, DAY + dt.timedelta(days=days)) for days in (0, 1, 3)]
    assert of(first).closing == of(idle).opening == of(idle).closing == of(last).opening == closed
    assert of(last).closing == scribe.balances
    assert of(idle).movements == ()
    assert ours(last, "UTH-01") == Counters(1, 500)
    assert first.balanced
    assert idle.balanced
    assert last.balanced


async def test_days_before_the_link_and_days_to_come_are_empty(scribe: LedgerDriver, engine: AsyncEngine) -> None:
    before, after = await books(engine, DAY - dt.timedelta(days=1)), await books(engine, DAY + dt.timedelta(days=1))
    assert (of(before).opening, of(before).closing) == (Balances(), Balances())
    assert (of(after).opening, of(after).closing) == (scribe.balances, scribe.balances)
    assert before.balanced
    assert after.balanced


async def test_a_wager_closed_on_one_day_and_returned_on_the_next_goes_back_on_the_next(
    scribe: LedgerDriver, engine: AsyncEngine
) -> None:
    scribe.deal("UTH-01", {1: 5, 2: 1})
    scribe.report_all()
    await scribe.commit()
    scribe.pass_time(days=1)
    scribe.return_wager("UTH-01", 1)
    scribe.report_all()
    await scribe.commit()
    first, second = await books(engine), await books(engine, DAY + dt.timedelta(days=1))
    assert ours(first, "UTH-01") == Counters(wagers=2, wagered_cents=3000)
    assert ours(second, "UTH-01") == Counters(wagers=-1, wagered_cents=-2500)
    assert first.balanced
    # A report cannot say less than nothing: 0 is as right as the table can be.
    assert second.balanced


async def test_an_award_belongs_to_the_day_in_which_it_is_made(scribe: LedgerDriver, engine: AsyncEngine) -> None:
    scribe.deal("UTH-01")
    scribe.deal("UTH-02")
    scribe.enter("UTH-01", 1, "Ah Kh", "Qh Jh Th")
    scribe.enter("UTH-02", 1, "5h 6h", "7h 8h 9h")
    scribe.settle("UTH-02")
    scribe.report_all()
    await scribe.commit()
    held = scribe.displayed_cents
    scribe.pass_time(days=1)
    scribe.settle("UTH-01")
    scribe.report_all()
    await scribe.commit()
    first, second = await books(engine), await books(engine, DAY + dt.timedelta(days=1))
    assert (of(first).awards, of(first).displayed_cents) == ((), held)
    assert of(first).held_by == f"UTH-01 {scribe.awards[0].round}"
    assert ours(second, "UTH-02") == Counters(0, 0, 1, scribe.awards[1].amount_cents)
    assert first.balanced
    assert second.balanced
    assert len(of(second).unpaid) == 2
    assert of(first).unpaid == ()


async def test_a_table_with_play_and_no_report_does_not_balance(scribe: LedgerDriver, engine: AsyncEngine) -> None:
    scribe.deal("UTH-01")
    scribe.report("BE-01")
    await scribe.commit()
    day = await books(engine)
    assert day.problems == ("table UTH-01: it had play but reported no meters",)
    assert {table.table: table.balanced for table in day.tables} == dict.fromkeys(TABLES, True) | {"UTH-01": False}


async def test_play_that_was_given_back_is_play(scribe: LedgerDriver, engine: AsyncEngine) -> None:
    scribe.deal("UTH-01")
    scribe.void("UTH-01")
    await scribe.commit()
    assert (await books(engine)).problems == ("table UTH-01: it had play but reported no meters",)


@pytest.mark.parametrize(
    ("counter", "difference", "named"),
    [
        ("wagers", 1, "table UTH-01: wagers is 2, the table reported 3 (+1)"),
        ("wagered_cents", -500, "table UTH-01: wagered_cents is 3000, the table reported 2500 (-500)"),
        ("awards", -1, "table UTH-01: awards is 1, the table reported 0 (-1)"),
        ("awarded_cents", 100, "table UTH-01: awarded_cents is 10000, the table reported 10100 (+100)"),
    ],
)
async def test_a_wrong_table_meter_is_named(
    scribe: LedgerDriver, engine: AsyncEngine, counter: str, difference: int, named: str
) -> None:
    scribe.deal("UTH-01", {1: 1, 2: 5})
    scribe.enter("UTH-01", 1, "2c 3d", "4h 5s 6c")
    scribe.settle("UTH-01")
    true = dict(scribe.counters[DAY, "UTH-01"])
    scribe.report("UTH-01", **true | {counter: true[counter] + difference})
    await scribe.commit()
    assert (await books(engine)).problems == (named,)


async def test_meters_of_a_table_that_did_not_play_are_a_variance(scribe: LedgerDriver, engine: AsyncEngine) -> None:
    scribe.report("UTH-02", wagers=1, wagered_cents=500)
    await scribe.commit()
    assert len((await books(engine)).problems) == 2


async def test_the_last_report_counts_also_if_it_comes_the_day_after(scribe: LedgerDriver, engine: AsyncEngine) -> None:
    scribe.deal("UTH-01")
    scribe.report("UTH-01", wagers=9)
    await scribe.commit()
    scribe.pass_time(days=1)
    scribe.report("UTH-01", wagers=1, wagered_cents=500, day=DAY.isoformat())  # type: ignore[arg-type]
    await scribe.commit()
    assert (await books(engine)).balanced


async def test_a_table_that_changes_its_link_is_counted_once(ledger_url: str, engine: AsyncEngine) -> None:
    async with scribe_at(ledger_url, "UTH-01") as here, scribe_at(ledger_url, link="other") as there:
        here.deal("UTH-01", {1: 1})
        here.settle("UTH-01")
        await here.configure()
        await there.configure("UTH-01")
        there.deal("UTH-01", {1: 2})
        there.settle("UTH-01")
        there.report("UTH-01", wagers=2, wagered_cents=1500)
        await there.commit()
    day = await books(engine)
    assert ours(day, "UTH-01") == Counters(2, 1500)
    assert [link.wagers[0].taken_cents for link in day.links] == [500, 1000]
    assert day.balanced


async def test_a_table_whose_clock_is_far_off_is_noted(scribe: LedgerDriver, engine: AsyncEngine) -> None:
    scribe.deal("UTH-01")
    scribe.open("UTH-02")
    scribe.wager("UTH-02", 1)
    scribe.accepted("UTH-02", "round.closed", at=(NOON + dt.timedelta(minutes=10)).isoformat())
    scribe.report_all()
    await scribe.commit()
    day = await books(engine)
    assert day.balanced
    assert "Clock skew: table UTH-02 is 600 seconds ahead of the controller." in day.notes
    assert not any("UTH-01" in note for note in day.notes)


async def test_a_missing_end_of_a_day_is_named_on_both_days_it_may_belong_to(
    scribe: LedgerDriver, engine: AsyncEngine, intruder: asyncpg.Connection
) -> None:
    scribe.deal("UTH-01")
    await scribe.commit()
    last = scribe.n
    scribe.pass_time(days=1)
    scribe.settle("UTH-01")
    await scribe.commit()
    await intruder.execute("DELETE FROM events WHERE n = $1", last)
    for day in (DAY, DAY + dt.timedelta(days=1)):
        assert f"link megalink: events: n {last} is missing" in (await books(engine, day)).problems
