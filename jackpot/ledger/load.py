"""Reads a link's ledger back: the state it stands at, and the past that a batch asks about."""

import json
from collections.abc import Collection
from dataclasses import replace
from typing import Any

from msgspec import Struct

from jackpot.ledger.connection import AnyConnection
from jackpot.ledger.errors import translated
from jackpot.ledger.record import Head
from jackpot.ledger.schema import ACCOUNTS
from jackpot.link.awards import Award
from jackpot.link.commands import parameters_from, tables_from
from jackpot.link.money import Balances
from jackpot.link.parameters import Parameters
from jackpot.link.rounds import from_document
from jackpot.link.state import ClosedHistory, LinkState, RoundKey
from jackpot.rules.megalink import Rank


class RecordedEvent(Struct, frozen=True):
    """An event that the ledger holds, for a resend of it."""

    link: str
    table: str | None
    payload: bytes
    answer: bytes


async def load(connection: AnyConnection, link: str) -> tuple[Head, LinkState, int]:
    """The link's head, its state, and up to which event the answers were sent."""
    with translated():
        async with connection.transaction(isolation="repeatable_read", readonly=True):
            return await _load(connection, link)


async def _load(connection: AnyConnection, link: str) -> tuple[Head, LinkState, int]:
    row = await connection.fetchrow("SELECT * FROM links WHERE link = $1", link)
    if row is None:
        raise LookupError(f"link {link} is not in the ledger")
    state = LinkState(
        link,
        {table.id: table for table in tables_from(json.loads(row["tables"]))},
        Parameters() if row["parameters"] is None else parameters_from(json.loads(row["parameters"])),
        row["parameters_version"],
        None if row["parameters_next"] is None else parameters_from(json.loads(row["parameters_next"])),
        Balances(*(row[name] for name in ACCOUNTS)),
        row["entry"],
        row["award"],
        row["suspended"],
    )
    for found in await connection.fetch(
        "SELECT table_id, round, phase, document FROM rounds "
        "WHERE link = $1 AND phase IN ('open', 'closed', 'waiting')",
        link,
    ):
        state.put(from_document(found["table_id"], found["round"], found["phase"], json.loads(found["document"])))
    for found in await connection.fetch(
        "SELECT awards.* FROM unpaid JOIN awards USING (link, award) WHERE unpaid.link = $1 ORDER BY award", link
    ):
        award = award_from(found)
        state.unpaid[award.id] = award
    state.next_seq = await _next_seqs(connection, {*state.tables, *(award.table for award in state.unpaid.values())})
    head = Head(row["epoch"], row["n"], row["chain"], row["journal"], row["at"])
    day = await connection.fetchval("SELECT day FROM events WHERE link = $1 AND n = $2", link, head.n)
    return head if day is None else replace(head, day=day), state, row["sent"]


async def next_seqs(connection: AnyConnection, tables: Collection[str]) -> dict[str, int]:
    """Each table's next seq, on whatever link it spoke last."""
    with translated():
        return await _next_seqs(connection, tables)


async def _next_seqs(connection: AnyConnection, tables: Collection[str]) -> dict[str, int]:
    """By one index look-up a table however long its history."""
    rows = await connection.fetch(
        "SELECT t.id, last.seq FROM unnest($1::text[]) AS t (id), LATERAL "
        "(SELECT seq FROM events WHERE table_id = t.id ORDER BY seq DESC LIMIT 1) AS last",
        list(tables),
    )
    return {row["id"]: row["seq"] + 1 for row in rows}


def award_from(row: Any) -> Award:
    return Award(
        number=row["award"],
        link=row["link"],
        table=row["table_id"],
        round=row["round"],
        position=row["position"],
        entry=row["entry"],
        rank=Rank(row["rank"]),
        kind=row["kind"],
        amount_cents=row["amount_cents"],
        base_cents=row["base_cents"],
        shared_by=row["shared_by"],
        multiplier=row["multiplier"],
        rules=tuple(row["rules"]),
        decisions=tuple(row["decisions"]),
        at=rfc3339(row["at"]),
        parameters_version=row["parameters_version"],
        working=json.loads(row["working"]) if isinstance(row["working"], str) else row["working"],
    )


async def kept(connection: AnyConnection, ids: Collection[str]) -> dict[str, RecordedEvent]:
    """Those of these events that the ledger holds, on whatever link."""
    with translated():
        rows = await connection.fetch(
            "SELECT id, link, table_id, payload, answer FROM events WHERE id = ANY($1::text[])", list(ids)
        )
    return {row["id"]: RecordedEvent(row["link"], row["table_id"], row["payload"], row["answer"]) for row in rows}


async def past(
    connection: AnyConnection, link: str, rounds: Collection[RoundKey], awards: Collection[str]
) -> ClosedHistory:
    """Which of these rounds and awards there have been."""
    found = ClosedHistory()
    with translated():
        if rounds:
            rows = await connection.fetch(
                "SELECT table_id, round FROM rounds JOIN unnest($1::text[], $2::text[]) AS asked (table_id, round) "
                "USING (table_id, round)",
                [key[0] for key in rounds],
                [key[1] for key in rounds],
            )
            found.rounds.update((row["table_id"], row["round"]) for row in rows)
        numbers = {number: award for award in awards if (number := award_number(link, award)) is not None}
        if numbers:
            rows = await connection.fetch(
                "SELECT award, table_id, round FROM awards WHERE link = $1 AND award = ANY($2::bigint[])",
                link,
                list(numbers),
            )
            found.awards.update((numbers[row["award"]], (row["table_id"], row["round"])) for row in rows)
    return found


async def answers_between(
    connection: AnyConnection, link: str, sent: int, upto: int, most: int
) -> list[tuple[int, str, bytes]]:
    """The outbox: answers that were committed but may not have been sent, with their number and table."""
    with translated():
        rows = await connection.fetch(
            "SELECT n, table_id, answer FROM events WHERE link = $1 AND n > $2 AND n <= $3 AND table_id IS NOT NULL "
            "ORDER BY n LIMIT $4",
            link,
            sent,
            upto,
            most,
        )
    return [(row["n"], row["table_id"], row["answer"]) for row in rows]


def award_number(link: str, award: str) -> int | None:
    """The number in an award's name, if it is one this link could have given."""
    name, _, number = award.rpartition("-")
    if name != link or not (number.isascii() and number.isdigit()) or len(number) > 18:
        return None
    return int(number) if f"{int(number):06d}" == number else None


def rfc3339(at: Any) -> str:
    return str(at.isoformat(timespec="milliseconds")).replace("+00:00", "Z")
