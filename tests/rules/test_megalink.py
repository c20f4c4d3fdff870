"""The progressive's paragraphs: what makes a jackpot hand in each game, how it ranks, what it pays."""

import pytest

from jackpot.rules.megalink import ALL_GAMES, GAMES, ODDS, PAY_TABLE, SHARE_PERCENT, Odds, Rank, Share, jackpot_rank
from jackpot.rules.settlement import SETTLE


def rank_of(cards: str) -> Rank:
    return jackpot_rank(cards.split())


EXAMPLES = [  # BE 3.16.1 to 3.16.5, UTH 3.11.1 to 3.11.6, TCX 4.4.1.1 to 4.4.1.6: the sheets' own
    ("Ad Kd Qd Jd Td", "royal_flush"),
    ("Jc Tc 9c 8c 7c", "straight_flush"),
    ("Ac Ah Ad As Jh", "four_of_a_kind"),
    ("Kc Kh Kd As Ah", "full_house"),
    ("Kc Kh Ks As Ah", "full_house"),
    ("Jh 8h 6h 5h 2h", "flush"),
    ("9c 8d 7c 6h 5s", "straight"),
    ("Ts Th Tc 6h 3d", "none"),
    ("Qc Qh 6c 6h 3d", "none"),
    ("Ac Ah 8d 6h 5s", "none"),
    ("Qc Th 6d 5s 2h", "none"),
]


@pytest.mark.parametrize(("cards", "rank"), EXAMPLES)
def test_be_3_16_uth_3_11_and_tcx_4_4_1_the_ranks_of_jackpot_hands(cards: str, rank: str) -> None:
    assert rank_of(cards) == rank


@pytest.mark.parametrize(
    ("cards", "rank"),
    [
        ("Ac 2d 3h 4s 5c", "straight"),
        ("Ac 2c 3c 4c 5c", "straight_flush"),
        ("Tc Jd Qh Ks Ac", "straight"),
        ("Jd Qh Ks Ac 2c", "none"),
        ("Jc Qc Kc Ac 2c", "flush"),
    ],
)
def test_uth_3_11_6_and_tcx_4_4_1_6_an_ace_counts_high_or_low_and_not_around_the_corner(cards: str, rank: str) -> None:
    assert rank_of(cards) == rank


def test_be_3_4_2_2_a_3_or_a_6_is_worth_its_face_value() -> None:
    assert rank_of("3c 3d 3h 6s 6c") == Rank.FULL_HOUSE
    assert rank_of("3c 3d 3h 6s 2c") == Rank.NONE
    assert rank_of("4c 5d 6h 7s 3c") == Rank.STRAIGHT
    assert rank_of("4c 5d 6h 7s 6c") == Rank.NONE


def test_be_4_5_uth_4_2_and_tcx_4_4_one_pay_table_for_the_link() -> None:
    assert (
        Share(Rank.ROYAL_FLUSH, 100),
        Share(Rank.STRAIGHT_FLUSH, 10),
        Odds(Rank.FOUR_OF_A_KIND, 400),
        Odds(Rank.FULL_HOUSE, 80),
        Odds(Rank.FLUSH, 40),
        Odds(Rank.STRAIGHT, 20),
    ) == PAY_TABLE
    assert ODDS == {"four_of_a_kind": 400, "full_house": 80, "flush": 40, "straight": 20}
    assert SHARE_PERCENT == {"royal_flush": 100, "straight_flush": 10}


def test_be_3_10_3_uth_3_9_3_and_tcx_3_10_2_a_jackpot_hand_is_five_cards_in_every_game() -> None:
    assert {name: (game.cards, game.community) for name, game in GAMES.items()} == {
        "bullseye": (5, 0),
        "ultimate-texas-holdem": (2, 3),
        "three-card-poker-xtreme": (3, 2),
    }


def test_be_2_2_uth_2_2_and_tcx_2_2_positions() -> None:
    assert [game.positions_max for game in GAMES.values()] == [6, 7, 7]


def test_uth_3_5_3_and_tcx_3_5_3_one_to_five_units_and_in_be_one() -> None:
    assert {game.sheet: (game.multiplier_max, game.multipliers, game.multiplied) for game in GAMES.values()} == {
        "BE": (1, None, None),
        "UTH": (5, "UTH 3.5.3", "UTH 3.5.4"),
        "TCX": (5, "TCX 3.5.3", "TCX 3.5.4"),
    }


def test_5_12_the_accompanying_wagers() -> None:
    assert {game.sheet: game.accompanied_by for game in GAMES.values()} == {
        "BE": (("main",),),
        "UTH": (("ante", "blind"),),
        "TCX": (("ante",), ("pair_plus",), ("six_card_bonus",)),
    }


def test_be_3_19_3_20_uth_3_14_3_15_and_tcx_3_17_3_18_order_and_sharing() -> None:
    assert {
        game.sheet: (game.first_entered, game.shared_royal, game.shared_straight_flush, game.royal_after_lower)
        for game in GAMES.values()
    } == {
        "BE": ("BE 3.19", "BE 3.20.1", "BE 3.20.2", "BE 3.20.3"),
        "UTH": ("UTH 3.14", None, "UTH 3.15.1", "UTH 3.15.2"),
        "TCX": ("TCX 3.17", None, "TCX 3.18.1", "TCX 3.18.2"),
    }


def test_the_remaining_paragraphs_of_each_linked_game() -> None:
    assert {
        game.sheet: (game.pay_table, game.declined, game.one_wager, game.late_wager, game.withdrawn_wager)
        for game in GAMES.values()
    } == {
        "BE": ("BE 4.5", "BE 3.17", "BE 3.5.2", "BE 5.5", "BE 5.6"),
        "UTH": ("UTH 4.2", "UTH 3.10.1", "UTH 3.4.2", "UTH 5.5", "UTH 5.6"),
        "TCX": ("TCX 4.4", "TCX 3.10.3", "TCX 3.4.2", "TCX 5.5", "TCX 5.6"),
    }
    for game in GAMES.values():
        found = (game.one_deck, game.void, game.wrong_card_count, game.accompanying, game.cancel)
        assert found == tuple(f"{game.sheet} {paragraph}" for paragraph in ("2.1", "5.1", "5.7", "5.12", "5.12.1"))


def test_five_games_are_known_and_all_can_be_settled() -> None:
    assert len(ALL_GAMES) == 5
    assert set(ALL_GAMES) == set(SETTLE)
    assert set(GAMES) < set(ALL_GAMES)
