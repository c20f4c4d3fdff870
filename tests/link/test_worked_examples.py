"""The worked examples: unit S$5, increment 25 %, reserve 3.1 %, reset S$100,000, the reserve ample.

One wager of one unit lifts the pool by S$1.25 when its round closes, so the meter is set after that.
"""

import pytest

from tests.link.link_driver import LinkDriver, of_the_examples

J = 48_000_000
RESET = 10_000_000
ONE_CONTRIBUTION = 125

ROYALS = {1: "As Ks Qs Js Ts", 2: "Ah Kh Qh Jh Th", 3: "Ad Kd Qd Jd Td"}
STRAIGHT_FLUSHES = {1: "9s 8s 7s 6s 5s", 2: "9h 8h 7h 6h 5h"}


@pytest.fixture
def pit() -> LinkDriver:
    return of_the_examples("BE-01", "UTH-01", "UTH-02")


def test_one_royal_takes_it_all_and_the_pool_is_reset(pit: LinkDriver) -> None:
    pit.deal("UTH-01")
    pit.display(J)
    pit.enter("UTH-01", 1, "Ah Kh", "Qh Jh Th")
    pit.settle("UTH-01")
    assert pit.amounts() == [("UTH-01", 1, 48_000_000)]
    assert pit.pool_cents == 10_000_000
    assert pit.reserve_cents == 100_000_000 + 15 - RESET  # 3.1 % of S$5 is 15.5 cents
    assert pit.displayed_cents == 10_000_000


def test_one_straight_flush_at_5x_is_not_multiplied(pit: LinkDriver) -> None:
    pit.deal("UTH-01", {1: 5})
    pit.display(J)
    pit.enter("UTH-01", 1, "5h 6h", "7h 8h 9h")
    pit.settle("UTH-01")
    assert pit.amounts() == [("UTH-01", 1, 4_800_000)]
    assert pit.pool_cents == 43_200_000


def test_four_of_a_kind_at_3x_is_6000_dollars_from_the_house(pit: LinkDriver) -> None:
    pit.deal("UTH-01", {1: 3})
    pit.display(J)
    before = pit.balances
    pit.enter("UTH-01", 1, "Ah Ad", "Ac As 2d")
    pit.settle("UTH-01")
    assert pit.amounts() == [("UTH-01", 1, 600_000)]
    assert pit.pool_cents == J
    assert pit.balances.house == before.house - 600_000 * 10_000


def test_two_straight_flushes_of_one_round_share_two_successive_draws(pit: LinkDriver) -> None:
    pit.deal("UTH-01", {1: 1, 2: 1})
    pit.display(J)
    pit.enter("UTH-01", 1, "5h 6h", "7h 8h 9h")
    pit.enter("UTH-01", 2, "Th Jh", "7h 8h 9h")
    pit.settle("UTH-01")
    assert pit.amounts() == [("UTH-01", 1, 4_560_000), ("UTH-01", 2, 4_560_000)]
    assert pit.pool_cents == 38_880_000


def test_two_straight_flushes_at_separate_tables_are_paid_in_order_of_entry(pit: LinkDriver) -> None:
    pit.deal("UTH-01")
    pit.deal("UTH-02")
    pit.display(J)
    pit.enter("UTH-01", 1, "5h 6h", "7h 8h 9h")
    pit.enter("UTH-02", 1, "Th Jh", "7h 8h 9h")
    pit.settle("UTH-01")
    pit.settle("UTH-02")
    assert pit.amounts() == [("UTH-01", 1, 4_800_000), ("UTH-02", 1, 4_320_000)]


def test_two_straight_flushes_at_separate_tables_even_if_the_second_entered_is_settled_first(pit: LinkDriver) -> None:
    pit.deal("UTH-01")
    pit.deal("UTH-02")
    pit.display(J)
    pit.enter("UTH-01", 1, "5h 6h", "7h 8h 9h")
    pit.enter("UTH-02", 1, "Th Jh", "7h 8h 9h")
    pit.settle("UTH-02")
    pit.settle("UTH-01")
    assert pit.amounts() == [("UTH-01", 1, 4_800_000), ("UTH-02", 1, 4_320_000)]


def test_two_royals_of_one_round_share_the_pool_and_one_reset_amount(pit: LinkDriver) -> None:
    pit.deal("BE-01", {1: 1, 2: 1})
    pit.display(J)
    for position in (1, 2):
        pit.enter("BE-01", position, ROYALS[position])
    pit.settle("BE-01")
    assert pit.amounts() == [("BE-01", 1, 29_000_000), ("BE-01", 2, 29_000_000)]
    assert pit.pool_cents == 10_000_000


def test_three_royals_share_without_odd_cents(pit: LinkDriver) -> None:
    pit.deal("BE-01", {1: 1, 2: 1, 3: 1})
    pit.display(J + 1)
    for position, cards in ROYALS.items():
        pit.enter("BE-01", position, cards)
    pit.settle("BE-01")
    assert [cents for _, _, cents in pit.amounts()] == [22_666_667] * 3
    assert pit.pool_cents == 10_000_000


def test_royal_and_straight_flush_of_one_round_pay_the_straight_flush_first(pit: LinkDriver) -> None:
    pit.deal("BE-01", {1: 1, 2: 1})
    pit.display(J)
    pit.enter("BE-01", 1, ROYALS[1])
    pit.enter("BE-01", 2, STRAIGHT_FLUSHES[2])
    pit.settle("BE-01")
    assert pit.amounts() == [("BE-01", 2, 4_800_000), ("BE-01", 1, 43_200_000)]
    assert pit.pool_cents == 10_000_000


def royal_at_a_then_straight_flush_at_b(pit: LinkDriver) -> None:
    """Between the entries #1 and #2 the table B closes 2 wagers: S$2.50; after #2 another closes one: S$1.25."""
    pit.deal("UTH-01")
    pit.display(J)
    assert pit.enter("UTH-01", 1, "Ah Kh", "Qh Jh Th") == {"rank": "royal_flush", "entry": 1}
    pit.deal("UTH-02", {1: 1, 2: 1})
    assert pit.enter("UTH-02", 1, "5h 6h", "7h 8h 9h") == {"rank": "straight_flush", "entry": 2}
    pit.deal("BE-01")
    assert pit.settle("UTH-02").result == {"awards": [], "pending": [1]}


def test_straight_flush_behind_a_royal_waits_and_is_paid_from_the_reset_pool(pit: LinkDriver) -> None:
    royal_at_a_then_straight_flush_at_b(pit)
    result = pit.settle("UTH-01").result
    assert [award["amount_cents"] for award in result["awards"]] == [48_000_000]
    base = RESET + 2 * ONE_CONTRIBUTION
    assert pit.amounts() == [("UTH-01", 1, 48_000_000), ("UTH-02", 1, base // 10)]
    assert pit.pool_cents == base - base // 10 + ONE_CONTRIBUTION


def test_straight_flush_behind_a_voided_royal_is_paid_from_the_pool_at_its_own_entry(pit: LinkDriver) -> None:
    royal_at_a_then_straight_flush_at_b(pit)
    pit.void("UTH-01")
    base = J + 2 * ONE_CONTRIBUTION
    assert pit.amounts() == [("UTH-02", 1, base // 10)]
    assert pit.pool_cents == base - base // 10 + ONE_CONTRIBUTION
