"""Megalink Bullseye (BE): every paragraph that decides something about the "Progressive Jackpot" wager."""

import pytest

from tests.link.link_driver import LinkDriver, of_the_examples

ROYAL_S, ROYAL_H = "As Ks Qs Js Ts", "Ah Kh Qh Jh Th"
FLUSH_S, FLUSH_H = "9s 8s 7s 6s 5s", "9h 8h 7h 6h 5h"
J = 48_000_000


@pytest.fixture
def pit() -> LinkDriver:
    return of_the_examples("BE-01", "BE-02", "UTH-01")


def dealt(pit: LinkDriver, *positions: int, table: str = "BE-01") -> LinkDriver:
    pit.deal(table, dict.fromkeys(positions or (1, 2, 3), 1))
    pit.display(J)
    return pit


@pytest.mark.parametrize(
    ("cards", "rank"),
    [
        ("2h 3h 4h 5h 3d", "none"),  # were the second 3 a 6, it would be a Straight
        ("3h 3d 3c 6s 6h", "full_house"),  # not five of a kind of anything
        ("3h 3d 6c 6s 2h", "none"),  # two pairs, not Four of a Kind
        ("4h 5h 6h 7h 3h", "straight_flush"),
        ("4h 5h 6h 7h 6d", "none"),
    ],
)
def test_be_1_1_10_three_and_six_are_not_interchangeable_for_the_jackpot(
    pit: LinkDriver, cards: str, rank: str
) -> None:
    assert dealt(pit).enter("BE-01", 1, cards)["rank"] == rank


def test_be_2_1_one_deck(pit: LinkDriver) -> None:
    dealt(pit).enter("BE-01", 1, ROYAL_S)
    refused = pit.refused_hand("BE-01", 2, ROYAL_S)
    assert (refused.code, refused.rule) == ("duplicate_card", "BE 2.1")


def test_be_3_1_no_wager_before_place_your_bets_please(pit: LinkDriver) -> None:
    assert pit.refused("BE-01", "wager.placed", round="r", position=1).code == "unknown_round"
    pit.open("BE-01", "r")
    pit.wager("BE-01", 1)


def test_be_3_2_no_more_bets_closes_the_bets(pit: LinkDriver) -> None:
    pit.open("BE-01")
    pit.wager("BE-01", 1)
    assert pit.close("BE-01")["wagers"] == 1
    assert pit.refused("BE-01", "wager.placed", position=2).code == "bets_closed"


@pytest.mark.parametrize(("cards", "rank"), [("3h 3d 3c 3s 6h", "four_of_a_kind"), ("6h 6d 6c 3s 3h", "full_house")])
def test_be_3_4_2_2_three_and_six_count_at_face_value(pit: LinkDriver, cards: str, rank: str) -> None:
    assert dealt(pit).enter("BE-01", 1, cards)["rank"] == rank


def test_be_3_5_2_one_jackpot_wager_a_position(pit: LinkDriver) -> None:
    pit.open("BE-01")
    pit.wager("BE-01", 1)
    refused = pit.refused("BE-01", "wager.placed", position=1)
    assert (refused.code, refused.rule) == ("position_taken", "BE 3.5.2")


def test_be_3_6_the_jackpot_wager_is_optional_and_without_it_there_is_no_jackpot(pit: LinkDriver) -> None:
    dealt(pit, 1)
    refused = pit.refused_hand("BE-01", 2, ROYAL_S)
    assert refused.code == "no_wager"


def test_be_3_6_3_the_wager_is_one_unit_only(pit: LinkDriver) -> None:
    pit.open("BE-01")
    for multiplier in (0, 2, 5):
        refused = pit.refused("BE-01", "wager.placed", position=1, multiplier=multiplier)
        assert (refused.code, refused.rule) == ("bad_multiplier", None)
    pit.accepted("BE-01", "wager.placed", position=1, multiplier=1, amount_cents=500)


def test_be_3_10_3_all_five_cards_of_the_position_make_the_jackpot_hand(pit: LinkDriver) -> None:
    dealt(pit)
    refused = pit.refused_hand("BE-01", 1, "As Ks Qs", "Js Ts")
    assert refused.code == "wrong_card_count"
    assert pit.enter("BE-01", 1, ROYAL_S)["rank"] == "royal_flush"


def test_be_3_10_4_a_hand_that_forms_no_three_card_hand_still_wins_the_jackpot(pit: LinkDriver) -> None:
    # No three of 2 2 2 2 4 total 10, 20 or 30.
    dealt(pit).enter("BE-01", 1, "2h 2d 2c 2s 4h")
    pit.settle("BE-01")
    assert pit.amounts() == [("BE-01", 1, 400 * 500)]


@pytest.mark.parametrize("cards", ["Ad Kd Qd Jd Td", "Td Jd Qd Kd Ad"])
def test_be_3_16_1_royal_flush(pit: LinkDriver, cards: str) -> None:
    assert dealt(pit).enter("BE-01", 1, cards)["rank"] == "royal_flush"


@pytest.mark.parametrize("cards", ["Jc Tc 9c 8c 7c", "Kc Qc Jc Tc 9c", "5c 4c 3c 2c Ac"])
def test_be_3_16_2_straight_flush(pit: LinkDriver, cards: str) -> None:
    assert dealt(pit).enter("BE-01", 1, cards)["rank"] == "straight_flush"


def test_be_3_16_3_four_of_a_kind(pit: LinkDriver) -> None:
    assert dealt(pit).enter("BE-01", 1, "Ac Ah Ad As Jh")["rank"] == "four_of_a_kind"


def test_be_3_16_4_full_house(pit: LinkDriver) -> None:
    assert dealt(pit).enter("BE-01", 1, "Kc Kh Kd As Ah")["rank"] == "full_house"


def test_be_3_16_5_flush(pit: LinkDriver) -> None:
    assert dealt(pit).enter("BE-01", 1, "Jh 8h 6h 5h 2h")["rank"] == "flush"


def test_be_3_17_a_hand_not_exposed_has_no_jackpot_and_is_settled(pit: LinkDriver) -> None:
    dealt(pit)
    pit.decline("BE-01", 1)
    for type_, fields in (
        ("hand.entered", {"cards": ROYAL_S.split(), "community": []}),
        ("hand.withdrawn", {"reason": "changed his mind"}),
        ("hand.declined", {}),
    ):
        refused = pit.refused("BE-01", type_, position=1, **fields)
        assert (refused.code, refused.rule) == ("hand_declined", "BE 3.17")
    assert pit.settle("BE-01").result == {"awards": [], "pending": []}


def test_be_3_19_first_entered_is_paid_first(pit: LinkDriver) -> None:
    pit.deal("BE-02")
    dealt(pit, 1)
    pit.enter("BE-02", 1, ROYAL_S)
    pit.enter("BE-01", 1, ROYAL_S)
    pit.settle("BE-01")
    pit.settle("BE-02")
    assert pit.amounts() == [("BE-02", 1, J), ("BE-01", 1, 10_000_000)]
    assert "BE 3.19" in pit.awards[1].rules


def test_be_3_20_1_royals_of_one_round_share_the_displayed_and_the_reset_amounts(pit: LinkDriver) -> None:
    dealt(pit)
    pit.enter("BE-01", 1, ROYAL_S)
    pit.enter("BE-01", 2, ROYAL_H)
    pit.settle("BE-01")
    assert pit.amounts() == [("BE-01", 1, 29_000_000), ("BE-01", 2, 29_000_000)]
    assert all({"BE 4.5", "BE 3.20.1"} <= set(award.rules) for award in pit.awards)


def test_be_3_20_2_straight_flushes_of_one_round_share(pit: LinkDriver) -> None:
    dealt(pit)
    pit.enter("BE-01", 1, FLUSH_S)
    pit.enter("BE-01", 2, FLUSH_H)
    pit.settle("BE-01")
    assert pit.amounts() == [("BE-01", 1, 4_560_000), ("BE-01", 2, 4_560_000)]
    assert all({"BE 4.5", "BE 3.20.2"} <= set(award.rules) for award in pit.awards)


def test_be_3_20_2_a_lower_rank_shares_nothing(pit: LinkDriver) -> None:
    dealt(pit)
    pit.enter("BE-01", 1, "2c 4c 6c 8c Tc")
    pit.enter("BE-01", 2, "2d 4d 6d 8d Td")
    pit.settle("BE-01")
    assert pit.amounts() == [("BE-01", 1, 40 * 500), ("BE-01", 2, 40 * 500)]
    assert [award.shared_by for award in pit.awards] == [1, 1]


def test_be_3_20_3_the_royal_is_paid_after_the_lower_hands(pit: LinkDriver) -> None:
    dealt(pit)
    pit.enter("BE-01", 1, ROYAL_S)
    pit.enter("BE-01", 2, FLUSH_H)
    pit.enter("BE-01", 3, "2c 4c 6c 8c Tc")
    pit.settle("BE-01")
    assert pit.amounts() == [("BE-01", 3, 20_000), ("BE-01", 2, 4_800_000), ("BE-01", 1, 43_200_000)]
    assert "BE 3.20.3" in pit.awards[-1].rules


@pytest.mark.parametrize(
    ("cards", "cents"),
    [
        (ROYAL_S, J),
        (FLUSH_S, J // 10),
        ("Ac Ah Ad As Jh", 400 * 500),
        ("Kc Kh Kd As Ah", 80 * 500),
        ("Jh 8h 6h 5h 2h", 40 * 500),
        ("9c 8d 7c 6h 5s", 20 * 500),  # not in 3.16, but in 4.5: it pays
        ("Ac 2d 3c 4h 5s", 20 * 500),
        ("Kc Kh Kd Qs Jh", 0),
        ("Kc Kh Qd Qs Jh", 0),
    ],
)
def test_be_4_5_pay_table(pit: LinkDriver, cards: str, cents: int) -> None:
    dealt(pit).enter("BE-01", 1, cards)
    pit.settle("BE-01")
    assert pit.amounts() == ([("BE-01", 1, cents)] if cents else [])
    assert all("BE 4.5" in award.rules for award in pit.awards)


@pytest.mark.parametrize("paragraph", ["5.1.1", "5.2", "5.3", "5.4", "5.8"])
def test_be_5_1_to_5_4_and_5_8_a_void_round_gives_every_wager_back(pit: LinkDriver, paragraph: str) -> None:
    dealt(pit).enter("BE-01", 1, ROYAL_S)
    assert pit.void("BE-01", paragraph).result == {"returned_cents": 1_500}
    assert (pit.amounts(), pit.pending, pit.displayed_cents) == ([], [], J)


def test_be_5_1_2_all_outcomes_of_the_previous_rounds_stand(pit: LinkDriver) -> None:
    dealt(pit).enter("BE-01", 1, FLUSH_S)
    pit.settle("BE-01")
    paid = pit.balances.awarded
    pit.deal("BE-01")
    pit.void("BE-01")
    assert pit.balances.awarded == paid
    assert list(pit.state.unpaid) == ["megalink-000001"]


def test_be_5_1_2_a_round_that_waits_stands_though_the_next_of_its_table_is_void(pit: LinkDriver) -> None:
    pit.deal("BE-02")
    dealt(pit, 1)
    pit.enter("BE-02", 1, FLUSH_S)
    pit.enter("BE-01", 1, FLUSH_S)
    pit.settle("BE-01")
    pit.deal("BE-01")
    pit.void("BE-01")
    pit.settle("BE-02")
    assert pit.amounts() == [("BE-02", 1, 4_800_000), ("BE-01", 1, 4_320_000)]


def test_be_5_5_a_late_wager_is_refused(pit: LinkDriver) -> None:
    refused = dealt(pit, 1).refused("BE-01", "wager.placed", position=2)
    assert (refused.code, refused.rule) == ("bets_closed", "BE 5.5")


def test_be_5_6_a_withdrawn_wager_is_won_or_lost_by_the_outcome(pit: LinkDriver) -> None:
    refused = dealt(pit).refused("BE-01", "wager.cancelled", position=1)
    assert (refused.code, refused.rule) == ("bets_closed", "BE 5.6")
    pit.enter("BE-01", 1, FLUSH_S)
    pit.settle("BE-01")
    assert pit.amounts() == [("BE-01", 1, 4_800_000)]


@pytest.mark.parametrize("paragraph", ["5.7", "5.7.1", "5.9", "5.10.1", "5.10.2", "5.10.3", "5.12.2", "5.16.1"])
def test_be_5_7_to_5_16_a_wager_returned_takes_its_hand_along(pit: LinkDriver, paragraph: str) -> None:
    dealt(pit).enter("BE-01", 1, ROYAL_S)
    pit.enter("BE-01", 2, FLUSH_H)
    assert pit.return_wager("BE-01", 1, paragraph).result == {"returned_cents": 500}
    pit.settle("BE-01")
    assert pit.amounts() == [("BE-01", 2, 4_800_000)]
    assert pit.displayed_cents == J - 4_800_000


def test_be_5_12_1_before_no_more_bets_the_jackpot_wager_can_be_cancelled(pit: LinkDriver) -> None:
    pit.open("BE-01")
    pit.wager("BE-01", 1)
    pit.accepted("BE-01", "wager.cancelled", position=1)
    assert pit.close("BE-01")["wagers"] == 0
    refused = pit.refused_hand("BE-01", 1, ROYAL_S)
    assert refused.code == "no_wager"


def test_be_5_12_2_before_no_more_bets_there_is_nothing_to_return(pit: LinkDriver) -> None:
    pit.open("BE-01")
    pit.wager("BE-01", 1)
    assert pit.refused("BE-01", "wager.returned", position=1, reason="5.12.2").code == "round_not_closed"


def test_be_5_16_1_the_round_is_concluded_when_players_have_withdrawn(pit: LinkDriver) -> None:
    dealt(pit, 1, 2)
    pit.return_wager("BE-01", 1, "5.16.1")
    pit.return_wager("BE-01", 2, "5.16.1")
    assert pit.settle("BE-01").result == {"awards": [], "pending": []}
    pit.open("BE-01")


def test_be_5_16_2_with_an_outcome_established_the_round_is_played_to_its_end(pit: LinkDriver) -> None:
    dealt(pit, 1, 2).enter("BE-01", 1, FLUSH_S)
    pit.return_wager("BE-01", 2, "5.16.1")
    pit.settle("BE-01")
    assert pit.amounts() == [("BE-01", 1, 4_800_000)]


def test_be_appendix_the_layout_has_positions_1_to_6(pit: LinkDriver) -> None:
    pit.open("BE-01")
    pit.wager("BE-01", 6)
    for position in (0, 7):
        assert pit.refused("BE-01", "wager.placed", position=position).code == "bad_position"
