"""A round as the auditor sees it, and what can be wrong with an event in it, in the contract's order."""

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

from tests.simulation.cards import CARDS, DECK, MULTIPLIER_MAX

Json = dict[str, Any]

PERCENTAGE = ("straight_flush", "royal_flush")
AFTER_CLOSING = ("wager.returned", "hand.entered", "hand.withdrawn", "hand.declined", "round.settled")


@dataclass
class Wager:
    multiplier: int
    stake: int
    returned: bool = False


@dataclass
class Hand:
    position: int
    entry: int
    cards: list[str]
    community: list[str]
    rank: str
    pool_then: int
    """In micros, when it was entered."""


@dataclass(eq=False)
class Round:
    table: str
    name: str
    phase: str = "open"
    wagers: dict[int, Wager] = field(default_factory=dict)
    hands: list[Hand] = field(default_factory=list)
    """Those that stand, in the order of entry."""
    declined: set[int] = field(default_factory=set)
    rates: tuple[int, int] = (0, 0)

    def claimants(self) -> list[Hand]:
        return [hand for hand in self.hands if hand.rank in PERCENTAGE]

    def hand_of(self, position: int) -> Hand | None:
        return next((hand for hand in self.hands if hand.position == position), None)


def faults_in_round(round_: Round, event: Json, game: str, positions: int, unit_cents: int) -> Iterator[str]:
    """`game`, `positions` and `unit_cents` are the table's and the link's."""
    yield from faults_of_phase(event["type"], round_.phase)
    if "position" in event:
        yield from faults_of_position(round_, event, game, positions, unit_cents)


def faults_of_phase(kind: str, phase: str) -> Iterator[str]:
    if phase == "settled":
        yield "round_concluded"
    if phase != "open" and kind in ("wager.placed", "wager.cancelled"):
        yield "bets_closed"
    if phase != "open" and kind == "round.closed":
        yield "round_not_open"
    if phase == "open" and kind in AFTER_CLOSING:
        yield "round_not_closed"


def faults_of_position(round_: Round, event: Json, game: str, positions: int, unit_cents: int) -> Iterator[str]:
    kind, position = event["type"], event["position"]
    wager = round_.wagers.get(position)
    if position not in range(1, positions + 1):
        yield "bad_position"
    if kind == "wager.placed":
        multiplier = event.get("multiplier", 1)
        stake = unit_cents * multiplier
        if wager:
            yield "position_taken"
        if multiplier not in range(1, MULTIPLIER_MAX[game] + 1):
            yield "bad_multiplier"
        if event.get("amount_cents", stake) != stake:
            yield "amount_mismatch"
        return
    if wager is None:
        yield "no_wager"
    elif wager.returned:
        yield "wager_returned"
    hand = round_.hand_of(position)
    if hand and kind in ("hand.entered", "hand.declined"):
        yield "hand_exists"
    if position in round_.declined and kind.startswith("hand."):
        yield "hand_declined"
    if hand is None and kind == "hand.withdrawn":
        yield "no_hand"
    if kind == "hand.entered":
        yield from faults_of_cards(game, round_, event["cards"], event["community"])


def faults_of_cards(game: str, round_: Round, own: list[str], community: list[str]) -> Iterator[str]:
    if (len(own), len(community)) != CARDS[game]:
        yield "wrong_card_count"
    if not DECK.issuperset(own + community):
        yield "unknown_card"
    in_hands = own + [card for hand in round_.hands for card in hand.cards]
    common = {*community, *(card for hand in round_.hands for card in hand.community)}
    if len({*in_hands}) < len(in_hands) or len({*community}) < len(community) or common & {*in_hands}:
        yield "duplicate_card"
    if any({*hand.community} != {*community} for hand in round_.hands):
        yield "community_mismatch"
