"""D13: the cards decide, and cards that cannot be true are refused."""

import pytest

from tests.link.link_driver import LinkDriver

FLOP = "7h 8h 9h"


@pytest.fixture
def pit() -> LinkDriver:
    """One closed round at each kind of table, with wagers on positions 1 to 4."""
    pit = LinkDriver("BE-01", "UTH-01", "TCX-01")
    for table in ("BE-01", "UTH-01", "TCX-01"):
        pit.deal(table, {1: 1, 2: 1, 3: 1, 4: 1})
    return pit


def code(pit: LinkDriver, table: str, position: int, cards: str, community: str = "") -> str:
    return pit.refused_hand(table, position, cards, community).code.value


@pytest.mark.parametrize(
    ("cards", "rank"),
    [
        ("Ah Kh Qh Jh Th", "royal_flush"),
        ("Th Ah Qh Kh Jh", "royal_flush"),
        ("Kh Qh Jh Th 9h", "straight_flush"),
        ("Ah 2h 3h 4h 5h", "straight_flush"),
        ("2h 3h 4h 5h 6h", "straight_flush"),
        ("Kh Ah 2h 3h 4h", "flush"),  # a run does not go round the corner
        ("Kh Ad 2h 3h 4h", "none"),
        ("9c 9d 9h 9s 2c", "four_of_a_kind"),
        ("2c 9d 9h 9s 9c", "four_of_a_kind"),
        ("9c 9d 9h 2s 2c", "full_house"),
        ("9c 9d 2h 2s 2c", "full_house"),
        ("2h 4h 6h 8h Th", "flush"),
        ("Ah Kd Qh Jh Th", "straight"),
        ("Ah 2d 3h 4h 5h", "straight"),
        ("9c 9d 9h 3s 2c", "none"),
        ("9c 9d 2h 2s 3c", "none"),
        ("9c 9d 2h 4s 3c", "none"),
        ("2h 4h 6h 8h Tc", "none"),
    ],
)
def test_d13_the_link_ranks_every_hand_from_its_cards(pit: LinkDriver, cards: str, rank: str) -> None:
    assert pit.enter("BE-01", 1, cards)["rank"] == rank


def test_d13_a_rank_that_is_told_is_not_believed(pit: LinkDriver) -> None:
    told = pit.accepted(
        "BE-01", "hand.entered", position=1, cards=["9c", "9d", "2h", "4s", "3c"], community=[], rank="royal_flush"
    )
    assert told.result["rank"] == "none"
    assert pit.meter["pending"] == []


@pytest.mark.parametrize(
    ("table", "cards", "community"),
    [
        ("BE-01", "Ah Kh Qh Jh", ""),
        ("BE-01", "Ah Kh Qh Jh Th 9h", ""),
        ("BE-01", "Ah Kh Qh", "Jh Th"),
        ("BE-01", "", ""),
        ("UTH-01", "Ah", "Qh Jh Th"),
        ("UTH-01", "Ah Kh", "Qh Jh"),
        ("UTH-01", "Ah Kh", "Qh Jh Th 2c 3c"),
        ("UTH-01", "Ah Kh Qh", "Jh Th"),
        ("TCX-01", "Ah Kh", "Qh Jh Th"),
        ("TCX-01", "Ah Kh Qh", "Jh"),
        ("TCX-01", "Ah Kh Qh Jh Th", ""),
    ],
)
def test_d13_wrong_number_of_cards(pit: LinkDriver, table: str, cards: str, community: str) -> None:
    assert code(pit, table, 1, cards, community) == "wrong_card_count"


@pytest.mark.parametrize("card", ["10h", "ah", "AH", "A", "", "1h", "Ax", "Jk", " Ah", "Ah ", "A♥"])
def test_d13_a_card_that_is_not_of_the_deck(pit: LinkDriver, card: str) -> None:
    cards = ["Ks", "Qs", "Js", "Ts", card]
    assert pit.refused("BE-01", "hand.entered", position=1, cards=cards, community=[]).code == "unknown_card"
    community = ["Js", "Ts", card]
    refused = pit.refused("UTH-01", "hand.entered", position=1, cards=["Ks", "Qs"], community=community)
    assert refused.code == "unknown_card"


@pytest.mark.parametrize(
    ("table", "cards", "community"),
    [
        ("BE-01", "Ah Ah Qh Jh Th", ""),
        ("UTH-01", "Ah Ah", "Qh Jh Th"),
        ("UTH-01", "Ah Kh", "Qh Qh Th"),
        ("UTH-01", "Ah Kh", "Ah Jh Th"),
        ("TCX-01", "Ah Kh Qh", "Qh Jh"),
    ],
)
def test_d13_a_card_twice_in_one_hand(pit: LinkDriver, table: str, cards: str, community: str) -> None:
    assert code(pit, table, 1, cards, community) == "duplicate_card"


def test_d13_a_card_twice_in_one_round(pit: LinkDriver) -> None:
    pit.enter("BE-01", 1, "Ah Kh Qh Jh Th")
    assert code(pit, "BE-01", 2, "9h 8h 7h 6h Th") == "duplicate_card"
    pit.enter("UTH-01", 1, "5h 6h", FLOP)
    assert code(pit, "UTH-01", 2, "Th 5h", FLOP) == "duplicate_card"
    pit.enter("TCX-01", 1, "6h 7h 8h", "9h Th")
    assert code(pit, "TCX-01", 2, "Jh Qh 6h", "9h Th") == "duplicate_card"


def test_d13_the_same_card_may_be_at_two_tables(pit: LinkDriver) -> None:
    pit.enter("BE-01", 1, "Ah Kh Qh Jh Th")
    pit.enter("UTH-01", 1, "Ah Kh", "Qh Jh Th")
    pit.enter("TCX-01", 1, "Ah Kh Qh", "Jh Th")
    assert len(pit.pending) == 3


def test_d13_an_own_card_that_lies_in_the_rounds_community_is_a_duplicate_though_another_community_is_told(
    pit: LinkDriver,
) -> None:
    pit.enter("UTH-01", 1, "5h 6h", FLOP)
    assert code(pit, "UTH-01", 2, "7h Jh", "8h 9h Th") == "duplicate_card"


def test_d13_a_community_card_that_lies_in_another_hand_is_a_duplicate(pit: LinkDriver) -> None:
    pit.enter("UTH-01", 1, "5h 6h", FLOP)
    assert code(pit, "UTH-01", 2, "Th Jh", "5h 8h 9h") == "duplicate_card"


def test_d13_community_cards_that_differ_from_the_rounds(pit: LinkDriver) -> None:
    pit.enter("UTH-01", 1, "5h 6h", FLOP)
    assert code(pit, "UTH-01", 2, "Th Jh", "7h 8h 9d") == "community_mismatch"
    pit.enter("TCX-01", 1, "6h 7h 8h", "9h Th")
    assert code(pit, "TCX-01", 2, "Jh Qh Kh", "9h Td") == "community_mismatch"


@pytest.mark.parametrize("community", ["7h 8h 9h", "9h 8h 7h", "8h 9h 7h"])
def test_d13_community_cards_may_be_given_in_any_order(pit: LinkDriver, community: str) -> None:
    pit.enter("UTH-01", 1, "5h 6h", FLOP)
    assert pit.enter("UTH-01", 2, "Th Jh", community)["rank"] == "straight_flush"


@pytest.mark.parametrize("leaves", ["hand.withdrawn", "wager.returned"])
def test_d13_the_cards_of_a_hand_that_left_are_free_again(pit: LinkDriver, leaves: str) -> None:
    pit.enter("BE-01", 1, "Ah Kh Qh Jh Th")
    pit.accepted("BE-01", leaves, position=1, reason="in error")
    assert pit.enter("BE-01", 2, "Ah Kh Qh Jh Th")["rank"] == "royal_flush"


@pytest.mark.parametrize("leaves", ["hand.withdrawn", "wager.returned"])
def test_d13_when_no_hand_stands_the_next_may_give_another_community(pit: LinkDriver, leaves: str) -> None:
    pit.enter("UTH-01", 1, "5h 6h", FLOP)
    pit.enter("UTH-01", 2, "Th Jh", FLOP)
    pit.accepted("UTH-01", leaves, position=1, reason="in error")
    assert code(pit, "UTH-01", 3, "Ah Kh", "Qh Jc Tc") == "community_mismatch"
    pit.accepted("UTH-01", leaves, position=2, reason="in error")
    assert pit.enter("UTH-01", 3, "Ah Kh", "Qh Jh Th")["rank"] == "royal_flush"


def test_d13_a_withdrawn_hand_may_be_entered_again_or_declined(pit: LinkDriver) -> None:
    pit.enter("BE-01", 1, "Ah Kh Qh Jh Th")
    pit.withdraw("BE-01", 1)
    pit.enter("BE-01", 1, "Ac Kc Qc Jc Tc")
    pit.withdraw("BE-01", 1)
    pit.decline("BE-01", 1)
    assert code(pit, "BE-01", 1, "Ah Kh Qh Jh Th") == "hand_declined"
    assert pit.settle("BE-01").result == {"awards": [], "pending": []}


def test_d13_a_refused_hand_uses_no_entry_number_and_leaves_no_trace(pit: LinkDriver) -> None:
    assert code(pit, "BE-01", 1, "Ah Ah Qh Jh Th") == "duplicate_card"
    assert pit.meter["entry"] == 0
    assert pit.enter("BE-01", 1, "Ah Kh Qh Jh Th") == {"rank": "royal_flush", "entry": 1}
