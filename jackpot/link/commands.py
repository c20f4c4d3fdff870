"""What a person with the right to do so does to a link. Recorded and chained like a table's events.

`by` asked for it and, where money or its parameters change, `approved_by` is somebody else: whoever hands the command
to the desk sees to that, the ledger keeps both names.
"""

from collections.abc import Iterable
from dataclasses import asdict
from typing import Annotated, Any, Literal, assert_never

from msgspec import Meta, Struct, ValidationError, convert

from jackpot.contract.events import SAFE_INTEGER, Id, Integer, Reason
from jackpot.link.changes import Accepted, apply
from jackpot.link.conclusion import settle_round, void_round
from jackpot.link.money import Kind, micros, post
from jackpot.link.parameters import Parameters
from jackpot.link.rounds import Phase
from jackpot.link.state import LinkState, Table
from jackpot.rules.megalink import GAMES

ADJUSTMENT_CENTS_MAX = SAFE_INTEGER // 10_000

Person = Annotated[str, Meta(min_length=1, max_length=64)]


class Command(Struct, frozen=True, kw_only=True, tag_field="type"):
    id: Id
    by: Person
    reason: Reason

    @property
    def type(self) -> str:
        return str(self.__struct_config__.tag)


class LinkOpened(Command, frozen=True, kw_only=True, tag="link.opened"):
    """The link is seen for the first time: its pool starts at the reset amount, funded by the house."""

    parameters: dict[str, Any]


class TablesConfigured(Command, frozen=True, kw_only=True, tag="tables.configured"):
    """Which tables feed the link, with game and positions. Kept, so that every old decision can be made again."""

    tables: list[dict[str, Any]]


class LinkSuspended(Command, frozen=True, kw_only=True, tag="link.suspended"):
    """No play until it is resumed."""


class LinkResumed(Command, frozen=True, kw_only=True, tag="link.resumed"):
    """Play goes on."""


class ParametersChanged(Command, frozen=True, kw_only=True, tag="parameters.changed"):
    approved_by: Person
    parameters: dict[str, Any]
    effective: Literal["at_once", "next_win"]


class BalanceAdjusted(Command, frozen=True, kw_only=True, tag="balance.adjusted"):
    """A correction of pool or reserve against the house, such as after a malfunction or to move a pool."""

    approved_by: Person
    account: Literal["pool", "reserve"]
    amount_cents: Integer


class RoundConcluded(Command, frozen=True, kw_only=True, tag="round.concluded"):
    """A pit manager settles or voids a round that its table left behind and that others wait for."""

    table: Id
    round: Id
    outcome: Literal["settled", "void"]


MoneyCommand = ParametersChanged | BalanceAdjusted
"""What takes two people."""

PersonCommand = LinkSuspended | LinkResumed | RoundConcluded | MoneyCommand
"""What people may ask for. The others are the controller's own, from its configuration."""

AnyCommand = LinkOpened | TablesConfigured | PersonCommand


class CommandRefusedError(Exception):
    """The command cannot be carried out now; the text says why and what to do."""


def parameters_from(document: dict[str, Any]) -> Parameters:
    try:
        parameters = convert(document, Parameters)
    except ValidationError as error:
        raise CommandRefusedError(f"These are no parameters of a link: {error}.") from error
    if found := parameters.problems():
        raise CommandRefusedError("; ".join(found))
    return parameters


def parameters_document(parameters: Parameters) -> dict[str, Any]:
    return asdict(parameters)


def tables_from(document: list[dict[str, Any]]) -> tuple[Table, ...]:
    return tuple(Table(table["id"], GAMES[table["game"]], table["positions"]) for table in document)


def carry_out(state: LinkState, command: AnyCommand, *, at: str) -> Accepted:
    """Decide and apply. Raises NotPossible, with the state untouched, if it cannot be done."""
    accepted = _decide(state, command, at)
    apply(state, accepted)
    return accepted


def _decide(state: LinkState, command: AnyCommand, at: str) -> Accepted:
    match command:
        case LinkOpened():
            if state.parameters_version != 0:
                raise CommandRefusedError("The link is open already; its parameters are changed by two people.")
            parameters = parameters_from(command.parameters)
            reset = micros(parameters.reset_cents)
            opening = post(state.balances, Kind.OPENING, pool=reset, house=-reset)
            return Accepted(journals=(opening,), parameters=(1, parameters, None))
        case TablesConfigured():
            return Accepted(tables=tables_from_now_on(state, tables_from(command.tables)))
        case LinkSuspended():
            return Accepted(suspended=(command.reason,))
        case LinkResumed():
            return Accepted(suspended=(None,))
        case ParametersChanged():
            return _parameters_changed(state, command)
        case BalanceAdjusted():
            return _balance_adjusted(state, command)
        case RoundConcluded():
            return _round_concluded(state, command, at)
        case _:
            assert_never(command)


def tables_from_now_on(state: LinkState, configured: Iterable[Table]) -> tuple[Table, ...]:
    """A table that leaves the link, or plays another game, does so when its rounds here are paid.

    Until then it stays as it is, and whoever configured it says so again when they are.
    """
    tables = {table.id: table for table in configured}
    return tuple((tables | {table: state.tables[table] for table in sorted(state.unfinished())}).values())


def _parameters_changed(state: LinkState, command: ParametersChanged) -> Accepted:
    changed = parameters_from(command.parameters)
    if changed.currency != state.parameters.currency:
        raise CommandRefusedError("The currency of a link cannot be changed; open another link.")
    if command.effective == "next_win":
        return Accepted(parameters=(state.parameters_version, state.parameters, changed))
    return Accepted(parameters=(state.parameters_version + 1, changed, state.parameters_next))


def _balance_adjusted(state: LinkState, command: BalanceAdjusted) -> Accepted:
    if abs(command.amount_cents) > ADJUSTMENT_CENTS_MAX:
        raise CommandRefusedError(f"An adjustment is of at most {ADJUSTMENT_CENTS_MAX} cents.")
    amount = micros(command.amount_cents)
    if command.account == "pool" and state.claims:
        raise CommandRefusedError("A claim waits to be paid from this pool; settle it before the pool is adjusted.")
    if getattr(state.balances, command.account) + amount < 0:
        raise CommandRefusedError(f"The {command.account} holds less than that; it cannot become negative.")
    pool, reserve = (amount, 0) if command.account == "pool" else (0, amount)
    journal = post(state.balances, Kind.ADJUSTMENT, pool=pool, reserve=reserve, house=-amount)
    return Accepted(journals=(journal,))


def _round_concluded(state: LinkState, command: RoundConcluded, at: str) -> Accepted:
    round_ = state.find((command.table, command.round))
    if round_ is None or round_.phase.concluded:
        raise CommandRefusedError(
            f"Round {command.round} of table {command.table} is not open; nothing is left to conclude."
        )
    if command.outcome == "void":
        return void_round(state, round_, at)
    if round_.phase is Phase.OPEN:
        raise CommandRefusedError(f"Round {command.round} has not been closed; void it, or close it at the table.")
    return settle_round(state, round_, at)
