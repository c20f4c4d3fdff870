"""One deck, shuffled before every round; or stacked, where a demonstration cannot wait for a Royal Flush."""

import random
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from jackpot.rules.cards import DECK, RANKS, SUITS
from jackpot.rules.megalink import JackpotGame, Rank

_ORDERED: Final = sorted(DECK)
_RUNS: Final = ("A2345", *(RANKS[low : low + 5] for low in range(len(RANKS) - 4)))
"""Ace low first, Ace high last (UTH 3.11.6)."""


@dataclass(frozen=True, slots=True)
class Deal:
    """The cards that make the jackpot hands of a round: each position's own, and the common ones."""

    hands: Mapping[int, tuple[str, ...]]
    community: tuple[str, ...]


def deal(game: JackpotGame, positions: Sequence[int], chance: random.Random, wish: Rank | None = None) -> Deal:
    """Deals from a fresh deck. With a `wish` one of the positions gets just that hand."""
    deck = _ORDERED.copy()
    chance.shuffle(deck)
    order = list(positions)
    if wish is not None:
        wished = stacked(wish, chance)
        # The common cards come first, then the lucky position's: these are the wished five.
        deck = wished + [card for card in deck if card not in wished]
        order.remove(lucky := chance.choice(order))
        order.insert(0, lucky)
    cards = iter(deck)
    community = tuple(next(cards) for _ in range(game.community))
    return Deal({position: tuple(next(cards) for _ in range(game.cards)) for position in order}, community)


def stacked(rank: Rank, chance: random.Random) -> list[str]:
    """Five cards of that rank, in any order."""
    suit = chance.choice(SUITS)
    match rank:
        case Rank.ROYAL_FLUSH:
            cards = [card + suit for card in _RUNS[-1]]
        case Rank.STRAIGHT_FLUSH:
            cards = [card + suit for card in chance.choice(_RUNS[:-1])]
        case Rank.FOUR_OF_A_KIND:
            four, other = chance.sample(RANKS, 2)
            cards = [*(four + each for each in SUITS), other + suit]
        case Rank.FULL_HOUSE:
            three, pair = chance.sample(RANKS, 2)
            cards = [three + each for each in chance.sample(SUITS, 3)]
            cards += [pair + each for each in chance.sample(SUITS, 2)]
        case _:
            raise ValueError(f"a deck is not stacked for {rank}: it comes often enough by itself")
    chance.shuffle(cards)
    return cards
