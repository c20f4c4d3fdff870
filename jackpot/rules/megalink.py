"""The Megalink progressive: what makes a jackpot hand in each linked game, how it ranks and what it pays.

A jackpot hand is five cards of one deck in all three games, so one ranking and one pay table serve them all
(BE 4.5, UTH 4.2, TCX 4.4). The paragraphs differ; each game carries its own.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from types import MappingProxyType
from typing import Final

from jackpot.rules.cards import RANKS, SUITS


class Rank(StrEnum):
    """A jackpot hand's rank, highest first; everything below a Straight wins nothing."""

    ROYAL_FLUSH = "royal_flush"
    STRAIGHT_FLUSH = "straight_flush"
    FOUR_OF_A_KIND = "four_of_a_kind"
    FULL_HOUSE = "full_house"
    FLUSH = "flush"
    STRAIGHT = "straight"
    NONE = "none"


@dataclass(frozen=True, slots=True)
class Share:
    """A percentage of the pool, whatever was wagered."""

    rank: Rank
    percent: int


@dataclass(frozen=True, slots=True)
class Odds:
    """So much "for 1": the stake is part of it and does not come back as well."""

    rank: Rank
    for_one: int


PAY_TABLE: Final[tuple[Share | Odds, ...]] = (  # BE 4.5, UTH 4.2, TCX 4.4
    Share(Rank.ROYAL_FLUSH, 100),
    Share(Rank.STRAIGHT_FLUSH, 10),
    Odds(Rank.FOUR_OF_A_KIND, 400),
    Odds(Rank.FULL_HOUSE, 80),
    Odds(Rank.FLUSH, 40),
    Odds(Rank.STRAIGHT, 20),
)

ODDS: Final[Mapping[Rank, int]] = MappingProxyType(
    {line.rank: line.for_one for line in PAY_TABLE if isinstance(line, Odds)}
)
SHARE_PERCENT: Final[Mapping[Rank, int]] = MappingProxyType(
    {line.rank: line.percent for line in PAY_TABLE if isinstance(line, Share)}
)

# One bit a rank: five different ranks are a run if their bits together are one of these.
_BIT: Final = {rank + suit: 1 << RANKS.index(rank) for rank in RANKS for suit in SUITS}
_ACE_HIGH: Final = 0b11111_00000000
_RUNS: Final = frozenset([*(0b11111 << low for low in range(9)), 0b1_00000000_1111])  # UTH 3.11.6: Ace high or low


def jackpot_rank(cards: Sequence[str]) -> Rank:
    """Rank five different cards of the deck at face value (a 3 and a 6 too: BE 3.4.2.2)."""
    a, b, c, d, e = cards
    ranks = _BIT[a] | _BIT[b] | _BIT[c] | _BIT[d] | _BIT[e]
    different = ranks.bit_count()
    if different == 5:
        if a[1] == b[1] == c[1] == d[1] == e[1]:
            if ranks == _ACE_HIGH:
                return Rank.ROYAL_FLUSH
            return Rank.STRAIGHT_FLUSH if ranks in _RUNS else Rank.FLUSH
        return Rank.STRAIGHT if ranks in _RUNS else Rank.NONE
    if different == 2:
        first = a[0]
        same_as_first = 1 + (b[0] == first) + (c[0] == first) + (d[0] == first) + (e[0] == first)
        return Rank.FOUR_OF_A_KIND if same_as_first in (1, 4) else Rank.FULL_HOUSE
    return Rank.NONE


@dataclass(frozen=True, slots=True)
class JackpotGame:
    """A game that feeds the Megalink, and the paragraphs of its sheet that decide a jackpot wager."""

    name: str
    sheet: str
    cards: int
    """The position's own cards in the jackpot hand."""
    community: int
    """The common cards in it: the flop in UTH, both in TCX, none in Bullseye."""
    positions_max: int
    multiplier_max: int
    accompanied_by: tuple[tuple[str, ...], ...]
    """A jackpot wager needs every wager of at least one of these groups beside it (5.12)."""

    pay_table: str
    jackpot_hand: str
    first_entered: str
    shared_royal: str | None
    """None where common cards make two Royal Flushes in one round impossible."""
    shared_straight_flush: str
    royal_after_lower: str
    declined: str
    one_wager: str
    multipliers: str | None
    multiplied: str | None
    one_deck: str
    void: str
    late_wager: str
    withdrawn_wager: str
    wrong_card_count: str
    wrong_community_count: str | None
    """None where there are no such cards."""
    accompanying: str
    cancel: str


GAMES: Final[Mapping[str, JackpotGame]] = MappingProxyType(
    {
        game.name: game
        for game in (
            JackpotGame(
                name="bullseye",
                sheet="BE",
                cards=5,
                community=0,
                positions_max=6,
                multiplier_max=1,
                accompanied_by=(("main",),),
                pay_table="BE 4.5",
                jackpot_hand="BE 3.10.3",
                first_entered="BE 3.19",
                shared_royal="BE 3.20.1",
                shared_straight_flush="BE 3.20.2",
                royal_after_lower="BE 3.20.3",
                declined="BE 3.17",
                one_wager="BE 3.5.2",
                multipliers=None,
                multiplied=None,
                one_deck="BE 2.1",
                void="BE 5.1",
                late_wager="BE 5.5",
                withdrawn_wager="BE 5.6",
                wrong_card_count="BE 5.7",
                wrong_community_count=None,
                accompanying="BE 5.12",
                cancel="BE 5.12.1",
            ),
            JackpotGame(
                name="ultimate-texas-holdem",
                sheet="UTH",
                cards=2,
                community=3,
                positions_max=7,
                multiplier_max=5,
                accompanied_by=(("ante", "blind"),),
                pay_table="UTH 4.2",
                jackpot_hand="UTH 3.9.3",
                first_entered="UTH 3.14",
                shared_royal=None,
                shared_straight_flush="UTH 3.15.1",
                royal_after_lower="UTH 3.15.2",
                declined="UTH 3.10.1",
                one_wager="UTH 3.4.2",
                multipliers="UTH 3.5.3",
                multiplied="UTH 3.5.4",
                one_deck="UTH 2.1",
                void="UTH 5.1",
                late_wager="UTH 5.5",
                withdrawn_wager="UTH 5.6",
                wrong_card_count="UTH 5.7",
                wrong_community_count="UTH 5.3",
                accompanying="UTH 5.12",
                cancel="UTH 5.12.1",
            ),
            JackpotGame(
                name="three-card-poker-xtreme",
                sheet="TCX",
                cards=3,
                community=2,
                positions_max=7,
                multiplier_max=5,
                accompanied_by=(("ante",), ("pair_plus",), ("six_card_bonus",)),
                pay_table="TCX 4.4",
                jackpot_hand="TCX 3.10.2",
                first_entered="TCX 3.17",
                shared_royal=None,
                shared_straight_flush="TCX 3.18.1",
                royal_after_lower="TCX 3.18.2",
                declined="TCX 3.10.3",
                one_wager="TCX 3.4.2",
                multipliers="TCX 3.5.3",
                multiplied="TCX 3.5.4",
                one_deck="TCX 2.1",
                void="TCX 5.1",
                late_wager="TCX 5.5",
                withdrawn_wager="TCX 5.6",
                wrong_card_count="TCX 5.7",
                wrong_community_count="TCX 5.3",
                accompanying="TCX 5.12",
                cancel="TCX 5.12.1",
            ),
        )
    }
)

ALL_GAMES: Final[tuple[str, ...]] = (*GAMES, "fast-action-roulette", "prosperity-3-pictures")
