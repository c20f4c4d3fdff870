"""What the same machine can do at best: PostgreSQL alone, and the broker alone."""

import asyncio
import datetime as dt
import json
import statistics
import time
import uuid
from collections.abc import Callable

import asyncpg

from jackpot.desk import Desk
from jackpot.ledger import lease, load, post
from jackpot.ledger.connection import connect_writer
from jackpot.ledger.load import Kept
from jackpot.ledger.post import Batch
from jackpot.ledger.record import Head
from jackpot.link.commands import LinkOpened, TablesConfigured, parameters_document
from jackpot.link.gaming_day import GamingDay
from jackpot.link.parameters import Parameters
from jackpot.link.state import LinkState, Past
from jackpot.sitting import Arrival, Order
from jackpot.wire import topics
from jackpot.wire.mqtt import Broker, Connection, Message

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


async def prepare(url: str) -> None:
    connection = await asyncpg.connect(url)
    try:
        await connection.execute(SCRATCH)
    finally:
        await connection.close()


async def one_transaction_a_wager(url: str, seconds: float, clients: int) -> float:
    """Wagers a second when each is its own SERIALIZABLE transaction on the hot pool row, with retries."""
    await prepare(url)
    done = 0
    deadline = time.monotonic() + seconds

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

    started = time.monotonic()
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


async def bare_commit_ms(url: str, per_second: int, seconds: float) -> float:
    """The median of one wager's transaction with nobody beside it; a server that sleeps in between is slower to it."""
    await prepare(url)
    connection = await connect_writer(url)
    taken = []
    ends_at = time.perf_counter() + seconds
    try:
        while (started := time.perf_counter()) < ends_at:
            await _post_one_wager(connection)
            taken.append(time.perf_counter() - started)
            await asyncio.sleep(max(0.0, 1 / per_second - taken[-1]))
    finally:
        await connection.close()
    return statistics.median(taken) * 1000


class _Recorder:
    """Stands where the ledger does, and keeps the batches instead of writing them."""

    def __init__(self, head: Head, state: LinkState) -> None:
        self._head, self._state = head, state
        self.batches: list[tuple[Batch, LinkState]] = []

    async def load(self) -> tuple[Head, LinkState, int]:
        return self._head, self._state, 0

    async def kept(self, ids: object) -> dict[str, Kept]:  # noqa: ARG002 the desk's protocol
        return {}

    async def past(self, rounds: object, awards: object) -> Past:  # noqa: ARG002 the desk's protocol
        return Past()

    async def next_seqs(self, tables: object) -> dict[str, int]:  # noqa: ARG002 the desk's protocol
        return {}

    async def commit(self, batch: Batch, state: LinkState, *, sent: int) -> None:  # noqa: ARG002 the desk's protocol
        self.batches.append((batch, state))


class _Nowhere:
    """An outlet that tells nobody."""

    sent = 0

    def __getattr__(self, _: str) -> Callable[..., None]:
        return lambda *_: None


async def same_batches_bare(url: str, payloads: list[tuple[str, bytes]], batch_size: int) -> float:
    """Events a second when the batches the desk would write are written by bare asyncpg, already decided."""
    link = f"bench-{uuid.uuid4().hex[:8]}"
    connection = await connect_writer(url)
    try:
        epoch = await lease.take(connection, link, "bench", 3600)
        head, state, _ = await load.load(connection, link)
        tables = sorted({table for table, _ in payloads})
        recorder = _Recorder(head, state)
        outlet = _Nowhere()
        desk = Desk(
            link,
            recorder,
            outlet,
            directory=dict.fromkeys(tables, link),
            gaming_day=GamingDay.of("UTC", "06:00"),
            clock=lambda: dt.datetime.now(dt.UTC),
        )
        await desk.open()
        parameters = parameters_document(Parameters())
        described = [{"id": table, "game": "ultimate-texas-holdem", "positions": 7} for table in tables]
        for command in (
            LinkOpened(id=str(uuid.uuid4()), by="bench", reason="bench", parameters=parameters),
            TablesConfigured(id=str(uuid.uuid4()), by="bench", reason="bench", tables=described),
        ):
            await desk.serve([Order(command, asyncio.get_running_loop().create_future())])
        for start in range(0, len(payloads), batch_size):
            await desk.serve([Arrival(table, payload) for table, payload in payloads[start : start + batch_size]])
        if epoch is None:
            raise RuntimeError("the scratch link is taken")
        started = time.monotonic()
        for batch, decided in recorder.batches:
            await post.commit(connection, batch, decided, sent=0)
        return len(payloads) / (time.monotonic() - started)
    finally:
        await connection.close()


async def echo(broker: Broker, link: str, on_ready: Callable[[], None] = lambda: None) -> None:
    """Answers every event at once, and acknowledges it: the broker and the client library alone."""
    answer = json.dumps(
        {"reply_to": str(uuid.uuid4()), "seq": 1, "status": "accepted", "duplicate": False, "round": "r", "result": {}}
    ).encode()

    def on_message(message: Message) -> None:
        _, table = topics.table_of(message.topic)
        message.connection.publish_nowait(topics.replies(link, table), answer)
        message.connection.ack(message)

    connection = await Connection.open(
        broker, "bench-echo", on_message=on_message, subscriptions=[(topics.events(link, "+"), 1)], clean_session=True
    )
    on_ready()
    await connection.wait_closed()
