"""Every five-card and every three-card hand, and the ranking beside an independent library."""

from collections import Counter
from itertools import combinations, combinations_with_replacement
from math import comb, prod
from random import Random

from phevaluator import evaluate_cards  # type: ignore[import-untyped]  # it ships without types

from jackpot.rules.cards import DECK, RANKS, SUITS
from jackpot.rules.megalink import jackpot_rank
from jackpot.rules.poker import FiveCard, Hand, ThreeCard, best_five, three_cards

CARDS = sorted(DECK)

EVERY_FIVE_CARD_HAND = {
    "royal_flush": 4,
    "straight_flush": 36,
    "four_of_a_kind": 624,
    "full_house": 3_744,
    "flush": 5_108,
    "straight": 10_200,
    "three_of_a_kind": 54_912,
    "two_pairs": 123_552,
    "pair": 1_098_240,
    "high_card": 1_302_540,
}


def hands_that_differ() -> list[tuple[list[str], int]]:
    """One hand for each of the 7,462 that rank differently, with how many there are of it."""
    found = []
    for ranks in combinations_with_replacement(RANKS, 5):
        times = Counter(ranks)
        if max(times.values()) == 5:
            continue
        every = prod(comb(4, count) for count in times.values())
        dealt: Counter[str] = Counter()
        cards = []
        for place, rank in enumerate(ranks):
            suit = SUITS[dealt[rank]] if len(times) < 5 else "cccch"[place]
            dealt[rank] += 1
            cards.append(rank + suit)
        if len(times) == 5:
            found.append(([rank + "s" for rank in ranks], 4))
            every -= 4
        found.append((cards, every))
    return found


DIFFERENT = hands_that_differ()


def test_the_deck_has_52_cards() -> None:
    assert len(DECK) == 52
    assert {"As", "Td", "9h", "2c"} <= DECK


def test_all_2_598_960_jackpot_hands_are_counted() -> None:
    counted = Counter(map(jackpot_rank, combinations(CARDS, 5)))
    paid = {name: count for name, count in EVERY_FIVE_CARD_HAND.items() if count <= 10_200}
    assert counted == {**paid, "none": 2_598_960 - sum(paid.values())}


def test_all_2_598_960_five_card_hands_are_counted_by_the_ranking_of_the_games() -> None:
    counted: Counter[str] = Counter()
    for cards, times in DIFFERENT:
        counted[best_five(cards).name] += times
    assert counted == EVERY_FIVE_CARD_HAND
    assert sum(counted.values()) == 2_598_960


def test_both_rankings_agree_on_every_hand_that_pays() -> None:
    for cards, _ in DIFFERENT:
        name, rank = best_five(cards).name, jackpot_rank(cards)
        assert rank.value == (name.value if EVERY_FIVE_CARD_HAND[name] <= 10_200 else "none")


def test_all_7_462_different_hands_stand_in_the_order_of_an_independent_library() -> None:
    assert len(DIFFERENT) == 7_462
    ours = sorted(DIFFERENT, key=lambda hand: best_five(hand[0]).strength, reverse=True)
    assert [evaluate_cards(*cards) for cards, _ in ours] == list(range(1, 7_463))
    assert len({best_five(cards).strength for cards, _ in ours}) == 7_462


def compare_with_the_library(cards_in_hand: int) -> None:
    rank_of = {evaluate_cards(*cards): best_five(cards) for cards, _ in DIFFERENT}
    random = Random(20200807)
    for _ in range(20_000):
        cards = random.sample(CARDS, cards_in_hand)
        assert best_five(cards) == rank_of[evaluate_cards(*cards)], cards


def test_the_best_five_of_seven_beside_an_independent_library() -> None:
    compare_with_the_library(7)


def test_the_best_five_of_six_beside_an_independent_library() -> None:
    compare_with_the_library(6)


def test_all_22_100_three_card_hands_are_counted() -> None:
    assert Counter(three_cards(cards).name for cards in combinations(CARDS, 3)) == {
        "straight_flush": 48,
        "three_of_a_kind": 52,
        "straight": 720,
        "flush": 1_096,
        "pair": 3_744,
        "high_card": 16_440,
    }


def plainly(cards: tuple[str, ...]) -> tuple[int, list[int]]:
    """TCX 3.14 and 3.15 once more, written from the sheet without a thought for speed."""
    high = sorted((RANKS.index(card[0]) + 2 for card in cards), reverse=True)
    ace_low = [3, 2, 1] if high == [14, 3, 2] else high
    run = ace_low[0] - ace_low[1] == 1 and ace_low[1] - ace_low[2] == 1
    suited = len({card[1] for card in cards}) == 1
    if run and suited:
        return (5, ace_low)
    if len(set(high)) == 1:
        return (4, high)
    if run:
        return (3, ace_low)
    if suited:
        return (2, high)
    if len(set(high)) == 2:
        return (1, sorted(high, key=lambda rank: (high.count(rank), rank), reverse=True))
    return (0, high)


def test_all_three_card_hands_stand_in_the_order_of_the_sheet() -> None:
    by_strength: dict[tuple[int, ...], tuple[int, list[int]]] = {}
    for cards in combinations(CARDS, 3):
        plain = plainly(cards)
        assert by_strength.setdefault(three_cards(cards).strength, plain) == plain, cards
    in_order = [by_strength[strength] for strength in sorted(by_strength)]
    assert in_order == sorted(in_order)
    assert len(in_order) == len({str(plain) for plain in in_order})


def test_the_order_of_cards_does_not_matter() -> None:
    random = Random(7)
    for _ in range(2_000):
        seven = random.sample(CARDS, 7)
        shuffled = random.sample(seven, 7)
        assert best_five(seven) == best_five(shuffled)
        five: Hand[FiveCard] = best_five(seven[:5])
        three: Hand[ThreeCard] = three_cards(seven[:3])
        assert five == best_five(seven[4::-1])
        assert three == three_cards(seven[2::-1])
        assert jackpot_rank(seven[:5]) == jackpot_rank(seven[4::-1])
