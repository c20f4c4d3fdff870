"""What the same machine can do at best: PostgreSQL alone, and the broker alone."""

import asyncio
import datetime as dt
import itertools
import statistics
import time
import uuid
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from typing import Any

import asyncpg

from jackpot.bench.load import LoadTable
from jackpot.contract.gaming_day import GamingDay
from jackpot.daemon.batch_attempt import IncomingEvent, PendingCommand
from jackpot.daemon.batch_processor import BatchProcessor
from jackpot.ledger import lease, load
from jackpot.ledger.connection import connect_writer
from jackpot.ledger.load import RecordedEvent
from jackpot.ledger.post import Batch, statement_of
from jackpot.ledger.record import Head
from jackpot.link.commands import LinkOpened, TablesConfigured, parameters_document
from jackpot.link.parameters import Parameters
from jackpot.link.state import ClosedHistory, LinkState

SCRATCH = """
CREATE SCHEMA IF NOT EXISTS bench;
CREATE TABLE IF NOT EXISTS bench.pool (link text PRIMARY KEY, micros bigint NOT NULL);
CREATE TABLE IF NOT EXISTS bench.wagers (
    id uuid PRIMARY KEY, table_id text NOT NULL, position int NOT NULL, stake_cents int NOT NULL);
CREATE TABLE IF NOT EXISTS bench.postings (
    n bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    wager uuid NOT NULL, account text NOT NULL, micros bigint NOT NULL);
INSERT INTO bench.pool VALUES ('megalink', 0) ON CONFLICT DO NOTHING
"""


async def one_transaction_a_wager(url: str, seconds: float, clients: int) -> float:
    """Wagers a second when each is its own SERIALIZABLE transaction on the hot pool row, with retries."""
    done = 0

    async def client() -> None:
        nonlocal done
        connection = await connect_writer(url)
        try:
            while time.monotonic() < deadline:
                try:
                    await _post_one_wager(connection)
                    done += 1
                except asyncpg.SerializationError:
                    continue
        finally:
            await connection.close()

    connection = await asyncpg.connect(url)
    try:
        await connection.execute(SCRATCH)
    finally:
        await connection.close()
    started = time.monotonic()
    deadline = started + seconds
    await asyncio.gather(*(client() for _ in range(clients)))
    return done / (time.monotonic() - started)


async def _post_one_wager(connection: asyncpg.Connection) -> None:
    wager = uuid.uuid4()
    async with connection.transaction(isolation="serializable"):
        await connection.execute("UPDATE bench.pool SET micros = micros + 1250000 WHERE link = 'megalink'")
        await connection.execute("INSERT INTO bench.wagers VALUES ($1, 'T-1', 1, 500)", wager)
        await connection.execute(
            "INSERT INTO bench.postings (wager, account, micros) VALUES ($1, 'pool', 1250000), "
            "($1, 'reserve', 155000), ($1, 'house', 3595000)",
            wager,
        )


async def same_batches_bare(url: str, events: int, batch_size: int) -> float:
    """Events a second when the desk's own statements, already decided and made, are sent one after another."""
    async with _decided(url, events, batch_size) as (connection, statements):
        started = time.monotonic()
        for statement, arguments in statements:
            await connection.fetchval(statement, *arguments)
        return events / (time.monotonic() - started)


async def bare_commit_ms(url: str, per_second: int, seconds: float) -> float:
    """The median time to make one event durable: its own rows in one statement, with nobody beside it.

    At the rate it is compared at: a server that sleeps in between is slower to wake.
    """
    async with _decided(url, max(1, round(per_second * seconds)), 1) as (connection, statements):
        taken = []
        for statement, arguments in statements:
            started = time.perf_counter()
            await connection.fetchval(statement, *arguments)
            taken.append(time.perf_counter() - started)
            await asyncio.sleep(max(0.0, 1 / per_second - taken[-1]))
    return statistics.median(taken) * 1000


Statements = list[tuple[str, tuple[Any, ...]]]


@asynccontextmanager
async def _decided(url: str, events: int, batch_size: int) -> AsyncIterator[tuple[asyncpg.Connection, Statements]]:
    """A connection, and what the desk would write on it for so many events of a new link."""
    link = f"bench-{uuid.uuid4().hex[:8]}"
    tables = [LoadTable(link, f"{link}-{number}") for number in range(40)]
    connection = await connect_writer(url)
    try:
        if await lease.take(connection, link, "bench", 3600) is None:
            raise RuntimeError(f"link {link} is taken")
        head, state, _ = await load.load(connection, link)
        recorder = _Recorder(head, state)
        processor = BatchProcessor(
            link,
            recorder,
            _Nowhere(),
            directory={table.table: link for table in tables},
            gaming_day=GamingDay.of("UTC", "06:00"),
            clock=lambda: dt.datetime.now(dt.UTC),
        )
        await processor.open()
        described = [{"id": table.table, "game": "ultimate-texas-holdem", "positions": 7} for table in tables]
        by = {"by": "bench", "reason": "bench"}
        for command in (
            LinkOpened(id=str(uuid.uuid4()), **by, parameters=parameters_document(Parameters())),
            TablesConfigured(id=str(uuid.uuid4()), **by, tables=described),
        ):
            await processor.serve([PendingCommand(command, asyncio.get_running_loop().create_future())])
        for statement, arguments in recorder.statements:
            await connection.fetchval(statement, *arguments)
        recorder.statements.clear()
        in_turn = itertools.islice(itertools.cycle(tables), events)
        arrivals = [IncomingEvent(table.table, table.next()) for table in in_turn]
        for start in range(0, events, batch_size):
            await processor.serve([*arrivals[start : start + batch_size]])
        yield connection, recorder.statements
    finally:
        await connection.close()


class _Recorder:
    """Stands where the ledger does, and keeps what would be sent to it."""

    def __init__(self, head: Head, state: LinkState) -> None:
        self._head, self._state = head, state
        self.statements: Statements = []

    async def load(self) -> tuple[Head, LinkState, int]:
        return self._head, self._state, 0

    async def kept(self, ids: object) -> dict[str, RecordedEvent]:  # noqa: ARG002 the desk's protocol
        return {}

    async def past(self, rounds: object, awards: object) -> ClosedHistory:  # noqa: ARG002 the desk's protocol
        return ClosedHistory()

    async def next_seqs(self, tables: object) -> dict[str, int]:  # noqa: ARG002 the desk's protocol
        return {}

    async def commit(self, batch: Batch, state: LinkState, *, sent: int) -> None:
        self.statements.append(statement_of(batch, state, sent=sent))


class _Nowhere:
    """An outlet that tells nobody."""

    sent = 0

    def __getattr__(self, _: str) -> Callable[..., None]:
        return lambda *_: None
