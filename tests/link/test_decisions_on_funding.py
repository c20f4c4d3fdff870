"""D11, D12, D14, D15: who pays for resets and fixed awards, and what bounds the pool."""

import pytest

from jackpot.link.commands import CommandRefusedError
from tests.link.link_driver import LinkDriver, moved, of_the_examples

CENT = 10_000  # micros

ROYAL = "As Ks Qs Js Ts"
STRAIGHT_FLUSH = "9s 8s 7s 6s 5s"


# D11: a reset is funded from the reserve first, the house pays the shortfall.


@pytest.mark.parametrize(
    ("reserve_cents", "from_reserve"),
    [(20_000_000, 10_000_000), (10_000_000, 10_000_000), (4_000_000, 4_000_000), (0, 0)],
)
def test_d11_reset_takes_the_reserve_first_and_the_house_for_the_rest(reserve_cents: int, from_reserve: int) -> None:
    pit = LinkDriver("BE-01", reserve_bp=0)
    pit.deal("BE-01")
    pit.hold_reserve(reserve_cents)
    pit.display(48_000_000)
    before = pit.balances
    pit.enter("BE-01", 1, ROYAL)
    pit.settle("BE-01")
    expected = {
        "pool": -38_000_000 * CENT,
        "reserve": -from_reserve * CENT,
        "house": -(10_000_000 - from_reserve) * CENT,
        "awarded": 48_000_000 * CENT,
    }
    assert moved(before, pit.balances) == {account: micros for account, micros in expected.items() if micros}


def test_d11_a_part_of_a_cent_in_the_reserve_is_used_too() -> None:
    pit = of_the_examples("BE-01")
    pit.deal("BE-01")  # leaves half a cent in the reserve
    pit.hold_reserve(100)
    assert pit.balances.reserve == 100 * CENT + 5_000
    pit.enter("BE-01", 1, ROYAL)
    pit.settle("BE-01")
    assert pit.balances.reserve == 0


# D12: fixed awards are the house's, for 1, multiplied; the stake is not returned as well.


@pytest.mark.parametrize(
    ("cards", "rank", "odds"),
    [
        ("Ah Ad", "four_of_a_kind", 400),
        ("Kh Kd", "full_house", 80),
    ],
)
@pytest.mark.parametrize("multiplier", [1, 2, 3, 4, 5])
def test_d12_fixed_award_is_odds_times_unit_times_multiplier(cards: str, rank: str, odds: int, multiplier: int) -> None:
    pit = of_the_examples("UTH-01")
    pit.deal("UTH-01", {1: multiplier})
    flop = "Ac As 2d" if rank == "four_of_a_kind" else "Kc 2d 2s"
    before = pit.balances
    assert pit.enter("UTH-01", 1, cards, flop)["rank"] == rank
    (award,) = pit.settle("UTH-01").result["awards"]
    cents = odds * 500 * multiplier
    assert award == {
        "award": "megalink-000001",
        "link": "megalink",
        "table": "UTH-01",
        "round": award["round"],
        "position": 1,
        "entry": 1,
        "rank": rank,
        "kind": "fixed",
        "amount_cents": cents,
        "base_cents": None,
        "shared_by": 1,
        "multiplier": multiplier,
        "rules": award["rules"],
        "decisions": ["D12"],
        "at": award["at"],
    }
    assert "UTH 4.2" in award["rules"]
    assert moved(before, pit.balances) == {"house": -cents * CENT, "awarded": cents * CENT}


def test_d12_percentage_awards_are_never_multiplied() -> None:
    by_multiplier = []
    for multiplier in (1, 2, 3, 4, 5):
        pit = of_the_examples("TCX-01")
        pit.deal("TCX-01", {1: multiplier})
        pit.display(48_000_000)
        pit.enter("TCX-01", 1, "Qh Kh Ah", "Th Jh")
        pit.settle("TCX-01")
        by_multiplier.append(pit.amounts())
    assert by_multiplier == [[("TCX-01", 1, 48_000_000)]] * 5


# D14: what would lift the pool above the ceiling goes to the reserve.


def with_ceiling(*, above_pool_cents: int) -> LinkDriver:
    return of_the_examples("UTH-01", "BE-01", ceiling_cents=10_000_000 + above_pool_cents)


def test_d14_the_pool_stops_at_the_ceiling_and_the_rest_goes_to_the_reserve() -> None:
    pit = with_ceiling(above_pool_cents=100)
    before = pit.balances
    result = pit.deal("UTH-01", {1: 1})
    assert pit.displayed_cents == 10_000_100
    assert moved(before, pit.balances) == {
        "wagered": 500 * CENT,
        "pool": 100 * CENT,
        "reserve": 25 * CENT + 155_000,
        "house": 500 * CENT - 125 * CENT - 155_000,
    }
    assert result["contributed_micros"] == 125 * CENT


def test_d14_at_the_ceiling_everything_goes_to_the_reserve() -> None:
    pit = with_ceiling(above_pool_cents=0)
    before = pit.balances
    pit.deal("UTH-01", {1: 5})
    assert "pool" not in moved(before, pit.balances)
    assert moved(before, pit.balances)["reserve"] == 2_500 * (2_500 + 310)


def test_d14_a_contribution_first_repays_recoverable_then_lifts_the_pool_then_feeds_the_reserve() -> None:
    pit = with_ceiling(above_pool_cents=325)
    pit.deal("UTH-01", {1: 1, 2: 1})  # pool + 250
    pit.return_wager("UTH-01", 1)  # recoverable 125
    before = pit.balances
    pit.deal("BE-01", {1: 1, 2: 1, 3: 1, 4: 1})  # 500: repays 125, lifts 75, reserve 300
    assert moved(before, pit.balances)["recoverable"] == -125 * CENT
    assert moved(before, pit.balances)["pool"] == 75 * CENT
    assert moved(before, pit.balances)["reserve"] == 300 * CENT + 2_000 * 310


def test_d14_a_wager_given_back_is_recoverable_in_full_though_the_reserve_had_it() -> None:
    pit = with_ceiling(above_pool_cents=0)
    pit.deal("UTH-01", {1: 1})  # all 125 went to the reserve
    before = pit.balances
    pit.return_wager("UTH-01", 1)
    assert moved(before, pit.balances)["recoverable"] == 125 * CENT
    assert moved(before, pit.balances)["reserve"] == -155_000


def test_d14_binds_contributions_only() -> None:
    pit = with_ceiling(above_pool_cents=0)
    pit.deal("UTH-01", {1: 1, 2: 1})
    pit.display(10_000_500)  # an adjustment lifts the pool above it
    before = pit.balances
    pit.deal("BE-01")
    assert "pool" not in moved(before, pit.balances)  # nothing more is let in, nothing is taken out
    pit.enter("BE-01", 1, ROYAL)
    pit.settle("BE-01")
    assert pit.amounts() == [("BE-01", 1, 10_000_500)]
    assert pit.displayed_cents == 10_000_000  # a reset reaches the ceiling


def test_d14_a_reset_may_lift_the_pool_above_the_ceiling() -> None:
    pit = with_ceiling(above_pool_cents=0)
    pit.deal("UTH-01")
    pit.display(9_000_000)
    pit.enter("UTH-01", 1, "Ah Kh", "Qh Jh Th")
    pit.deal("BE-01")  # 125 after the entry feed the next jackpot
    pit.settle("UTH-01")
    assert pit.amounts() == [("UTH-01", 1, 9_000_000)]
    assert pit.displayed_cents == 10_000_125


def test_d14_a_ceiling_below_the_reset_amount_is_no_parameter() -> None:
    with pytest.raises(CommandRefusedError, match="ceiling_cents"):
        LinkDriver("BE-01", ceiling_cents=9_999_999)
    assert LinkDriver("BE-01", ceiling_cents=10_000_000).displayed_cents == 10_000_000


# D15: a Straight Flush may take the pool below the reset amount.


def test_d15_a_straight_flush_takes_the_pool_below_the_reset_amount_and_it_is_not_topped_up() -> None:
    pit = of_the_examples("BE-01")
    pit.deal("BE-01")
    pit.display(10_000_000)
    before = pit.balances
    pit.enter("BE-01", 1, STRAIGHT_FLUSH)
    pit.settle("BE-01")
    assert pit.displayed_cents == 9_000_000
    assert moved(before, pit.balances) == {"pool": -1_000_000 * CENT, "awarded": 1_000_000 * CENT}
