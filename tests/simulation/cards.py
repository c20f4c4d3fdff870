"""The cards that simulated dealers deal: decks in which Straight Flushes and Royal Flushes are frequent."""

import random

CARDS = {"bullseye": (5, 0), "ultimate-texas-holdem": (2, 3), "three-card-poker-xtreme": (3, 2)}
"""Own and community cards of a jackpot hand."""
MULTIPLIER_MAX = {"bullseye": 1, "ultimate-texas-holdem": 5, "three-card-poker-xtreme": 5}
RANKS = "A23456789TJQKA"
DECK = {rank + suit for rank in RANKS for suit in "shdc"}
ORDERED_DECK = sorted(DECK)


def deal(
    chance: random.Random, game: str, seated: list[int], *, stacked: float = 0.35
) -> tuple[dict[int, list[str]], list[str]]:
    """Cards for everyone from one deck, which is so often one that was stacked for Straight Flushes and Royals."""
    own, common = CARDS[game]
    hands: dict[int, list[str]] = {}
    community: list[str] = []
    if chance.random() < stacked:
        suit = chance.choice("shdc")
        if common:
            start = chance.choice([own, *range(own, 12 - own), 9])  # the last two windows end with the Ace
            start = min(start, len(RANKS) - common - own)
            community = [rank + suit for rank in RANKS[start : start + common]]
            lower, upper = RANKS[start - own : start], RANKS[start + common : start + common + own]
            for position, ranks in zip(seated, chance.sample([lower, upper], chance.randint(1, 2)), strict=False):
                hands[position] = [rank + suit for rank in ranks]
        else:
            for position, each in zip(seated, chance.sample("shdc", chance.randint(1, 3)), strict=False):
                low = chance.choice([*range(10), 9, 9, 9])
                hands[position] = [rank + each for rank in RANKS[low : low + 5]]
    used = {*community, *(card for cards in hands.values() for card in cards)}
    deck = [card for card in chance.sample(ORDERED_DECK, 52) if card not in used]
    if chance.random() < 0.1:
        deck.sort(key=chance.choice([lambda card: card[0], lambda card: card[1]]))  # badly shuffled: odds to pay
    community = community or [deck.pop() for _ in range(common)]
    for position in seated:
        hands.setdefault(position, []).extend(deck.pop() for _ in range(own - len(hands[position])))
    return hands, community
