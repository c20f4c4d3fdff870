"""A real desk on a real ledger, without MQTT: what it says is kept here."""

import asyncio
import datetime as dt
import json
from collections.abc import AsyncIterator, Callable, Iterable, Mapping
from contextlib import asynccontextmanager
from typing import Any

from jackpot.contract.gaming_day import GamingDay
from jackpot.daemon.batch_attempt import IncomingEvent, PendingCommand
from jackpot.daemon.batch_processor import BatchProcessor
from jackpot.ledger import lease
from jackpot.ledger.connection import connect_writer
from jackpot.ledger.load import rfc3339
from jackpot.ledger.store import Store
from jackpot.link.commands import (
    AnyCommand,
    LinkOpened,
    TablesConfigured,
    parameters_document,
    tables_from,
    tables_from_now_on,
)
from jackpot.link.parameters import Parameters
from tests.ledger.ledger_driver import NOON, SINGAPORE


class Said:
    """An outlet that keeps the replies."""

    sent = 0

    def __init__(self) -> None:
        self.replies: list[dict[str, Any]] = []

    def reply(self, table: str, payload: bytes) -> None:
        self.replies.append(json.loads(payload))

    def award(self, *_: object) -> None: ...
    def paid(self, *_: object) -> None: ...
    def committed(self, *_: object) -> None: ...
    def acknowledge(self, tokens: Iterable[object]) -> None: ...
    def quarantine(self, *_: object) -> None: ...


class Counter:
    """A desk and those who come to it. The tables' counters go on wherever they speak."""

    def __init__(
        self, processor: BatchProcessor, said: Said, seqs: dict[str, int], clock: Callable[[], dt.datetime]
    ) -> None:
        self.processor = processor
        self._said = said
        self._seqs = seqs
        self._clock = clock

    async def say(self, table: str, type_: str, **fields: Any) -> dict[str, Any]:
        """The table's next event; a refusal that is not recorded leaves its seq free."""
        seq = self._seqs.get(table, 0) + 1
        event = {"id": f"{table}-{seq}", "seq": seq, "type": type_, "at": rfc3339(self._clock()), **fields}
        answer = await self.send(table, event)
        if answer["status"] == "accepted":
            self._seqs[table] = seq
        return answer

    async def send(self, table: str, event: Mapping[str, Any]) -> dict[str, Any]:
        await self.processor.serve([IncomingEvent(table, json.dumps(event).encode())])
        return self._said.replies[-1]

    async def accepted(self, table: str, *types: str, **fields: Any) -> dict[str, Any]:
        """The result of the last of these."""
        for type_ in types:
            answer = await self.say(table, type_, **fields)
            assert answer["status"] == "accepted", answer
        result: dict[str, Any] = answer["result"]
        return result

    async def order(self, command: AnyCommand) -> dict[str, Any]:
        order = PendingCommand(command, asyncio.get_running_loop().create_future())
        await self.processor.serve([order])
        return order.answer.result()


@asynccontextmanager
async def desk_at(
    url: str,
    *tables: dict[str, Any],
    link: str = "megalink",
    directory: Mapping[str, str | None] | None = None,
    seqs: dict[str, int] | None = None,
    gaming_day: GamingDay = SINGAPORE,
    clock: Callable[[], dt.datetime] = lambda: NOON,
) -> AsyncIterator[Counter]:
    """As after a start of the daemon with this configuration: the link is opened if it is new."""
    connection = await connect_writer(url)
    try:
        epoch = await lease.take(connection, link, "desk", 3600)
    finally:
        await connection.close()
    store, said = Store(url, link), Said()
    at_home: Mapping[str, str | None] = {table["id"]: link for table in tables}
    configured = {table.id: table for table in tables_from(list(tables))}
    where = {**at_home, **(directory or {})}
    processor = BatchProcessor(
        link, store, said, directory=where, tables=configured, gaming_day=gaming_day, clock=clock
    )
    counter = Counter(processor, said, {} if seqs is None else seqs, clock)
    try:
        _, state, _ = await processor.open()
        if state.parameters_version == 0:
            parameters = parameters_document(Parameters())
            await counter.order(LinkOpened(id=f"{link}-opened", by="test", reason="new", parameters=parameters))
        if tables_from_now_on(state, configured.values()) != tuple(state.tables.values()):
            about = {"by": "controller", "reason": "configured"}
            await counter.order(TablesConfigured(id=f"{link}-tables-{epoch}", tables=list(tables), **about))
        yield counter
    finally:
        await store.close()
