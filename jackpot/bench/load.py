"""Tables that send as fast as they are answered, or at a given rate, over one connection."""

import asyncio
import json
import uuid
from collections import deque
from collections.abc import Iterator
from dataclasses import dataclass, field
from time import perf_counter
from typing import Any

from jackpot.contract import topics
from jackpot.mqtt.client import Broker, Connection, Message

POSITIONS = 7


@dataclass(slots=True)
class Measured:
    """What one run of load came to. Latencies are seconds from publish to reply."""

    events: int = 0
    wagers: int = 0
    refused: int = 0
    seconds: float = 0.0
    latencies: list[float] = field(default_factory=list)

    @property
    def events_per_second(self) -> float:
        return self.events / self.seconds

    @property
    def wagers_per_second(self) -> float:
        return self.wagers / self.seconds

    def quantile_ms(self, share: float) -> float:
        ordered = sorted(self.latencies)
        return ordered[min(len(ordered) - 1, int(len(ordered) * share))] * 1000 if ordered else 0.0


class LoadTable:
    """One table's endless play: rounds of seven jackpot wagers, closed and settled."""

    def __init__(self, link: str, table: str, next_seq: int = 1, left_open: str | None = None) -> None:
        """`left_open` is a round of earlier play, to be voided first."""
        self.link, self.table = link, table
        self._left_open = left_open
        self.topic = topics.events(link, table)
        self.replies = topics.replies(link, table)
        self._seq = next_seq
        self._run = uuid.uuid4().hex[:8]
        self._events = self._play()
        self.sent: deque[float] = deque()

    def _play(self) -> Iterator[bytes]:
        number = 0
        if self._left_open is not None:
            yield self._event("round.voided", self._left_open, reason="left open")
        while True:
            number += 1
            round_ = f"{self._run}-{number}"
            yield self._event("round.opened", round_)
            for position in range(1, POSITIONS + 1):
                yield self._event("wager.placed", round_, position=position, multiplier=1 + number % 5)
            yield self._event("round.closed", round_)
            yield self._event("round.settled", round_)

    def _event(self, type_: str, round_: str, **more: Any) -> bytes:
        event = {"id": str(uuid.uuid4()), "seq": self._seq, "type": type_, "round": round_}
        self._seq += 1
        return json.dumps({**event, "at": "2026-11-16T02:00:00.000Z", **more}).encode()

    def next(self) -> bytes:
        return next(self._events)


class Load:
    def __init__(self, broker: Broker, tables: list[LoadTable]) -> None:
        self._broker = broker
        self._tables = {table.replies: table for table in tables}
        self._connection: Connection | None = None
        self._measured = Measured()
        self._refill = False
        self._idle = asyncio.Event()

    @property
    def connection(self) -> Connection:
        if self._connection is None:
            raise RuntimeError("the load is not connected")
        return self._connection

    async def connect(self) -> None:
        self._connection = await Connection.open(
            self._broker,
            f"bench-{uuid.uuid4().hex[:8]}",
            on_message=self._on_reply,
            subscriptions=[(topic, 1) for topic in self._tables],
            clean_session=True,
        )

    async def close(self) -> None:
        await self.connection.close()

    def _on_reply(self, message: Message) -> None:
        message.connection.ack(message)
        table = self._tables[message.topic]
        if not table.sent:
            return
        now = perf_counter()
        measured = self._measured
        measured.latencies.append(now - table.sent.popleft())
        measured.events += 1
        if b'"refused"' in message.payload:
            measured.refused += 1
        if self._refill:
            self._send(table, now)
        elif not any(other.sent for other in self._tables.values()):
            self._idle.set()

    def _send(self, table: LoadTable, now: float) -> None:
        payload = table.next()
        if b'"wager.placed"' in payload:
            self._measured.wagers += 1
        table.sent.append(now)
        self.connection.publish_nowait(table.topic, payload)

    async def flood(self, seconds: float, window: int) -> Measured:
        """Keep `window` events of each table on their way for this long, then wait for the last answers."""
        self._begin()
        self._refill = True
        started = perf_counter()
        for table in self._tables.values():
            for _ in range(window):
                self._send(table, started)
        await asyncio.sleep(seconds)
        return await self._end(started)

    async def pace(self, events_per_second: float, seconds: float) -> Measured:
        """Send at an even rate whether or not answers come, table by table."""
        self._begin()
        tables = list(self._tables.values())
        started = perf_counter()
        for number in range(int(events_per_second * seconds)):
            due = started + number / events_per_second
            if (wait := due - perf_counter()) > 0:
                await asyncio.sleep(wait)
            self._send(tables[number % len(tables)], perf_counter())
        return await self._end(started)

    def _begin(self) -> None:
        self._measured = Measured()
        self._idle.clear()

    async def _end(self, started: float) -> Measured:
        self._refill = False
        if any(table.sent for table in self._tables.values()):
            async with asyncio.timeout(60):
                await self._idle.wait()
        self._measured.seconds = perf_counter() - started
        return self._measured
