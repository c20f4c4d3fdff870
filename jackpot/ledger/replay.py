"""Makes every old decision again. What an event led to once it must lead to now, to the byte."""

import datetime as dt
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import msgspec

from jackpot.contract.events import Event, TableEvent
from jackpot.ledger.load import rfc3339
from jackpot.ledger.post import Batch
from jackpot.ledger.record import Head, Record
from jackpot.link.changes import Accepted, Decision, remember
from jackpot.link.commands import AnyCommand, CommandRefusedError, carry_out
from jackpot.link.decide import step
from jackpot.link.money import UnbalancedError
from jackpot.link.parameters import Parameters
from jackpot.link.rounds import Phase, Round
from jackpot.link.state import ClosedHistory, LinkState, RoundKey

_encode = msgspec.json.Encoder().encode
_command = msgspec.json.Decoder(AnyCommand)


@dataclass(frozen=True, slots=True)
class Language:
    """How tables' events are read and answered. It is the wire's, and handed in: the ledger does not know the wire."""

    read: Callable[[bytes], TableEvent | None]
    """None if it is no event of the contract."""
    answer: Callable[[Event, Decision], bytes]


@dataclass(frozen=True, slots=True)
class StoredEvent:
    """A row of `events`."""

    n: int
    id: str
    table_id: str | None
    seq: int | None
    type: str
    round: str | None
    at: dt.datetime
    day: dt.date
    payload: bytes
    answer: bytes
    chain: bytes


@dataclass(frozen=True, slots=True)
class StoredRound:
    """A round as the ledger must hold it."""

    round: Round
    opened_n: int
    n: int


class NotReplayableError(Exception):
    """The event as it stands there cannot have been taken into the ledger."""


class Replay:
    """One link from its first event on. Keeps what a link keeps between two events, and no history."""

    def __init__(self, link: str, language: Language) -> None:
        self.state = LinkState(link, {}, Parameters(), parameters_version=0)
        self.head = Head()
        self.past = ClosedHistory()
        """What left the state before; the caller looks up there what it hands in next."""
        self.unfinished: dict[RoundKey, StoredRound] = {}
        self._language = language

    def take(self, row: StoredEvent) -> Batch:
        """Everything that the ledger must hold because of this event, as a batch of its own."""
        batch = Batch(self.head, self.state, row.at, row.day)
        try:
            self._decide(row, batch)
        except (msgspec.DecodeError, CommandRefusedError, UnbalancedError, LookupError, TypeError, ValueError) as error:
            raise NotReplayableError(f"it cannot be decided again ({type(error).__name__}: {error})") from error
        self.head = batch.head
        return batch

    def _decide(self, row: StoredEvent, batch: Batch) -> None:
        if row.table_id is None:
            command = _command.decode(row.payload)
            _require_same(row, id=command.id, type=command.type, round=getattr(command, "round", None), seq=None)
            accepted = carry_out(self.state, command, at=rfc3339(row.at))
            remember(self.past, accepted)
            answer = _encode({"status": "accepted", "result": accepted.result})
            batch.add(_record(row, answer, accepted))
            return
        event = self._language.read(row.payload)
        if event is None:
            raise NotReplayableError("its payload is no event of the contract")
        _require_same(row, id=event.id, type=event.type, round=getattr(event, "round", None), seq=event.seq)
        decision = step(self.state, row.table_id, event, at=rfc3339(row.at), past=self.past)
        if not decision.recorded:
            raise NotReplayableError("it would be refused and not recorded")
        accepted_event = decision if isinstance(decision, Accepted) else None
        batch.add(_record(row, self._language.answer(event, decision), accepted_event), event)

    def concluded(self, batch: Batch) -> list[StoredRound]:
        """The rounds that this batch ended; those it touched otherwise are kept for later."""
        ended = []
        for key, (round_, n) in batch.rounds.items():
            before = self.unfinished.pop(key, None)
            kept = StoredRound(round_, batch.opened[key] if before is None else before.opened_n, n)
            if round_.phase in (Phase.SETTLED, Phase.VOIDED):
                ended.append(kept)
            else:
                self.unfinished[key] = kept
        return ended


def _record(row: StoredEvent, answer: bytes, accepted: Accepted | None) -> Record:
    return Record(row.id, row.table_id, row.seq, row.type, row.round, row.payload, answer, accepted)


def _require_same(row: StoredEvent, **in_payload: Any) -> None:
    for column, value in in_payload.items():
        if getattr(row, column) != value:
            raise NotReplayableError(f"its {column} is {getattr(row, column)!r}, but {value!r} in its payload")
