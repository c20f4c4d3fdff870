"""`explain`: a hand's rank, what it pays and the paragraph, without a dealer's hand if there is none."""

import pytest

from jackpot.rules.explanation import Explanation, PayLine, explain_game, explain_hand, read_card
from jackpot.rules.megalink import ALL_GAMES
from jackpot.rules.refusal import RefusalError


def explain(game: str, hand: str) -> Explanation:
    return explain_hand(game, hand.split())


def found(explanation: Explanation) -> dict[str, str]:
    return {finding.what: finding.found for finding in reversed(explanation.findings)}


def pays(explanation: Explanation) -> dict[str, tuple[str, str, str]]:
    return {line.wager: (line.outcome, line.pays, line.rule) for line in explanation.pay_lines}


@pytest.mark.parametrize("game", ALL_GAMES)
def test_a_game_is_explained_by_its_pay_tables_each_line_with_its_paragraph(game: str) -> None:
    lines = explain_game(game).pay_lines
    assert len({(line.wager, line.outcome) for line in lines}) == len(lines) >= 7
    assert all(" 4." in line.rule for line in lines)
    assert any(line.wager == "progressive_jackpot" for line in lines) is (game in ALL_GAMES[:3])


def test_the_sheets_odds_are_printed_as_the_sheets_print_them() -> None:
    lines = explain_game("ultimate-texas-holdem").pay_lines
    assert PayLine("blind", "flush", "3 to 2", "UTH 4.1.1") in lines
    assert PayLine("progressive_jackpot", "straight_flush", "10 % of the pool", "UTH 4.2") in lines
    assert PayLine("progressive_jackpot", "flush", "40 for 1", "UTH 4.2") in lines


def test_bullseye_shows_the_house_way_and_how_each_card_counts() -> None:
    explanation = explain("bullseye", "As Kd 3h 4c 6d")
    assert found(explanation)["point_hand"] == "gnau_tung_ku"
    assert explanation.findings[0].how == "3h (3) + 4c (4) + 6d (3) = 10, which leaves As Kd"
    assert pays(explanation)["main"] == ("gnau_tung_ku", "5 to 1, if the hand wins", "BE 4.1")
    assert sum(finding.what == "also_possible" for finding in explanation.findings) == 3


def test_bullseye_without_a_3_card_hand() -> None:
    explanation = explain("bullseye", "2c 4d 5d Qc Jd")
    assert found(explanation)["point_hand"] == "none"
    assert pays(explanation)["main"] == ("none", "loses", "BE 3.10.4")
    assert pays(explanation)["suits"] == ("3_suited_cards", "1 to 1", "BE 4.4")


def test_ultimate_texas_holdem_from_the_flop_and_from_the_whole_board() -> None:
    flop = explain("ultimate-texas-holdem", "9h 8h Qh Jh Th")
    assert pays(flop) == {"progressive_jackpot": ("straight_flush", "10 % of the pool", "UTH 4.2")}
    board = explain("ultimate-texas-holdem", "9h 8h Qh 2c Th Jh 3d")
    assert found(board) == {"hand": "straight_flush", "jackpot_hand": "none"}
    assert board.findings[0].how == "the best five: 9h 8h Qh Th Jh"
    assert pays(board)["trips"] == ("straight_flush", "40 to 1", "UTH 4.1.1")
    pair = pays(explain("ultimate-texas-holdem", "Ah 9d 9c 4h 5s 7d Jc"))
    assert pair["blind"] == ("pair", "pushes, if the hand wins", "UTH 3.10.4")


def test_three_card_poker_xtreme_with_what_is_known() -> None:
    own = "Ah Kh Qh"
    assert pays(explain("three-card-poker-xtreme", own)).keys() == {"ante", "play", "ante_bonus", "pair_plus"}
    jackpot = pays(explain("three-card-poker-xtreme", f"{own} Jh Th"))
    assert jackpot["progressive_jackpot"] == ("royal_flush", "100 % of the pool", "TCX 4.4")
    six = pays(explain("three-card-poker-xtreme", f"{own} Jh Th 2c"))
    assert six["six_card_bonus"] == ("royal_flush", "500 to 1", "TCX 4.5")
    both = pays(explain("three-card-poker-xtreme", f"{own} 2c 3d Jh Th 4c"))
    assert (both["six_card_bonus"][0], both["progressive_jackpot"][1]) == ("royal_flush", "nothing")
    assert "ante_bonus" not in pays(explain("three-card-poker-xtreme", "Ah Kh 2c"))


def test_prosperity_3_pictures_alone_and_against_the_dealer() -> None:
    alone = explain("prosperity-3-pictures", "Ks Qd 6h")
    assert pays(alone)["main"] == ("wins_on_six_points", "1 to 2, if the hand wins", "P3P 4.1")
    against = explain("prosperity-3-pictures", "Ks Qd 6h Kd Qs 6c")
    assert pays(against)["main"] == ("perfect_tie", "pushes", "P3P 3.13.2")
    assert pays(against)["tie"] == ("perfect_tie", "400 to 1", "P3P 4.1")


def test_fast_action_roulette_a_number_and_a_round() -> None:
    assert found(explain("fast-action-roulette", "17")) == {"link": "f"}
    spun = explain("fast-action-roulette", "s 0 00 S mbs 1 2 17 21 25 36")
    assert found(spun)["winning_number"] == "super_bonus_number"
    assert pays(spun)["super_bonus_win"] == ("super_bonus_number", "350 to 1", "FAR 4.2")
    assert found(spun)["scatter_bonus"] == "no"
    assert pays(spun)["scatter_bonus"][:2] == ("no_scatter_bonus", "loses")


def test_fast_action_roulette_says_whether_the_number_is_a_bonus_number() -> None:
    for winning, among in (("17", "17 is not among"), ("5", "5 is among")):
        spun = explain("fast-action-roulette", f"{winning} 1 2 3 4 5 6 7 8 9 10")
        (how,) = (finding.how for finding in spun.findings if finding.what == "winning_number")
        assert how == f"{among} the ten Bonus Numbers"


@pytest.mark.parametrize(
    ("written", "card"), [("As", "As"), ("as", "As"), ("10h", "Th"), ("tH", "Th"), ("K♦", "Kd"), ("2C", "2c")]
)
def test_cards_may_be_written_as_people_write_them(written: str, card: str) -> None:
    assert read_card(written) == card


@pytest.mark.parametrize("written", ["", "A", "s", "1s", "Ax", "AsAs", "♠"])
def test_what_is_no_card_is_refused(written: str) -> None:
    with pytest.raises(RefusalError, match="no card"):
        read_card(written)


@pytest.mark.parametrize(
    ("game", "hand", "code", "rule"),
    [
        ("bullseye", "As Kd", "wrong_card_count", "BE 5.7"),
        ("bullseye", "As As Kd Kc Ks", "duplicate_card", "BE 2.1"),
        ("bullseye", "Ax As Kd Kc Ks", "unknown_card", "BE 2.1"),
        ("ultimate-texas-holdem", "As Kd Qd Jd Td 9d", "wrong_card_count", "UTH 5.7"),
        ("three-card-poker-xtreme", "As Kd Qd Jd", "wrong_card_count", "TCX 5.7"),
        ("prosperity-3-pictures", "As Kd Qd Jd", "wrong_card_count", "P3P 5.3"),
        ("fast-action-roulette", "17 18", "wrong_bonus_count", "FAR 5.11"),
        ("fast-action-roulette", "37", "unknown_number", "FAR 1.1.5"),
    ],
)
def test_a_hand_that_cannot_be_is_refused(game: str, hand: str, code: str, rule: str | None) -> None:
    with pytest.raises(RefusalError) as refused:
        explain(game, hand)
    assert (refused.value.code, refused.value.rule) == (code, rule)
