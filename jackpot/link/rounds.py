"""A round of play as the link sees it: jackpot wagers, hands entered, and how far it has come."""

from enum import StrEnum
from typing import Any

from msgspec import Struct, field
from msgspec.structs import replace

from jackpot.link.money import whole_cents
from jackpot.rules.megalink import Rank


class Phase(StrEnum):
    OPEN = "open"
    CLOSED = "closed"
    WAITING = "waiting"
    """Settled, with percentage hands behind an earlier-entered round (D6)."""
    SETTLED = "settled"
    VOIDED = "voided"

    @property
    def concluded(self) -> bool:
        return self is not Phase.OPEN and self is not Phase.CLOSED


PERCENTAGE = frozenset({Rank.ROYAL_FLUSH, Rank.STRAIGHT_FLUSH})


class Wager(Struct, frozen=True):
    multiplier: int
    stake_cents: int
    returned: bool = False


class Hand(Struct, frozen=True):
    """A hand that stands: entered and neither withdrawn nor taken along by a returned wager."""

    entry: int
    cards: tuple[str, ...]
    community: tuple[str, ...]
    rank: Rank
    base_micros: int | None = None
    """D5: the pool at entry, less what earlier-entered rounds took since. None unless paid by percentage."""


class Round(Struct, frozen=True):
    table: str
    id: str
    phase: Phase = Phase.OPEN
    wagers: dict[int, Wager] = field(default_factory=dict)
    hands: dict[int, Hand] = field(default_factory=dict)
    declined: frozenset[int] = frozenset()
    increment_bp: int = 0
    reserve_bp: int = 0
    """The rates in force when it closed: a wager given back later is given back by these (D4)."""

    @property
    def key(self) -> tuple[str, str]:
        return self.table, self.id

    @property
    def first_percentage_hand(self) -> Hand | None:
        """The hand that gives the round its place in line and its base (D5, D6)."""
        if not self.hands:
            return None
        hands = [hand for hand in self.hands.values() if hand.base_micros is not None]
        return min(hands, key=lambda hand: hand.entry) if hands else None

    @property
    def base_cents(self) -> int:
        """D2, D5: what its shares are taken from, as it stands now."""
        first = self.first_percentage_hand
        return whole_cents(first.base_micros or 0) if first else 0

    def standing_wagers(self) -> dict[int, Wager]:
        return {position: wager for position, wager in self.wagers.items() if not wager.returned}

    def with_wagers(self, wagers: dict[int, Wager]) -> "Round":
        # Spelled out, not `replace`: this is done for every wager.
        return Round(
            self.table, self.id, self.phase, wagers, self.hands, self.declined, self.increment_bp, self.reserve_bp
        )

    def settled(self) -> "Round":
        return replace(self, phase=Phase.SETTLED)

    def with_base_moved(self, by_micros: int) -> "Round":
        """An earlier-entered round was paid: what it took is no longer there for this one (D5)."""
        return replace(
            self,
            hands={
                position: hand if hand.base_micros is None else replace(hand, base_micros=hand.base_micros + by_micros)
                for position, hand in self.hands.items()
            },
        )


def to_document(round_: Round) -> dict[str, Any]:
    """The round as plain JSON, for the ledger's working table."""
    return {
        "wagers": [[p, w.multiplier, w.stake_cents, w.returned] for p, w in round_.wagers.items()],
        "hands": [[p, h.entry, h.cards, h.community, h.rank.value, h.base_micros] for p, h in round_.hands.items()],
        "declined": sorted(round_.declined),
        "rates": [round_.increment_bp, round_.reserve_bp],
    }


def from_document(table: str, id_: str, phase: str, document: dict[str, Any]) -> Round:
    return Round(
        table,
        id_,
        Phase(phase),
        {p: Wager(multiplier, stake, returned) for p, multiplier, stake, returned in document["wagers"]},
        {
            p: Hand(entry, tuple(cards), tuple(community), Rank(rank), base)
            for p, entry, cards, community, rank, base in document["hands"]
        },
        frozenset(document["declined"]),
        *document["rates"],
    )
