"""One deck of 52 cards (BE, UTH, TCX, P3P 2.1), each known by its code, rank then suit: "As", "Td"."""

from typing import Final

RANKS: Final = "23456789TJQKA"
"""From lowest to highest (UTH, TCX 3.3.1.1)."""

SUITS: Final = "cdhs"

DECK: Final[frozenset[str]] = frozenset(rank + suit for rank in RANKS for suit in SUITS)

PICTURES: Final = frozenset("JQK")
"""The ranks of the picture cards (BE 1.1.8, P3P 1.1.2)."""
