"""Nothing lost, nothing twice: the ledger against what the tables were told, by reading it afresh."""

import json
from collections import Counter, defaultdict
from collections.abc import Sequence
from typing import Any

import asyncpg

from jackpot.ledger.record import Record, chain
from tests.faults.players import Player

MICROS_PER_CENT = 10_000
ACCOUNTS = ("wagered", "recoverable", "pool", "reserve", "house", "awarded")
NOT_RECORDED = {"sequence_gap", "sequence_reused", "link_suspended"}
"""What a table may be told on the way that is not its answer."""


async def audit(url: str, players: Sequence[Player]) -> int:
    """Raises at the first thing that is wrong. Returns how many events of tables there are."""
    connection = await asyncpg.connect(url)
    try:
        events = await connection.fetch("SELECT * FROM events ORDER BY link, n")
        for player in players:
            _compare_with_the_table(player, [event for event in events if event["table_id"] == player.table])
        for link in sorted({event["link"] for event in events}):
            await _examine(connection, link, [player for player in players if player.link == link])
        known = {player.table for player in players}
        assert {event["table_id"] for event in events} - {None} == known
        return sum(event["table_id"] is not None for event in events)
    finally:
        await connection.close()


def _compare_with_the_table(player: Player, events: list[asyncpg.Record]) -> None:
    truth = player.truth
    assert [event["seq"] for event in events] == list(range(1, len(events) + 1)), f"{player.table}: a gap in the seq"
    assert Counter(event["id"] for event in events) == Counter(truth.answers.keys()), f"{player.table}: lost or twice"
    for event in events:
        kept = _plain(json.loads(event["answer"]))
        assert _plain(truth.answers[event["id"]]) == kept, (kept, truth.answers[event["id"]])
        for reply in truth.replies[event["id"]]:
            assert reply.get("code") in NOT_RECORDED or _plain(reply) == kept, (kept, reply)


def _plain(answer: dict[str, Any]) -> dict[str, Any]:
    return {key: value for key, value in answer.items() if key != "duplicate"}


async def _examine(connection: asyncpg.Connection, link: str, players: list[Player]) -> None:
    head = await connection.fetchrow("SELECT * FROM links WHERE link = $1", link)
    events = await connection.fetch("SELECT * FROM events WHERE link = $1 ORDER BY n", link)
    journals = await connection.fetch("SELECT * FROM journals WHERE link = $1 ORDER BY journal", link)
    assert head is not None
    assert [event["n"] for event in events] == list(range(1, head["n"] + 1))
    assert [journal["journal"] for journal in journals] == list(range(1, head["journal"] + 1))
    _walk_the_chain(link, events, journals, head["chain"])
    _balance(journals, head)
    awards = await connection.fetch("SELECT * FROM awards WHERE link = $1 ORDER BY award", link)
    assert [award["award"] for award in awards] == list(range(1, head["award"] + 1))
    hands = Counter((award["table_id"], award["round"], award["position"]) for award in awards)
    assert hands.total() == len(hands), "one award a hand"
    told = {name: award["amount_cents"] for player in players for name, award in player.truth.awards.items()}
    assert told == {f"{link}-{award['award']:06d}": award["amount_cents"] for award in awards}
    assert head["awarded"] == sum(told.values()) * MICROS_PER_CENT
    assert head["wagered"] == sum(player.truth.wagered_cents for player in players) * MICROS_PER_CENT
    shares = [award["entry"] for award in awards if award["kind"] == "percentage"]
    assert shares == sorted(shares), "first entered, first paid"
    entries = await connection.fetch("SELECT entry, n FROM entries WHERE link = $1 ORDER BY entry", link)
    assert [row["entry"] for row in entries] == list(range(1, head["entry"] + 1))
    assert [row["n"] for row in entries] == sorted(row["n"] for row in entries)
    assert await connection.fetchval("SELECT count(*) FROM unpaid WHERE link = $1", link) == 0
    assert await connection.fetchval("SELECT count(*) FROM payments WHERE link = $1", link) == len(awards)


def _walk_the_chain(link: str, events: list[asyncpg.Record], journals: list[asyncpg.Record], head: bytes) -> None:
    linked = b""
    posted: dict[int, list[list[Any]]] = defaultdict(list)
    for journal in journals:
        posted[journal["n"]].append(_fields(journal))
    for event in events:
        record = Record(
            event["id"],
            event["table_id"],
            event["seq"],
            event["type"],
            event["round"],
            event["payload"],
            event["answer"],
            None,
        )
        n = event["n"]
        linked = chain(linked, link=link, n=n, record=record, at=event["at"], day=event["day"], journals=posted[n])
        assert linked == event["chain"], f"the chain of {link} breaks at event {event['n']}"
    assert linked == head


def _fields(journal: asyncpg.Record) -> list[Any]:
    named = ("journal", "kind", "table_id", "round", "award", "wagers", *ACCOUNTS)
    return [journal[name] for name in (*named, *(f"{account}_after" for account in ACCOUNTS))]


def _balance(journals: list[asyncpg.Record], head: asyncpg.Record) -> None:
    sums = dict.fromkeys(ACCOUNTS, 0)
    for journal in journals:
        debits = journal["wagered"] + journal["recoverable"]
        assert debits == journal["pool"] + journal["reserve"] + journal["house"] + journal["awarded"]
        for account in ACCOUNTS:
            sums[account] += journal[account]
            assert journal[f"{account}_after"] == sums[account]
    assert {account: head[account] for account in ACCOUNTS} == sums
