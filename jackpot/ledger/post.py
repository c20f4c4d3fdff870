"""Makes a batch of decisions true: one statement, one SERIALIZABLE transaction, one round trip.

The statement moves the link's head from where we believe it to be. If another daemon has taken the lease, or anything
was written that we do not know of, the head is not there and nothing at all is written.
"""

import datetime as dt
from importlib.resources import files
from typing import Any

import msgspec

from jackpot.contract.events import MetersReported, TableEvent
from jackpot.ledger.connection import AnyConnection
from jackpot.ledger.errors import DeposedError, certain, translated
from jackpot.ledger.record import Head, Record, chain, journal_fields
from jackpot.ledger.schema import ACCOUNTS
from jackpot.link.changes import Accepted
from jackpot.link.commands import parameters_document
from jackpot.link.rounds import Round, to_document
from jackpot.link.state import LinkState, RoundKey

_encode = msgspec.json.Encoder().encode

_POST = files(__package__).joinpath("post.sql").read_text("utf-8")
_POST_OFTEN = _POST.partition("-- SELDOM")[0] + _POST.partition("-- END")[2]
"""The same without what comes seldom: an eighth quicker."""
_JOURNAL_COLUMNS = (
    "journal",
    "kind",
    "table_id",
    "round",
    "award",
    "wagers",
    *ACCOUNTS,
    *(f"{name}_after" for name in ACCOUNTS),
)


class Batch:
    """Decisions that are committed together, in the order in which they were made."""

    def __init__(self, before: Head, state: LinkState, at: dt.datetime, day: dt.date) -> None:
        self.link = state.link
        self.before = before
        self.at = at
        self.day = day
        self.n = before.n
        self.journal = before.journal
        self.chain = before.chain
        self.parameters_version = state.parameters_version
        self._parameters, self._tables = state.parameters, state.tables
        self.records: list[Record] = []
        self.chains: list[bytes] = []
        self.rounds: dict[RoundKey, tuple[Round, int]] = {}
        self.opened: dict[RoundKey, int] = {}
        self.rest: dict[str, list[dict[str, Any]]] = {}

    @property
    def head(self) -> Head:
        """Where the ledger stands once this is committed."""
        return Head(self.before.epoch, self.n, self.chain, self.journal, self.at, self.day)

    def add(self, record: Record, event: TableEvent | None = None) -> None:
        n = self.n + 1
        journals = self._take(n, record.accepted) if record.accepted is not None else []
        if isinstance(event, MetersReported) and record.accepted is not None:
            report = {
                "n": n,
                "table_id": record.table,
                "day": event.day,
                "wagers": event.wagers,
                "wagered_cents": event.wagered_cents,
                "awards": event.awards,
                "awarded_cents": event.awarded_cents,
            }
            self._rest("reports", report)
        self.chain = chain(self.chain, link=self.link, n=n, record=record, at=self.at, day=self.day, journals=journals)
        self.chains.append(self.chain)
        self.records.append(record)
        self.n = n
        self.journal += len(journals)

    def changed_documents(self, state: LinkState) -> tuple[str | None, str | None]:
        """Parameters and tables, which are large and seldom change: None leaves them as they are in the ledger."""
        return (
            None if state.parameters is self._parameters else _json(parameters_document(state.parameters)),
            None if state.tables is self._tables else _json(state.tables_document()),
        )

    def _rest(self, kind: str, row: dict[str, Any]) -> None:
        self.rest.setdefault(kind, []).append(row)

    def _take(self, n: int, accepted: Accepted) -> list[list[Any]]:
        for round_ in accepted.rounds:
            if accepted.opens:
                self.opened[round_.key] = n
            self.rounds[round_.key] = (round_, n)
        journals = [
            journal_fields(self.journal + nth, journal) for nth, journal in enumerate(accepted.journals, start=1)
        ]
        for fields in journals:
            self._rest("journals", {"n": n, **dict(zip(_JOURNAL_COLUMNS, fields, strict=True))})
        if (entered := accepted.entered) is not None:
            hand = entered.hand
            entry = {
                "entry": hand.entry,
                "n": n,
                "table_id": entered.table,
                "round": entered.round,
                "position": entered.position,
                "cards": hand.cards,
                "community": hand.community,
                "rank": hand.rank.value,
                "base_micros": hand.base_micros,
            }
            self._rest("entries", entry)
        for award in accepted.awards:
            row: dict[str, Any] = {
                **award.document(),
                "award": award.number,
                "n": n,
                "table_id": award.table,
                "parameters_version": award.parameters_version,
                "working": award.working,
            }
            self._rest("awards", row)
        if accepted.paid is not None:
            self._rest("payments", {"award": accepted.paid.number, "n": n})
        if accepted.parameters is not None:
            version, parameters, _ = accepted.parameters
            if version > self.parameters_version:
                self.parameters_version = version
                row = {"version": version, "n": n, "parameters": parameters_document(parameters)}
                self._rest("parameters", row)
        return journals


def statement_of(batch: Batch, state: LinkState, *, sent: int) -> tuple[str, tuple[Any, ...]]:
    """What writes the batch and the state it leads to. It answers how many links it has moved on: one, or none."""
    records, rounds, head = batch.records, batch.rounds, batch.head
    parameters, tables = batch.changed_documents(state)
    statement, seldom = (_POST, (_json(batch.rest),)) if batch.rest else (_POST_OFTEN, ())
    return statement, (
        batch.link,
        batch.before.epoch,
        batch.before.n,
        head.n,
        head.chain,
        head.at,
        batch.day,
        head.journal,
        state.entry,
        state.award,
        *state.balances.amounts(),
        state.suspended,
        state.parameters_version,
        parameters,
        None if state.parameters_next is None else _json(parameters_document(state.parameters_next)),
        tables,
        sent,
        [record.id for record in records],
        [record.table for record in records],
        [record.seq for record in records],
        [record.type for record in records],
        [record.round for record in records],
        [record.payload for record in records],
        [record.answer for record in records],
        batch.chains,
        [key[0] for key in rounds],
        [key[1] for key in rounds],
        [round_.phase.value for round_, _ in rounds.values()],
        [batch.opened.get(key) for key in rounds],
        [n for _, n in rounds.values()],
        [_json(to_document(round_)) for round_, _ in rounds.values()],
        *seldom,
    )


async def commit(connection: AnyConnection, batch: Batch, state: LinkState, *, sent: int) -> None:
    """Write the batch and the state it leads to, or nothing. Returns when it is durable, wherever it must be."""
    statement, arguments = statement_of(batch, state, sent=sent)
    with translated(), certain(connection):
        moved = await connection.fetchval(statement, *arguments)
    if moved != 1:
        raise DeposedError(f"link {batch.link} is no longer at epoch {batch.before.epoch}, event {batch.before.n}")


def _json(value: Any) -> str:
    return _encode(value).decode()
