"""D1 to D4: how a wager becomes pool, reserve and house, and how it goes back."""

import pytest

from jackpot.link.money import Balances, Kind, UnbalancedError, post
from tests.link.link_driver import LinkDriver, moved, of_the_examples

CENT = 10_000  # micros

ROYAL = "As Ks Qs Js Ts"
STRAIGHT_FLUSH = "9s 8s 7s 6s 5s"


# D1: integers only; stake x rate is the contribution in micros.


@pytest.mark.parametrize(
    ("unit_cents", "increment_bp", "reserve_bp"), [(500, 2500, 310), (1, 1, 1), (3, 3333, 1), (7, 0, 10_000), (1, 0, 0)]
)
def test_d1_stake_times_rate_is_the_contribution_in_micros(unit_cents: int, increment_bp: int, reserve_bp: int) -> None:
    pit = LinkDriver("UTH-01", unit_cents=unit_cents, increment_bp=increment_bp, reserve_bp=reserve_bp)
    pit.open("UTH-01")
    pit.wager("UTH-01", 1, 3)
    before = pit.balances
    pit.close("UTH-01")
    stake = 3 * unit_cents
    assert moved(before, pit.balances) == {
        account: micros
        for account, micros in {
            "wagered": stake * 10_000,
            "pool": stake * increment_bp,
            "reserve": stake * reserve_bp,
            "house": stake * (10_000 - increment_bp - reserve_bp),
        }.items()
        if micros
    }


def test_d1_a_journal_that_does_not_close_is_never_posted() -> None:
    with pytest.raises(UnbalancedError):
        post(Balances(), Kind.ADJUSTMENT, pool=1)


def test_d1_only_the_house_can_be_negative() -> None:
    with pytest.raises(UnbalancedError):
        post(Balances(pool=5, house=-5), Kind.ADJUSTMENT, pool=-6, house=6)


# D2: the displayed amount is the pool truncated to the cent, and so is a percentage of it.


def test_d2_parts_of_a_cent_are_not_displayed_and_stay_in_the_pool() -> None:
    pit = LinkDriver("BE-01", unit_cents=1, increment_bp=9_999, reserve_bp=0, reset_cents=100)
    pit.deal("BE-01")
    assert pit.balances.pool == 100 * CENT + 9_999
    assert pit.displayed_cents == 100
    pit.enter("BE-01", 1, ROYAL)
    pit.settle("BE-01")
    assert pit.amounts() == [("BE-01", 1, 100)]
    assert pit.balances.pool == 100 * CENT + 9_999


@pytest.mark.parametrize(("displayed", "ten_percent"), [(109, 10), (110, 11), (119, 11), (100, 10)])
def test_d2_ten_percent_is_truncated_to_the_cent_and_the_rest_stays(displayed: int, ten_percent: int) -> None:
    pit = LinkDriver("BE-01", unit_cents=1, increment_bp=5_000, reserve_bp=0, reset_cents=100)
    pit.deal("BE-01")
    pit.display(displayed)
    pit.enter("BE-01", 1, STRAIGHT_FLUSH)
    pit.settle("BE-01")
    assert pit.amounts() == [("BE-01", 1, ten_percent)]
    assert pit.balances.pool == (displayed - ten_percent) * CENT + 5_000


# D3: the contribution is posted when the round closes.


def test_d3_nothing_is_posted_before_no_more_bets() -> None:
    pit = of_the_examples("UTH-01")
    before = pit.balances
    pit.open("UTH-01")
    pit.wager("UTH-01", 1, 5)
    assert pit.balances == before


def test_d3_closing_posts_increment_reserve_and_the_remainder_to_the_house() -> None:
    pit = of_the_examples("UTH-01")
    pit.open("UTH-01")
    pit.wager("UTH-01", 1, 1)
    pit.wager("UTH-01", 2, 5)
    before, displayed = pit.balances, pit.displayed_cents
    result = pit.close("UTH-01")
    assert moved(before, pit.balances) == {
        "wagered": 3_000 * CENT,
        "pool": 750 * CENT,
        "reserve": 93 * CENT,
        "house": 2_157 * CENT,
    }
    assert result == {
        "wagers": 2,
        "wagered_cents": 3_000,
        "contributed_micros": 7_500_000,
        "displayed_cents": displayed + 750,
    }


def test_d3_a_cancelled_wager_contributes_nothing() -> None:
    pit = of_the_examples("UTH-01")
    pit.open("UTH-01")
    pit.wager("UTH-01", 1, 5)
    pit.wager("UTH-01", 2, 1)
    pit.accepted("UTH-01", "wager.cancelled", position=1)
    assert pit.close("UTH-01")["wagered_cents"] == 500


def test_d3_a_round_without_wagers_closes_and_posts_nothing() -> None:
    pit = of_the_examples("UTH-01")
    pit.open("UTH-01")
    closed = pit.accepted("UTH-01", "round.closed")
    assert closed.result == {
        "wagers": 0,
        "wagered_cents": 0,
        "contributed_micros": 0,
        "displayed_cents": pit.displayed_cents,
    }
    assert closed.journals == ()


def test_d3_the_journal_counts_the_wagers_of_each_multiplier() -> None:
    pit = of_the_examples("UTH-01")
    pit.open("UTH-01")
    for position, multiplier in enumerate((1, 5, 2, 5), start=1):
        pit.wager("UTH-01", position, multiplier)
    (closing,) = pit.accepted("UTH-01", "round.closed").journals
    assert closing.wagers == (1, 1, 0, 0, 2)
    (returned,) = pit.return_wager("UTH-01", 2).journals
    assert returned.wagers == (0, 0, 0, 0, -1)
    (void,) = pit.void("UTH-01").journals
    assert void.wagers == (-1, -1, 0, 0, -1)


# D4: the meter never goes down except for a win.


def test_d4_a_returned_wager_leaves_the_meter_and_becomes_recoverable() -> None:
    pit = of_the_examples("UTH-01")
    pit.deal("UTH-01", {1: 5, 2: 1})
    before, displayed = pit.balances, pit.displayed_cents
    assert pit.return_wager("UTH-01", 1).result == {"returned_cents": 2_500}
    assert pit.displayed_cents == displayed
    # The house pays 2,500; the reserve gives 77.5 back; 625 is owed by later contributions.
    assert moved(before, pit.balances) == {
        "wagered": -2_500 * CENT,
        "recoverable": 625 * CENT,
        "reserve": -775_000,
        "house": -2_500 * CENT + 625 * CENT + 775_000,
    }


def test_d4_later_contributions_repay_recoverable_before_they_raise_the_pool() -> None:
    pit = of_the_examples("UTH-01", "BE-01")
    pit.deal("UTH-01", {1: 5})
    pit.return_wager("UTH-01", 1)
    displayed = pit.displayed_cents
    for owed_cents in (500, 375, 250, 125, 0):
        result = pit.deal("BE-01")
        assert pit.balances.recoverable == owed_cents * CENT
        assert result["contributed_micros"] == 125 * CENT  # before anything is diverted
        assert result["displayed_cents"] == displayed
        pit.settle("BE-01")
    assert pit.deal("BE-01")["displayed_cents"] == displayed + 125


def test_d4_one_contribution_may_repay_and_raise_the_pool() -> None:
    pit = of_the_examples("UTH-01")
    pit.deal("UTH-01", {1: 1, 2: 5})
    pit.return_wager("UTH-01", 1)
    pit.settle("UTH-01")
    before = pit.balances
    pit.deal("UTH-01", {1: 3})
    assert moved(before, pit.balances)["recoverable"] == -125 * CENT
    assert moved(before, pit.balances)["pool"] == 250 * CENT


@pytest.mark.parametrize("reserve_cents", [0, 1, 30, 31, 32])
def test_d4_the_reserve_never_goes_below_zero_and_the_house_bears_what_is_missing(reserve_cents: int) -> None:
    pit = LinkDriver("BE-01", unit_cents=1_000, increment_bp=2_500, reserve_bp=310)
    pit.deal("BE-01")  # 31 cents of it went to the reserve
    pit.hold_reserve(reserve_cents)
    before = pit.balances
    pit.return_wager("BE-01", 1)
    given = min(reserve_cents, 31)
    assert pit.balances.reserve == (reserve_cents - given) * CENT
    assert moved(before, pit.balances)["house"] == (-1_000 + 250 + given) * CENT


def test_d4_a_reset_may_have_emptied_the_reserve_before_a_wager_of_another_table_goes_back() -> None:
    pit = LinkDriver("BE-01", "BE-02", unit_cents=1_000, increment_bp=2_500, reserve_bp=310)
    pit.deal("BE-02")
    pit.deal("BE-01")
    pit.enter("BE-01", 1, ROYAL)
    pit.settle("BE-01")
    assert pit.balances.reserve == 0
    before = pit.balances
    pit.void("BE-02")
    assert moved(before, pit.balances) == {
        "wagered": -1_000 * CENT,
        "recoverable": 250 * CENT,
        "house": -750 * CENT,
    }


def test_d4_a_void_after_closing_gives_every_standing_wager_back() -> None:
    pit = of_the_examples("UTH-01")
    pit.deal("UTH-01", {1: 1, 2: 2, 3: 5})
    pit.return_wager("UTH-01", 1)
    displayed = pit.displayed_cents
    assert pit.void("UTH-01").result == {"returned_cents": 3_500}
    assert pit.displayed_cents == displayed
    assert pit.balances.recoverable == 4_000 * 2_500
    assert pit.balances.wagered == 0


def test_d4_a_void_before_closing_moves_no_money() -> None:
    pit = of_the_examples("UTH-01")
    pit.open("UTH-01")
    pit.wager("UTH-01", 1, 5)
    pit.wager("UTH-01", 2, 1)
    pit.accepted("UTH-01", "wager.cancelled", position=2)
    before = pit.balances
    assert pit.void("UTH-01").result == {"returned_cents": 2_500}
    assert pit.balances == before


def test_d4_a_wager_goes_back_by_the_rates_at_which_it_came() -> None:
    pit = of_the_examples("UTH-01")
    pit.deal("UTH-01", {1: 1})
    pit.change_parameters("at_once", increment_bp=5_000, reserve_bp=0)
    before = pit.balances
    pit.return_wager("UTH-01", 1)
    assert moved(before, pit.balances)["recoverable"] == 500 * 2_500
    assert moved(before, pit.balances)["reserve"] == -500 * 310
