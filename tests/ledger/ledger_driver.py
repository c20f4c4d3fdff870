"""A scribe plays events straight into a real ledger, without MQTT, by a clock that the test sets.

It decides with the real link and writes with the real statement, as the desk does. Its verbs are those of the pit;
what they decide waits until `commit` writes it as one batch.
"""

import asyncio
import datetime as dt
import json
from collections import Counter, defaultdict
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from itertools import count
from typing import Any

import asyncpg
import msgspec
import pytest

from jackpot.contract.codec import UnreadableEvent, decode, encode
from jackpot.contract.events import MetersReported
from jackpot.contract.gaming_day import GamingDay
from jackpot.ledger import lease
from jackpot.ledger.connection import connect_writer, create_engine
from jackpot.ledger.load import rfc3339
from jackpot.ledger.migrate import migrate
from jackpot.ledger.post import Batch
from jackpot.ledger.record import Head, Record
from jackpot.ledger.store import Store
from jackpot.link.awards import Award
from jackpot.link.changes import Accepted, Decision, remember, reply
from jackpot.link.commands import (
    AnyCommand,
    LinkOpened,
    LinkResumed,
    LinkSuspended,
    RoundConcluded,
    TablesConfigured,
    carry_out,
    parameters_document,
)
from jackpot.link.decide import step
from jackpot.link.parameters import Parameters
from jackpot.link.rounds import Phase
from jackpot.link.state import ClosedHistory, LinkState
from jackpot.rules.megalink import GAMES
from tests.link.link_driver import GAME_OF_PREFIX, LinkDriver
from tests.servers import PostgresProgram

NOON = dt.datetime(2026, 11, 16, 4, 0, tzinfo=dt.UTC)
"""Noon in Singapore on the gaming day of 16 November 2026."""

SINGAPORE = GamingDay.of("Asia/Singapore", "06:00")


class LedgerDriver(LinkDriver):
    """One link; tables are named after their sheet ("BE-01")."""

    def __init__(self, store: Store, head: Head, state: LinkState, clock: dt.datetime, gaming_day: GamingDay) -> None:
        self.state = state
        self.past = ClosedHistory()
        self.awards: list[Award] = []
        self._names = 0
        self._store = store
        self._head = head
        self._clock = clock
        self._gaming_day = gaming_day
        self._batch: Batch | None = None
        self.counters: dict[tuple[dt.date, str], Counter[str]] = defaultdict(Counter)
        """What each table counts by itself, by gaming day."""

    @property
    def clock(self) -> dt.datetime:
        return self._clock

    @property
    def day(self) -> dt.date:
        return self._gaming_day.day(self._clock)

    @property
    def n(self) -> int:
        """The number of the last event, committed or not."""
        return (self._batch.head if self._batch else self._head).n

    @property
    def chain(self) -> bytes:
        """The chain after the last committed event."""
        return self._head.chain

    def pass_time(self, **delta: float) -> None:
        if self._batch is not None:
            raise RuntimeError("commit what was said before time passes")
        self._clock += dt.timedelta(**delta)

    def say(self, table: str, type_: str, **fields: Any) -> Decision:
        document = {
            "id": self._name("event"),
            "seq": self.next_seq(table),
            "type": type_,
            "at": rfc3339(self._clock),
            **fields,
        }
        if "round" not in document and type_ != "meters.reported":
            document["round"] = self.round_of(table)
        payload = json.dumps(document).encode()
        event = decode(payload)
        if isinstance(event, UnreadableEvent):
            raise TypeError(event.refused.message)
        batch = self._sitting()
        standing = self._closed_wagers(table)
        decision = step(self.state, table, event, at=rfc3339(self._clock), past=self.past)
        accepted = decision if isinstance(decision, Accepted) else None
        if decision.recorded:
            round_ = None if isinstance(event, MetersReported) else event.round
            answer = reply(event, decision)
            batch.add(Record(event.id, table, event.seq, event.type, round_, payload, answer, accepted), event)
        if accepted is not None:
            self._count(accepted, table, standing)
        return decision

    def command(self, command: AnyCommand) -> Accepted:
        batch = self._sitting()
        table = command.table if isinstance(command, RoundConcluded) else ""
        standing = self._closed_wagers(table)
        accepted = carry_out(self.state, command, at=rfc3339(self._clock))
        remember(self.past, accepted)
        self._count(accepted, table, standing)
        payload, answer = msgspec.json.encode(command), encode({"status": "accepted", "result": accepted.result})
        round_ = getattr(command, "round", None)
        batch.add(Record(command.id, None, None, command.type, round_, payload, answer, accepted))
        return accepted

    async def configure(self, *tables: str) -> None:
        """Other tables from now on, as after a restart of the daemon: each goes on with its own seq."""
        games = {table: GAMES[GAME_OF_PREFIX[table.partition("-")[0]]] for table in tables}
        document = [{"id": table, "game": game.name, "positions": game.positions_max} for table, game in games.items()]
        self.command(TablesConfigured(id=self._name("command"), by="controller", reason="configured", tables=document))
        await self.commit()
        self._head, self.state, _ = await self._store.load()

    def pay(self, award: Award) -> None:
        self.accepted(award.table, "award.paid", round=award.round, award=award.id)

    def conclude(self, table: str, outcome: Any) -> Accepted:
        """A pit manager ends the table's round in its stead."""
        return self.command(
            RoundConcluded(
                id=self._name("command"),
                by="pit manager",
                reason="the table does not answer",
                table=table,
                round=self.round_of(table),
                outcome=outcome,
            )
        )

    def suspend(self) -> None:
        self.command(LinkSuspended(id=self._name("command"), by="shift manager", reason="fire alarm"))

    def resume(self) -> None:
        self.command(LinkResumed(id=self._name("command"), by="shift manager", reason="all clear"))

    def _closed_wagers(self, table: str) -> int:
        round_ = self.state.current.get(table)
        return len(round_.standing_wagers()) if round_ is not None and round_.phase is Phase.CLOSED else 0

    def _count(self, accepted: Accepted, table: str, standing: int) -> None:
        """As a table does: wagers that stood at closing, less those given back; awards made to it."""
        self.awards += accepted.awards
        own = self.counters[self.day, table]
        result = accepted.result
        if "wagered_cents" in result:
            own.update(wagers=result["wagers"], wagered_cents=result["wagered_cents"])
        elif "returned_cents" in result and standing:
            own.update(wagers=self._closed_wagers(table) - standing, wagered_cents=-result["returned_cents"])
        for award in accepted.awards:
            self.counters[self.day, award.table].update(awards=1, awarded_cents=award.amount_cents)

    def report_all(self) -> None:
        """Every table reports its own counters of the day, truly; one that cannot say less than nothing says 0."""
        for table in self.state.tables:
            own = self.counters[self.day, table]
            self.report(table, **{name: max(0, count) for name, count in own.items()})

    def report(self, table: str, **counters: int) -> None:
        """The table's own counters of the scribe's day; what is not given is 0."""
        names = ("wagers", "wagered_cents", "awards", "awarded_cents")
        zeros = dict.fromkeys(names, 0)
        self.accepted(table, "meters.reported", **{"day": self.day.isoformat(), **zeros, **counters})

    async def commit(self) -> None:
        batch, self._batch = self._batch, None
        if batch is not None and batch.records:
            await self._store.commit(batch, self.state, sent=batch.head.n)
            self._head = batch.head

    def _sitting(self) -> Batch:
        if self._batch is None:
            self._batch = Batch(self._head, self.state, self._clock, self.day)
        return self._batch

    def _name(self, kind: str) -> str:
        self._names += 1
        return f"{self.state.link}-{kind}-{self._names}"


@asynccontextmanager
async def scribe_at(
    url: str,
    *tables: str,
    link: str = "megalink",
    clock: dt.datetime = NOON,
    gaming_day: GamingDay = SINGAPORE,
    **parameters: Any,
) -> AsyncIterator[LedgerDriver]:
    """A scribe on a link of its own, opened with these parameters; the database has its schema."""
    connection = await connect_writer(url)
    try:
        await lease.take(connection, link, "scribe", 3600)
    finally:
        await connection.close()
    store = Store(url, link)
    try:
        head, state, _ = await store.load()
        scribe = LedgerDriver(store, head, state, clock, gaming_day)
        opened = parameters_document(Parameters(**parameters))
        scribe.command(LinkOpened(id=f"{link}-opened", by="controller", reason="first seen", parameters=opened))
        await scribe.configure(*tables)
        yield scribe
    finally:
        await store.close()


def play_every_kind(scribe: LedgerDriver) -> None:
    """Every event, every command and many a refusal, on tables UTH-01, UTH-02, BE-01 and TCX-01."""
    scribe.adjust("reserve", 20_000_000)
    scribe.open("UTH-01", "first")
    scribe.wager("UTH-01", 1, 5)
    scribe.wager("UTH-01", 2, 3)
    scribe.wager("UTH-01", 3)
    scribe.refused("UTH-01", "wager.placed", position=1)
    scribe.accepted("UTH-01", "wager.cancelled", position=3)
    scribe.close("UTH-01")
    scribe.refused("UTH-01", "wager.placed", position=4)
    scribe.refused("UTH-01", "round.opened", round="first")
    scribe.deal("BE-01", {1: 1, 2: 1, 3: 1})
    scribe.deal("TCX-01", {1: 2, 2: 4})
    # UTH-01 enters a Straight Flush first, BE-01 two Royals after it; BE-01 is settled first and waits.
    scribe.enter("UTH-01", 1, "5h 6h", "7h 8h 9h")
    scribe.enter("BE-01", 1, "As Ks Qs Js Ts")
    scribe.enter("BE-01", 2, "Ah Kh Qh Jh Th")
    scribe.enter("BE-01", 3, "2c 2d 2h 2s 9c")
    scribe.settle("BE-01")
    scribe.enter("UTH-01", 2, "Ac Ad", "7h 8h 9h")
    scribe.withdraw("UTH-01", 2)
    scribe.decline("UTH-01", 2)
    scribe.return_wager("TCX-01", 2)
    scribe.enter("TCX-01", 1, "9c 9d 9h", "9s 2d")
    scribe.settle("TCX-01")
    scribe.settle("UTH-01")
    scribe.refused("UTH-01", "round.voided", reason="too late", round="first")
    paid = scribe.awards[0]
    scribe.pay(paid)
    scribe.refused(paid.table, "award.paid", round=paid.round, award=paid.id)
    scribe.refused("UTH-01", "award.paid", round="first", award="megalink-000099")
    scribe.deal("UTH-02", {1: 1, 2: 2})
    scribe.void("UTH-02")
    scribe.deal("UTH-02", {1: 1})
    scribe.conclude("UTH-02", "settled")
    scribe.deal("BE-01", {1: 1})
    scribe.conclude("BE-01", "void")
    scribe.change_parameters("at_once", increment_bp=2600)
    scribe.change_parameters("next_win", reset_cents=12_000_000)
    scribe.suspend()
    scribe.pay(scribe.awards[1])
    scribe.resume()
    scribe.deal("UTH-01", {1: 1, 7: 5})
    scribe.open("TCX-01")
    scribe.refused("TCX-01", "round.settled", round="never opened")


async def make_schema(url: str) -> None:
    engine = create_engine(url)
    try:
        await migrate(engine)
    finally:
        await engine.dispose()


_templates = count(1)


@pytest.fixture(scope="session")
def ledger_template(postgres: PostgresProgram) -> str:
    """A database with the schema and nothing in it, to copy: that is faster than to migrate."""
    name = f"ledger_template_{next(_templates)}"
    asyncio.run(postgres.as_superuser(f"CREATE DATABASE {name} OWNER jackpot"))
    asyncio.run(make_schema(postgres.url_of("jackpot", name)))
    return name


@pytest.fixture
async def ledger_url(postgres: PostgresProgram, ledger_template: str) -> AsyncIterator[str]:
    async with postgres.database(ledger_template) as url:
        yield url


@pytest.fixture(scope="session")
def played_template(postgres: PostgresProgram, ledger_template: str) -> str:
    """A ledger in which everything has happened once and every table has reported, to copy."""
    name = f"played_template_{next(_templates)}"

    async def play() -> None:
        async with scribe_at(postgres.url_of("jackpot", name), "UTH-01", "UTH-02", "BE-01", "TCX-01") as scribe:
            play_every_kind(scribe)
            scribe.report_all()
            await scribe.commit()

    asyncio.run(postgres.as_superuser(f"CREATE DATABASE {name} OWNER jackpot TEMPLATE {ledger_template}"))
    asyncio.run(play())
    return name


@pytest.fixture
async def intruder(postgres: PostgresProgram, ledger_url: str) -> AsyncIterator[asyncpg.Connection]:
    """Somebody who may do everything and whom no trigger stops."""
    database = ledger_url.partition("?")[0].rpartition("/")[2]
    connection = await asyncpg.connect(postgres.url_of("postgres", database))
    await connection.execute("SET session_replication_role = replica")
    yield connection
    await connection.close()
