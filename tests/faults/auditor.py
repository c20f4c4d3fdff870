"""Nothing lost, nothing twice, nothing wrong: the ledger, read afresh, against what the tables sent and were told.

It finds and counts; whoever asked it says what that means. It shares one thing with the daemon: how the chain is made.
What each event came to is worked out again in the books of the simulation's auditor, from the rules alone.
"""

import asyncio
import json
from collections import Counter, defaultdict
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol

import asyncpg

from jackpot.ledger.record import Record, chain
from tests.acceptance.processes import GAMES
from tests.faults.players import Truth
from tests.properties.naive_link import NaiveLink
from tests.simulation.auditor import same_result
from tests.waiting import patience_s

MICROS_PER_CENT = 10_000
ACCOUNTS = ("wagered", "recoverable", "pool", "reserve", "house", "awarded")
NOT_RECORDED = {"sequence_gap", "sequence_reused", "link_suspended"}
"""What a table may be told on the way that is not its answer."""


class Table(Protocol):
    """Somebody who knows what a table sent and was told."""

    @property
    def link(self) -> str: ...
    @property
    def table(self) -> str: ...
    @property
    def truth(self) -> Truth: ...


@dataclass(slots=True)
class Audit:
    events: int = 0
    """Of tables, in the ledger."""
    shares: int = 0
    """Awards from the pool."""
    resets: int = 0
    lost: list[str] = field(default_factory=list)
    """What a table was told and the ledger does not hold."""
    twice: list[str] = field(default_factory=list)
    """What was recorded, awarded or paid more than once."""
    wrong: list[str] = field(default_factory=list)
    """Everything else."""

    @property
    def found(self) -> list[str]:
        named = (("lost", self.lost), ("twice", self.twice), ("wrong", self.wrong))
        return [f"{name}: {what}" for name, findings in named for what in findings]

    def check(self, holds: bool, what: str) -> None:
        if not holds:
            self.wrong.append(what)


async def audit_at(url: str, players: Sequence[Table]) -> Audit:
    """What was left of a killed PostgreSQL may have served play to its end: the next one is waited for."""
    async with asyncio.timeout(patience_s(60)):
        while (connection := await _connected(url)) is None:
            await asyncio.sleep(0.1)
    try:
        return await audit(connection, players)
    finally:
        await connection.close()


async def _connected(url: str) -> asyncpg.Connection | None:
    try:
        return await asyncpg.connect(url)
    except (OSError, asyncpg.CannotConnectNowError, asyncpg.PostgresConnectionError):
        return None


async def audit(connection: asyncpg.Connection, players: Sequence[Table]) -> Audit:
    """When all have finished: nothing is on its way any more."""
    done = Audit()
    events = await connection.fetch("SELECT * FROM events ORDER BY link, n")
    done.events = sum(event["table_id"] is not None for event in events)
    strangers = {event["table_id"] for event in events} - {None} - {player.table for player in players}
    done.check(not strangers, f"events of {sorted(strangers)}, where nobody plays")
    for player in players:
        _compare_with_the_table(done, player, [event for event in events if event["table_id"] == player.table])
    for link in sorted({player.link for player in players} | {event["link"] for event in events}):
        of_link = [event for event in events if event["link"] == link]
        await _examine(done, connection, link, of_link, [player for player in players if player.link == link])
    return done


def _compare_with_the_table(done: Audit, player: Table, events: list[asyncpg.Record]) -> None:
    truth, table = player.truth, player.table
    numbers = [event["seq"] for event in events]
    done.check(numbers == list(range(1, len(events) + 1)), f"{table}: a gap in the seq, or not in its order")
    recorded = Counter(json.loads(event["payload"])["id"] for event in events)
    done.lost += [f"{table}: {id_}" for id_ in truth.answers if id_ not in recorded]
    done.twice += [f"{table}: {id_}, {times} times" for id_, times in recorded.items() if times > 1]
    for event in events:
        id_, kept = event["id"], _plain(json.loads(event["answer"]))
        if id_ not in truth.answers:
            done.wrong.append(f"{table}: {id_} was not answered")
            continue
        done.check(bytes(event["payload"]) in truth.sent[id_], f"{table}: {id_} was never sent like this")
        done.check(_plain(truth.answers[id_]) == kept, f"{table}: {id_} was answered otherwise")
        heard = [reply for reply in truth.replies[id_] if reply.get("code") not in NOT_RECORDED]
        done.check(all(_plain(reply) == kept for reply in heard), f"{table}: {id_} was answered in two ways")


def _plain(answer: dict[str, Any]) -> dict[str, Any]:
    return {key: value for key, value in answer.items() if key != "duplicate"}


async def _examine(
    done: Audit, connection: asyncpg.Connection, link: str, events: list[asyncpg.Record], players: list[Table]
) -> None:
    head = await connection.fetchrow("SELECT * FROM links WHERE link = $1", link)
    journals = await connection.fetch("SELECT * FROM journals WHERE link = $1 ORDER BY journal", link)
    if head is None:
        done.wrong.append(f"{link}: no head")
        return
    done.check([event["n"] for event in events] == list(range(1, head["n"] + 1)), f"{link}: a hole in the events")
    numbers = [journal["journal"] for journal in journals]
    done.check(numbers == list(range(1, head["journal"] + 1)), f"{link}: a hole in the journals")
    times = [event["at"] for event in events]
    done.check(times == sorted(times), f"{link}: time goes back")
    _walk_the_chain(done, link, events, journals, head["chain"])
    _balance(done, link, journals, head)
    _work_out_again(done, link, events, head)
    done.resets += sum(journal["kind"] == "reset" for journal in journals)
    wagered = sum(player.truth.wagered_cents for player in players) * MICROS_PER_CENT
    done.check(head["wagered"] == wagered, f"{link}: {head['wagered']} wagered, the tables say {wagered}")
    entries = await connection.fetch("SELECT entry, n FROM entries WHERE link = $1 ORDER BY entry", link)
    numbers = [row["entry"] for row in entries]
    done.check(numbers == list(range(1, head["entry"] + 1)), f"{link}: a hole in the entries")
    done.check([row["n"] for row in entries] == sorted(row["n"] for row in entries), f"{link}: entries out of order")
    await _examine_awards(done, connection, link, head, players)


async def _examine_awards(
    done: Audit, connection: asyncpg.Connection, link: str, head: asyncpg.Record, players: list[Table]
) -> None:
    awards = await connection.fetch("SELECT * FROM awards WHERE link = $1 ORDER BY award", link)
    numbers = [award["award"] for award in awards]
    done.check(numbers == list(range(1, head["award"] + 1)), f"{link}: a hole in the awards")
    hands = Counter((award["table_id"], award["round"], award["position"]) for award in awards)
    done.twice += [f"{link}: the hand {hand} has {count} awards" for hand, count in hands.items() if count > 1]
    told = {name: award["amount_cents"] for player in players for name, award in player.truth.awards.items()}
    made = {f"{link}-{award['award']:06d}": award["amount_cents"] for award in awards}
    done.lost += [f"{link}: award {name}" for name in sorted(told.keys() - made.keys())]
    done.check(told == made, f"{link}: the tables were told of other awards")
    awarded = sum(made.values()) * MICROS_PER_CENT
    done.check(head["awarded"] == awarded, f"{link}: {head['awarded']} awarded, the awards say {awarded}")
    shares = [award for award in awards if award["kind"] == "percentage"]
    done.shares += len(shares)
    entered: dict[tuple[str, str], int] = {}
    for award in shares:
        of_round = (award["table_id"], award["round"])
        entered[of_round] = min(award["entry"], entered.get(of_round, award["entry"]))
    rounds = [(award["table_id"], award["round"]) for award in shares]
    in_order = sorted(rounds, key=lambda of_round: entered[of_round])
    done.check(rounds == in_order, f"{link}: not first entered, first paid")
    unpaid = await connection.fetchval("SELECT count(*) FROM unpaid WHERE link = $1", link)
    done.check(unpaid == 0, f"{link}: {unpaid} awards unpaid")
    payments = Counter(
        [row["award"] for row in await connection.fetch("SELECT award FROM payments WHERE link = $1", link)]
    )
    done.twice += [f"{link}: award {number} is paid {times} times" for number, times in payments.items() if times > 1]
    done.check(payments.keys() == set(numbers), f"{link}: paid are other awards than were made")


def _walk_the_chain(
    done: Audit, link: str, events: list[asyncpg.Record], journals: list[asyncpg.Record], head: bytes
) -> None:
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
        if linked != event["chain"]:
            done.wrong.append(f"{link}: the chain breaks at event {n}")
            return
    done.check(linked == head, f"{link}: the head is not the end of the chain")


def _work_out_again(done: Audit, link: str, events: list[asyncpg.Record], head: asyncpg.Record) -> None:
    """What each event must come to, and where every cent must lie. With a hole, which is found, nothing can be said."""
    if [event["n"] for event in events] != list(range(1, len(events) + 1)):
        return
    tables = {event["table_id"] for event in events if event["table_id"] is not None}
    model = NaiveLink(link, {table: GAMES[table.partition("-")[0]] for table in tables})
    for event in events:
        payload, answer = json.loads(event["payload"]), json.loads(event["answer"])
        if event["table_id"] is None:
            done.check(model.obey(payload).code is None, f"{link}: {payload} must be refused")
            continue
        due = model.hear(event["table_id"], payload)
        right = answer.get("code") == due.code and (due.code is not None or same_result(answer["result"], due.result))
        done.check(right, f"{link}: event {event['n']} came to {answer}, {due} is due")
    for account in ACCOUNTS:
        done.check(head[account] == model.now.money[account], f"{link}: {account} must be {model.now.money[account]}")


def _fields(journal: asyncpg.Record) -> list[Any]:
    named = ("journal", "kind", "table_id", "round", "award", "wagers", *ACCOUNTS)
    return [journal[name] for name in (*named, *(f"{account}_after" for account in ACCOUNTS))]


def _balance(done: Audit, link: str, journals: list[asyncpg.Record], head: asyncpg.Record) -> None:
    sums = dict.fromkeys(ACCOUNTS, 0)
    for journal in journals:
        number, debits = journal["journal"], journal["wagered"] + journal["recoverable"]
        credits_ = journal["pool"] + journal["reserve"] + journal["house"] + journal["awarded"]
        done.check(debits == credits_, f"{link}: journal {number} does not balance")
        for account in ACCOUNTS:
            sums[account] += journal[account]
            done.check(journal[f"{account}_after"] == sums[account], f"{link}: {account} after journal {number}")
    for account in ACCOUNTS:
        done.check(head[account] == sums[account], f"{link}: {account} is not the sum of its postings")
