"""The auditor's own books: what each event must come to, worked out again in his own way from the rules alone.

He knows nothing of the product. He is told each event in the order in which it became durable, and says what the table
must be told, which awards are due, what the meter must show and where every cent lies.
"""

from collections.abc import Iterator
from dataclasses import dataclass, field

from tests.simulation.cards import rank_of
from tests.simulation.rounds import PERCENTAGE, Hand, Json, Round, Wager, faults_in_round

Key = tuple[str, str]

CENT = 10_000
"""Micros (D1)."""
FOR_ONE = {"four_of_a_kind": 400, "full_house": 80, "flush": 40, "straight": 20}


@dataclass
class Answer:
    code: str | None = None
    result: Json = field(default_factory=dict)


class Books:
    """Of one link. `tables` is table to game and number of positions."""

    def __init__(self, link: str, tables: dict[str, tuple[str, int]]) -> None:
        self.link = link
        self.tables = tables
        self.terms: Json = {}
        self.terms_to_come: Json | None = None
        self.money = dict.fromkeys(("wagered", "recoverable", "pool", "reserve", "house", "awarded"), 0)
        self.suspended = False
        self.next_seq = dict.fromkeys(tables, 1)
        self.live: dict[Key, Round] = {}
        """Rounds that are not void, nor settled and paid."""
        self.over: set[Key] = set()
        self.entries = 0
        self.taken: list[tuple[int, int]] = []
        """After which entry a round was paid its shares, and by how much that changed the pool."""
        self.awards: dict[str, Json] = {}
        self.handed_over: set[str] = set()

    # What he is told.

    def hear(self, table: str, event: Json) -> Answer:
        code = next(self.faults(table, event), None)
        self.next_seq[table] += 1
        return Answer(code) if code else Answer(None, self.read(table, event))

    def obey(self, command: Json) -> Json:
        kind = command["type"]
        match kind:
            case "link.opened":
                self.terms = command["parameters"]
                self.move("house", "pool", self.terms["reset_cents"] * CENT)
            case "link.suspended" | "link.resumed":
                self.suspended = kind == "link.suspended"
            case "parameters.changed" if command["effective"] == "at_once":
                self.terms = command["parameters"]
            case "parameters.changed":
                self.terms_to_come = command["parameters"]
            case "balance.adjusted":
                self.move("house", command["account"], command["amount_cents"] * CENT)
            case "round.concluded":
                told = "round.voided" if command["outcome"] == "void" else "round.settled"
                return self.read(command["table"], {**command, "type": told})
        return {}

    # What is wrong with an event, in the contract's order.

    def faults(self, table: str, event: Json) -> Iterator[str]:
        kind = event["type"]
        if self.suspended and kind != "award.paid":
            yield "link_suspended"
        if event["seq"] != self.next_seq[table]:
            yield "sequence_reused" if event["seq"] < self.next_seq[table] else "sequence_gap"
        if kind == "meters.reported":
            return
        key = (table, event["round"])
        round_ = self.live.get(key)
        if kind == "award.paid":
            award = self.awards.get(event["award"])
            if award is None or (award["table"], award["round"]) != key:
                yield "unknown_award"
            if event["award"] in self.handed_over:
                yield "award_already_paid"
        elif kind == "round.opened":
            if round_ or key in self.over:
                yield "round_exists"
            if self.round_at(table):
                yield "previous_round_open"
        elif round_ is None:
            yield "round_concluded" if key in self.over else "unknown_round"
        else:
            yield from faults_in_round(round_, event, *self.tables[table], self.terms["unit_cents"])

    # What an accepted event comes to.

    def read(self, table: str, event: Json) -> Json:
        kind, key = event["type"], (table, event.get("round", ""))
        position = event.get("position", 0)
        if kind == "meters.reported":
            return {}
        if kind == "award.paid":
            self.handed_over.add(event["award"])
            return {}
        if kind == "round.opened":
            self.live[key] = Round(*key)
            return {}
        round_ = self.live[key]
        match kind:
            case "wager.placed":
                multiplier = event.get("multiplier", 1)
                round_.wagers[position] = Wager(multiplier, self.terms["unit_cents"] * multiplier)
            case "wager.cancelled":
                del round_.wagers[position]
            case "hand.declined":
                round_.declined.add(position)
            case "round.closed":
                return self.close(round_)
            case "hand.entered":
                return self.enter(round_, event)
            case "hand.withdrawn":
                round_.hands = [hand for hand in round_.hands if hand.position != position]
                self.pay_in_turn(None)
            case "wager.returned":
                return self.give_back(round_, [position])
            case "round.voided":
                return self.give_back(
                    round_, [p for p, wager in round_.wagers.items() if not wager.returned], void=True
                )
            case "round.settled":
                return self.settle(round_)
        return {}

    def enter(self, round_: Round, event: Json) -> Json:
        self.entries += 1
        own, community = event["cards"], event["community"]
        rank = rank_of(own + community)
        hand = Hand(event["position"], self.entries, own, community, rank, self.money["pool"])
        round_.hands.append(hand)
        return {"rank": rank, "entry": self.entries}

    def settle(self, round_: Round) -> Json:
        known = len(self.awards)
        round_.phase = "settled"
        for hand in round_.hands:
            if hand.rank in FOR_ONE:
                stake = round_.wagers[hand.position].stake
                self.award(round_, hand, FOR_ONE[hand.rank] * stake, payer="house", base=None, shared_by=1, why={"D12"})
        self.pay_in_turn(round_)
        made = list(self.awards.values())[known:]
        return {
            "awards": [award for award in made if (award["table"], award["round"]) == (round_.table, round_.name)],
            "pending": sorted(hand.position for hand in round_.claimants()) if round_ in self.line() else [],
        }

    # Who is next.

    def line(self) -> list[Round]:
        """D6: rounds with a percentage hand, the first entered first."""
        waiting = [round_ for round_ in self.live.values() if round_.claimants()]
        return sorted(waiting, key=lambda round_: round_.claimants()[0].entry)

    def base_cents(self, round_: Round) -> int:
        """D5, D2: the pool at the first standing entry, and what payments did to the pool since."""
        first = round_.claimants()[0]
        return (first.pool_then + sum(by for after, by in self.taken if after >= first.entry)) // CENT

    def pay_in_turn(self, settled_now: Round | None) -> None:
        for round_ in self.line():
            if round_.phase != "settled":
                break
            self.pay_shares(round_, set() if round_ is settled_now else {"D6"})
        for key, round_ in list(self.live.items()):
            if round_.phase == "settled" and round_ not in self.line():
                self.forget(key)

    def forget(self, key: Key) -> None:
        del self.live[key]
        self.over.add(key)

    # Money.

    def move(self, source: str, goal: str, micros: int) -> None:
        """Between accounts of the credit side."""
        self.money[source] -= micros
        self.money[goal] += micros

    def close(self, round_: Round) -> Json:
        terms, money = self.terms, self.money
        round_.phase = "closed"
        round_.rates = (terms["increment_bp"], terms["reserve_bp"])
        cents = sum(wager.stake for wager in round_.wagers.values())
        increment, to_reserve = (cents * rate for rate in round_.rates)
        money["wagered"] += cents * CENT
        money["house"] += cents * CENT - increment - to_reserve
        money["reserve"] += to_reserve
        left = increment
        repaid = min(left, money["recoverable"])  # D4
        money["recoverable"] -= repaid
        left -= repaid
        if terms["ceiling_cents"] is not None:  # D14
            room = max(0, terms["ceiling_cents"] * CENT - money["pool"])
            money["reserve"] += max(0, left - room)
            left = min(left, room)
        money["pool"] += left
        return {
            "wagers": len(round_.wagers),
            "wagered_cents": cents,
            "contributed_micros": increment,
            "displayed_cents": self.displayed(),
        }

    def give_back(self, round_: Round, positions: list[int], *, void: bool = False) -> Json:
        """D4: the house pays at once; the pool's share becomes recoverable, the reserve gives what it has."""
        cents = sum(round_.wagers[position].stake for position in positions)
        for position in positions:
            round_.wagers[position].returned = True
        round_.hands = [hand for hand in round_.hands if hand.position not in positions]
        if round_.phase == "closed":
            increment, to_reserve = (cents * rate for rate in round_.rates)
            from_reserve = min(self.money["reserve"], to_reserve)
            self.money["wagered"] -= cents * CENT
            self.money["recoverable"] += increment
            self.money["reserve"] -= from_reserve
            self.money["house"] -= cents * CENT - increment - from_reserve
        if void:
            self.forget((round_.table, round_.name))
        self.pay_in_turn(None)
        return {"returned_cents": cents}

    def fund(self, cents: int) -> None:
        """D11."""
        from_reserve = min(self.money["reserve"], cents * CENT)
        self.move("reserve", "pool", from_reserve)
        self.move("house", "pool", cents * CENT - from_reserve)

    def pay_shares(self, round_: Round, why: set[str]) -> None:
        """D10: Straight Flushes, then Royals, from one base."""
        before, base = self.money["pool"], self.base_cents(round_)
        flushes = [hand for hand in round_.claimants() if hand.rank == "straight_flush"]
        royals = [hand for hand in round_.claimants() if hand.rank == "royal_flush"]
        if flushes:
            drawn, added = self.draws(base, len(flushes))
            self.fund(added)
            each = drawn // len(flushes)
            self.share(round_, flushes, each, base, why | ({"D7"} if flushes[1:] else set()))
            base += added - each * len(flushes)
        if royals:
            added = (len(royals) - 1) * self.terms["reset_cents"]  # D8
            self.fund(added)
            each = (base + added) // len(royals)
            self.share(round_, royals, each, base, why | ({"D8"} if royals[1:] else set()))
            if self.terms_to_come is not None:
                self.terms, self.terms_to_come = self.terms_to_come, None
            self.fund(self.terms["reset_cents"])
        self.forget((round_.table, round_.name))
        self.taken.append((self.entries, self.money["pool"] - before))

    def draws(self, base: int, winners: int) -> tuple[int, int]:
        """D7: what the Straight Flushes share, and how much of it is added to the pool first."""
        if self.terms["shared_straight_flush"] == "reset_amount":
            added = (winners - 1) * (self.terms["reset_cents"] // 10)
            return base // 10 + added, added
        left = base
        for _ in range(winners):
            left -= left // 10
        return base - left, 0

    def share(self, round_: Round, winners: list[Hand], each: int, base: int, why: set[str]) -> None:
        for hand in winners:
            self.award(round_, hand, each, payer="pool", base=base, shared_by=len(winners), why=why)

    def award(
        self, round_: Round, hand: Hand, cents: int, *, payer: str, base: int | None, shared_by: int, why: set[str]
    ) -> None:
        self.move(payer, "awarded", cents * CENT)
        name = f"{self.link}-{len(self.awards) + 1:06}"
        self.awards[name] = {
            "award": name,
            "link": self.link,
            "table": round_.table,
            "round": round_.name,
            "position": hand.position,
            "entry": hand.entry,
            "rank": hand.rank,
            "kind": "fixed" if payer == "house" else "percentage",
            "amount_cents": cents,
            "base_cents": base,
            "shared_by": shared_by,
            "multiplier": round_.wagers[hand.position].multiplier,
            "why": why,
        }

    # What others must see.

    def displayed(self) -> int:
        line = self.line()
        return self.base_cents(line[0]) if line else self.money["pool"] // CENT

    def meter(self) -> Json:
        return {
            "link": self.link,
            "currency": self.terms.get("currency"),
            "displayed_cents": self.displayed(),
            "reset_cents": self.terms.get("reset_cents"),
            "entry": self.entries,
            "pending": [
                {
                    "table": round_.table,
                    "round": round_.name,
                    "rank": max((hand.rank for hand in round_.claimants()), key=PERCENTAGE.index),
                    "base_cents": self.base_cents(round_),
                }
                for round_ in self.line()
            ],
        }

    def round_at(self, table: str) -> Round | None:
        return next((r for r in self.live.values() if r.table == table and r.phase in ("open", "closed")), None)

    def table_state(self, table: str) -> Json:
        current = self.round_at(table)
        return {
            "table": table,
            "next_seq": self.next_seq[table],
            "round": current and {"id": current.name, "phase": current.phase},
            "pending": [round_.name for round_ in self.line() if (round_.table, round_.phase) == (table, "settled")],
        }
