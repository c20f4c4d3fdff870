"""Megalink Three Card Poker Xtreme, paragraph by paragraph (the progressive's own are in test_megalink.py)."""

from typing import Any

import pytest

from jackpot.rules.poker import Hand, ThreeCard, three_cards
from tests.rules.rounds import Json, card_round, first, nets, position, refusal, rules, settled

GAME = "three-card-poker-xtreme"
COMMUNITY = "4d 4h"
PAIR_OF_KINGS, PAIR_OF_SEVENS = "Kd Kc 2s", "7d 7c 3s"
QUEEN_HIGH, JACK_HIGH = "Qd 8c 3s", "Jd 8c 3s"
WAGERS = {"ante": 100, "play": 100}


def play(cards: str, dealer: str, wagers: Json | None = None, **fields: Any) -> Json:
    limits = {"limits": fields.pop("limits")} if "limits" in fields else {}
    entry = position(cards, WAGERS if wagers is None else wagers, **fields)
    return settled(card_round(GAME, dealer, [entry], COMMUNITY, **limits))


def three(cards: str) -> Hand[ThreeCard]:
    return three_cards(cards.split())


def beats(higher: str, lower: str) -> bool:
    return three(higher).strength > three(lower).strength


BONUS = [
    ("8h 7h 6h", 500),
    ("Ts Th Tc", 400),
    ("8d 7c 6h", 100),
    ("Th 9h 2h", 0),
    ("Ac Ah 8d", 0),
    ("Ac Th 6d", 0),
]


@pytest.mark.parametrize(("cards", "bonus_cents"), BONUS)
@pytest.mark.parametrize("dealer", ["Qd 5c 3s", "Jd 5c 3s", "Ad As 3s", "Jc Jd Js"])
def test_1_1_2_3_11_3_3_12_4_and_4_2_the_ante_bonus_is_paid_whatever_the_dealer_has(
    cards: str, bonus_cents: int, dealer: str
) -> None:
    result = play(cards, dealer)
    assert nets(result)["ante_bonus"] == bonus_cents
    assert rules(result)["ante_bonus"] == ("TCX 4.2" if bonus_cents else "TCX 1.1.2")
    assert first(result)["net_cents"] == sum(nets(result).values())


def test_1_1_2_the_ante_bonus_is_paid_on_a_hand_that_loses_or_stands_off() -> None:
    assert nets(play("8d 7c 6h", "Tc 9d 8s")) == {"ante": -100, "ante_bonus": 100, "play": -100}
    assert nets(play("8d 7c 6h", "8c 7d 6s")) == {"ante": 0, "ante_bonus": 100, "play": 0}


@pytest.mark.parametrize(
    ("cards", "net_cents"),
    [
        ("Ah Kh Qh", 4000),
        ("Ts Th Tc", 3000),
        ("8d 7c 6h", 500),
        ("Th 9h 2h", 400),
        ("2c 2h 8d", 100),
        ("Ac Kh Jh", -100),
    ],
)
@pytest.mark.parametrize("dealer", [QUEEN_HIGH.replace("8c", "5c"), "Jd 5c 3s", "Ad As 3c"])
def test_1_1_7_3_11_4_3_12_5_and_4_3_pair_plus_is_settled_on_the_players_cards(
    cards: str, net_cents: int, dealer: str
) -> None:
    result = play(cards, dealer, {"pair_plus": 100})
    assert nets(result) == {"pair_plus": net_cents}
    assert rules(result)["pair_plus"] == ("TCX 4.3" if net_cents > 0 else "TCX 1.1.7")


@pytest.mark.parametrize(
    ("cards", "dealer", "name", "net_cents"),
    [
        ("Ah Kh Qh", "Jh Th 9h", "royal_flush", 50000),
        ("Kh Qh Jh", "Th 9h 2c", "straight_flush", 10000),
        ("Kh Kd Kc", "Ks Th 9h", "four_of_a_kind", 5000),
        ("Kh Kd Kc", "Ts Th 9h", "full_house", 2000),
        ("Kh Qh 2h", "5h 9h 9c", "flush", 1500),
        ("Ah 2d 3c", "4s 5h 9c", "straight", 1000),
        ("Kh Kd 2c", "Ks Th 9h", "three_of_a_kind", 700),
        ("Kh Kd 2c", "2s Th 9h", "two_pairs", -100),
        ("Kh Kd 2c", "3s Th 9h", "pair", -100),
        ("Kh Jd 2c", "3s Th 9h", "high_card", -100),
    ],
)
def test_1_1_11_3_10_1_and_4_5_six_card_bonus_pays_on_the_best_five_of_six(
    cards: str, dealer: str, name: str, net_cents: int
) -> None:
    result = play(cards, dealer, {"six_card_bonus": 100})
    assert first(result)["six_card_hand"] == name
    assert nets(result) == {"six_card_bonus": net_cents}
    assert rules(result)["six_card_bonus"] == ("TCX 4.5" if net_cents > 0 else "TCX 1.1.11")


def test_1_1_11_the_community_cards_play_no_part_in_the_six_card_bonus() -> None:
    result = play("4s 4c Kd", "Qd 8c 3s", {"six_card_bonus": 100})  # with 4d 4h it would be four of a kind
    assert first(result)["six_card_hand"] == "pair"


def test_2_1_a_card_twice_anywhere_is_refused() -> None:
    assert refusal(play("Kd Kd 2s", QUEEN_HIGH)) == ("duplicate_card", "TCX 2.1")
    assert refusal(play("4d Kd 2s", QUEEN_HIGH)) == ("duplicate_card", "TCX 2.1")
    assert refusal(play("Qd Kd 2s", QUEEN_HIGH)) == ("duplicate_card", "TCX 2.1")


def test_2_2_there_are_seven_positions() -> None:
    assert first(play(PAIR_OF_KINGS, QUEEN_HIGH, number=7))["position"] == 7
    assert refusal(play(PAIR_OF_KINGS, QUEEN_HIGH, number=0)) == ("bad_position", "TCX 2.2")


def test_2_2_1_the_ante_bonus_is_no_wager_of_its_own() -> None:
    wagers = {**WAGERS, "ante_bonus": 100}
    assert refusal(play(PAIR_OF_KINGS, QUEEN_HIGH, wagers)) == ("unknown_wager", "TCX 2.2.1")


def test_3_3_1_2_an_ace_counts_1_in_3_2_a_only() -> None:
    assert three("3c 2d Ah").name == "straight"
    assert three("Kc Ad 2h").name == "high_card"


def test_3_3_1_3_suits_have_no_value() -> None:
    assert three("Ac Kc 9d").strength == three("As Kh 9h").strength


@pytest.mark.parametrize("wagers", [{}, {"play": 100}])
def test_3_4_one_of_ante_pair_plus_and_six_card_bonus_is_required(wagers: Json) -> None:
    assert refusal(play(PAIR_OF_KINGS, QUEEN_HIGH, wagers)) == ("no_wager", "TCX 3.4")


def test_3_4_2_a_position_stands_once() -> None:
    twice = [position("Kd Kc 2s", WAGERS, 3), position("Jd Jc 2d", WAGERS, 3)]
    assert refusal(settled(card_round(GAME, "Qd 8c 3s", twice, COMMUNITY))) == ("position_taken", "TCX 3.4.2")


def test_3_9_with_an_ante_a_position_plays_or_folds() -> None:
    for declined in (False, True):
        neither = play(PAIR_OF_KINGS, QUEEN_HIGH, {"ante": 100}, declined=declined)
        assert refusal(neither) == ("play_or_fold", "TCX 3.9")
        both = play(PAIR_OF_KINGS, QUEEN_HIGH, WAGERS, fold=True, declined=declined)
        assert refusal(both) == ("play_or_fold", "TCX 3.9")


@pytest.mark.parametrize("dealer", [QUEEN_HIGH, JACK_HIGH])
def test_3_9_1_a_fold_loses_the_ante_and_has_no_ante_bonus(dealer: str) -> None:
    result = play("Th Ts Td", dealer, {"ante": 100}, fold=True)
    assert nets(result) == {"ante": -100, "ante_bonus": 0}
    assert set(rules(result).values()) == {"TCX 3.9.1"}
    assert first(result)["hand"] == "three_of_a_kind"


def test_3_9_1_1_and_3_9_1_2_after_a_fold_the_side_wagers_are_settled_on_the_cards() -> None:
    wagers = {"ante": 100, "pair_plus": 100, "six_card_bonus": 100}
    result = play("Th Ts Td", QUEEN_HIGH, wagers, fold=True)
    assert nets(result) == {"ante": -100, "ante_bonus": 0, "pair_plus": 3000, "six_card_bonus": 700}


@pytest.mark.parametrize("play_cents", [99, 101, 200])
def test_3_9_2_play_equals_the_ante(play_cents: int) -> None:
    wagers = {"ante": 100, "play": play_cents}
    assert refusal(play(PAIR_OF_KINGS, QUEEN_HIGH, wagers)) == ("amount_mismatch", "TCX 3.9.2")


def test_1_1_8_and_3_9_3_without_an_ante_there_is_no_play_and_a_fold_changes_nothing() -> None:
    wagers = {"pair_plus": 100}
    assert refusal(play(PAIR_OF_KINGS, QUEEN_HIGH, {**wagers, "play": 100})) == ("no_wager", "TCX 1.1.8")
    assert play(PAIR_OF_KINGS, QUEEN_HIGH, wagers, fold=True) == play(PAIR_OF_KINGS, QUEEN_HIGH, wagers)
    assert nets(play(PAIR_OF_KINGS, QUEEN_HIGH, wagers)) == {"pair_plus": 100}


def test_3_10_3_a_hand_not_exposed_is_below_the_dealers() -> None:
    wagers = {**WAGERS, "pair_plus": 50, "six_card_bonus": 50}
    for cards in ("", "Th Ts Td"):
        result = play(cards, QUEEN_HIGH, wagers, declined=True)
        assert nets(result) == {"ante": -100, "ante_bonus": 0, "play": -100, "pair_plus": -50, "six_card_bonus": -50}
        assert set(rules(result).values()) == {"TCX 3.10.3"}
        assert (first(result)["hand"], first(result)["six_card_hand"]) == (None, None)


def test_3_10_3_declined_against_a_dealer_below_a_queen_the_ante_is_paid_and_play_pushes() -> None:
    result = play("", JACK_HIGH, {**WAGERS, "pair_plus": 50}, declined=True)
    assert nets(result) == {"ante": 100, "ante_bonus": 0, "play": 0, "pair_plus": -50}


def test_3_9_1_folded_and_declined_the_ante_loses() -> None:
    assert nets(play("", JACK_HIGH, {"ante": 100}, fold=True, declined=True)) == {"ante": -100, "ante_bonus": 0}


@pytest.mark.parametrize("cards", ["Kd Kc 2s", "9d 5c 2s", "Jh 8s 3d"])
def test_3_11_below_a_queen_the_ante_is_paid_and_play_pushes_whatever_the_player_holds(cards: str) -> None:
    result = play(cards, JACK_HIGH)
    assert result["dealer"] == {"hand": "high_card", "qualifies": False}
    assert nets(result) == {"ante": 100, "ante_bonus": 0, "play": 0}
    assert (rules(result)["ante"], rules(result)["play"]) == ("TCX 4.1", "TCX 3.11.1")


@pytest.mark.parametrize(
    ("dealer", "qualifies"),
    [
        ("Qd 3c 2s", True),
        ("Kd 3c 2s", True),
        ("Ad 7c 2s", True),
        ("2d 2c 3s", True),
        ("7d 5d 2d", True),
        ("5d 6c 7s", True),
        ("Jd Tc 8s", False),
        ("7d 5c 2s", False),
    ],
)
def test_3_11_and_3_12_the_dealer_qualifies_with_queen_high_or_better(dealer: str, qualifies: bool) -> None:
    assert play("Kh Ks Th", dealer)["dealer"]["qualifies"] is qualifies


def test_3_12_1_the_higher_hand_wins_ante_and_play() -> None:
    result = play(PAIR_OF_KINGS, PAIR_OF_SEVENS)
    assert nets(result) == {"ante": 100, "ante_bonus": 0, "play": 100}
    assert rules(result) == {"ante": "TCX 4.1", "ante_bonus": "TCX 1.1.2", "play": "TCX 4.1"}


def test_3_12_2_the_lower_hand_loses_ante_and_play() -> None:
    result = play(PAIR_OF_SEVENS, PAIR_OF_KINGS)
    assert nets(result) == {"ante": -100, "ante_bonus": 0, "play": -100}
    assert rules(result)["play"] == "TCX 3.12.2"


def test_3_12_3_equal_hands_stand_off() -> None:
    result = play("7h 7s 3d", PAIR_OF_SEVENS)
    assert nets(result) == {"ante": 0, "ante_bonus": 0, "play": 0}
    assert rules(result)["ante"] == "TCX 3.12.3"


ORDER = [  # TCX 3.14.1 to 3.14.6, with the sheet's own examples
    ("straight_flush", "8h 7h 6h"),
    ("three_of_a_kind", "Ts Th Tc"),
    ("straight", "8d 7c 6h"),
    ("flush", "Th 4h 2h"),
    ("pair", "Ac Ah 8d"),
    ("high_card", "Qc Th 6d"),
]


@pytest.mark.parametrize(("name", "cards"), [*ORDER, ("straight_flush", "Ah Kh Qh")])
def test_3_14_the_names_of_hands(name: str, cards: str) -> None:
    assert three(cards).name == name


def test_3_14_the_order_of_hands() -> None:
    strengths = [three(cards).strength for _, cards in ORDER]
    assert strengths == sorted(strengths, reverse=True)


@pytest.mark.parametrize(
    ("higher", "lower"),
    [("Ac Kd 9h", "Ad Kh 8s"), ("Ah Qh 3h", "Ac Jc Tc"), ("3c 3d 3h", "2c 2d 2h"), ("Qc 3d 2h", "Jc Td 8h")],
)
def test_3_15_hands_of_the_same_order_are_ranked_by_their_cards(higher: str, lower: str) -> None:
    assert beats(higher, lower)


@pytest.mark.parametrize(
    ("higher", "lower"), [("8c 8d 2h", "7c 7d Ah"), ("8c 8d 9h", "8h 8s 3c"), ("2c 2d Ah", "2h 2s Kc")]
)
def test_3_15_2_one_pair(higher: str, lower: str) -> None:
    assert beats(higher, lower)


def test_3_15_3_three_high_is_the_lowest_straight_and_ace_high_the_highest() -> None:
    assert beats("4c 3d 2h", "3c 2d Ah")
    assert beats("4c 3c 2c", "3d 2d Ad")
    assert beats("Ac Kd Qh", "Kc Qd Jh")


def test_3_15_4_equal_straights_stand_off() -> None:
    assert three("8c 9d Th").strength == three("8d 9h Tc").strength


def test_5_3_a_wrong_number_of_dealers_or_community_cards_is_refused() -> None:
    assert refusal(play(PAIR_OF_KINGS, "Qd 8c")) == ("wrong_card_count", "TCX 5.3")
    entry = position(PAIR_OF_KINGS, WAGERS)
    for community in ("4d", "4d 4h 5h"):
        assert refusal(settled(card_round(GAME, QUEEN_HIGH, [entry], community))) == ("wrong_card_count", "TCX 5.3")


@pytest.mark.parametrize("cards", ["Kd Kc", "Kd Kc Ks Kh"])
def test_5_7_a_wrong_number_of_a_players_cards_is_refused(cards: str) -> None:
    assert refusal(play(cards, QUEEN_HIGH)) == ("wrong_card_count", "TCX 5.7")


def test_5_13_a_stake_under_the_minimum_is_settled_as_it_stands() -> None:
    limits = {"ante": {"min_cents": 500, "max_cents": 900}}
    assert nets(play(PAIR_OF_KINGS, PAIR_OF_SEVENS, limits=limits))["ante"] == 100


def test_5_14_over_the_maximum_the_ante_bonus_too_is_paid_on_the_maximum() -> None:
    limits = {"ante": {"min_cents": 1, "max_cents": 60}}
    result = play("8d 7c 6h", QUEEN_HIGH.replace("8c", "5c"), limits=limits)
    assert nets(result) == {"ante": 60, "ante_bonus": 60, "play": 100}
    assert rules(result) == {"ante": "TCX 5.14", "ante_bonus": "TCX 5.14", "play": "TCX 4.1"}
    assert nets(play(PAIR_OF_SEVENS, PAIR_OF_KINGS, limits=limits))["ante"] == -60
