"""Megalink Ultimate Texas Hold'em (UTH): every paragraph that decides something about the "Progressive Jackpot"."""

import pytest

from tests.link.link_driver import LinkDriver, of_the_examples

FLOP = "7h 8h 9h"  # 5 6 and Ten Jack of hearts both make a Straight Flush with it
HIGH_FLOP = "Qh Jh Th"  # Ace King makes the Royal Flush, 8 9 a Straight Flush
J = 48_000_000


@pytest.fixture
def pit() -> LinkDriver:
    return of_the_examples("UTH-01", "UTH-02", "BE-01")


def dealt(pit: LinkDriver, wagers: dict[int, int] | None = None) -> LinkDriver:
    pit.deal("UTH-01", wagers or {1: 1, 2: 1, 3: 1})
    pit.display(J)
    return pit


def test_uth_1_1_10_the_jackpot_wager_is_independent_of_fold_and_of_the_dealers_hand(pit: LinkDriver) -> None:
    # Neither a fold nor the dealer's hand is told to the link: the cards alone decide.
    dealt(pit).enter("UTH-01", 1, "Kh Kd", "Ks 2c 2d")
    pit.settle("UTH-01")
    assert pit.amounts() == [("UTH-01", 1, 80 * 500)]


def test_uth_2_1_one_deck(pit: LinkDriver) -> None:
    dealt(pit).enter("UTH-01", 1, "5h 6h", FLOP)
    for cards in ("5h Kd", "7h Kd", "Kd Kd"):
        refused = pit.refused_hand("UTH-01", 2, cards, FLOP)
        assert (refused.code, refused.rule) == ("duplicate_card", "UTH 2.1")


def test_uth_3_1_and_3_2_wagers_are_placed_between_place_your_bets_and_no_more_bets(pit: LinkDriver) -> None:
    assert pit.refused("UTH-01", "wager.placed", round="r", position=1).code == "unknown_round"
    pit.open("UTH-01", "r")
    pit.wager("UTH-01", 1)
    pit.close("UTH-01")
    assert pit.refused("UTH-01", "wager.placed", position=2).code == "bets_closed"


def test_uth_3_3_1_2_an_ace_counts_as_one_below_a_five_high_run(pit: LinkDriver) -> None:
    dealt(pit)
    assert pit.enter("UTH-01", 1, "Ah 2h", "3h 4h 5h")["rank"] == "straight_flush"
    assert pit.enter("UTH-01", 2, "Ac 2c", "3h 4h 5h")["rank"] == "straight"


def test_uth_3_4_2_one_jackpot_wager_a_position(pit: LinkDriver) -> None:
    pit.open("UTH-01")
    pit.wager("UTH-01", 1, 2)
    refused = pit.refused("UTH-01", "wager.placed", position=1, multiplier=3)
    assert (refused.code, refused.rule) == ("position_taken", "UTH 3.4.2")


@pytest.mark.parametrize("multiplier", [1, 2, 3, 4, 5])
def test_uth_3_5_3_one_to_five_times_the_minimum(pit: LinkDriver, multiplier: int) -> None:
    pit.open("UTH-01")
    pit.accepted("UTH-01", "wager.placed", position=1, multiplier=multiplier, amount_cents=500 * multiplier)
    assert pit.close("UTH-01")["wagered_cents"] == 500 * multiplier


@pytest.mark.parametrize("multiplier", [0, 6, -1, 100])
def test_uth_3_5_3_no_other_multiple(pit: LinkDriver, multiplier: int) -> None:
    pit.open("UTH-01")
    refused = pit.refused("UTH-01", "wager.placed", position=1, multiplier=multiplier)
    assert (refused.code, refused.rule) == ("bad_multiplier", "UTH 3.5.3")


@pytest.mark.parametrize(
    ("cards", "flop", "odds"),
    [("9d 8s", "7c 6h 5s", 20), ("Jh 8h", "6h 5h 2h", 40), ("Kc Kh", "Kd As Ah", 80), ("Ac Ah", "Ad As Jh", 400)],
)
@pytest.mark.parametrize("multiplier", [1, 2, 5])
def test_uth_3_5_4_straight_to_four_of_a_kind_are_multiplied(
    pit: LinkDriver, cards: str, flop: str, odds: int, multiplier: int
) -> None:
    dealt(pit, {1: multiplier}).enter("UTH-01", 1, cards, flop)
    pit.settle("UTH-01")
    assert pit.amounts() == [("UTH-01", 1, odds * 500 * multiplier)]
    assert ("UTH 3.5.4" in pit.awards[0].rules) == (multiplier > 1)


@pytest.mark.parametrize(("cards", "cents"), [("Ah Kh", J), ("8h 9h", J // 10)])
def test_uth_3_5_4_percentages_are_not_multiplied(pit: LinkDriver, cards: str, cents: int) -> None:
    dealt(pit, {1: 5}).enter("UTH-01", 1, cards, HIGH_FLOP)
    pit.settle("UTH-01")
    assert pit.amounts() == [("UTH-01", 1, cents)]
    assert pit.awards[0].multiplier == 5


def test_uth_3_9_3_the_flop_and_the_hole_cards_make_the_jackpot_hand(pit: LinkDriver) -> None:
    dealt(pit)
    five = pit.refused_hand("UTH-01", 1, "Ah Kh", "Qh Jh Th 2c 3d")  # turn and river play no part
    assert five.code == "wrong_card_count"
    assert pit.enter("UTH-01", 1, "Ah Kh", HIGH_FLOP)["rank"] == "royal_flush"
    other = pit.refused_hand("UTH-01", 2, "8c 9c", "Qh Jh 2c")
    assert (other.code, other.rule) == ("community_mismatch", "UTH 3.9.3")


def test_uth_3_10_1_hole_cards_not_exposed_win_no_jackpot(pit: LinkDriver) -> None:
    dealt(pit)
    pit.decline("UTH-01", 1)
    refused = pit.refused_hand("UTH-01", 1, "Ah Kh", HIGH_FLOP)
    assert (refused.code, refused.rule) == ("hand_declined", "UTH 3.10.1")
    assert pit.settle("UTH-01").result == {"awards": [], "pending": []}


def test_uth_3_10_6_a_straight_or_better_wins_and_less_does_not(pit: LinkDriver) -> None:
    dealt(pit)
    assert pit.enter("UTH-01", 1, "9d 8s", "7c 6h 5s")["rank"] == "straight"
    assert pit.enter("UTH-01", 2, "7d 7s", "7c 6h 5s")["rank"] == "none"
    assert pit.enter("UTH-01", 3, "6d 5d", "7c 6h 5s")["rank"] == "none"
    pit.settle("UTH-01")
    assert pit.amounts() == [("UTH-01", 1, 20 * 500)]


@pytest.mark.parametrize(
    ("paragraph", "cards", "flop", "rank"),
    [
        ("3.11.1", "Ad Kd", "Qd Jd Td", "royal_flush"),
        ("3.11.2", "Jc Tc", "9c 8c 7c", "straight_flush"),
        ("3.11.3", "Ac Ah", "Ad As Jh", "four_of_a_kind"),
        ("3.11.4", "Kc Kh", "Kd As Ah", "full_house"),
        ("3.11.5", "Jh 8h", "6h 5h 2h", "flush"),
        ("3.11.6", "9c 8d", "7c 6h 5s", "straight"),
        ("3.11.6", "Ac 2d", "3c 4h 5s", "straight"),
        ("3.11.6", "Ac Kd", "Qc Jh Ts", "straight"),
        ("3.11.7", "Ts Th", "Tc 6h 3d", "none"),
        ("3.11.8", "Qc Qh", "6c 6h 3d", "none"),
        ("3.11.9", "Ac Ah", "8d 6h 5s", "none"),
        ("3.11.10", "Qc Th", "6d 5s 2h", "none"),
    ],
)
def test_uth_3_11_order_of_hands(pit: LinkDriver, paragraph: str, cards: str, flop: str, rank: str) -> None:
    assert dealt(pit).enter("UTH-01", 1, cards, flop)["rank"] == rank, paragraph


def test_uth_3_14_first_entered_is_paid_first(pit: LinkDriver) -> None:
    pit.deal("UTH-02")
    dealt(pit)
    pit.enter("UTH-02", 1, "5h 6h", FLOP)
    pit.enter("UTH-01", 1, "Ah Kh", HIGH_FLOP)
    pit.settle("UTH-01")
    pit.settle("UTH-02")
    assert pit.amounts() == [("UTH-02", 1, 4_800_000), ("UTH-01", 1, 43_200_000)]
    assert "UTH 3.14" in pit.awards[1].rules


def test_uth_3_15_1_straight_flushes_of_one_round_share(pit: LinkDriver) -> None:
    dealt(pit, {1: 5, 2: 1})
    pit.enter("UTH-01", 1, "5h 6h", FLOP)
    pit.enter("UTH-01", 2, "Th Jh", FLOP)
    pit.settle("UTH-01")
    assert pit.amounts() == [("UTH-01", 1, 4_560_000), ("UTH-01", 2, 4_560_000)]
    assert all({"UTH 4.2", "UTH 3.15.1"} <= set(award.rules) for award in pit.awards)


def test_uth_3_15_1_by_the_reset_amount_where_the_link_is_set_so(pit: LinkDriver) -> None:
    pit.change_parameters("at_once", shared_straight_flush="reset_amount")
    dealt(pit)
    pit.enter("UTH-01", 1, "5h 6h", FLOP)
    pit.enter("UTH-01", 2, "Th Jh", FLOP)
    pit.settle("UTH-01")
    assert pit.amounts() == [("UTH-01", 1, 2_900_000), ("UTH-01", 2, 2_900_000)]


def test_uth_3_15_2_the_royal_is_paid_after_the_lower_hands(pit: LinkDriver) -> None:
    dealt(pit, {1: 1, 2: 1, 3: 4})
    pit.enter("UTH-01", 1, "Ah Kh", HIGH_FLOP)
    pit.enter("UTH-01", 2, "8h 9h", HIGH_FLOP)
    pit.enter("UTH-01", 3, "Ac Kc", HIGH_FLOP)
    pit.settle("UTH-01")
    assert pit.amounts() == [("UTH-01", 3, 20 * 500 * 4), ("UTH-01", 2, 4_800_000), ("UTH-01", 1, 43_200_000)]
    assert "UTH 3.15.2" in pit.awards[-1].rules


@pytest.mark.parametrize(
    ("cards", "flop", "cents"),
    [
        ("Ah Kh", HIGH_FLOP, J),
        ("8h 9h", HIGH_FLOP, J // 10),
        ("Ac Ah", "Ad As Jh", 400 * 500),
        ("Kc Kh", "Kd As Ah", 80 * 500),
        ("Jh 8h", "6h 5h 2h", 40 * 500),
        ("9c 8d", "7c 6h 5s", 20 * 500),
    ],
)
def test_uth_4_2_pay_table(pit: LinkDriver, cards: str, flop: str, cents: int) -> None:
    dealt(pit).enter("UTH-01", 1, cards, flop)
    pit.settle("UTH-01")
    assert pit.amounts() == [("UTH-01", 1, cents)]
    assert "UTH 4.2" in pit.awards[0].rules


@pytest.mark.parametrize("paragraph", ["5.1.1", "5.2", "5.3", "5.4", "5.8"])
def test_uth_5_1_to_5_4_and_5_8_a_void_round_gives_every_wager_back(pit: LinkDriver, paragraph: str) -> None:
    dealt(pit, {1: 5, 2: 2}).enter("UTH-01", 1, "Ah Kh", HIGH_FLOP)
    assert pit.void("UTH-01", paragraph).result == {"returned_cents": 3_500}
    assert (pit.amounts(), pit.pending, pit.displayed_cents) == ([], [], J)


def test_uth_5_1_2_all_outcomes_of_the_previous_rounds_stand(pit: LinkDriver) -> None:
    dealt(pit).enter("UTH-01", 1, "Ah Kh", HIGH_FLOP)
    pit.settle("UTH-01")
    paid = pit.balances.awarded
    pit.deal("UTH-01")
    pit.void("UTH-01")
    assert pit.balances.awarded == paid


def test_uth_5_5_a_late_wager_is_refused(pit: LinkDriver) -> None:
    refused = dealt(pit).refused("UTH-01", "wager.placed", position=7)
    assert (refused.code, refused.rule) == ("bets_closed", "UTH 5.5")


def test_uth_5_5_a_wager_cannot_be_increased_either(pit: LinkDriver) -> None:
    refused = dealt(pit).refused("UTH-01", "wager.placed", position=1, multiplier=5)
    assert (refused.code, refused.rule) == ("bets_closed", "UTH 5.5")


def test_uth_5_6_a_withdrawn_wager_is_won_or_lost_by_the_outcome(pit: LinkDriver) -> None:
    refused = dealt(pit).refused("UTH-01", "wager.cancelled", position=1)
    assert (refused.code, refused.rule) == ("bets_closed", "UTH 5.6")
    pit.enter("UTH-01", 1, "8h 9h", HIGH_FLOP)
    pit.settle("UTH-01")
    assert pit.amounts() == [("UTH-01", 1, 4_800_000)]


@pytest.mark.parametrize("paragraph", ["5.7", "5.7.1", "5.9", "5.10.1", "5.10.2", "5.10.3", "5.11", "5.12.2", "5.16.1"])
def test_uth_5_7_to_5_16_a_wager_returned_takes_its_hand_along(pit: LinkDriver, paragraph: str) -> None:
    dealt(pit, {1: 5, 2: 1}).enter("UTH-01", 1, "Ah Kh", HIGH_FLOP)
    pit.enter("UTH-01", 2, "8h 9h", HIGH_FLOP)
    assert pit.return_wager("UTH-01", 1, paragraph).result == {"returned_cents": 2_500}
    pit.settle("UTH-01")
    assert pit.amounts() == [("UTH-01", 2, 4_800_000)]


def test_uth_5_12_1_before_no_more_bets_the_jackpot_wager_can_be_cancelled_and_placed_again(pit: LinkDriver) -> None:
    pit.open("UTH-01")
    pit.wager("UTH-01", 1, 5)
    pit.accepted("UTH-01", "wager.cancelled", position=1)
    pit.wager("UTH-01", 1, 2)
    assert pit.close("UTH-01")["wagered_cents"] == 1_000


def test_uth_5_12_2_before_no_more_bets_there_is_nothing_to_return(pit: LinkDriver) -> None:
    pit.open("UTH-01")
    pit.wager("UTH-01", 1)
    assert pit.refused("UTH-01", "wager.returned", position=1, reason="5.12.2").code == "round_not_closed"


def test_uth_5_16_1_the_round_is_concluded_when_players_have_withdrawn(pit: LinkDriver) -> None:
    dealt(pit, {1: 1})
    pit.return_wager("UTH-01", 1, "5.16.1")
    assert pit.settle("UTH-01").result == {"awards": [], "pending": []}
    pit.open("UTH-01")


def test_uth_appendix_the_layout_has_positions_1_to_7(pit: LinkDriver) -> None:
    pit.open("UTH-01")
    pit.wager("UTH-01", 7)
    for position in (0, 8):
        assert pit.refused("UTH-01", "wager.placed", position=position).code == "bad_position"
