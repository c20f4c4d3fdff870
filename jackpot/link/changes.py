"""What a decision changes. A `Draft` collects it without touching the state; `apply` makes it the state."""

from dataclasses import dataclass
from typing import Any, ClassVar

from msgspec import Struct, field

from jackpot.contract import codec
from jackpot.contract.events import Event
from jackpot.contract.refusals import Refused
from jackpot.link.awards import Award, Payout
from jackpot.link.money import Journal
from jackpot.link.parameters import Parameters
from jackpot.link.rounds import Hand, Phase, Round
from jackpot.link.state import ClosedHistory, LinkState, RoundKey, Table, claim_entry, displayed_cents, in_order


@dataclass(frozen=True, slots=True)
class HandEntry:
    """A hand with its place in the link's order."""

    table: str
    round: str
    position: int
    hand: Hand


class Accepted(Struct, frozen=True):
    result: dict[str, Any] = field(default_factory=dict)
    rounds: tuple[Round, ...] = ()
    opens: bool = False
    """The round is new, so its name must not have been used at this table before."""
    journals: tuple[Journal, ...] = ()
    entered: HandEntry | None = None
    awards: tuple[Award, ...] = ()
    paid: Award | None = None
    """The award that the table has handed over."""
    parameters: tuple[int, Parameters, Parameters | None] | None = None
    """Version, those in force, and those that wait for the next win; None if nothing changes."""
    suspended: tuple[str | None] | None = None
    """The new reason, or (None,) when play goes on; None if nothing changes."""

    tables: tuple[Table, ...] | None = None
    """The link's tables from now on; None if nothing changes."""

    recorded: ClassVar[bool] = True


Decision = Accepted | Refused


def reply(event: Event, decision: Decision) -> bytes:
    """Encode the reply to an event, as it is recorded and sent."""
    if isinstance(decision, Refused):
        return codec.encode(codec.refused_reply(event, decision))
    return codec.encode(codec.accepted_reply(event, decision.result))


class Changeset:
    """A decision in the making: sees the state as its own changes would leave it."""

    def __init__(self, state: LinkState, at: str) -> None:
        self.state = state
        self.changed: dict[RoundKey, Round] = {}
        self.claims = dict(state.claims)
        self.payout = Payout(state, at)

    def find(self, key: RoundKey) -> Round | None:
        return self.changed.get(key) or self.state.find(key)

    def put(self, round_: Round) -> None:
        self.changed[round_.key] = round_
        entry = claim_entry(round_)
        if entry is None:
            self.claims.pop(round_.key, None)
        else:
            self.claims[round_.key] = entry

    def claims_in_order(self) -> list[Round]:
        return in_order(self.claims, self.find)

    def displayed_cents(self) -> int:
        return displayed_cents(self.claims_in_order(), self.payout.balances.pool)

    def pay_ready(self, settled_now: RoundKey | None = None) -> None:
        """D6: pay every settled round that no earlier-entered one holds up, in order, in this very commit."""
        for round_ in self.claims_in_order():
            if round_.phase is not Phase.WAITING:
                return
            # Read again: what the rounds before it took has moved its base.
            due = self.changed.get(round_.key, round_)
            took_micros = self.payout.pay_shares(due, waited=due.key != settled_now)
            self.put(due.settled())
            for other in self.claims_in_order():
                self.put(other.with_base_moved(took_micros))

    def accepted(self, result: dict[str, Any]) -> Accepted:
        return Accepted(
            result,
            rounds=tuple(self.changed.values()),
            journals=tuple(self.payout.journals),
            awards=tuple(self.payout.awards),
            parameters=self.payout.changed_parameters(),
        )


def apply(state: LinkState, decision: Accepted) -> None:
    for round_ in decision.rounds:
        state.put(round_)
    if decision.journals:
        state.balances = decision.journals[-1].after
    if decision.entered:
        state.entry = decision.entered.hand.entry
    for award in decision.awards:
        state.award = award.number
        state.unpaid[award.id] = award
    if decision.paid:
        del state.unpaid[decision.paid.id]
    if decision.parameters:
        state.parameters_version, state.parameters, state.parameters_next = decision.parameters
    if decision.suspended:
        (state.suspended,) = decision.suspended
    if decision.tables is not None:
        state.tables = {table.id: table for table in decision.tables}


def remember(past: ClosedHistory, decision: Accepted) -> None:
    """Keep what this decision moves out of the state for the rest of the batch."""
    for round_ in decision.rounds:
        if round_.phase.concluded:
            past.rounds.add(round_.key)
    if decision.paid:
        past.awards[decision.paid.id] = (decision.paid.table, decision.paid.round)
