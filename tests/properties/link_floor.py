"""A floor that plays at random, as often as not against the rules.

Its cards are chosen so that Royals and Straight Flushes are frequent, its reset amounts so small that reserves run
dry. Whoever plays it passes in `choose`, the only source of chance: hypothesis, or a seeded generator.
"""

from collections.abc import Callable, Sequence
from typing import Any

from jackpot.link import commands
from jackpot.rules.megalink import GAMES
from tests.properties.naive_link import CARDS
from tests.properties.naive_messages import DECK, STRAIGHT_FLUSHES, Json
from tests.properties.twin_links import TwinLinks

Choose = Callable[[Sequence[Any]], Any]
"""Picks one of several."""

KINDS = [
    "round.opened",
    "wager.placed",
    "wager.cancelled",
    "round.closed",
    "wager.returned",
    *["hand.entered"] * 3,
    "hand.withdrawn",
    "hand.declined",
    "round.settled",
    "round.voided",
    "award.paid",
    "meters.reported",
]

ACTIONS = [
    *["deal"] * 4,
    *["place_your_bets"] * 3,
    *["show_all_hands"] * 4,
    *["show_one_hand"] * 8,
    *["take_one_back"] * 3,
    *["settle"] * 2,
    *["settle_the_last_in_line"] * 4,
    "void",
    *["say_anything"] * 4,
    "say_with_a_wrong_seq",
    "resend_an_earlier_event",
    "hand_an_award_over",
    "suspend_for_a_while",
    "change_parameters",
    "change_parameters",
    "adjust_a_balance",
    "conclude_a_round",
    "read_everything_back",
]

SUITED = [sorted(hand) for hand in STRAIGHT_FLUSHES]
WHOLE_HANDS = {
    "suited": SUITED,
    "royal": [hand for hand in SUITED if {card[0] for card in hand} == set("AKQJT")],
    "same ranks": [
        [*(rank + suit for suit in three), other + pair[0], last]
        for rank, other in ("23", "9K", "KA")
        for three in ("shd", "hdc")
        for pair in ("sh", "dc")
        for last in (other + pair[1], rank + "s", rank + "c", "5h")
        if last not in [rank + suit for suit in three]
    ],
    "lesser": [
        *([rank + suit for rank in "258JK"] for suit in "shdc"),
        *([rank + suit for rank, suit in zip(ranks, "shdch", strict=True)] for ranks in ("A2345", "6789T", "TJQKA")),
        *([rank + suit for rank, suit in zip("2479K", suits, strict=True)] for suits in ("shdch", "dcshd")),
    ],
}
OWN_CARDS = {count: [DECK[start : start + count] for start in range(0, 50, 3)] for count in (2, 3, 5)}


def terms(choose: Choose) -> Json:
    reset = choose([5_000, 1_009, 101, 19, 0, 10_000_000])
    return {
        "currency": "SGD",
        "unit_cents": choose([500, 3, 1]),
        "increment_bp": choose([2_500, 9_000, 333, 1, 0]),
        "reserve_bp": choose([310, 1_000, 17, 0]),
        "reset_cents": reset,
        "shared_straight_flush": choose(["successive", "reset_amount"]),
        "ceiling_cents": choose([None, None, reset, reset + 1, reset + 900]),
    }


def shuffled(choose: Choose, cards: list[str]) -> list[str]:
    left, order = list(cards), []
    while left:
        order.append(left.pop(choose(range(len(left)))))
    return order


def five_cards(choose: Choose, game: str, standing: list[Json]) -> tuple[list[str], list[str]]:
    """Own and community cards of a hand beside those that stand, more often than not a Straight Flush or better."""
    own_count, _ = CARDS[game]
    kind = choose(["suited", "suited", "suited", "royal", "royal", "same ranks", "lesser"])
    community = standing[0]["community"] if standing else []
    used = {card for hand in standing for card in hand["cards"]}
    hands = [cards for cards in WHOLE_HANDS[kind] if set(community) <= set(cards) and not used & set(cards)]
    if not hands:
        return choose(OWN_CARDS[own_count]), community
    whole = shuffled(choose, choose(hands))
    if standing:
        return [card for card in whole if card not in community], [card for card in whole if card in community]
    return whole[:own_count], whole[own_count:]


def why(kind: str) -> Json:
    return {"reason": "5.7"} if kind in ("wager.returned", "hand.withdrawn", "round.voided") else {}


class Floor:
    def __init__(self, choose: Choose) -> None:
        games = [choose(["bullseye", *CARDS]) for _ in range(choose([2, 3, 4]))]
        self.links = TwinLinks(
            {
                f"{GAMES[game].sheet}-{number}": (game, choose(range(3, GAMES[game].positions_max + 1)))
                for number, game in enumerate(games, start=1)
            },
            terms(choose),
        )
        self.say, self.obey, self.tables = self.links.say, self.links.obey, self.links.tables

    def act(self, choose: Choose, action: str) -> None:
        getattr(self, action)(choose)

    # Rounds played by the book.

    def deal(self, choose: Choose) -> None:
        for table in self.links.tables_in(None)[: choose([1, 2])]:
            self.deal_at(choose, table)

    def deal_at(self, choose: Choose, table: str) -> None:
        """From "Place your bets" to "No more bets"."""
        game, positions = self.links.naive.tables[table]
        self.say(table, "round.opened", round=self.links.name("r"))
        for position in range(1, choose(range(1, min(positions, 4) + 1)) + 1):
            multiplier = choose(range(1, GAMES[game].multiplier_max + 1))
            self.say(table, "wager.placed", position=position, multiplier=multiplier)
        self.say(table, "round.closed")

    def place_your_bets(self, choose: Choose) -> None:
        """One word of a round that is still open; if there is none, the first of one."""
        still_open, idle = self.links.tables_in("open"), self.links.tables_in(None)
        if still_open:
            table = choose(still_open)
            kind = choose(["wager.placed", "wager.placed", "wager.placed", "wager.cancelled", "round.closed"])
            fields: Json = {} if kind == "round.closed" else {"position": choose(range(1, 4))}
            if kind == "wager.placed":
                fields["multiplier"] = choose([1, 1, 2, 5, 6, 0])
                fields |= choose([{}, {}, {"amount_cents": 500 * fields["multiplier"]}])
            self.say(table, kind, **fields)
        elif idle:
            self.say(choose(idle), "round.opened", round=self.links.name("r"))

    def show_all_hands(self, choose: Choose) -> None:
        table = self.table_with_places(choose, shown=False)
        for position in self.places(table, shown=False):
            self.enter(choose, table, position)

    def show_one_hand(self, choose: Choose) -> None:
        table = self.table_with_places(choose, shown=False)
        self.enter(choose, table, choose(self.places(table, shown=False) or [1]))

    def enter(self, choose: Choose, table: str, position: int) -> None:
        round_ = self.links.round_of(table)
        standing = self.links.naive.now.standing((table, round_)) if choose(range(10)) else []
        own, common = five_cards(choose, self.links.naive.tables[table][0], standing)
        self.say(table, "hand.entered", round=round_, position=position, cards=own, community=common)

    def take_one_back(self, choose: Choose) -> None:
        kind = choose(["hand.withdrawn", "hand.withdrawn", "wager.returned", "hand.declined"])
        shown = kind != "hand.declined"
        table = self.table_with_places(choose, shown=shown)
        self.say(table, kind, position=choose(self.places(table, shown=shown) or [1]), **why(kind))

    def settle(self, choose: Choose) -> None:
        self.say(self.table_with_places(choose, shown=True), "round.settled")

    def settle_the_last_in_line(self, choose: Choose) -> None:
        now = self.links.naive.now
        unsettled = [key for key in now.line() if now.phase[key] == "closed"]
        if len(unsettled) > 1:
            self.say(unsettled[-1][0], "round.settled")
        else:
            self.show_all_hands(choose)

    def void(self, choose: Choose) -> None:
        self.say(self.table_with_places(choose, shown=True), "round.voided", reason="5.1")

    # Anything at all, right or wrong.

    def say_anything(self, choose: Choose) -> None:
        kind, table = choose(KINDS), choose(self.tables)
        fields: Json = why(kind)
        if kind != "meters.reported":
            known = [key[1] for key in list(self.links.naive.now.phase)[-3:]]
            fields["round"] = choose([*[self.links.round_of(table)] * 6, *known, "never"])
        if kind.startswith(("wager", "hand")):
            fields["position"] = choose(range(9))
        if kind == "wager.placed":
            fields["multiplier"] = choose([0, 1, 2, 6])
        if kind == "hand.entered":
            cards = ["As", "Ks", "Qs", "Js", "Ts", "9s", "xx"]
            own, common = choose([CARDS[self.links.naive.tables[table][0]]] * 3 + [(1, 4)])
            fields |= {
                "cards": [choose(cards) for _ in range(own)],
                "community": [choose(cards) for _ in range(common)],
            }
        if kind == "award.paid":
            fields["award"] = f"megalink-{choose(range(1, 5)):06}"
        if kind == "meters.reported":
            fields |= {"day": "2026-11-16", "wagers": 1, "wagered_cents": 500, "awards": 0, "awarded_cents": 0}
        self.say(table, kind, **fields)

    def say_with_a_wrong_seq(self, choose: Choose) -> None:
        table = choose(self.tables)
        seq = self.links.naive.next_seq(table) + choose([-2, -1, 1, 40])
        self.say(table, "round.opened", round="out of order", seq=seq)

    def resend_an_earlier_event(self, choose: Choose) -> None:
        if self.links.sent:
            self.links.resend(*choose(self.links.sent))

    def hand_an_award_over(self, choose: Choose) -> None:
        if self.links.naive.now.awards:
            award = choose(list(self.links.naive.now.awards.values()))
            self.say(award["table"], "award.paid", round=award["round"], award=award["award"])

    def read_everything_back(self, choose: Choose) -> None:
        self.links.read_back()

    # People.

    def suspend_for_a_while(self, choose: Choose) -> None:
        self.obey(commands.LinkSuspended, {"type": "link.suspended"})
        self.hand_an_award_over(choose)
        self.say(choose(self.tables), "round.voided", reason="5.1")
        self.obey(commands.LinkResumed, {"type": "link.resumed"})

    def change_parameters(self, choose: Choose) -> None:
        command = {
            "type": "parameters.changed",
            "approved_by": "shift manager",
            "effective": choose(["next_win", "at_once"]),
            "parameters": terms(choose),
        }
        self.obey(commands.ParametersChanged, command)

    def adjust_a_balance(self, choose: Choose) -> None:
        command = {
            "type": "balance.adjusted",
            "approved_by": "shift manager",
            "account": choose(["pool", "reserve"]),
            "amount_cents": choose([-900, -17, 1, 90, 12_345]),
        }
        self.obey(commands.BalanceAdjusted, command)

    def conclude_a_round(self, choose: Choose) -> None:
        table = choose(self.tables)
        command = {
            "type": "round.concluded",
            "table": table,
            "round": self.links.round_of(table),
            "outcome": choose(["settled", "void"]),
        }
        self.obey(commands.RoundConcluded, command)

    # Where it is done.

    def table_with_places(self, choose: Choose, *, shown: bool) -> str:
        """A table whose closed round has positions with a hand, or without one, if there is any."""
        if not any(self.places(table, shown=shown) for table in self.links.tables_in("closed")):
            for table in self.links.tables_in("open"):
                self.say(table, "round.closed")
            for table in self.links.tables_in(None):
                self.deal_at(choose, table)
        closed = self.links.tables_in("closed")
        fitting = [table for table in closed if self.places(table, shown=shown)]
        chosen: str = choose(fitting or closed or self.tables)
        return chosen

    def places(self, table: str, *, shown: bool) -> list[int]:
        """The positions of the table's round whose wager stands: with a hand that was shown, or not yet shown."""
        now, round_ = self.links.naive.now, self.links.round_of(table)
        wagers = [place for place, state in now.wager.items() if place[:2] == (table, round_) and state == "stands"]
        return [place[2] for place in wagers if place not in now.declined and (now.hand_at(place) is not None) == shown]
