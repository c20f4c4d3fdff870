"""What is kept of an event, and the chain that ties it to all before it."""

import datetime as dt
import hashlib
from dataclasses import dataclass
from typing import Any

import msgspec

from jackpot.link.changes import Accepted
from jackpot.link.money import Journal


class Record(msgspec.Struct, frozen=True):
    """One event or command with its answer, as it goes into the ledger."""

    id: str
    table: str | None
    seq: int | None
    type: str
    round: str | None
    payload: bytes
    answer: bytes
    accepted: Accepted | None
    """None for a refusal, which is kept too but changes nothing else."""


THE_BEGINNING = dt.datetime(1970, 1, 1, tzinfo=dt.UTC)


@dataclass(frozen=True, slots=True)
class Head:
    """Where a link's ledger stands."""

    epoch: int = 0
    n: int = 0
    chain: bytes = b""
    journal: int = 0
    at: dt.datetime = THE_BEGINNING
    day: dt.date = dt.date.min
    """The last event's gaming day. Neither it nor `at` goes back, whatever clock and configuration say next."""


_encode = msgspec.json.Encoder().encode


def chain(
    previous: bytes, *, link: str, n: int, record: Record, at: dt.datetime, day: dt.date, journals: list[Any]
) -> bytes:
    """The chain after this event: sha256 over the chain before it, the event, its day, its answer and its journals.

    The lengths say where payload and answer end, so that no two records read the same.
    """
    sizes = (len(record.payload), len(record.answer))
    about = (link, n, record.id, record.table, record.seq, record.type, at, day, *sizes)
    return hashlib.sha256(previous + _encode((about, journals)) + record.payload + record.answer).digest()


def journal_fields(number: int, journal: Journal) -> list[Any]:
    """A journal as the chain and the ledger write it, in one order."""
    return [
        number,
        journal.kind.value,
        journal.table,
        journal.round,
        journal.award,
        list(journal.wagers),
        *journal.postings.amounts(),
        *journal.after.amounts(),
    ]
