"""Prosperity 3 Pictures, paragraph by paragraph."""

from typing import Any

import pytest

from jackpot.rules.prosperity_3_pictures import picture_hand
from tests.rules.rounds import Json, card_round, first, nets, position, refusal, rules, settled

GAME = "prosperity-3-pictures"
THREE_POINTS = "Ac 2d Th"


def play(cards: str, dealer: str, wagers: Json | None = None, **fields: Any) -> Json:
    limits = {"limits": fields.pop("limits")} if "limits" in fields else {}
    return settled(card_round(GAME, dealer, [position(cards, wagers or {"main": 100}, **fields)], **limits))


def points(cards: str) -> tuple[int, int]:
    hand = picture_hand(cards.split())
    return hand.points, hand.pictures


def side(wager: str, cards: str, dealer: str) -> int:
    return nets(play(cards, dealer, {"main": 100, wager: 100}))[wager]


@pytest.mark.parametrize(
    ("cards", "dealer"), [("As Kd Qc", "Ah Ks Qd"), ("9s 9d 2c", "9h 2s 9c"), ("Ks Kd Qc", "Kh Qs Kc")]
)
def test_1_1_1_3_13_2_and_3_15_a_perfect_tie_is_the_same_three_ranks(cards: str, dealer: str) -> None:
    result = play(cards, dealer, {"main": 100, "tie": 100})
    assert nets(result) == {"main": 0, "tie": 40000}
    assert rules(result) == {"main": "P3P 3.13.2", "tie": "P3P 4.1"}


@pytest.mark.parametrize(
    ("cards", "dealer", "net_cents"),
    [
        ("Js 9d 7c", "Jd Jc 6h", 500),  # the sheet's own example
        ("Js Jh 7c", "Jd Jc 6h", 10000),
        ("Js Qh 7c", "Jd Qc 6h", 10000),
        ("Js Qh Kc", "Kd Jc Qd", 50000),
        ("Ks Kh Kc", "Kd Jc Qd", 500),
        ("Js Qh 7c", "Kd Tc 7h", -100),
        ("Ts 9d 7c", "Td 9c 7h", -100),
        ("Js Jh Qc", "Jd Qd Qs", 10000),
    ],
)
def test_1_1_3_and_4_3_picture_perfect_matches_rank_with_rank_each_card_once(
    cards: str, dealer: str, net_cents: int
) -> None:
    assert side("picture_perfect", cards, dealer) == side("picture_perfect", dealer, cards) == net_cents


@pytest.mark.parametrize(
    ("cards", "net_cents"),
    [
        ("Ks Kd Kc", 25000),
        ("Qs Qd Qc", 25000),
        ("Js Jd Jc", 25000),
        ("Ks Qd Jc", 2500),
        ("Ks Kd Jc", 2500),
        ("Ks Kd 5c", 1500),
        ("Ts Qd Qc", 1500),
        ("Js As Jc", 1500),
        ("Ks Qd 5c", -100),
        ("Ks 5d 5c", -100),
        ("Ts Td Tc", -100),
    ],
)
def test_1_1_4_and_4_2_player_and_dealer_prosperity_pictures(cards: str, net_cents: int) -> None:
    other = "2h 4h 9h"
    assert side("player_prosperity", cards, other) == net_cents
    assert side("dealer_prosperity", other, cards) == net_cents
    assert side("dealer_prosperity", cards, other) == side("player_prosperity", other, cards) == -100


def test_1_1_4_the_paragraphs_of_a_prosperity_wager() -> None:
    wagers = {"main": 1, "player_prosperity": 1, "dealer_prosperity": 1}
    found = rules(play("Ks Kd 5c", "2h 4h 9h", wagers))
    assert (found["player_prosperity"], found["dealer_prosperity"]) == ("P3P 4.2", "P3P 1.1.4")


def test_2_1_a_card_twice_is_refused() -> None:
    assert refusal(play("Ks Kd 5c", "Ks 2d 3c")) == ("duplicate_card", "P3P 2.1")


def test_positions_are_1_to_7_and_none_stands_twice() -> None:
    assert first(play("Ks Kd 5c", THREE_POINTS, number=7))["position"] == 7
    assert refusal(play("Ks Kd 5c", THREE_POINTS, number=8)) == ("bad_position", None)
    twice = [position("Ks Kd 5c", {"main": 1}), position("Qs Qd 6c", {"main": 1})]
    assert refusal(settled(card_round(GAME, THREE_POINTS, twice))) == ("position_taken", None)


def test_3_4_an_initial_wager_is_required() -> None:
    assert refusal(play("Ks Kd 5c", THREE_POINTS, {"tie": 100})) == ("no_wager", "P3P 3.4")


@pytest.mark.parametrize("declined", [True, False])
def test_3_6_every_hand_is_shown(declined: bool) -> None:
    assert refusal(play("Ks Kd 5c", THREE_POINTS, declined=declined)) == ("unknown_field", "P3P 3.6")


@pytest.mark.parametrize(
    ("cards", "found"),
    [
        ("2s 3d 4c", (9, 0)),
        ("As Td 4c", (5, 0)),
        ("Ks Qd 5c", (5, 2)),
        ("Ts Kd 9c", (9, 1)),
        ("Ts Td Tc", (0, 0)),
    ],
)
def test_3_9_ten_and_pictures_count_zero_and_only_j_q_k_are_pictures(cards: str, found: tuple[int, int]) -> None:
    assert points(cards) == found


@pytest.mark.parametrize(("cards", "total"), [("2s 3d 5c", 0), ("9s 9d 9c", 7), ("8s 7d 6c", 1), ("3s 3d 3c", 9)])
def test_3_10_of_ten_and_more_the_right_digit(cards: str, total: int) -> None:
    assert points(cards)[0] == total


def test_3_11_three_pictures_beat_nine_points() -> None:
    won = play("Ks Qd Jc", "2s 3d 4c")
    assert (first(won)["points"], first(won)["pictures"], nets(won)) == (0, 3, {"main": 100})
    lost = play("2s 3d 4c", "Ks Qd Jc")
    assert (nets(lost), rules(lost)) == ({"main": -100}, {"main": "P3P 3.11"})


def test_3_11_1_and_3_14_three_pictures_tie_with_each_other() -> None:
    result = play("Ks Kd Kc", "Js Qd Jc", {"main": 100, "tie": 100})
    assert nets(result) == {"main": 0, "tie": 1000}
    assert rules(result)["main"] == "P3P 3.11.1"


def test_3_12_the_higher_points_win_whatever_the_pictures() -> None:
    assert nets(play("2s 3d 4c", "Ks Qd 8c")) == {"main": 100}
    lost = play("Ks Qd 8c", "2s 3d 4c")
    assert (nets(lost), rules(lost)) == ({"main": -100}, {"main": "P3P 3.12"})


def test_3_13_with_the_same_points_the_most_pictures_win_and_it_is_no_tie() -> None:
    won = play("Ks Qd 8c", "Kd 3d 5c", {"main": 100, "tie": 100})
    assert nets(won) == {"main": 100, "tie": -100}
    lost = play("Kd 3d 5c", "Ks Qd 8c", {"main": 100, "tie": 100})
    assert nets(lost) == {"main": -100, "tie": -100}
    assert rules(lost) == {"main": "P3P 3.13", "tie": "P3P 3.13"}


def test_3_13_1_and_3_14_the_same_points_and_pictures_tie() -> None:
    result = play("Ks Kd 8c", "Qs Jd 8d", {"main": 100, "tie": 100})
    assert nets(result) == {"main": 0, "tie": 1000}
    assert rules(result) == {"main": "P3P 3.13.1", "tie": "P3P 4.1"}


def test_3_13_1_zero_points_tie_too() -> None:
    assert nets(play("Ts Td Tc", "2s 3d 5c")) == {"main": 0}


@pytest.mark.parametrize(("stake", "net_cents"), [(100, 50), (101, 50), (1, 0), (3, 1)])
def test_4_1_a_win_on_six_points_pays_1_to_2_truncated(stake: int, net_cents: int) -> None:
    assert nets(play("2s 4d Tc", THREE_POINTS, {"main": stake})) == {"main": net_cents}


def test_4_1_six_points_that_lose_lose_the_whole_stake() -> None:
    assert nets(play("2s 4d Tc", "2h 5d Th")) == {"main": -100}


def test_4_1_a_win_on_other_points_pays_1_to_1() -> None:
    result = play("2s 5d Tc", THREE_POINTS)
    assert (nets(result), rules(result)) == ({"main": 100}, {"main": "P3P 4.1"})


def test_5_1_a_foreign_card_is_refused() -> None:
    assert refusal(play("Ks Kd 5x", THREE_POINTS)) == ("unknown_card", "P3P 2.1")


def test_5_3_a_wrong_number_of_a_players_cards_is_refused() -> None:
    assert refusal(play("Ks Kd", THREE_POINTS)) == ("wrong_card_count", "P3P 5.3")


def test_5_4_a_wrong_number_of_dealers_cards_is_refused() -> None:
    assert refusal(play("Ks Kd 5c", THREE_POINTS + " 7h")) == ("wrong_card_count", "P3P 5.4")


def test_limits_bind_here_too_though_no_paragraph_of_this_sheet_says_so() -> None:
    limits = {"main": {"min_cents": 1, "max_cents": 60}}
    result = play("2s 5d Tc", THREE_POINTS, limits=limits)
    assert (nets(result), rules(result)) == ({"main": 60}, {"main": "P3P 4.1"})
