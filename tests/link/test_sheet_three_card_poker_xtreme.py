"""Megalink Three Card Poker Xtreme (TCX): every paragraph that decides something about the "Progressive Jackpot"."""

import pytest

from tests.link.link_driver import LinkDriver, of_the_examples

COMMUNITY = "9h Th"  # 6 7 8 and Jack Queen King of hearts both make a Straight Flush with it
HIGH = "Th Jh"  # Queen King Ace makes the Royal Flush, 7 8 9 a Straight Flush
J = 48_000_000


@pytest.fixture
def pit() -> LinkDriver:
    return of_the_examples("TCX-01", "TCX-02", "BE-01")


def dealt(pit: LinkDriver, wagers: dict[int, int] | None = None) -> LinkDriver:
    pit.deal("TCX-01", wagers or {1: 1, 2: 1, 3: 1})
    pit.display(J)
    return pit


def test_tcx_2_1_one_deck(pit: LinkDriver) -> None:
    dealt(pit).enter("TCX-01", 1, "6h 7h 8h", COMMUNITY)
    for cards in ("6h Kd 2c", "9h Kd 2c", "Kd Kd 2c"):
        refused = pit.refused_hand("TCX-01", 2, cards, COMMUNITY)
        assert (refused.code, refused.rule) == ("duplicate_card", "TCX 2.1")


def test_tcx_3_1_and_3_2_wagers_are_placed_between_place_your_bets_and_no_more_bets(pit: LinkDriver) -> None:
    assert pit.refused("TCX-01", "wager.placed", round="r", position=1).code == "unknown_round"
    pit.open("TCX-01", "r")
    pit.wager("TCX-01", 1)
    pit.close("TCX-01")
    assert pit.refused("TCX-01", "wager.placed", position=2).code == "bets_closed"


def test_tcx_3_4_2_one_jackpot_wager_a_position(pit: LinkDriver) -> None:
    pit.open("TCX-01")
    pit.wager("TCX-01", 1, 2)
    refused = pit.refused("TCX-01", "wager.placed", position=1, multiplier=3)
    assert (refused.code, refused.rule) == ("position_taken", "TCX 3.4.2")


@pytest.mark.parametrize("multiplier", [1, 2, 3, 4, 5])
def test_tcx_3_5_3_one_to_five_times_the_minimum(pit: LinkDriver, multiplier: int) -> None:
    pit.open("TCX-01")
    pit.accepted("TCX-01", "wager.placed", position=1, multiplier=multiplier, amount_cents=500 * multiplier)
    assert pit.close("TCX-01")["wagered_cents"] == 500 * multiplier


@pytest.mark.parametrize("multiplier", [0, 6])
def test_tcx_3_5_3_no_other_multiple(pit: LinkDriver, multiplier: int) -> None:
    pit.open("TCX-01")
    refused = pit.refused("TCX-01", "wager.placed", position=1, multiplier=multiplier)
    assert (refused.code, refused.rule) == ("bad_multiplier", "TCX 3.5.3")


@pytest.mark.parametrize(
    ("cards", "community", "odds"),
    [
        ("9d 8s 7c", "6h 5s", 20),
        ("Jh 8h 6h", "5h 2h", 40),
        ("Kc Kh Kd", "As Ah", 80),
        ("Ac Ah Ad", "As Jh", 400),
    ],
)
@pytest.mark.parametrize("multiplier", [1, 3, 4])
def test_tcx_3_5_4_straight_to_four_of_a_kind_are_multiplied(
    pit: LinkDriver, cards: str, community: str, odds: int, multiplier: int
) -> None:
    dealt(pit, {1: multiplier}).enter("TCX-01", 1, cards, community)
    pit.settle("TCX-01")
    assert pit.amounts() == [("TCX-01", 1, odds * 500 * multiplier)]
    assert ("TCX 3.5.4" in pit.awards[0].rules) == (multiplier > 1)


@pytest.mark.parametrize(("cards", "cents"), [("Qh Kh Ah", J), ("7h 8h 9h", J // 10)])
def test_tcx_3_5_4_percentages_are_not_multiplied(pit: LinkDriver, cards: str, cents: int) -> None:
    dealt(pit, {1: 5}).enter("TCX-01", 1, cards, HIGH)
    pit.settle("TCX-01")
    assert pit.amounts() == [("TCX-01", 1, cents)]


def test_tcx_3_9_1_a_fold_keeps_the_jackpot_wager(pit: LinkDriver) -> None:
    # A fold is not told to the link: the hand is entered like any other.
    dealt(pit).enter("TCX-01", 1, "9d 8s 7c", "6h 5s")
    pit.settle("TCX-01")
    assert pit.amounts() == [("TCX-01", 1, 20 * 500)]


def test_tcx_3_10_2_three_cards_and_both_community_cards_make_the_jackpot_hand(pit: LinkDriver) -> None:
    dealt(pit)
    three = pit.refused_hand("TCX-01", 1, "Qh Kh Ah", "Th Jh 2c")
    assert three.code == "wrong_card_count"  # the third is burned (3.7)
    assert pit.enter("TCX-01", 1, "Qh Kh Ah", HIGH)["rank"] == "royal_flush"
    other = pit.refused_hand("TCX-01", 2, "7c 8c 9c", "Th Jc")
    assert (other.code, other.rule) == ("community_mismatch", "TCX 3.10.2")


def test_tcx_3_10_3_cards_not_exposed_win_no_jackpot(pit: LinkDriver) -> None:
    dealt(pit)
    pit.decline("TCX-01", 1)
    refused = pit.refused_hand("TCX-01", 1, "Qh Kh Ah", HIGH)
    assert (refused.code, refused.rule) == ("hand_declined", "TCX 3.10.3")
    assert pit.settle("TCX-01").result == {"awards": [], "pending": []}


def test_tcx_3_13_every_qualifying_hand_is_paid_whatever_the_dealer_has(pit: LinkDriver) -> None:
    dealt(pit)
    pit.enter("TCX-01", 1, "9d 8s 7c", "6h 5s")
    pit.enter("TCX-01", 2, "9c 8d 7d", "6h 5s")
    pit.enter("TCX-01", 3, "6d 6s 6c", "6h 5s")
    pit.settle("TCX-01")
    assert pit.amounts() == [("TCX-01", 1, 10_000), ("TCX-01", 2, 10_000), ("TCX-01", 3, 200_000)]


def test_tcx_3_17_first_entered_is_paid_first(pit: LinkDriver) -> None:
    pit.deal("TCX-02")
    dealt(pit)
    pit.enter("TCX-02", 1, "6h 7h 8h", COMMUNITY)
    pit.enter("TCX-01", 1, "Qh Kh Ah", HIGH)
    pit.settle("TCX-01")
    pit.settle("TCX-02")
    assert pit.amounts() == [("TCX-02", 1, 4_800_000), ("TCX-01", 1, 43_200_000)]
    assert "TCX 3.17" in pit.awards[1].rules


def test_tcx_3_18_1_straight_flushes_of_one_round_share(pit: LinkDriver) -> None:
    dealt(pit, {1: 5, 2: 1})
    pit.enter("TCX-01", 1, "6h 7h 8h", COMMUNITY)
    pit.enter("TCX-01", 2, "Jh Qh Kh", COMMUNITY)
    pit.settle("TCX-01")
    assert pit.amounts() == [("TCX-01", 1, 4_560_000), ("TCX-01", 2, 4_560_000)]
    assert all({"TCX 4.4", "TCX 3.18.1"} <= set(award.rules) for award in pit.awards)


def test_tcx_3_18_2_the_royal_is_paid_after_the_lower_hands(pit: LinkDriver) -> None:
    dealt(pit)
    pit.enter("TCX-01", 1, "Qh Kh Ah", HIGH)
    pit.enter("TCX-01", 2, "7h 8h 9h", HIGH)
    pit.enter("TCX-01", 3, "2h 4h 6h", HIGH)
    pit.settle("TCX-01")
    assert pit.amounts() == [("TCX-01", 3, 40 * 500), ("TCX-01", 2, 4_800_000), ("TCX-01", 1, 43_200_000)]
    assert "TCX 3.18.2" in pit.awards[-1].rules


@pytest.mark.parametrize(
    ("cards", "community", "cents"),
    [
        ("Qh Kh Ah", HIGH, J),
        ("7h 8h 9h", HIGH, J // 10),
        ("Ac Ah Ad", "As Jh", 400 * 500),
        ("Kc Kh Kd", "As Ah", 80 * 500),
        ("Jh 8h 6h", "5h 2h", 40 * 500),
        ("9c 8d 7c", "6h 5s", 20 * 500),
    ],
)
def test_tcx_4_4_pay_table(pit: LinkDriver, cards: str, community: str, cents: int) -> None:
    dealt(pit).enter("TCX-01", 1, cards, community)
    pit.settle("TCX-01")
    assert pit.amounts() == [("TCX-01", 1, cents)]
    assert "TCX 4.4" in pit.awards[0].rules


@pytest.mark.parametrize(
    ("paragraph", "cards", "community", "rank"),
    [
        ("4.4.1.1", "Ad Kd Qd", "Jd Td", "royal_flush"),
        ("4.4.1.2", "Jc Tc 9c", "8c 7c", "straight_flush"),
        ("4.4.1.3", "Ac Ah Ad", "As Jh", "four_of_a_kind"),
        ("4.4.1.4", "Kc Kh Ks", "As Ah", "full_house"),
        ("4.4.1.5", "Jh 8h 6h", "5h 2h", "flush"),
        ("4.4.1.6", "9c 8d 7c", "6h 5s", "straight"),
        ("4.4.1.6", "Ac 2d 3c", "4h 5s", "straight"),
        ("4.4.1.6", "Ac Kd Qc", "Jh Ts", "straight"),
        ("4.4.1", "8h 7h 6h", "2c 3d", "none"),  # three suited in a row are a Straight Flush of 3.14 only
        ("4.4.1", "Ts Th Tc", "2c 3d", "none"),
    ],
)
def test_tcx_4_4_1_jackpot_hands(pit: LinkDriver, paragraph: str, cards: str, community: str, rank: str) -> None:
    assert dealt(pit).enter("TCX-01", 1, cards, community)["rank"] == rank, paragraph


@pytest.mark.parametrize("paragraph", ["5.1.1", "5.2", "5.3", "5.4", "5.8"])
def test_tcx_5_1_to_5_4_and_5_8_a_void_round_gives_every_wager_back(pit: LinkDriver, paragraph: str) -> None:
    dealt(pit, {1: 5, 2: 2}).enter("TCX-01", 1, "Qh Kh Ah", HIGH)
    assert pit.void("TCX-01", paragraph).result == {"returned_cents": 3_500}
    assert (pit.amounts(), pit.pending, pit.displayed_cents) == ([], [], J)


def test_tcx_5_1_2_all_outcomes_of_the_previous_rounds_stand(pit: LinkDriver) -> None:
    dealt(pit).enter("TCX-01", 1, "7h 8h 9h", HIGH)
    pit.settle("TCX-01")
    paid = pit.balances.awarded
    pit.deal("TCX-01")
    pit.void("TCX-01")
    assert pit.balances.awarded == paid


def test_tcx_5_5_a_late_wager_is_refused(pit: LinkDriver) -> None:
    refused = dealt(pit).refused("TCX-01", "wager.placed", position=7)
    assert (refused.code, refused.rule) == ("bets_closed", "TCX 5.5")


def test_tcx_5_6_a_withdrawn_wager_is_won_or_lost_by_the_outcome(pit: LinkDriver) -> None:
    refused = dealt(pit).refused("TCX-01", "wager.cancelled", position=1)
    assert (refused.code, refused.rule) == ("bets_closed", "TCX 5.6")
    pit.enter("TCX-01", 1, "7h 8h 9h", HIGH)
    pit.settle("TCX-01")
    assert pit.amounts() == [("TCX-01", 1, 4_800_000)]


@pytest.mark.parametrize("paragraph", ["5.7", "5.7.1", "5.9", "5.10.1", "5.10.2", "5.10.3", "5.11", "5.12.2", "5.16.1"])
def test_tcx_5_7_to_5_16_a_wager_returned_takes_its_hand_along(pit: LinkDriver, paragraph: str) -> None:
    dealt(pit, {1: 5, 2: 1}).enter("TCX-01", 1, "Qh Kh Ah", HIGH)
    pit.enter("TCX-01", 2, "7h 8h 9h", HIGH)
    assert pit.return_wager("TCX-01", 1, paragraph).result == {"returned_cents": 2_500}
    pit.settle("TCX-01")
    assert pit.amounts() == [("TCX-01", 2, 4_800_000)]


def test_tcx_5_12_1_before_no_more_bets_the_jackpot_wager_can_be_cancelled(pit: LinkDriver) -> None:
    pit.open("TCX-01")
    pit.wager("TCX-01", 1, 5)
    pit.accepted("TCX-01", "wager.cancelled", position=1)
    assert pit.refused("TCX-01", "wager.cancelled", position=1).code == "no_wager"
    assert pit.close("TCX-01")["wagered_cents"] == 0


def test_tcx_5_12_2_before_no_more_bets_there_is_nothing_to_return(pit: LinkDriver) -> None:
    pit.open("TCX-01")
    pit.wager("TCX-01", 1)
    assert pit.refused("TCX-01", "wager.returned", position=1, reason="5.12.2").code == "round_not_closed"


def test_tcx_5_16_1_the_round_is_concluded_when_players_have_withdrawn(pit: LinkDriver) -> None:
    dealt(pit, {1: 1})
    pit.return_wager("TCX-01", 1, "5.16.1")
    assert pit.settle("TCX-01").result == {"awards": [], "pending": []}
    pit.open("TCX-01")


def test_tcx_appendix_the_layout_has_positions_1_to_7(pit: LinkDriver) -> None:
    pit.open("TCX-01")
    pit.wager("TCX-01", 7)
    for position in (0, 8):
        assert pit.refused("TCX-01", "wager.placed", position=position).code == "bad_position"
