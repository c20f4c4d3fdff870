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
from jackpot.ledger.errors import AlreadyThere
from jackpot.ledger.load import Kept
from jackpot.ledger.post import Batch
from jackpot.ledger.record import Record
from jackpot.link import events as ev
from jackpot.link.awards import Award
from jackpot.link.changes import Accepted, remember
from jackpot.link.commands import AnyCommand, NotPossible, carry_out
from jackpot.link.decide import step
from jackpot.link.refusals import Code, Refused
from jackpot.link.state import LinkState, Past
from jackpot.wire import codec

log = structlog.get_logger()


@dataclass(slots=True)
class Arrival:
    """An event as it came, not yet read."""

    table: str
    payload: bytes
    token: Any = None
    """What the wire needs to acknowledge it."""


@dataclass(slots=True)
class Order:
    """A command of a person or of the controller, and where its answer goes."""

    command: AnyCommand
    answer: asyncio.Future[dict[str, Any]]


@dataclass(slots=True)
class Outcome:
    """What is said and sent once the batch is committed."""

    replies: list[tuple[str, bytes]] = field(default_factory=list)
    awards: list[Award] = field(default_factory=list)
    paid: list[Award] = field(default_factory=list)
    tables: set[str] = field(default_factory=set)
    orders: list[tuple[Order, dict[str, Any]]] = field(default_factory=list)
    judged: Counter[tuple[str, str]] = field(default_factory=Counter)


@dataclass(slots=True)
class Sitting:
    """What is known before a batch, and what comes of it."""

    state: LinkState
    directory: Mapping[str, str | None]
    """The link of every configured table."""
    seen: dict[str, Kept]
    past: Past
    taken_for_new: set[str]
    """Ids that were not looked up: a unique index refuses the batch if one was there before."""
    batch: Batch
    at: str
    outcome: Outcome = field(default_factory=Outcome)

    def judge(self, arrival: Arrival, event: ev.TableEvent) -> None:
        link, table, outcome = self.state.link, arrival.table, self.outcome
        refused = misdirected(self.directory, link, table)
        first = self.seen.get(event.id)
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
        answer = codec.encode(codec.answer(event, decision))
        outcome.replies.append((table, answer))
        accepted = decision if isinstance(decision, Accepted) else None
        outcome.judged[event.type, "refused" if accepted is None else "accepted"] += 1
        if not decision.recorded:
            return
        round_ = getattr(event, "round", None)
        record = Record(event.id, table, event.seq, event.type, round_, arrival.payload, answer, accepted)
        self.batch.add(record, event)
        self.seen[event.id] = Kept(link, table, arrival.payload, answer)
        outcome.tables.add(table)
        if accepted is not None:
            self._note(accepted)

    def carry_out(self, order: Order) -> None:
        link, command, outcome = self.state.link, order.command, self.outcome
        if (first := self.seen.get(command.id)) is not None:
            outcome.orders.append((order, msgspec.json.decode(first.answer)))
            return
        try:
            accepted = carry_out(self.state, command, at=self.at)
        except NotPossible as error:
            outcome.orders.append((order, {"status": "refused", "message": str(error)}))
            return
        remember(self.past, accepted)
        answer = {"status": "accepted", "result": accepted.result}
        payload = msgspec.json.encode(command)
        round_ = getattr(command, "round", None)
        record = Record(command.id, None, None, command.type, round_, payload, codec.encode(answer), accepted)
        self.batch.add(record)
        self.seen[command.id] = Kept(link, None, payload, record.answer)
        outcome.orders.append((order, answer))
        outcome.tables.update(self.state.tables)
        self._note(accepted)
        log.info("command_carried_out", link=link, type=command.type, by=command.by, reason=command.reason)

    def _note(self, accepted: Accepted) -> None:
        outcome = self.outcome
        outcome.tables.update(round_.table for round_ in accepted.rounds)
        outcome.awards.extend(accepted.awards)
        if accepted.paid is not None:
            outcome.paid.append(accepted.paid)
        for award in accepted.awards:
            about = {"link": self.state.link, "award": award.id, "table": award.table}
            log.info("award_made", **about, amount_cents=award.amount_cents)


def _require_written(event: ev.TableEvent, refused: Refused) -> None:
    """It was taken for new, but nothing is written that a unique index could refuse if it, or its round, is not."""
    if not refused.recorded or refused.code is Code.PREVIOUS_ROUND_OPEN:
        raise AlreadyThere(f"event {event.id} is refused as {refused.code}; whether it is new must be looked up")


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
