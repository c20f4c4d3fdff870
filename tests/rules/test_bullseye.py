"""Megalink Bullseye, paragraph by paragraph (the progressive's own paragraphs are in test_megalink.py)."""

from typing import Any

import pytest

from jackpot.rules.bullseye import POINT_HANDS, counted_as, house_way, point_hand
from tests.rules.rounds import Json, card_round, first, nets, position, refusal, rules, settled

PAIR_9 = "9c 9d 2h 8h Td"  # 2 + 8 + 10 = 20
POINTS_9 = "4c 5c 2s 8s Ts"
POINTS_5 = "8c 7d 4h 6h Th"
GNAU_TUNG_KU = "As Kd 5c 5d Tc"
MIXED_PICTURES = "Kc Qd 2h 8h Td"
NO_3_CARD_HAND = "2c 4d 5d Qc Jd"
ALSO_NONE = "2s 4s 5s Qh Js"


def play(cards: str, dealer: str, /, limits: Json | None = None, **wagers: int) -> Json:
    return round_of(position(cards, wagers or {"main": 100}), dealer, **({"limits": limits} if limits else {}))


def round_of(entry: Json, dealer: str, **fields: Any) -> Json:
    return settled(card_round("bullseye", dealer, [entry], **fields))


def test_the_hands_of_this_file_are_what_they_say() -> None:
    assert [house_way(cards.split()) for cards in (PAIR_9, POINTS_9, POINTS_5, GNAU_TUNG_KU, MIXED_PICTURES)] == [
        "pair_9",
        "9",
        "5",
        "gnau_tung_ku",
        "mixed_pictures",
    ]
    assert house_way(NO_3_CARD_HAND.split()) == house_way(ALSO_NONE.split()) == "none"


@pytest.mark.parametrize(
    ("cards", "total"), [("2c 3c 5c", 10), ("2c 8c Tc", 20), ("Kc Qc Tc", 30), ("Ac 2c 7c", 10), ("9c Tc Ac", 20)]
)
def test_1_1_1_a_3_card_hand_totals_10_20_or_30(cards: str, total: int) -> None:
    assert sum(counted_as(cards.split()) or ()) == total


@pytest.mark.parametrize("cards", ["2c 2d 5c", "Kc Qc 9c", "Ac Ad As"])
def test_1_1_1_any_other_total_is_no_3_card_hand(cards: str) -> None:
    assert counted_as(cards.split()) is None


@pytest.mark.parametrize(
    ("cards", "net_cents"),
    [
        ("Kc Kd 2h 5h 7d", -100),
        ("Kc Kd Qh 5h 7d", 1000),
        ("Kc Kd Qh Jh 7d", 2000),
        ("Kc Kd Qh Jh Jd", 20000),
    ],
)
def test_1_1_3_and_4_3_bullseye_pays_on_three_four_and_five_pictures(cards: str, net_cents: int) -> None:
    result = play(cards, "2c 3c 4c 5c 9c", main=100, bullseye=100)
    assert nets(result)["bullseye"] == net_cents
    assert rules(result)["bullseye"] == ("BE 4.3" if net_cents > 0 else "BE 1.1.3")


@pytest.mark.parametrize("picture", ["Jh", "Qd", "Kc"])
def test_1_1_4_gnau_tung_ku_is_the_ace_of_spades_and_any_picture(picture: str) -> None:
    assert point_hand("As", picture) == point_hand(picture, "As") == "gnau_tung_ku"
    assert point_hand("Ah", picture) == "1"
    assert point_hand("As", "Td") == "1"


def test_1_1_5_house_way_leaves_the_highest_point_hand() -> None:
    assert house_way(PAIR_9.split()) == "pair_9"  # 9 + 9 + 2 = 20 would leave 8 points only


@pytest.mark.parametrize("cards", [("Jc", "Qc"), ("Jc", "Kd"), ("Qh", "Kc")])
def test_1_1_6_two_pictures_of_different_ranks_are_mixed_pictures(cards: tuple[str, str]) -> None:
    assert point_hand(*cards) == "mixed_pictures"


def test_1_1_8_mixed_pictures_are_all_equal() -> None:
    result = play("Kc Qd 2h 8h Td", "Js Qc 2s 8s Ts", main=100, tie=100)
    assert nets(result) == {"main": 0, "tie": 800}


@pytest.mark.parametrize(
    ("cards", "net_cents"),
    [
        ("2c 4c 5d 8h Ks", -100),
        ("2c 4c 5c 8h Ks", 100),
        ("2c 4c 5c 8c Ks", 500),
        ("2c 4c 5c 8c Kc", 2000),
    ],
)
def test_1_1_12_and_4_4_suits_pays_on_three_four_and_five_of_a_suit(cards: str, net_cents: int) -> None:
    result = play(cards, "3h 3d 6h 9d 7d", main=100, suits=100)
    assert nets(result)["suits"] == net_cents
    assert rules(result)["suits"] == ("BE 4.4" if net_cents > 0 else "BE 1.1.12")


def test_1_1_13_and_4_2_tie_wins_on_the_same_ranking_only() -> None:
    same = play("9c 9d 2h 8h Td", "9s 9h 2s 8s Ts", main=100, tie=100)
    assert (nets(same), rules(same)["tie"]) == ({"main": 0, "tie": 800}, "BE 4.2")
    other = play(PAIR_9, POINTS_9, main=100, tie=100)
    assert (nets(other)["tie"], rules(other)["tie"]) == (-100, "BE 1.1.13")


def test_2_1_a_card_twice_is_refused() -> None:
    assert refusal(play("9c 9d 2h 8h Td", "9c 5c 2s 8s Ts")) == ("duplicate_card", "BE 2.1")
    assert refusal(play("9c 9d 2h 8h 9c", POINTS_9)) == ("duplicate_card", "BE 2.1")


def test_2_2_there_are_six_positions() -> None:
    for number in (1, 6):
        assert first(round_of(position(PAIR_9, {"main": 1}, number), POINTS_9))["position"] == number
    for number in (0, 7, -1):
        assert refusal(round_of(position(PAIR_9, {"main": 1}, number), POINTS_9)) == ("bad_position", "BE 2.2")


def test_3_4_1_a_picture_is_worth_10_in_the_3_card_hand_and_0_in_the_point_hand() -> None:
    assert counted_as(["Kc", "2d", "8h"]) == (10, 2, 8)
    assert point_hand("Kc", "7d") == "7"
    assert point_hand("Kc", "Td") == "10"


@pytest.mark.parametrize(
    ("cards", "counted"),
    [
        ("3c 4c 3d", (3, 4, 3)),
        ("6c 4c 3d", (3, 4, 3)),
        ("3c 3d 8c", (6, 6, 8)),
        ("6c 4c Td", (6, 4, 10)),
        ("3c 4c Td", (6, 4, 10)),
    ],
)
def test_3_4_2_a_3_or_a_6_counts_either_way_in_the_3_card_hand(cards: str, counted: tuple[int, ...]) -> None:
    assert counted_as(cards.split()) == counted


@pytest.mark.parametrize(
    ("cards", "points"),
    [
        ("5c 6d", "8"),  # the sheet's own example
        ("5c 3d", "8"),
        ("4c 3d", "10"),
        ("7c 6d", "10"),
        ("7c 3d", "10"),
        ("8c 6d", "4"),
        ("8c 3d", "4"),
        ("9c 3d", "5"),
        ("Tc 3d", "6"),
        ("Kc 3d", "6"),
        ("Ac 3d", "7"),
        ("2c 6d", "8"),
    ],
)
def test_3_4_2_a_3_or_a_6_gives_the_point_hand_its_highest_total(cards: str, points: str) -> None:
    one, other = cards.split()
    assert point_hand(one, other) == point_hand(other, one) == points


def test_3_4_2_1_a_3_and_a_6_are_no_pair() -> None:
    assert point_hand("3c", "6d") == "9"


@pytest.mark.parametrize("rank", "23456789TJQKA")
def test_3_4_3_a_pair_is_always_a_pair(rank: str) -> None:
    assert point_hand(rank + "c", rank + "d") == f"pair_{rank}"


def test_3_5_and_5_12_a_main_wager_is_required() -> None:
    assert refusal(play(PAIR_9, POINTS_9, tie=100)) == ("no_wager", "BE 3.5")


def test_3_5_2_a_position_stands_once() -> None:
    twice = [position(PAIR_9, {"main": 1}, 2), position("3c 3d 6h 6d 7s", {"main": 1}, 2)]
    assert refusal(settled(card_round("bullseye", POINTS_9, twice))) == ("position_taken", "BE 3.5.2")


def test_3_10_1_a_set_that_totals_tens_stands_best_or_not() -> None:
    worse = position(PAIR_9, {"main": 100}, set=["9c", "9d", "2h"])
    result = round_of(worse, POINTS_9)
    assert first(result)["point_hand"] == "8"
    assert nets(result) == {"main": -100}


@pytest.mark.parametrize("chosen", [["9c", "9d"], ["9c", "9d", "2h", "8h"], ["9c", "9d", "9d"], ["9c", "9d", "2s"], []])
def test_3_10_1_a_set_must_be_three_of_the_own_cards(chosen: list[str]) -> None:
    for declined in (False, True):
        entry = position(PAIR_9, {"main": 100}, set=chosen, declined=declined)
        assert refusal(round_of(entry, POINTS_9)) == ("bad_set", "BE 3.10.1")


def test_3_10_1_a_set_of_cards_that_are_not_known_is_refused() -> None:
    entry = position("", {"main": 100}, set=["9c", "9d", "2h"], declined=True)
    assert refusal(round_of(entry, POINTS_9)) == ("bad_set", "BE 3.10.1")


def test_3_10_4_without_a_3_card_hand_main_loses_and_the_rest_stays_in_play() -> None:
    result = play("2c 4c 5c Qc Jd", PAIR_9, main=100, bullseye=100, suits=100, tie=100)
    assert first(result)["point_hand"] == "none"
    assert nets(result) == {"main": -100, "tie": -100, "bullseye": -100, "suits": 500}
    assert rules(result)["main"] == "BE 3.10.4"


@pytest.mark.parametrize(("cards", "points"), [("Ac Kd", "1"), ("4c 5d", "9"), ("2c 8d", "10"), ("Kc Td", "10")])
def test_3_11_1_a_total_of_1_to_10_is_the_points(cards: str, points: str) -> None:
    assert point_hand(*cards.split()) == points


@pytest.mark.parametrize(("cards", "points"), [("8c 7d", "5"), ("Tc Ad", "1"), ("Tc 9d", "9"), ("2c 9d", "1")])
def test_3_11_2_of_a_higher_total_the_right_digit(cards: str, points: str) -> None:
    assert point_hand(*cards.split()) == points


def test_3_12_a_set_without_tens_is_set_by_the_house_way() -> None:
    result = round_of(position(PAIR_9, {"main": 100}, set=["9c", "2h", "Td"]), POINTS_9)
    assert first(result)["point_hand"] == "pair_9"
    assert nets(result) == {"main": 300}


def test_5_11_without_a_set_the_house_way_is_taken() -> None:
    assert first(play(PAIR_9, POINTS_9))["point_hand"] == "pair_9"


def test_3_13_the_dealer_sets_by_the_house_way() -> None:
    assert play(POINTS_9, PAIR_9)["dealer"] == {"point_hand": "pair_9"}


def test_3_14_1_main_pushes_if_only_the_dealer_has_no_3_card_hand() -> None:
    result = play(POINTS_9, NO_3_CARD_HAND)
    assert result["dealer"] == {"point_hand": "none"}
    assert (nets(result), rules(result)) == ({"main": 0}, {"main": "BE 3.14.1"})


def test_3_14_1_main_loses_if_neither_has_one() -> None:
    result = play(ALSO_NONE, NO_3_CARD_HAND)
    assert (nets(result), rules(result)) == ({"main": -100}, {"main": "BE 3.10.4"})


def test_3_14_2_tie_wins_if_neither_has_one_and_loses_otherwise() -> None:
    neither = play(ALSO_NONE, NO_3_CARD_HAND, main=100, tie=100)
    assert (nets(neither)["tie"], rules(neither)["tie"]) == (800, "BE 4.2")
    dealer_only = play(POINTS_9, NO_3_CARD_HAND, main=100, tie=100)
    assert (nets(dealer_only)["tie"], rules(dealer_only)["tie"]) == (-100, "BE 3.14.2")


def test_3_15_the_order_of_point_hands() -> None:
    pairs = [f"pair_{rank}" for rank in "AKQJT98765432"]
    points = [str(total) for total in range(10, 0, -1)]
    assert list(reversed(POINT_HANDS)) == ["gnau_tung_ku", *pairs, "mixed_pictures", *points, "none"]


@pytest.mark.parametrize(
    ("higher", "lower"),
    [
        ("As Kd 5c 5d Tc", "Ac Ad 2h 8h Th"),
        ("Kc Kd 2h 8h Td", "Qc Qd 2s 8s Ts"),
        ("Qc Qd 2h 8h Td", "Jc Jd 2s 8s Ts"),
        ("2c 2d 4h 7h 9d", "Kc Qd 2s 8s Ts"),
        ("Kc Qd 2h 8h Td", "6c 4c 7s 5s 8s"),
        ("6c 4c 7s 5s 8s", "Tc 9c 2h 4h 4d"),
    ],
)
def test_3_15_the_higher_point_hand_wins(higher: str, lower: str) -> None:
    assert nets(play(higher, lower))["main"] > 0
    beaten = play(lower, higher)
    assert (nets(beaten), rules(beaten)) == ({"main": -100}, {"main": "BE 3.15"})


def test_3_17_a_hand_not_exposed_loses_every_wager() -> None:
    wagers = {"main": 100, "tie": 100, "bullseye": 100, "suits": 100}
    for cards in ("", PAIR_9):
        for dealer in (POINTS_9, NO_3_CARD_HAND):
            result = round_of(position(cards, wagers, declined=True), dealer)
            assert first(result)["point_hand"] is None
            assert nets(result) == dict.fromkeys(wagers, -100)
            assert set(rules(result).values()) == {"BE 3.17"}


@pytest.mark.parametrize(
    ("cards", "net_cents"),
    [(GNAU_TUNG_KU, 500), (PAIR_9, 300), (MIXED_PICTURES, 200), ("4c 5c 2d 8d Td", 100)],
)
def test_4_1_main_pays_by_the_winning_point_hand(cards: str, net_cents: int) -> None:
    result = play(cards, "Ah Ks 5h 5s Ts")  # 1 point
    assert (nets(result), rules(result)) == ({"main": net_cents}, {"main": "BE 4.1"})


@pytest.mark.parametrize("card", ["10d", "td", "1s", "Xx", "", "AS", "sA", "As ", "Joker"])
def test_5_1_a_card_that_is_not_of_the_deck_is_refused(card: str) -> None:
    entry = {"position": 1, "cards": ["9c", "9d", "2h", "8h", card], "wagers": {"main": 100}}
    assert refusal(round_of(entry, POINTS_9)) == ("unknown_card", "BE 2.1")


def test_5_3_a_wrong_number_of_dealers_cards_is_refused() -> None:
    for dealer in (POINTS_9[:-3], POINTS_9 + " 7h"):
        assert refusal(play(PAIR_9, dealer)) == ("wrong_card_count", "BE 5.3")


def test_5_7_a_wrong_number_of_a_players_cards_is_refused() -> None:
    for cards in (PAIR_9[:-3], PAIR_9 + " 7h"):
        assert refusal(play(cards, POINTS_9)) == ("wrong_card_count", "BE 5.7")


def test_5_13_a_stake_under_the_minimum_is_settled_as_it_stands() -> None:
    limits = {"main": {"min_cents": 500, "max_cents": 1000}}
    result = play(PAIR_9, POINTS_9, limits=limits, main=100)
    assert (nets(result), rules(result)) == ({"main": 300}, {"main": "BE 4.1"})


def test_5_14_a_stake_over_the_maximum_is_won_and_lost_on_the_maximum() -> None:
    limits = {"main": {"min_cents": 500, "max_cents": 1000}, "tie": {"min_cents": 0, "max_cents": 50}}
    won = play(PAIR_9, POINTS_9, limits=limits, main=5000, tie=50)
    assert nets(won) == {"main": 3000, "tie": -50}
    assert rules(won) == {"main": "BE 5.14", "tie": "BE 1.1.13"}
    lost = play(POINTS_9, PAIR_9, limits=limits, main=5000)
    assert (nets(lost), rules(lost)) == ({"main": -1000}, {"main": "BE 5.14"})


def test_fold_is_no_field_of_this_game() -> None:
    assert refusal(round_of(position(PAIR_9, {"main": 1}, fold=False), POINTS_9)) == ("unknown_field", None)
