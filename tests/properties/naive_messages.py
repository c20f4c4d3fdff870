"""The state of a link by the independent model: balances, the order of payment, the base of each claim.

The model is written from the rules alone and shares no code with the product. It ranks a hand by comparing it with
every hand there is.
"""

from fractions import Fraction
from itertools import pairwise
from typing import Any

Json = dict[str, Any]
Key = tuple[str, str]
"""A table and its round."""
Place = tuple[str, str, int]
"""A table, its round, and a position."""

RUN = "A23456789TJQKA"
DECK = [rank + suit for suit in "shdc" for rank in "23456789TJQKA"]
STRAIGHTS = [frozenset(RUN[low : low + 5]) for low in range(10)]
STRAIGHT_FLUSHES = [frozenset(rank + suit for rank in ranks) for ranks in STRAIGHTS for suit in "shdc"]
ROYALS = [hand for hand in STRAIGHT_FLUSHES if {card[0] for card in hand} == set("AKQJT")]
FOURS = [frozenset(rank + suit for suit in "shdc") for rank in "23456789TJQKA"]

FOR_ONE = {"four_of_a_kind": 400, "full_house": 80, "flush": 40, "straight": 20}
PERCENTAGE = ("straight_flush", "royal_flush")


def rank_of(cards: list[str]) -> str:
    hand = frozenset(cards)
    ranks = sorted(card[0] for card in cards)
    if hand in ROYALS:
        return "royal_flush"
    if hand in STRAIGHT_FLUSHES:
        return "straight_flush"
    if any(four <= hand for four in FOURS):
        return "four_of_a_kind"
    if sorted(ranks.count(rank) for rank in set(ranks)) == [2, 3]:
        return "full_house"
    if all(one[1] == other[1] for one, other in pairwise(cards)):
        return "flush"
    if frozenset(ranks) in STRAIGHTS:
        return "straight"
    return "none"


class Telling:
    """The state of a link after the lines read so far. A line is a table and its event, or "" and a command."""

    def __init__(self, link: str) -> None:
        self.link = link
        self.terms: Json = {}
        self.terms_to_come: Json | None = None
        self.suspended = False
        self.money = {"wagered": 0, "recoverable": 0, "pool": 0, "reserve": 0, "house": 0, "awarded": 0}
        self.phase: dict[Key, str] = {}
        """The phase of every round that was ever opened."""
        self.latest: dict[str, Key] = {}
        """The round that each table opened last."""
        self.rates: dict[Key, tuple[int, int]] = {}
        self.wager: dict[Place, str] = {}
        self.multiplier: dict[Place, int] = {}
        self.stake: dict[Place, int] = {}
        self.declined: set[Place] = set()
        self.hands: list[Json] = []
        """The hands of rounds that can still change or wait to be paid; a hand that was taken back is marked."""
        self.entries = 0
        self.shares_paid: set[Key] = set()
        self.taken: list[tuple[int, int]] = []
        """When the shares of a round were paid, and by how much that changed the pool."""
        self.awards: dict[str, Json] = {}
        self.handed_over: set[str] = set()
        self.result: Json = {}
        self.time = 0

    def take(self, table: str, said: Json) -> list[Json]:
        """Read one more line; return the awards that it makes, for other rounds too."""
        self.time += 1
        self.result = {}
        made = len(self.awards)
        key = (said.get("table", table), said.get("round", ""))
        self.read(key, said)
        self.pay_those_whose_turn_it_is(settled_now=key)
        awards = list(self.awards.values())[made:] if len(self.awards) > made else []
        self.finish_result(key, said, awards)
        return awards

    def forget_earlier_rounds(self, table: str) -> None:
        """Drop the details of the table's rounds that are over and paid: nothing can happen to them any more."""
        waiting = set(self.line())
        over = {key for key in {place[:2] for place in self.wager} if key[0] == table and key not in waiting}
        self.hands = [hand for hand in self.hands if hand["place"][:2] not in over]
        for details in (self.wager, self.multiplier, self.stake):
            for place in [place for place in details if place[:2] in over]:
                del details[place]
        self.declined = {place for place in self.declined if place[:2] not in over}

    # Reading.

    def read(self, key: Key, said: Json) -> None:
        kind = said["type"]
        place = (*key, said.get("position", 0))
        if kind == "round.opened":
            self.forget_earlier_rounds(key[0])
            self.phase[key] = "open"
            self.latest[key[0]] = key
        elif kind == "wager.placed":
            self.wager[place] = "stands"
            self.multiplier[place] = said.get("multiplier", 1)
            self.stake[place] = self.terms["unit_cents"] * self.multiplier[place]
        elif kind == "wager.cancelled":
            self.wager[place] = "cancelled"
        elif kind == "round.closed":
            self.close(key)
        elif kind == "hand.entered":
            self.enter(place, said)
        elif kind == "hand.withdrawn":
            self.hands = [{**h, "gone": True} if h["place"] == place else h for h in self.hands]
        elif kind == "hand.declined":
            self.declined.add(place)
        elif kind == "wager.returned":
            self.result["returned_cents"] = self.give_back(place)
        elif kind == "round.voided" or said.get("outcome") == "void":
            standing = [p for p, state in self.wager.items() if p[:2] == key and state == "stands"]
            self.result["returned_cents"] = sum(self.give_back(p) for p in standing)
            self.phase[key] = "void"
        elif kind == "round.settled" or said.get("outcome") == "settled":
            self.phase[key] = "settled"
            self.pay_fixed(key)
        elif kind == "award.paid":
            self.handed_over.add(said["award"])
        else:
            self.read_command(said)

    def read_command(self, said: Json) -> None:
        kind = said["type"]
        if kind == "link.opened":
            self.terms = said["parameters"]
            self.money["pool"] += self.terms["reset_cents"] * 10_000
            self.money["house"] -= self.terms["reset_cents"] * 10_000
        elif kind == "link.suspended":
            self.suspended = True
        elif kind == "link.resumed":
            self.suspended = False
        elif kind == "parameters.changed":
            if said["effective"] == "at_once":
                self.terms = said["parameters"]
            else:
                self.terms_to_come = said["parameters"]
        elif kind == "balance.adjusted":
            self.money[said["account"]] += said["amount_cents"] * 10_000
            self.money["house"] -= said["amount_cents"] * 10_000
        else:
            assert kind in ("meters.reported", "tables.configured"), kind

    def finish_result(self, key: Key, said: Json, awards: list[Json]) -> None:
        if said["type"] == "round.closed":
            self.result["displayed_cents"] = self.displayed()
        if said["type"] == "hand.entered":
            self.result = {"rank": self.hands[-1]["rank"], "entry": self.entries}
        if said["type"] == "round.settled" or said.get("outcome") == "settled":
            waits = [] if key in self.shares_paid else self.claimants(key)
            self.result = {
                "awards": [award for award in awards if (award["table"], award["round"]) == key],
                "pending": sorted(hand["place"][2] for hand in waits),
            }

    # Hands and their turn.

    def enter(self, place: Place, said: Json) -> None:
        self.entries += 1
        self.hands.append(
            {
                "entry": self.entries,
                "time": self.time,
                "place": place,
                "cards": said["cards"],
                "community": said["community"],
                "rank": rank_of(said["cards"] + said["community"]),
                "pool_then": self.money["pool"],
                "gone": False,
            }
        )

    def standing(self, key: Key) -> list[Json]:
        return [hand for hand in self.hands if hand["place"][:2] == key and not hand["gone"]]

    def hand_at(self, place: Place) -> Json | None:
        return next((hand for hand in self.standing(place[:2]) if hand["place"] == place), None)

    def claimants(self, key: Key) -> list[Json]:
        return [hand for hand in self.standing(key) if hand["rank"] in PERCENTAGE]

    def line(self) -> list[Key]:
        """D6: the rounds that hold a percentage hand not yet paid, the first entered first."""
        keys = {hand["place"][:2] for hand in self.hands if hand["rank"] in PERCENTAGE and not hand["gone"]}
        return sorted(keys - self.shares_paid, key=lambda key: int(self.claimants(key)[0]["entry"]))

    def base_cents(self, key: Key) -> int:
        """D5: the pool at the first standing percentage hand's entry, and what payments did to the pool since."""
        first = self.claimants(key)[0]
        since = sum(micros for time, micros in self.taken if time > first["time"])
        return int(first["pool_then"] + since) // 10_000

    def displayed(self) -> int:
        line = self.line()
        return self.base_cents(line[0]) if line else self.money["pool"] // 10_000

    def pending(self) -> list[Json]:
        return [
            {
                "table": key[0],
                "round": key[1],
                "rank": max((hand["rank"] for hand in self.claimants(key)), key=PERCENTAGE.index),
                "base_cents": self.base_cents(key),
            }
            for key in self.line()
        ]

    def table_round(self, table: str) -> Json | None:
        """The round that is open or closed; a table has one round at a time."""
        key = self.latest.get(table)
        if key is None or self.phase[key] not in ("open", "closed"):
            return None
        return {"id": key[1], "phase": self.phase[key]}

    def waiting(self, table: str) -> list[str]:
        return [key[1] for key in self.line() if key[0] == table and self.phase[key] == "settled"]

    # Money.

    def close(self, key: Key) -> None:
        self.phase[key] = "closed"
        increment_bp, reserve_bp = self.rates[key] = (self.terms["increment_bp"], self.terms["reserve_bp"])
        stakes = [self.stake[p] for p, state in self.wager.items() if p[:2] == key and state == "stands"]
        increment = sum(stakes) * increment_bp
        self.result = {"wagers": len(stakes), "wagered_cents": sum(stakes), "contributed_micros": increment}
        self.money["wagered"] += sum(stakes) * 10_000
        self.money["reserve"] += sum(stakes) * reserve_bp
        self.money["house"] += sum(stakes) * (10_000 - increment_bp - reserve_bp)
        repaid = min(increment, self.money["recoverable"])
        self.money["recoverable"] -= repaid
        increment -= repaid
        ceiling = self.terms["ceiling_cents"]
        if ceiling is not None:
            above = max(0, min(increment, self.money["pool"] + increment - ceiling * 10_000))
            self.money["reserve"] += above
            increment -= above
        self.money["pool"] += increment

    def give_back(self, place: Place) -> int:
        self.wager[place] = "returned"
        self.hands = [{**hand, "gone": True} if hand["place"] == place else hand for hand in self.hands]
        stake = self.stake[place]
        if self.phase[place[:2]] == "closed":
            increment_bp, reserve_bp = self.rates[place[:2]]
            from_reserve = min(self.money["reserve"], stake * reserve_bp)
            self.money["wagered"] -= stake * 10_000
            self.money["recoverable"] += stake * increment_bp
            self.money["reserve"] -= from_reserve
            self.money["house"] -= stake * 10_000 - stake * increment_bp - from_reserve
        return stake

    def fund(self, cents: int) -> None:
        """D11: into the pool, from the reserve as far as it goes."""
        from_reserve = min(self.money["reserve"], cents * 10_000)
        self.money["pool"] += cents * 10_000
        self.money["reserve"] -= from_reserve
        self.money["house"] -= cents * 10_000 - from_reserve

    def award(self, hand: Json, cents: int, *, payer: str, base: int | None, shared_by: int, why: set[str]) -> None:
        table, round_, position = hand["place"]
        self.money[payer] -= cents * 10_000
        self.money["awarded"] += cents * 10_000
        name = f"{self.link}-{len(self.awards) + 1:06}"
        self.awards[name] = {
            "award": name,
            "link": self.link,
            "table": table,
            "round": round_,
            "position": position,
            "entry": hand["entry"],
            "rank": hand["rank"],
            "kind": "fixed" if payer == "house" else "percentage",
            "amount_cents": cents,
            "base_cents": base,
            "shared_by": shared_by,
            "multiplier": self.multiplier[hand["place"]],
            "why": why,
        }

    def pay_fixed(self, key: Key) -> None:
        for hand in self.standing(key):
            if hand["rank"] in FOR_ONE:
                cents = FOR_ONE[hand["rank"]] * self.stake[hand["place"]]
                self.award(hand, cents, payer="house", base=None, shared_by=1, why={"D12"})

    def pay_those_whose_turn_it_is(self, settled_now: Key) -> None:
        while self.line() and self.phase[self.line()[0]] == "settled":
            first = self.line()[0]
            self.pay_shares(first, set() if first == settled_now else {"D6"})

    def pay_shares(self, key: Key, why: set[str]) -> None:
        before, base = self.money["pool"], self.base_cents(key)
        flushes = [hand for hand in self.claimants(key) if hand["rank"] == "straight_flush"]
        royals = [hand for hand in self.claimants(key) if hand["rank"] == "royal_flush"]
        left = base
        if flushes:
            left = self.pay_flushes(flushes, base, why)
        if royals:
            self.pay_royals(royals, left, why)
        self.shares_paid.add(key)
        self.taken.append((self.time, self.money["pool"] - before))

    def pay_flushes(self, flushes: list[Json], base: int, why: set[str]) -> int:
        """D7. Returns what is left of the base for the Royals."""
        winners, total, added = len(flushes), 0, 0
        if self.terms["shared_straight_flush"] == "successive":
            for _ in flushes:
                total += int(Fraction(base - total, 10))
        else:
            added = (winners - 1) * int(Fraction(self.terms["reset_cents"], 10))
            total = int(Fraction(base, 10)) + added
        self.fund(added)
        each = int(Fraction(total, winners))
        for hand in flushes:
            shared = {"D7"} if winners > 1 else set()
            self.award(hand, each, payer="pool", base=base, shared_by=winners, why=why | shared)
        return base + added - winners * each

    def pay_royals(self, royals: list[Json], base: int, why: set[str]) -> None:
        """D8, and the reset: of the terms that are in force from this win on."""
        winners = len(royals)
        added = (winners - 1) * self.terms["reset_cents"]
        self.fund(added)
        each = int(Fraction(base + added, winners))
        for hand in royals:
            shared = {"D8"} if winners > 1 else set()
            self.award(hand, each, payer="pool", base=base, shared_by=winners, why=why | shared)
        if self.terms_to_come is not None:
            self.terms, self.terms_to_come = self.terms_to_come, None
        self.fund(self.terms["reset_cents"])
