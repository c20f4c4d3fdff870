"""The independent model of the link: which refusal an event earns, and what an accepted event results in.

The model is written from the rules and the contract alone and shares no code with the product. The property tests
compare the link with it; the auditors of the simulation and of the fault tests compare the ledger with it.
"""

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field

from tests.properties.naive_messages import DECK, Json, Key, Telling

CARDS = {"bullseye": (5, 0), "ultimate-texas-holdem": (2, 3), "three-card-poker-xtreme": (3, 2)}
MULTIPLIERS = {"bullseye": [1], "ultimate-texas-holdem": [1, 2, 3, 4, 5], "three-card-poker-xtreme": [1, 2, 3, 4, 5]}
AFTER_CLOSING = ("wager.returned", "hand.entered", "hand.withdrawn", "hand.declined", "round.settled")


@dataclass
class Answer:
    code: str | None = None
    result: Json = field(default_factory=dict)
    awards: list[Json] = field(default_factory=list)
    """All awards that the event made, those of other rounds too."""


class NaiveLink:
    def __init__(self, link: str, tables: dict[str, tuple[str, int]]) -> None:
        """`tables` is table to game and number of positions. The first line of every story is `link.opened`."""
        self.link = link
        self.tables = tables
        self.recorded: Counter[str] = Counter()
        """How many events of each table used their seq up."""
        self.now = Telling(link)

    def next_seq(self, table: str) -> int:
        return self.recorded[table] + 1

    def hear(self, table: str, event: Json) -> Answer:
        code = next(self.faults(table, event), None)
        if code not in ("link_suspended", "sequence_reused", "sequence_gap"):
            self.recorded[table] += 1
        return Answer(code) if code else self.go_on(table, event)

    def obey(self, command: Json) -> Answer:
        """What a person does to the link; the story keeps it without a table."""
        code = next(self.obstacles(command), None)
        return Answer(code) if code else self.go_on("", command)

    def go_on(self, table: str, said: Json) -> Answer:
        awards = self.now.take(table, said)
        return Answer(None, self.now.result, awards)

    def meter(self) -> Json:
        """The contract's meter without its version and time."""
        return {
            "link": self.link,
            "currency": self.now.terms.get("currency"),
            "displayed_cents": self.now.displayed(),
            "reset_cents": self.now.terms.get("reset_cents"),
            "entry": self.now.entries,
            "pending": self.now.pending(),
        }

    def table_state(self, table: str) -> Json:
        """The contract's table state without its time and without `accepts_play`."""
        return {
            "table": table,
            "next_seq": self.next_seq(table),
            "round": self.now.table_round(table),
            "pending": self.now.waiting(table),
        }

    def faults(self, table: str, event: Json) -> Iterator[str]:
        """Everything that is wrong with the event, in the contract's order."""
        kind, now = event["type"], self.now
        if now.suspended and kind != "award.paid":
            yield "link_suspended"
        if event["seq"] != self.next_seq(table):
            yield "sequence_reused" if event["seq"] < self.next_seq(table) else "sequence_gap"
        if kind == "meters.reported":
            return
        key = (table, event["round"])
        if kind == "award.paid":
            award = now.awards.get(event["award"])
            if award is None or (award["table"], award["round"]) != key:
                yield "unknown_award"
            if event["award"] in now.handed_over:
                yield "award_already_paid"
            return
        if kind == "round.opened":
            if key in now.phase:
                yield "round_exists"
            if now.table_round(table):
                yield "previous_round_open"
            return
        if key not in now.phase:
            yield "unknown_round"
            return
        phase = now.phase[key]
        if phase in ("settled", "void"):
            yield "round_concluded"
        if kind in ("wager.placed", "wager.cancelled") and phase != "open":
            yield "bets_closed"
        if kind == "round.closed" and phase != "open":
            yield "round_not_open"
        if kind in AFTER_CLOSING and phase == "open":
            yield "round_not_closed"
        if "position" in event:
            yield from self.faults_of_position(table, event)

    def faults_of_position(self, table: str, event: Json) -> Iterator[str]:
        kind, now = event["type"], self.now
        game, positions = self.tables[table]
        place = (table, event["round"], event["position"])
        if event["position"] not in range(1, positions + 1):
            yield "bad_position"
        if kind == "wager.placed":
            if now.wager.get(place, "none") in ("stands", "returned"):
                yield "position_taken"
            multiplier = event.get("multiplier", 1)
            if multiplier not in MULTIPLIERS[game]:
                yield "bad_multiplier"
            stake = now.terms["unit_cents"] * multiplier
            if event.get("amount_cents", stake) != stake:
                yield "amount_mismatch"
            return
        if now.wager.get(place, "none") in ("none", "cancelled"):
            yield "no_wager"
        if now.wager.get(place) == "returned":
            yield "wager_returned"
        hand = now.hand_at(place)
        if kind in ("hand.entered", "hand.declined") and hand:
            yield "hand_exists"
        if kind in ("hand.entered", "hand.declined", "hand.withdrawn") and place in now.declined:
            yield "hand_declined"
        if kind == "hand.withdrawn" and not hand:
            yield "no_hand"
        if kind == "hand.entered":
            yield from self.faults_of_cards(game, (table, event["round"]), event["cards"], event["community"])

    def faults_of_cards(self, game: str, key: Key, own: list[str], told: list[str]) -> Iterator[str]:
        if (len(own), len(told)) != CARDS[game]:
            yield "wrong_card_count"
        if any(card not in DECK for card in own + told):
            yield "unknown_card"
        others = self.now.standing(key)
        in_hands = own + [card for hand in others for card in hand["cards"]]
        in_common = set(told).union(*(hand["community"] for hand in others))
        if len(set(in_hands)) < len(in_hands) or len(set(told)) < len(told) or in_common & set(in_hands):
            yield "duplicate_card"
        if any(set(hand["community"]) != set(told) for hand in others):
            yield "community_mismatch"

    def obstacles(self, command: Json) -> Iterator[str]:
        kind, now = command["type"], self.now
        if kind == "balance.adjusted":
            if command["account"] == "pool" and now.line():
                yield "not_possible"
            if now.money[command["account"]] + command["amount_cents"] * 10_000 < 0:
                yield "not_possible"
        if kind == "round.concluded":
            phase = now.phase.get((command["table"], command["round"]))
            if phase not in ("open", "closed") or (phase == "open" and command["outcome"] == "settled"):
                yield "not_possible"
