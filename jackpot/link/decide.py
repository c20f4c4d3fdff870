"""What an event does to a link: accepted with its changes, or refused with a reason. It never raises for a rule.

Each refusal stands in the order of the contract: the first that holds is the answer.
"""

from typing import assert_never

from msgspec import UnsetType
from msgspec.structs import replace

from jackpot.contract import events as ev
from jackpot.contract.refusals import Code, Refused
from jackpot.link.changes import Accepted, Changeset, Decision, apply, remember
from jackpot.link.conclusion import count_by_multiplier, give_back, settle_round, void_round
from jackpot.link.hands import hand_declined, hand_entered, hand_withdrawn, wager_refusal
from jackpot.link.money import Kind, micros
from jackpot.link.parameters import Parameters
from jackpot.link.rounds import Phase, Round, Wager
from jackpot.link.state import ClosedHistory, LinkState, RoundKey, Table


def step(state: LinkState, table_id: str, event: ev.TableEvent, *, at: str, past: ClosedHistory) -> Decision:
    """Decide, and make it so: the state moves on to the next event."""
    decision = decide(state, table_id, event, at=at, past=past)
    if decision.recorded:
        state.next_seq[table_id] = event.seq + 1
    if isinstance(decision, Accepted):
        apply(state, decision)
        remember(past, decision)
    return decision


def decide(state: LinkState, table_id: str, event: ev.TableEvent, *, at: str, past: ClosedHistory) -> Decision:
    if state.suspended is not None and not isinstance(event, ev.AwardPaid):
        return Refused(
            Code.LINK_SUSPENDED,
            f"Link {state.link} is suspended ({state.suspended}); send the event again when its status is running.",
        )
    expected = state.next_seq.get(table_id, 1)
    if event.seq != expected:
        code = Code.SEQUENCE_REUSED if event.seq < expected else Code.SEQUENCE_GAP
        return Refused(
            code, f"Table {table_id} is at seq {expected}, not {event.seq}; go on from there.", None, expected
        )
    match event:
        case ev.MetersReported():
            return Accepted()
        case ev.AwardPaid():
            return _award_paid(state, table_id, event, past)
        case ev.RoundOpened():
            return _round_opened(state, state.tables[table_id], event, past)
        case _:
            return _in_round(state, state.tables[table_id], event, at, past)


def _award_paid(state: LinkState, table_id: str, event: ev.AwardPaid, past: ClosedHistory) -> Decision:
    """Also by a table that has left the link since: what it won here it pays here."""
    here = (table_id, event.round)
    award = state.unpaid.get(event.award)
    if award is not None and (award.table, award.round) == here:
        return Accepted(paid=award)
    if award is None and past.awards.get(event.award) == here:
        return Refused(Code.AWARD_ALREADY_PAID, f"Award {event.award} was paid before; do not pay it again.")
    return Refused(
        Code.UNKNOWN_AWARD,
        f"Round {event.round} of table {table_id} has no award {event.award}; check the award notice.",
    )


def _round_opened(state: LinkState, table: Table, event: ev.RoundOpened, past: ClosedHistory) -> Decision:
    key = (table.id, event.round)
    if state.find(key) is not None or key in past.rounds:
        return Refused(Code.ROUND_EXISTS, f"Table {table.id} had a round {event.round} before; use a new name.")
    current = state.current.get(table.id)
    if current is not None:
        return Refused(
            Code.PREVIOUS_ROUND_OPEN,
            f"Round {current.id} is still {current.phase.value}; settle or void it before the next one opens.",
        )
    return Accepted(rounds=(Round(table.id, event.round),), opens=True)


_RoundEvent = (
    ev.WagerPlaced
    | ev.WagerCancelled
    | ev.RoundClosed
    | ev.WagerReturned
    | ev.HandEntered
    | ev.HandWithdrawn
    | ev.HandDeclined
    | ev.RoundSettled
    | ev.RoundVoided
)


def _in_round(state: LinkState, table: Table, event: _RoundEvent, at: str, past: ClosedHistory) -> Decision:
    key = (table.id, event.round)
    round_ = state.find(key)
    refused = _phase_refusal(table, event, round_, key, past)
    if refused is not None:
        return refused
    if round_ is None:
        raise LookupError(f"round {key} passed its checks but is not there")
    if isinstance(event, ev.PositionEvent) and not 1 <= event.position <= table.positions:
        return Refused(
            Code.BAD_POSITION,
            f"Table {table.id} has positions 1 to {table.positions}, not {event.position}.",
        )
    match event:
        case ev.WagerPlaced():
            return _wager_placed(state.parameters, table, round_, event)
        case ev.WagerCancelled():
            return _wager_cancelled(round_, event)
        case ev.RoundClosed():
            return _round_closed(state, round_, at)
        case ev.WagerReturned():
            return _wager_returned(state, round_, event, at)
        case ev.HandEntered():
            return hand_entered(state, table, round_, event)
        case ev.HandWithdrawn():
            return hand_withdrawn(state, round_, event, at)
        case ev.HandDeclined():
            return hand_declined(table, round_, event)
        case ev.RoundSettled():
            return settle_round(state, round_, at)
        case ev.RoundVoided():
            return void_round(state, round_, at)
        case _:
            assert_never(event)


def _phase_refusal(
    table: Table, event: _RoundEvent, round_: Round | None, key: RoundKey, past: ClosedHistory
) -> Refused | None:
    name = f"Round {event.round}"
    if round_ is None and key not in past.rounds:
        return Refused(Code.UNKNOWN_ROUND, f"Table {table.id} has no round {event.round}; open it first.")
    if round_ is None or round_.phase.concluded:
        late = table.game.late_wager if isinstance(event, ev.WagerPlaced) else None
        return Refused(Code.ROUND_CONCLUDED, f"{name} is settled or void; nothing more can be said of it.", late)
    if isinstance(event, ev.RoundVoided):
        return None
    if isinstance(event, (ev.WagerPlaced, ev.WagerCancelled)):
        if round_.phase is Phase.OPEN:
            return None
        if isinstance(event, ev.WagerPlaced):
            return Refused(Code.BETS_CLOSED, f"No more bets was called for round {event.round}.", table.game.late_wager)
        return Refused(
            Code.BETS_CLOSED,
            f"No more bets was called for round {event.round}: the wager stands.",
            table.game.withdrawn_wager,
        )
    if isinstance(event, ev.RoundClosed):
        if round_.phase is Phase.OPEN:
            return None
        return Refused(Code.ROUND_NOT_OPEN, f"{name} is closed already.")
    if round_.phase is Phase.OPEN:
        return Refused(Code.ROUND_NOT_CLOSED, f"{name} is still open; send round.closed first.")
    return None


def _wager_placed(parameters: Parameters, table: Table, round_: Round, event: ev.WagerPlaced) -> Decision:
    position, multiplier, game = event.position, event.multiplier, table.game
    if position in round_.wagers:
        return Refused(
            Code.POSITION_TAKEN,
            f"Position {position} has its jackpot wager; one is accepted.",
            game.one_wager,
        )
    if not 1 <= multiplier <= game.multiplier_max:
        possible = "1" if game.multiplier_max == 1 else f"1 to {game.multiplier_max}"
        return Refused(
            Code.BAD_MULTIPLIER,
            f"The multiplier is {possible} in {game.name}, not {multiplier}.",
            game.multipliers,
        )
    stake = parameters.unit_cents * multiplier
    if not isinstance(event.amount_cents, UnsetType) and event.amount_cents != stake:
        return Refused(
            Code.AMOUNT_MISMATCH,
            f"{multiplier} x {parameters.unit_cents} cents is {stake} cents, not {event.amount_cents}.",
            game.multipliers,
        )
    return Accepted(rounds=(round_.with_wagers({**round_.wagers, position: Wager(multiplier, stake)}),))


def _wager_cancelled(round_: Round, event: ev.WagerCancelled) -> Decision:
    refused = wager_refusal(round_, event.position)
    if refused is not None:
        return refused
    wagers = {position: wager for position, wager in round_.wagers.items() if position != event.position}
    return Accepted(rounds=(round_.with_wagers(wagers),))


def _round_closed(state: LinkState, round_: Round, at: str) -> Decision:
    """D3: the contribution is posted now; D4: it repays recoverable first; D14: a ceiling turns the rest away."""
    parameters, before = state.parameters, state.balances
    stake_cents = sum(wager.stake_cents for wager in round_.wagers.values())
    increment, reserve = stake_cents * parameters.increment_bp, stake_cents * parameters.reserve_bp
    repaid = min(increment, before.recoverable)
    lift = increment - repaid
    if parameters.ceiling_cents is not None:
        lift = min(lift, max(0, micros(parameters.ceiling_cents) - before.pool))
    changeset = Changeset(state, at)
    if stake_cents:
        changeset.payout.post(
            Kind.CONTRIBUTION,
            round_,
            wagers=count_by_multiplier(round_.wagers.values()),
            wagered=micros(stake_cents),
            recoverable=-repaid,
            pool=lift,
            reserve=reserve + increment - repaid - lift,
            house=micros(stake_cents) - increment - reserve,
        )
    changeset.put(
        replace(
            round_,
            phase=Phase.CLOSED,
            increment_bp=parameters.increment_bp,
            reserve_bp=parameters.reserve_bp,
        )
    )
    return changeset.accepted(
        {
            "wagers": len(round_.wagers),
            "wagered_cents": stake_cents,
            "contributed_micros": increment,
            "displayed_cents": changeset.displayed_cents(),
        }
    )


def _wager_returned(state: LinkState, round_: Round, event: ev.WagerReturned, at: str) -> Decision:
    refused = wager_refusal(round_, event.position)
    if refused is not None:
        return refused
    changeset = Changeset(state, at)
    returned_cents = give_back(changeset, round_, {event.position})
    changeset.pay_ready()
    return changeset.accepted({"returned_cents": returned_cents})
