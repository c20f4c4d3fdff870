"""Megalink Ultimate Texas Hold'em, paragraph by paragraph (the progressive's own are in test_megalink.py)."""

from typing import Any

import pytest

from jackpot.rules.poker import FiveCard, Hand, best_five
from tests.rules.rounds import Json, card_round, first, nets, position, refusal, rules, settled

GAME = "ultimate-texas-holdem"
BOARD = "Qh 9s 5d 3c 2h"
PAIR_OF_KINGS, PAIR_OF_SEVENS, ACE_HIGH, KING_HIGH = "Kd Kc", "7d 7c", "Ad 8c", "Kh 8d"
WAGERS = {"ante": 100, "blind": 100, "play": 400}


def play(cards: str, dealer: str, board: str = BOARD, wagers: Json | None = None, **fields: Any) -> Json:
    limits = {"limits": fields.pop("limits")} if "limits" in fields else {}
    entry = position(cards, WAGERS if wagers is None else wagers, **fields)
    return settled(card_round(GAME, dealer, [entry], board, **limits))


def five(cards: str) -> Hand[FiveCard]:
    return best_five(cards.split())


def beats(higher: str, lower: str) -> bool:
    return five(higher).strength > five(lower).strength


def test_1_1_2_the_blind_equals_the_ante() -> None:
    wagers = {"ante": 100, "blind": 101, "play": 100}
    assert refusal(play(PAIR_OF_KINGS, ACE_HIGH, wagers=wagers)) == ("amount_mismatch", "UTH 1.1.2")


@pytest.mark.parametrize(
    ("cards", "board", "net_cents"),
    [
        ("Ah Kh", "Qh Jh Th 2c 3d", 10000),
        ("9h 8h", "Qh Jh Th 2c 3d", 4000),
        ("Qd Qc", "Qh Qs Th 2c 3d", 3000),
        ("Qd Qc", "Qh Ts Th 2c 3d", 800),
        ("Ah 4h", "Qh Jh Th 2c 3d", 700),
        ("Ad Kc", "Qh Jh Th 2c 3d", 400),
        ("Qd Qc", "Qh 9s Th 2c 3d", 300),
        ("Qd Tc", "Qh 9s Th 2c 3d", -100),
        ("Qd Kc", "Qh 9s Th 2c 3d", -100),
        ("Ad Kc", "Qh 9s Th 2c 3d", -100),
    ],
)
def test_1_1_14_and_4_1_1_trips_pays_from_three_of_a_kind_won_lost_or_folded(
    cards: str, board: str, net_cents: int
) -> None:
    base = {"ante": 100, "blind": 100, "trips": 100}
    for result in (
        play(cards, "7s 7d", board, {**base, "play": 100}),
        play(cards, "7s 7d", board, base, fold=True),
    ):
        assert nets(result)["trips"] == net_cents
        assert rules(result)["trips"] == ("UTH 4.1.1" if net_cents > 0 else "UTH 1.1.14")


def test_2_1_a_card_twice_anywhere_is_refused() -> None:
    assert refusal(play("Kd Kd", ACE_HIGH)) == ("duplicate_card", "UTH 2.1")
    assert refusal(play("Kd Qh", ACE_HIGH)) == ("duplicate_card", "UTH 2.1")
    assert refusal(play("Ad Kd", ACE_HIGH)) == ("duplicate_card", "UTH 2.1")


def test_2_2_there_are_seven_positions() -> None:
    assert first(play(PAIR_OF_KINGS, ACE_HIGH, number=7))["position"] == 7
    assert refusal(play(PAIR_OF_KINGS, ACE_HIGH, number=8)) == ("bad_position", "UTH 2.2")


def test_3_3_1_1_the_ranking_of_cards() -> None:
    for higher, lower in zip("AKQJT98", "KQJT987", strict=True):
        assert beats(f"{higher}c 6d 4h 3s 2s", f"{lower}c 6d 4h 3s 2s")


def test_3_3_1_2_an_ace_counts_1_in_5_4_3_2_a_only() -> None:
    assert five("Ac 2d 3h 4s 5s").name == "straight"
    assert five("Qc Kd Ah 2s 3s").name == "high_card"


def test_3_3_1_3_suits_have_no_value() -> None:
    assert five("Ac Kc 9d 4d 2h").strength == five("As Ks 9h 4h 2d").strength


@pytest.mark.parametrize("missing", ["ante", "blind"])
def test_3_4_and_5_12_ante_and_blind_are_required(missing: str) -> None:
    wagers = {wager: stake for wager, stake in WAGERS.items() if wager != missing}
    assert refusal(play(PAIR_OF_KINGS, ACE_HIGH, wagers=wagers)) == ("no_wager", "UTH 3.4")


def test_3_4_2_a_position_stands_once() -> None:
    twice = [position("Kd Kc", WAGERS, 3), position("Jd Jc", WAGERS, 3)]
    assert refusal(settled(card_round(GAME, ACE_HIGH, twice, BOARD))) == ("position_taken", "UTH 3.4.2")


@pytest.mark.parametrize("times", [1, 2, 3, 4])
def test_3_9_2_3_9_4_2_and_3_9_6_2_play_is_one_to_four_times_the_ante(times: int) -> None:
    wagers = {"ante": 100, "blind": 100, "play": times * 100}
    assert nets(play(PAIR_OF_KINGS, PAIR_OF_SEVENS, wagers=wagers))["play"] == times * 100


@pytest.mark.parametrize("play_cents", [50, 99, 101, 150, 399, 500, 1])
def test_3_9_any_other_play_wager_is_refused(play_cents: int) -> None:
    wagers = {"ante": 100, "blind": 100, "play": play_cents}
    assert refusal(play(PAIR_OF_KINGS, ACE_HIGH, wagers=wagers)) == ("amount_mismatch", "UTH 3.9")


def test_3_9_6_a_position_plays_or_folds() -> None:
    neither = {"ante": 100, "blind": 100}
    for declined in (False, True):
        assert refusal(play(PAIR_OF_KINGS, ACE_HIGH, wagers=neither, declined=declined)) == (
            "play_or_fold",
            "UTH 3.9.6",
        )
        assert refusal(play(PAIR_OF_KINGS, ACE_HIGH, fold=True, declined=declined)) == ("play_or_fold", "UTH 3.9.6")


@pytest.mark.parametrize("dealer", [PAIR_OF_SEVENS, ACE_HIGH])
def test_3_9_6_1_a_fold_loses_ante_and_blind_whatever_the_dealer_has(dealer: str) -> None:
    result = play("Qd Qc", dealer, wagers={"ante": 100, "blind": 100, "trips": 50}, fold=True)
    assert nets(result) == {"ante": -100, "blind": -100, "trips": 150}
    assert rules(result)["ante"] == rules(result)["blind"] == "UTH 3.9.6.1"
    assert first(result)["hand"] == "three_of_a_kind"


def test_3_10_the_best_five_of_hole_and_community_cards() -> None:
    result = play("2c 3d", "Kc Kd", "Ah Kh Qh Jh Th")
    assert result["dealer"]["hand"] == first(result)["hand"] == "royal_flush"  # the board plays
    assert nets(result) == {"ante": 0, "blind": 0, "play": 0}


def test_3_10_1_a_hand_not_exposed_is_below_the_dealers() -> None:
    for cards in ("", "Kd Kc"):
        result = play(cards, PAIR_OF_SEVENS, wagers={**WAGERS, "trips": 50}, declined=True)
        assert nets(result) == {"ante": -100, "blind": -100, "play": -400, "trips": -50}
        assert set(rules(result).values()) == {"UTH 3.10.1"}
        assert first(result)["hand"] is None


def test_3_10_1_declined_against_a_dealer_below_a_pair_the_ante_still_pushes() -> None:
    result = play("", ACE_HIGH, wagers={**WAGERS, "trips": 50}, declined=True)
    assert nets(result) == {"ante": 0, "blind": -100, "play": -400, "trips": -50}
    assert rules(result)["ante"] == "UTH 3.10.2"


def test_3_10_1_folded_and_declined_ante_blind_and_trips_lose() -> None:
    wagers = {"ante": 100, "blind": 100, "trips": 50}
    result = play("", ACE_HIGH, wagers=wagers, fold=True, declined=True)
    assert nets(result) == {"ante": -100, "blind": -100, "trips": -50}
    assert first(result)["hand"] is None


@pytest.mark.parametrize("board", ["Qh Qs Qd 3c 2h", "Th 9s 8d 7c 6h", "Qh Qs Qd 3c 3h", "2h 4h 6h 8h Th"])
@pytest.mark.parametrize("fold", [False, True])
def test_3_10_1_1_trips_that_win_on_the_board_must_not_be_declined(board: str, fold: bool) -> None:
    base = {"ante": 100, "blind": 100} if fold else WAGERS
    refused = play("", "Ac Kd", board, {**base, "trips": 50}, fold=fold, declined=True)
    assert refusal(refused) == ("must_not_decline", "UTH 3.10.1.1")
    assert first(play("", "Ac Kd", board, base, fold=fold, declined=True))  # without a Trips wager it may be


def test_3_10_1_1_a_board_below_three_of_a_kind_may_be_declined() -> None:
    result = play("", "Ac Kd", "Qh Qs 3d 3c 2h", {**WAGERS, "trips": 50}, declined=True)
    assert nets(result)["trips"] == -50


def test_3_10_2_below_a_pair_the_dealer_pushes_the_ante_win_or_lose() -> None:
    won = play(PAIR_OF_KINGS, ACE_HIGH)
    assert won["dealer"] == {"hand": "high_card", "qualifies": False}
    assert nets(won) == {"ante": 0, "blind": 0, "play": 400}
    assert rules(won) == {"ante": "UTH 3.10.2", "blind": "UTH 3.10.4", "play": "UTH 4.1.1"}
    lost = play(KING_HIGH, ACE_HIGH)
    assert nets(lost) == {"ante": 0, "blind": -100, "play": -400}
    assert rules(lost) == {"ante": "UTH 3.10.2", "blind": "UTH 3.10.5", "play": "UTH 3.10.5"}


def test_3_10_2_a_pair_on_the_board_qualifies_the_dealer() -> None:
    result = play(PAIR_OF_KINGS, ACE_HIGH, "Qh Qs 5d 3c 2h")
    assert result["dealer"] == {"hand": "pair", "qualifies": True}
    assert nets(result)["ante"] == 100


def test_3_10_3_the_higher_hand_wins_ante_and_play() -> None:
    result = play(PAIR_OF_KINGS, PAIR_OF_SEVENS)
    assert nets(result) == {"ante": 100, "blind": 0, "play": 400}
    assert rules(result) == {"ante": "UTH 4.1.1", "blind": "UTH 3.10.4", "play": "UTH 4.1.1"}


@pytest.mark.parametrize(
    ("cards", "board", "blind_cents"),
    [
        ("Ah Kh", "Qh Jh Th 2c 3d", 50000),
        ("9h 8h", "Qh Jh Th 2c 3d", 5000),
        ("Qd Qc", "Qh Qs Th 2c 3d", 1000),
        ("Qd Qc", "Qh Ts Th 2c 3d", 300),
        ("Ah 4h", "Qh Jh Th 2c 3d", 150),
        ("Ad Kc", "Qh Jh Th 2c 3d", 100),
        ("Qd Qc", "Qh 9s Th 2c 3d", 0),
    ],
)
def test_3_10_4_and_4_1_1_the_blind_pays_on_a_winning_straight_or_better(
    cards: str, board: str, blind_cents: int
) -> None:
    result = play(cards, PAIR_OF_SEVENS.replace("c", "s"), board)
    assert nets(result) == {"ante": 100, "blind": blind_cents, "play": 400}


def test_4_1_1_three_to_two_is_truncated_to_the_cent() -> None:
    wagers = {"ante": 333, "blind": 333, "play": 333}
    assert nets(play("Ah 4h", "7d 7s", "Qh Jh Th 2c 3d", wagers))["blind"] == 499


def test_3_10_5_the_lower_hand_loses_all_but_trips_the_blind_too_whatever_the_hand() -> None:
    result = play("9d 8c", "Ad Kc", "Qh Jh Th 2c 3d", {**WAGERS, "trips": 100})
    assert first(result)["hand"] == "straight"
    assert nets(result) == {"ante": -100, "blind": -100, "play": -400, "trips": 400}
    assert rules(result)["blind"] == "UTH 3.10.5"


def test_3_10_8_equal_hands_push_ante_blind_and_play() -> None:
    result = play("7h 7s", PAIR_OF_SEVENS)
    assert nets(result) == {"ante": 0, "blind": 0, "play": 0}
    assert set(rules(result).values()) == {"UTH 3.10.8"}


ORDER = [  # UTH 3.11.1 to 3.11.10, with the sheet's own examples
    ("royal_flush", "Ad Kd Qd Jd Td"),
    ("straight_flush", "Jc Tc 9c 8c 7c"),
    ("four_of_a_kind", "Ac Ah Ad As Jh"),
    ("full_house", "Kc Kh Kd As Ah"),
    ("flush", "Jh 8h 6h 5h 2h"),
    ("straight", "9c 8d 7c 6h 5s"),
    ("three_of_a_kind", "Ts Th Tc 6h 3d"),
    ("two_pairs", "Qc Qh 6c 6h 3d"),
    ("pair", "Ac Ah 8d 6h 5s"),
    ("high_card", "Qc Th 6d 5s 2h"),
]


@pytest.mark.parametrize(("name", "cards"), ORDER)
def test_3_11_the_names_of_hands(name: str, cards: str) -> None:
    assert five(cards).name == name


def test_3_11_the_order_of_hands() -> None:
    strengths = [five(cards).strength for _, cards in ORDER]
    assert strengths == sorted(strengths, reverse=True)


@pytest.mark.parametrize(
    ("higher", "lower"),
    [
        ("Ac Ad Ah Jc 9d", "Kc Kd Kh Ac Qd"),
        ("Ac Ad Ah As 3d", "Kc Kd Kh Ks Ad"),
        ("Ah Jh 8h 6h 3h", "Ac Jc 8c 6c 2c"),
        ("Ac Kd 9h 5s 3c", "Ad Kh 9s 5c 2d"),
    ],
)
def test_3_12_hands_of_the_same_order_are_ranked_by_their_cards(higher: str, lower: str) -> None:
    assert beats(higher, lower)


@pytest.mark.parametrize(
    ("higher", "lower"),
    [
        ("Qc Qh 3c 3h 2d", "Jc Jh Tc Th Ad"),
        ("Qc Qh 6c 6h 2d", "Qd Qs 5c 5h Ad"),
        ("Qc Qh 6c 6h 4d", "Qd Qs 6d 6s 3d"),
    ],
)
def test_3_12_2_two_pairs(higher: str, lower: str) -> None:
    assert beats(higher, lower)


@pytest.mark.parametrize(
    ("higher", "lower"),
    [
        ("8c 8d 4h 3s 2c", "7c 7d Ah Ks Qc"),
        ("8c 8d Kh 3s 2c", "8h 8s Qh Js Tc"),
        ("8c 8d Kh Js 2c", "8h 8s Kd Ts 9c"),
        ("8c 8d Kh Js 4c", "8h 8s Kd Jd 3c"),
    ],
)
def test_3_12_3_one_pair(higher: str, lower: str) -> None:
    assert beats(higher, lower)


def test_3_12_4_five_high_is_the_lowest_straight() -> None:
    assert beats("6c 5d 4h 3s 2c", "5c 4d 3h 2s Ac")
    assert beats("6c 5c 4c 3c 2c", "5d 4d 3d 2d Ad")


def test_3_12_5_full_houses_by_their_three_then_by_their_pair() -> None:
    assert beats("3c 3d 3h 2s 2c", "2d 2h 2c As Ac")
    assert beats("3c 3d 3h Ks Kc", "3c 3d 3h Qs Qc")


@pytest.mark.parametrize("cards", ["8c 9d Th Js Qc", "8c 9c Tc Jc Qc"])
def test_3_12_6_equal_straights_push(cards: str) -> None:
    other = cards.translate(str.maketrans("cdhs", "dhsc"))
    assert five(cards).strength == five(other).strength


@pytest.mark.parametrize("board", [BOARD[:-3], BOARD + " 4s"])
def test_5_3_a_wrong_number_of_community_cards_is_refused(board: str) -> None:
    assert refusal(play(PAIR_OF_KINGS, ACE_HIGH, board)) == ("wrong_card_count", "UTH 5.3")


@pytest.mark.parametrize("dealer", ["Ad", "Ad 8c 7c"])
def test_5_3_a_wrong_number_of_dealers_cards_is_refused(dealer: str) -> None:
    assert refusal(play(PAIR_OF_KINGS, dealer)) == ("wrong_card_count", "UTH 5.3")


@pytest.mark.parametrize("cards", ["Kd", "Kd Kc Ks"])
def test_5_7_a_wrong_number_of_a_players_cards_is_refused(cards: str) -> None:
    assert refusal(play(cards, ACE_HIGH)) == ("wrong_card_count", "UTH 5.7")


def test_5_13_and_5_14_limits_bind_each_wager_by_itself() -> None:
    limits = {"ante": {"min_cents": 50, "max_cents": 60}, "play": {"min_cents": 1000, "max_cents": 2000}}
    result = play(PAIR_OF_KINGS, PAIR_OF_SEVENS, limits=limits)
    assert nets(result) == {"ante": 60, "blind": 0, "play": 400}
    assert rules(result) == {"ante": "UTH 5.14", "blind": "UTH 3.10.4", "play": "UTH 4.1.1"}


def test_5_14_a_push_stays_a_push() -> None:
    limits = {"ante": {"min_cents": 1, "max_cents": 60}}
    result = play("7h 7s", PAIR_OF_SEVENS, limits=limits)
    assert (nets(result)["ante"], rules(result)["ante"]) == (0, "UTH 3.10.8")


def test_several_positions_are_settled_in_the_order_given() -> None:
    entries = [position("Kd Kc", WAGERS, 5), position("7h 7s", WAGERS, 2), position("8s 6s", WAGERS, 7)]
    result = settled(card_round(GAME, PAIR_OF_SEVENS, entries, BOARD))
    assert [(entry["position"], entry["net_cents"]) for entry in result["positions"]] == [(5, 500), (2, 0), (7, -600)]
