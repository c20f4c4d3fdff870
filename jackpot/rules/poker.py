"""How poker hands rank: the best five of five to seven cards (UTH 3.11), and three cards (TCX 3.14)."""

from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Final, Generic, TypeVar

from jackpot.rules.cards import DECK, RANKS


class FiveCard(StrEnum):
    """The order of five-card hands, lowest first (UTH 3.11, TCX 4.5)."""

    HIGH_CARD = "high_card"
    PAIR = "pair"
    TWO_PAIRS = "two_pairs"
    THREE_OF_A_KIND = "three_of_a_kind"
    STRAIGHT = "straight"
    FLUSH = "flush"
    FULL_HOUSE = "full_house"
    FOUR_OF_A_KIND = "four_of_a_kind"
    STRAIGHT_FLUSH = "straight_flush"
    ROYAL_FLUSH = "royal_flush"


class ThreeCard(StrEnum):
    """The order of three-card hands, lowest first: a Straight beats a Flush, and there is no Royal (TCX 3.14)."""

    HIGH_CARD = "high_card"
    PAIR = "pair"
    FLUSH = "flush"
    STRAIGHT = "straight"
    THREE_OF_A_KIND = "three_of_a_kind"
    STRAIGHT_FLUSH = "straight_flush"


OrderT = TypeVar("OrderT", FiveCard, ThreeCard)


@dataclass(frozen=True, slots=True)
class Hand(Generic[OrderT]):
    """A hand's name, and a strength that compares with other hands of the same number of cards."""

    name: OrderT
    strength: tuple[int, ...]
    """Place in the order of hands, then the ranks that decide among equals, the weightiest first."""


_FIVE_CARD_ORDER: Final = {name: place for place, name in enumerate(FiveCard)}
_THREE_CARD_ORDER: Final = {name: place for place, name in enumerate(ThreeCard)}
_RANK: Final = {card: RANKS.index(card[0]) for card in DECK}
_ACE: Final = RANKS.index("A")


def _highest_run(ranks: Sequence[int], length: int) -> int | None:
    """Top rank of the highest run of that length; an Ace may count low (UTH, TCX 3.3.1.2)."""
    present = 0
    for rank in ranks:
        present |= 2 << rank
    present |= present >> (_ACE + 1)  # bit 0 is the Ace as 1
    starts = present
    for shift in range(1, length):
        starts &= present >> shift
    return starts.bit_length() + length - 3 if starts else None


def best_five(cards: Sequence[str]) -> Hand[FiveCard]:
    """Rank the best five of five, six or seven different cards of the deck."""
    suits = "".join([card[1] for card in cards])
    suited: list[int] = []
    for suit in "cdhs":
        if suits.count(suit) >= 5:
            suited = sorted([_RANK[card] for card in cards if card[1] == suit], reverse=True)
            if (top := _highest_run(suited, 5)) is not None:
                return _five(FiveCard.ROYAL_FLUSH if top == _ACE else FiveCard.STRAIGHT_FLUSH, top)

    ranks = sorted([_RANK[card] for card in cards], reverse=True)
    groups = sorted([(ranks.count(rank), rank) for rank in set(ranks)], reverse=True)
    (most, first), (next_most, second) = groups[0], groups[1]
    if most == 4:
        return _five(FiveCard.FOUR_OF_A_KIND, first, *[rank for rank in ranks if rank != first][:1])
    if most == 3 and next_most >= 2:
        return _five(FiveCard.FULL_HOUSE, first, second)
    if suited:
        return _five(FiveCard.FLUSH, *suited[:5])
    if (top := _highest_run(ranks, 5)) is not None:
        return _five(FiveCard.STRAIGHT, top)
    if most == 3:
        return _five(FiveCard.THREE_OF_A_KIND, first, *[rank for rank in ranks if rank != first][:2])
    if most == 2 and next_most == 2:
        odd = [rank for rank in ranks if rank not in (first, second)]
        return _five(FiveCard.TWO_PAIRS, first, second, odd[0])
    if most == 2:
        return _five(FiveCard.PAIR, first, *[rank for rank in ranks if rank != first][:3])
    return _five(FiveCard.HIGH_CARD, *ranks[:5])


def _five(name: FiveCard, *ranks: int) -> Hand[FiveCard]:
    return Hand(name, (_FIVE_CARD_ORDER[name], *ranks))


def three_cards(cards: Sequence[str]) -> Hand[ThreeCard]:
    """Rank three different cards of the deck."""
    a, b, c = sorted([_RANK[card] for card in cards], reverse=True)
    suited = cards[0][1] == cards[1][1] == cards[2][1]
    if a == c:
        return _three(ThreeCard.THREE_OF_A_KIND, a)
    if b in (a, c):
        return _three(ThreeCard.PAIR, b, c if a == b else a)
    if (top := _highest_run((a, b, c), 3)) is not None:
        return _three(ThreeCard.STRAIGHT_FLUSH if suited else ThreeCard.STRAIGHT, top)
    return _three(ThreeCard.FLUSH if suited else ThreeCard.HIGH_CARD, a, b, c)


def _three(name: ThreeCard, *ranks: int) -> Hand[ThreeCard]:
    return Hand(name, (_THREE_CARD_ORDER[name], *ranks))
