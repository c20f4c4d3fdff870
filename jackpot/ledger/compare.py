"""What the events must have left in the other tables, beside what is there."""

import json
from collections import Counter, defaultdict
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import msgspec
from sqlalchemy import Table

from jackpot.ledger.connection import AnyConnection
from jackpot.ledger.load import load
from jackpot.ledger.post import Batch
from jackpot.ledger.replay import Replay, StoredRound
from jackpot.ledger.schema import ACCOUNTS, awards, entries, journals, meter_reports, parameters, payments
from jackpot.link.rounds import to_document
from jackpot.link.state import LinkState

NUMBERED = {
    "journals": (journals, "journal"),
    "entries": (entries, "entry"),
    "awards": (awards, "award"),
    "payments": (payments, "award"),
    "reports": (meter_reports, "n"),
    "parameters": (parameters, "version"),
}
"""Each kind of row that a batch writes beside its events: its table, and the number that names it within the link."""


@dataclass(frozen=True, slots=True)
class Difference:
    """Something that the events do not account for, and the event where it shows."""

    n: int
    what: str


class Expected:
    """What a stretch of events must have left, gathered while they are decided again."""

    def __init__(self, link: str) -> None:
        self._link = link
        self._rows: dict[str, dict[int, dict[str, Any]]] = defaultdict(dict)
        self._rounds: dict[tuple[str, str], StoredRound] = {}

    def add(self, batch: Batch, ended: Iterable[StoredRound]) -> None:
        for kind, rows in batch.rest.items():
            table, number = NUMBERED[kind]
            for row in rows:
                self._rows[kind][row[number]] = _stored(table, batch, row)
        for kept in ended:
            self.add_round(kept)

    def add_round(self, kept: StoredRound) -> None:
        self._rounds[kept.round.key] = kept

    def counts(self) -> Counter[str]:
        return Counter({kind: len(rows) for kind, rows in self._rows.items()})

    async def differences(self, connection: AnyConnection) -> list[Difference]:
        found = [
            difference
            for kind, rows in self._rows.items()
            for difference in await self._compare_rows(connection, kind, rows)
        ]
        return found + await self._compare_rounds(connection) if self._rounds else found

    async def _compare_rows(
        self, connection: AnyConnection, kind: str, expected: dict[int, dict[str, Any]]
    ) -> list[Difference]:
        table, number = NUMBERED[kind]
        query = f"SELECT * FROM {table.name} WHERE link = $1 AND {number} = ANY($2::bigint[])"  # noqa: S608 our names
        stored = {row[number]: dict(row) for row in await connection.fetch(query, self._link, list(expected))}
        found = []
        for key, row in expected.items():
            name = f"{table.name}, {number} {key}"
            there = stored.get(key)
            if there is None:
                found.append(Difference(row["n"], f"{name}: it is missing"))
            elif there != row:
                found += [Difference(row["n"], f"{name}: {text}") for text in _unequal(there, row)]
        return found

    async def _compare_rounds(self, connection: AnyConnection) -> list[Difference]:
        rows = await connection.fetch(
            "SELECT rounds.* FROM rounds JOIN unnest($1::text[], $2::text[]) AS asked (table_id, round) "
            "USING (table_id, round)",
            [table for table, _ in self._rounds],
            [round_ for _, round_ in self._rounds],
        )
        stored = {(row["table_id"], row["round"]): row for row in rows}
        found = []
        for (table, round_), kept in self._rounds.items():
            name = f"rounds, round {round_} of table {table}"
            there = stored.get((table, round_))
            if there is None:
                found.append(Difference(kept.n, f"{name}: it is missing"))
                continue
            expected = {
                "link": self._link,
                "phase": kept.round.phase.value,
                "opened_n": kept.opened_n,
                "n": kept.n,
                "document": msgspec.json.decode(msgspec.json.encode(to_document(kept.round))),
            }
            actual = {column: there[column] for column in expected} | {"document": json.loads(there["document"])}
            found += [Difference(kept.n, f"{name}: {text}") for text in _unequal(actual, expected)]
        return found


async def compare_head(connection: AnyConnection, replay: Replay, counts: Counter[str]) -> list[Difference]:
    """After the last event: the working tables stand where the events lead, and nothing is there of no event."""
    head, link = replay.head, replay.state.link
    unfinished = Expected(link)
    for kept in replay.unfinished.values():
        unfinished.add_round(kept)
    found = await unfinished.differences(connection)
    try:
        there, state, _ = await load(connection, link)
    except (LookupError, ValueError, TypeError) as error:
        return [*found, Difference(head.n, f"links: it cannot be read ({error})")]
    actual = {name: getattr(there, name) for name in ("n", "chain", "journal", "at")} | _standing(state)
    expected = {name: getattr(head, name) for name in ("n", "chain", "journal", "at")} | _standing(replay.state)
    found += [Difference(head.n, f"links: {text}") for text in _unequal(actual, expected)]
    if state.unpaid != replay.state.unpaid:
        there_only, missing = state.unpaid.keys() - replay.state.unpaid, replay.state.unpaid.keys() - state.unpaid
        names = ", ".join(sorted(there_only | missing)) or "an award"
        found.append(Difference(head.n, f"unpaid: {names} is not as the events leave it"))
    return found + await _compare_counts(connection, replay, counts)


def _standing(state: LinkState) -> dict[str, Any]:
    """What `links` says of a link, by the names of its columns."""
    return {
        **dict(zip(ACCOUNTS, state.balances.amounts(), strict=True)),
        "entry": state.entry,
        "award": state.award,
        "suspended": state.suspended,
        "parameters_version": state.parameters_version,
        "parameters": state.parameters,
        "parameters_next": state.parameters_next,
        "tables": state.tables_document(),
    }


async def _compare_counts(connection: AnyConnection, replay: Replay, counts: Counter[str]) -> list[Difference]:
    link, found = replay.state.link, []
    tables = {kind: table.name for kind, (table, _) in NUMBERED.items()} | {"rounds": "rounds"}
    for kind, table in tables.items():
        query = f"SELECT count(*) FROM {table} WHERE link = $1"  # noqa: S608 our own names
        there = await connection.fetchval(query, link)
        if there != counts[kind]:
            text = f"{table}: it holds {there} rows of this link, the events account for {counts[kind]}"
            stranger = await _stranger(connection, replay, kind, counts[kind]) if kind in NUMBERED else ""
            found.append(Difference(replay.head.n, text + stranger))
    return found


async def _stranger(connection: AnyConnection, replay: Replay, kind: str, last: int) -> str:
    """Name a row of no event: its number lies outside those that were given, or it pays an award that is unpaid."""
    table, number = NUMBERED[kind]
    state, unpaid = replay.state, list[int]()
    if kind == "payments":
        last, unpaid = state.award, [award.number for award in state.unpaid.values()]
    elif kind == "reports":
        last = replay.head.n
    query = (
        f"SELECT {number} FROM {table.name} WHERE link = $1 "  # noqa: S608 our own names
        f"AND ({number} < 1 OR {number} > $2 OR {number} = ANY($3::bigint[])) ORDER BY {number} LIMIT 1"
    )
    found = await connection.fetchval(query, state.link, last, unpaid)
    return "" if found is None else f"; {number} {found} is of no event"


def _stored(table: Table, batch: Batch, row: dict[str, Any]) -> dict[str, Any]:
    """The row as the database must give it back."""
    stored: dict[str, Any] = {}
    for column in table.columns.keys():  # noqa: SIM118 a column collection is no dict
        if column == "link":
            stored[column] = batch.link
        elif column == "at":
            stored[column] = batch.at
        elif column == "day" and table is not meter_reports:  # a report's day is the one it speaks of
            stored[column] = batch.day
        else:
            value = row[column]
            stored[column] = list(value) if isinstance(value, tuple) else value
    return stored


def _unequal(there: dict[str, Any], expected: dict[str, Any]) -> list[str]:
    found = []
    for column, value in expected.items():
        actual = there[column]
        if isinstance(value, dict) and isinstance(actual, str):
            actual = json.loads(actual)
        if actual != value:
            found.append(f"{column} is {actual!r}, the events give {value!r}")
    return found
