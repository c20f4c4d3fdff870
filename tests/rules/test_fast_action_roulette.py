"""Sands Fast Action Roulette, paragraph by paragraph."""

from collections import Counter
from typing import Any

import pytest

from jackpot.rules.fast_action_roulette import LINKS, NUMBERS, draw_bonus_numbers, is_scatter_bonus, super_bonus_links
from tests.rules.rounds import Json, refusal, settled

NO_SUPER = ["0", "00", "S", "1", "2", "5", "9", "13", "17", "21"]
SUPER_A = ["0", "00", "S", "MBS", "1", "2", "17", "21", "25", "36"]
SUPER_A_AND_B = ["0", "00", "S", "MBS", "1", "2", "3", "4", "25", "36"]
SCATTER = ["MBS", "4", "5", "10", "13", "17", "21", "25", "29", "36"]


def spin(winning: str, bonus: list[str], *bets: Json, **fields: Any) -> Json:
    return settled({"game": "fast-action-roulette", "winning": winning, "bonus": bonus, "bets": list(bets), **fields})


def straight_up(number: str, stake: int = 100) -> Json:
    return {"bet": "straight_up", "number": number, "stake": stake}


def on(bet: str, stake: int = 100) -> Json:
    return {"bet": bet, "stake": stake}


def net(winning: str, bonus: list[str], bet: Json) -> int:
    result = spin(winning, bonus, bet)
    assert "error" not in result, result
    amount: int = result["net_cents"]
    return amount


@pytest.mark.parametrize("count", [9, 11, 0])
def test_1_1_1_and_5_11_there_are_ten_bonus_numbers(count: int) -> None:
    # With one that failed to illuminate the round is void, so there is nothing to settle.
    rule = "FAR 5.11" if count < 10 else "FAR 1.1.1"
    assert refusal(spin("17", list(NUMBERS[:count]), straight_up("17"))) == ("wrong_bonus_count", rule)


def test_1_1_1_the_bonus_numbers_are_different() -> None:
    assert refusal(spin("17", [*NO_SUPER[:9], "0"], straight_up("17"))) == ("duplicate_number", "FAR 1.1.1")


def test_1_1_1_ten_different_numbers_are_drawn_and_every_number_can_be() -> None:
    draws = [draw_bonus_numbers() for _ in range(2000)]
    assert all(len(set(draw)) == 10 and set(draw) <= set(NUMBERS) for draw in draws)
    times = Counter(number for draw in draws for number in draw)
    # Each number is expected 500 times with a deviation of 19.4; ten deviations never happen.
    assert all(300 < times[number] < 700 for number in NUMBERS)
    first_drawn = Counter(draw[0] for draw in draws)
    assert len(first_drawn) == 40


@pytest.mark.parametrize(("winning", "net_cents"), [("1", 200), ("0", 200), ("36", 200), ("18", -100), ("3", -100)])
def test_1_1_2_bonus_win_wins_on_a_bonus_or_super_bonus_number(winning: str, net_cents: int) -> None:
    assert net(winning, SUPER_A, on("bonus_win")) == net_cents


def test_1_1_5_there_are_forty_numbers() -> None:
    assert sorted(NUMBERS) == sorted(["0", "00", "S", "MBS", *(str(number) for number in range(1, 37))])


@pytest.mark.parametrize("number", ["37", "000", "-1", "s", "01", "", "1.0", " 1"])
def test_1_1_5_no_other_number_is_known(number: str) -> None:
    unknown = ("unknown_number", "FAR 1.1.5")
    assert refusal(spin(number, NO_SUPER, straight_up("17"))) == unknown
    assert refusal(spin("17", [*NO_SUPER[:9], number], straight_up("17"))) == unknown
    assert refusal(spin("17", NO_SUPER, straight_up(number))) == unknown


@pytest.mark.parametrize("number", [17, 17.0, None, True, ["17"]])
def test_1_1_5_a_number_is_text(number: object) -> None:
    assert refusal(spin("17", NO_SUPER, {"bet": "straight_up", "number": number, "stake": 1})) == ("malformed", None)


def test_1_1_8_and_1_1_9_scatter_bonus_wins_if_every_link_holds_one_whatever_number_wins() -> None:
    assert is_scatter_bonus(SCATTER)
    for winning in ("MBS", "18"):
        assert net(winning, SCATTER, on("scatter_bonus")) == 70000
    almost = [*SCATTER[:9], "1"]  # none in j
    assert net("MBS", almost, on("scatter_bonus")) == -100


def test_1_1_11_the_links_are_rows_of_four() -> None:
    assert LINKS["a"] == ("0", "00", "S", "MBS")
    assert LINKS["b"] == ("1", "2", "3", "4")
    assert LINKS["j"] == ("33", "34", "35", "36")
    assert "".join(LINKS) == "abcdefghij"


def test_1_1_11_all_four_numbers_of_a_link_are_super_bonus_numbers() -> None:
    assert super_bonus_links(NO_SUPER) == ()
    assert super_bonus_links(SUPER_A) == ("a",)
    assert super_bonus_links(SUPER_A_AND_B) == ("a", "b")


@pytest.mark.parametrize(
    ("winning", "bonus", "net_cents"),
    [
        ("MBS", SUPER_A, 35000),
        ("1", SUPER_A, -100),
        ("18", SUPER_A, -100),
        ("0", NO_SUPER, -100),
        ("3", SUPER_A_AND_B, 35000),
    ],
)
def test_1_1_12_super_bonus_win_wins_on_a_super_bonus_number_only(
    winning: str, bonus: list[str], net_cents: int
) -> None:
    assert net(winning, bonus, on("super_bonus_win")) == net_cents


@pytest.mark.parametrize("bet", ["red", "Straight_up", "bonus", "", "split"])
def test_3_4_no_other_bet_is_known(bet: str) -> None:
    assert refusal(spin("17", NO_SUPER, on(bet))) == ("unknown_wager", "FAR 3.4")


def test_3_4_1_straight_up_names_its_number_and_no_other_bet_does() -> None:
    assert refusal(spin("17", NO_SUPER, on("straight_up"))) == ("malformed", None)
    assert refusal(spin("17", NO_SUPER, {**on("bonus_win"), "number": "17"})) == ("unknown_field", None)


@pytest.mark.parametrize(
    ("winning", "bonus", "net_cents"),
    [
        ("18", SUPER_A, 3500),
        ("17", SUPER_A, 4000),
        ("00", SUPER_A, 8000),
        ("00", NO_SUPER, 4000),
        ("4", SUPER_A_AND_B, 8000),
    ],
)
def test_4_1_straight_up_on_the_winning_number(winning: str, bonus: list[str], net_cents: int) -> None:
    assert net(winning, bonus, straight_up(winning)) == net_cents


def test_4_1_straight_up_on_another_number_loses_a_super_bonus_number_too() -> None:
    assert net("18", SUPER_A, straight_up("0")) == -100


def test_4_2_each_bet_is_settled_by_itself_in_the_order_given() -> None:
    bets = [on("bonus_win", 3), straight_up("17", 5), straight_up("17", 7), straight_up("18", 11), on("bonus_win", 3)]
    result = spin("17", SUPER_A, *bets)
    assert result == {
        "game": "fast-action-roulette",
        "winning": "17",
        "bets": [
            {"bet": "bonus_win", "stake": 3, "net_cents": 6, "rule": "FAR 4.2"},
            {"bet": "straight_up", "number": "17", "stake": 5, "net_cents": 200, "rule": "FAR 4.1"},
            {"bet": "straight_up", "number": "17", "stake": 7, "net_cents": 280, "rule": "FAR 4.1"},
            {"bet": "straight_up", "number": "18", "stake": 11, "net_cents": -11, "rule": "FAR 4.1"},
            {"bet": "bonus_win", "stake": 3, "net_cents": 6, "rule": "FAR 4.2"},
        ],
        "net_cents": 481,
    }


def test_5_16_and_5_17_limits_bind_each_bet() -> None:
    limits = {"straight_up": {"min_cents": 50, "max_cents": 60}, "bonus_win": {"min_cents": 500, "max_cents": 600}}
    result = spin("17", SUPER_A, straight_up("17"), straight_up("18"), on("bonus_win"), limits=limits)
    assert [(bet["stake"], bet["net_cents"], bet["rule"]) for bet in result["bets"]] == [
        (100, 2400, "FAR 5.17"),
        (100, -60, "FAR 5.17"),
        (100, 200, "FAR 4.2"),
    ]


def test_a_round_has_at_least_one_bet_and_no_positions() -> None:
    assert refusal(spin("17", NO_SUPER)) == ("malformed", None)
    assert refusal(spin("17", NO_SUPER, straight_up("17"), positions=[])) == ("unknown_field", None)
