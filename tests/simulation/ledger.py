"""A link's ledger in memory: the tables of the schema, and the one statement that writes them, whole or not at all.

A batch goes in behind the head's epoch and number and every unique index, as in PostgreSQL at SERIALIZABLE.
"""

import json
from collections import Counter
from collections.abc import Callable, Collection
from dataclasses import dataclass, field
from typing import Any

from jackpot.ledger.commands import Request
from jackpot.ledger.errors import DeposedError, DuplicateRecordError, LedgerError
from jackpot.ledger.lease import Lease
from jackpot.ledger.load import RecordedEvent, award_from, award_number
from jackpot.ledger.post import Batch
from jackpot.ledger.record import Head
from jackpot.ledger.schema import ACCOUNTS
from jackpot.link.commands import AnyCommand, parameters_document, parameters_from, tables_from
from jackpot.link.money import Balances
from jackpot.link.parameters import Parameters
from jackpot.link.rounds import from_document, to_document
from jackpot.link.state import ClosedHistory, LinkState, RoundKey
from tests.simulation.trace import Trace

Row = dict[str, Any]


@dataclass(slots=True)
class LinkRow:
    """The head of a link, and the rows that belong to it."""

    epoch: int = 0
    n: int = 0
    sent: int = 0
    head: Row = field(default_factory=dict)
    events: list[Row] = field(default_factory=list)
    journals: list[Row] = field(default_factory=list)
    awards: dict[int, Row] = field(default_factory=dict)
    unpaid: dict[int, None] = field(default_factory=dict)
    holder: str = ""
    expires_at: float = 0.0
    asked_by: str | None = None
    leader: str = ""
    """Who took the lease last: the holder, once it has taken up what was handed to it."""


@dataclass(slots=True)
class Written:
    """A batch as it goes to the server: later changes of the state it came from do not reach it."""

    link: str
    epoch: int
    before_n: int
    sent: int
    head: Row
    events: list[Row]
    rounds: list[tuple[RoundKey, str, bool, str]]
    rest: dict[str, list[Row]]


def written(batch: Batch, state: LinkState, sent: int) -> Written:
    head = {
        "n": batch.n,
        "chain": batch.chain,
        "journal": batch.journal,
        "at": batch.at,
        "day": batch.day,
        "entry": state.entry,
        "award": state.award,
        "balances": state.balances.amounts(),
        "suspended": state.suspended,
        "parameters_version": state.parameters_version,
        "parameters": json.dumps(parameters_document(state.parameters)),
        "parameters_next": None
        if state.parameters_next is None
        else json.dumps(parameters_document(state.parameters_next)),
        "tables": json.dumps(state.tables_document()),
    }
    events = [
        {
            "n": batch.before.n + nth,
            "at": batch.at,
            "day": batch.day,
            "chain": chain,
            "id": record.id,
            "table_id": record.table,
            "seq": record.seq,
            "type": record.type,
            "round": record.round,
            "payload": record.payload,
            "answer": record.answer,
        }
        for nth, (record, chain) in enumerate(zip(batch.records, batch.chains, strict=True), start=1)
    ]
    rounds = [
        (key, round_.phase.value, key in batch.opened, json.dumps(to_document(round_)))
        for key, (round_, _) in batch.rounds.items()
    ]
    rest = {kind: list(rows) for kind, rows in batch.rest.items()}
    return Written(batch.link, batch.before.epoch, batch.before.n, sent, head, events, rounds, rest)


class Ledger:
    def __init__(self, now: Callable[[], float], trace: Trace) -> None:
        self.now = now
        self.trace = trace
        self.links: dict[str, LinkRow] = {}
        self.ids: dict[str, RecordedEvent] = {}
        self.seqs: dict[str, int] = {}
        self.rounds: dict[RoundKey, Row] = {}
        self.awarded: set[tuple[str, str, int]] = set()
        self.requests: dict[str, Row] = {}
        self.handed_over = 0
        self.on_commit: Callable[[str, list[Row]], None] = lambda *_: None
        """Hears the link and its new events as soon as they are durable."""
        self.on_intruder: Callable[[str], None] = lambda _: None
        """Hears of a batch that was written by somebody who does not hold the lease."""

    def _row(self, link: str) -> LinkRow:
        """One that nobody has taken yet has nothing, and what happens to it is not kept."""
        return self.links.get(link) or LinkRow(epoch=-(10**9))

    # Leases.

    def take_lease(self, link: str, holder: str, seconds: float) -> int | None:
        row = self.links.setdefault(link, LinkRow())
        row.expires_at = min(row.expires_at, self.now() + seconds)
        if row.expires_at >= self.now() and row.holder != holder:
            return None
        row.holder, row.expires_at, row.asked_by = holder, self.now() + seconds, None
        row.leader = holder
        row.epoch += 1
        self.trace.note("database", f"{link} is led by {holder}, epoch {row.epoch}")
        return row.epoch

    def renew_lease(self, link: str, holder: str, epoch: int, seconds: float) -> str | None:
        row = self._row(link)
        if (row.holder, row.epoch) != (holder, epoch):
            raise DeposedError(f"the lease of {link} is held by {row.holder}, epoch {row.epoch}")
        row.expires_at = self.now() + seconds
        return row.asked_by

    def give_up_lease(self, link: str, holder: str, epoch: int, sent: int) -> None:
        row = self._row(link)
        if row.epoch == epoch:
            row.sent = sent
            if row.holder == holder:
                row.expires_at = 0.0

    def survey_leases(self) -> list[Lease]:
        return [
            Lease(link, row.holder, row.epoch, row.asked_by, row.expires_at - self.now())
            for link, row in sorted(self.links.items())
        ]

    def ask_for_lease(self, wanted: Lease, holder: str) -> bool:
        row = self._row(wanted.link)
        if (row.holder, row.epoch, row.asked_by) != (wanted.holder, wanted.epoch, None) or row.expires_at <= self.now():
            return False
        row.asked_by = holder
        return True

    def hand_over_lease(self, link: str, holder: str, epoch: int, seconds: float, sent: int) -> None:
        row = self._row(link)
        if row.epoch == epoch:
            row.sent = sent
            if row.holder == holder and row.asked_by is not None:
                self.trace.note("database", f"{link} is handed over from {holder} to {row.asked_by}")
                row.holder, row.asked_by, row.expires_at = row.asked_by, None, self.now() + seconds
                self.handed_over += 1

    def led_by(self) -> Counter[str]:
        """How many links each daemon leads."""
        return Counter(row.leader for row in self.links.values() if row.expires_at > self.now())

    # What people ask of a link.

    def leave_request(self, link: str, command: AnyCommand) -> None:
        self.trace.note("a person", f"{link} {command}")
        self.requests[command.id] = {"link": link, "command": command, "answer": None}

    def requests_of(self, link: str, _: object = None) -> list[Request]:
        waiting = {id_: row for id_, row in self.requests.items() if row["link"] == link and row["answer"] is None}
        return [Request(id_, row["command"]) for id_, row in waiting.items()]

    def answer_request(self, link: str, epoch: int, request: str, answered: dict[str, Any]) -> None:
        if self._row(link).epoch == epoch and self.requests[request]["answer"] is None:
            self.requests[request]["answer"] = answered

    # Reading.

    def load(self, link: str) -> tuple[Head, LinkState, int]:
        row = self.links[link]
        if not row.head:
            return Head(row.epoch), LinkState(link, {}, Parameters(), 0), row.sent
        head = row.head
        state = LinkState(
            link,
            {table.id: table for table in tables_from(json.loads(head["tables"]))},
            parameters_from(json.loads(head["parameters"])),
            head["parameters_version"],
            None if head["parameters_next"] is None else parameters_from(json.loads(head["parameters_next"])),
            Balances(*head["balances"]),
            head["entry"],
            head["award"],
            head["suspended"],
        )
        for (table, name), found in self.rounds.items():
            if found["link"] == link and found["phase"] in ("open", "closed", "waiting"):
                state.put(from_document(table, name, found["phase"], json.loads(found["document"])))
        for number in sorted(row.unpaid):
            award = award_from(row.awards[number])
            state.unpaid[award.id] = award
        state.next_seq = self.next_seqs({*state.tables, *(award.table for award in state.unpaid.values())})
        return Head(row.epoch, row.n, head["chain"], head["journal"], head["at"], head["day"]), state, row.sent

    def answers_between(self, link: str, sent: int, upto: int) -> list[tuple[int, str, bytes]]:
        events = self._row(link).events[sent:upto]
        return [(row["n"], row["table_id"], row["answer"]) for row in events if row["table_id"] is not None]

    def next_seqs(self, tables: Collection[str]) -> dict[str, int]:
        return {table: self.seqs[table] + 1 for table in sorted(tables) if table in self.seqs}

    def past(self, link: str, rounds: Collection[RoundKey], awards: Collection[str]) -> ClosedHistory:
        found = ClosedHistory(rounds={key for key in rounds if key in self.rounds})
        made = self._row(link).awards
        for award in awards:
            number = award_number(link, award)
            if number in made:
                found.awards[award] = (made[number]["table_id"], made[number]["round"])
        return found

    def self_audit(self, link: str) -> str | None:
        row = self.links.get(link)
        if row is None:
            return "the link is gone from the ledger"
        if row.events and (row.events[-1]["n"], row.events[-1]["chain"]) != (row.n, row.head["chain"]):
            return f"the events of {link} end elsewhere"
        if row.journals:
            last = row.journals[-1]
            after = tuple(last[f"{account}_after"] for account in ACCOUNTS)
            if (last["journal"], after) != (row.head["journal"], row.head["balances"]):
                return f"the journals of {link} end elsewhere"
        return None

    # The one statement that writes.

    def post(self, batch: "Written", writer: str) -> None:
        row = self._row(batch.link)
        if (row.epoch, row.n) != (batch.epoch, batch.before_n):
            raise DeposedError(f"{batch.link} is at epoch {row.epoch}, event {row.n}")
        self._refuse_what_is_there(row, batch)
        for event in batch.events:
            self.ids[event["id"]] = RecordedEvent(batch.link, event["table_id"], event["payload"], event["answer"])
            if event["table_id"] is not None:
                self.seqs[event["table_id"]] = event["seq"]
        for key, phase, opens, document in batch.rounds:
            if opens or key in self.rounds:
                self.rounds[key] = {"link": batch.link, "phase": phase, "document": document}
        row.n, row.sent, row.head = batch.head["n"], batch.sent, batch.head
        row.events += batch.events
        row.journals += batch.rest.get("journals", [])
        for award in batch.rest.get("awards", []):
            row.awards[award["award"]] = {**award, "link": batch.link, "at": batch.head["at"]}
            row.unpaid[award["award"]] = None
            self.awarded.add((award["table_id"], award["round"], award["position"]))
        for payment in batch.rest.get("payments", []):
            row.unpaid.pop(payment["award"], None)
        self.trace.note("database", f"{batch.link} at {row.n} {batch.head['chain'].hex()}")
        self.on_commit(batch.link, batch.events)
        if writer != row.leader:
            self.on_intruder(f"{writer} has written {batch.link}, which {row.leader} leads")

    def _refuse_what_is_there(self, row: LinkRow, batch: "Written") -> None:
        """The unique indexes and checks of the schema."""
        ids = Counter(event["id"] for event in batch.events)
        if any(count > 1 or id_ in self.ids for id_, count in ids.items()):
            raise DuplicateRecordError("events_id_key")
        seqs: dict[str, int] = {}
        for event in batch.events:
            if event["table_id"] is not None:
                if event["seq"] <= seqs.get(event["table_id"], self.seqs.get(event["table_id"], 0)):
                    raise DuplicateRecordError("events_table_id_seq_key")
                seqs[event["table_id"]] = event["seq"]
        if any(opens and key in self.rounds for key, _, opens, _ in batch.rounds):
            raise DuplicateRecordError("rounds_pkey")
        for award in batch.rest.get("awards", []):
            if (award["table_id"], award["round"], award["position"]) in self.awarded or award["award"] in row.awards:
                raise DuplicateRecordError("awards_pkey")
        balances = Balances(*batch.head["balances"])
        if not (balances.closes and balances.possible):
            raise LedgerError("23514: links_closes or links_possible")
