"""One attempt at a batch: judges events and carries out orders on a link's state, and gathers what comes of them.

Pure but for the log: nothing here waits, writes or sends.
"""

import asyncio
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import msgspec
import structlog

from jackpot import metrics
from jackpot.contract import codec
from jackpot.contract import events as ev
from jackpot.contract.refusals import Code, Refused
from jackpot.ledger.errors import DuplicateRecordError
from jackpot.ledger.load import RecordedEvent
from jackpot.ledger.post import Batch
from jackpot.ledger.record import Record
from jackpot.link.awards import Award
from jackpot.link.changes import Accepted, remember, reply
from jackpot.link.commands import AnyCommand, CommandRefusedError, TablesConfigured, carry_out
from jackpot.link.decide import step
from jackpot.link.rounds import Round
from jackpot.link.state import ClosedHistory, LinkState, Table, tables_document

log = structlog.get_logger()


@dataclass(slots=True)
class IncomingEvent:
    """An event as it came, not yet read."""

    table: str
    payload: bytes
    token: Any = None
    """What the wire needs to acknowledge it."""


@dataclass(slots=True)
class PendingCommand:
    """A command of a person or of the controller, and where its answer goes."""

    command: AnyCommand
    answer: asyncio.Future[dict[str, Any]]


@dataclass(slots=True)
class BatchOutcome:
    """What is said and sent once the batch is committed."""

    replies: list[tuple[str, bytes]] = field(default_factory=list)
    awards: list[Award] = field(default_factory=list)
    paid: list[Award] = field(default_factory=list)
    tables: set[str] = field(default_factory=set)
    orders: list[tuple[PendingCommand, dict[str, Any]]] = field(default_factory=list)
    carried_out: list[AnyCommand] = field(default_factory=list)
    judged: Counter[tuple[str, str]] = field(default_factory=Counter)


@dataclass(slots=True)
class BatchAttempt:
    """What is known before a batch, and what comes of it."""

    state: LinkState
    directory: Mapping[str, str | None]
    """The link of every configured table."""
    configured: Mapping[str, Table] | None
    """The link's tables by the configuration; None leaves them as they are in the ledger."""
    seen: dict[str, RecordedEvent]
    past: ClosedHistory
    taken_for_new: set[str]
    """Ids that were not looked up: a unique index refuses the batch if one was there before."""
    batch: Batch
    at: str
    outcome: BatchOutcome = field(default_factory=BatchOutcome)

    def judge(self, arrival: IncomingEvent, event: ev.TableEvent) -> None:
        link, table, outcome = self.state.link, arrival.table, self.outcome
        refused = misdirected(self.directory, link, table)
        first = self.seen.get(event.id)
        if refused is not None and self._finishes_here(table, event, first):
            refused = None
        if refused is None and first is not None:
            if (first.link, first.table, first.payload) == (link, table, arrival.payload):
                outcome.judged[event.type, "duplicate"] += 1
                outcome.replies.append((table, codec.as_duplicate(first.answer)))
                return
            log.error("id_reused", link=link, table=table, event_id=event.id)
            metrics.ids_reused.labels(link).inc()
            refused = Refused(Code.ID_REUSED, f"Event id {event.id} was used for something else; ids are for ever.")
        decision = refused or step(self.state, table, event, at=self.at, past=self.past)
        if refused is None and isinstance(decision, Refused) and event.id in self.taken_for_new:
            _require_written(event, decision)
        answer = reply(event, decision)
        outcome.replies.append((table, answer))
        accepted = decision if isinstance(decision, Accepted) else None
        outcome.judged[event.type, "refused" if accepted is None else "accepted"] += 1
        if not decision.recorded:
            return
        round_ = getattr(event, "round", None)
        record = Record(event.id, table, event.seq, event.type, round_, arrival.payload, answer, accepted)
        self.batch.add(record, event)
        self.seen[event.id] = RecordedEvent(link, table, arrival.payload, answer)
        outcome.tables.add(table)
        if accepted is not None:
            self._note(accepted)

    def _finishes_here(self, table: str, event: ev.TableEvent, first: RecordedEvent | None) -> bool:
        """A table that was given another link ends here what it began here: its round, and awards it has not paid."""
        if table not in self.directory:
            return False
        if first is not None:
            return (first.link, first.table) == (self.state.link, table)
        if isinstance(event, ev.AwardPaid):
            award = self.state.unpaid.get(event.award)
            return award is not None and award.table == table
        return isinstance(event, ev.RoundEvent) and self.state.find((table, event.round)) is not None

    def carry_out(self, order: PendingCommand) -> None:
        if (first := self.seen.get(order.command.id)) is not None:
            self.outcome.orders.append((order, msgspec.json.decode(first.answer)))
            return
        try:
            answer = self._carry_out(order.command)
        except CommandRefusedError as error:
            answer = {"status": "refused", "message": str(error)}
        self.outcome.orders.append((order, answer))

    def _carry_out(self, command: AnyCommand) -> dict[str, Any]:
        outcome, before = self.outcome, self.state.tables
        accepted = carry_out(self.state, command, at=self.at)
        remember(self.past, accepted)
        answer = {"status": "accepted", "result": accepted.result}
        payload = msgspec.json.encode(command)
        round_ = getattr(command, "round", None)
        record = Record(command.id, None, None, command.type, round_, payload, codec.encode(answer), accepted)
        self.batch.add(record)
        self.seen[command.id] = RecordedEvent(self.state.link, None, payload, record.answer)
        outcome.carried_out.append(command)
        outcome.tables.update(before, self.state.tables)
        self._note(accepted)
        return answer

    def _note(self, accepted: Accepted) -> None:
        outcome = self.outcome
        outcome.tables.update(round_.table for round_ in accepted.rounds)
        outcome.awards.extend(accepted.awards)
        if accepted.paid is not None:
            outcome.paid.append(accepted.paid)
        if any(self._waits_for_its_configuration(round_) for round_ in accepted.rounds):
            self._configure()

    def _waits_for_its_configuration(self, ended: Round) -> bool:
        """The table was changed in the configuration, and this was the last round that it had to play as it was."""
        if self.configured is None or not ended.phase.concluded:
            return False
        changed = self.configured.get(ended.table) != self.state.tables.get(ended.table)
        return changed and ended.table not in self.state.unfinished()

    def _configure(self) -> None:
        tables = tables_document((self.configured or {}).values())
        about = {"id": f"tables-{self.batch.chain.hex()[:32]}", "by": "controller"}
        self._carry_out(TablesConfigured(**about, reason="tables of the configuration", tables=tables))


def _require_written(event: ev.TableEvent, refused: Refused) -> None:
    """It was taken for new, but nothing is written that a unique index could refuse if it, or its round, is not."""
    if not refused.recorded or refused.code is Code.PREVIOUS_ROUND_OPEN:
        raise DuplicateRecordError(
            f"event {event.id} is refused as {refused.code}; whether it is new must be looked up"
        )


def misdirected(directory: Mapping[str, str | None], link: str, table: str) -> Refused | None:
    """Whether this table may speak on this link. `directory` holds the link of every configured table."""
    if table not in directory:
        return Refused(Code.UNKNOWN_TABLE, f"No table {table} is configured; check the topic, or add the table.")
    home = directory[table]
    if home is None:
        return Refused(Code.NOT_LINKED, f"Table {table} is not linked: its game feeds no progressive jackpot here.")
    if home != link:
        return Refused(
            Code.WRONG_LINK, f"Table {table} belongs to link {home}, not {link}; publish below its own link."
        )
    return None
