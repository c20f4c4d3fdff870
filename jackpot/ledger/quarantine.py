"""What could not be read, kept aside for people to look at: the newest of it, within bounds."""

import asyncio
import datetime as dt
from collections import deque

import asyncpg
import structlog

from jackpot.contract.refusals import Refused
from jackpot.ledger.errors import DRIVER_ERRORS

KEPT_MAX = 10_000
WAITING_MAX = 500
PAYLOAD_BYTES_KEPT = 16_384
FLUSH_EVERY_S = 1.0

log = structlog.get_logger()


class Quarantine:
    """A flood of nonsense costs a bounded insert a second, never the money path."""

    def __init__(self, pool: asyncpg.Pool) -> None:
        self._pool = pool
        self._waiting: deque[tuple[dt.datetime, str, bytes, str, str]] = deque(maxlen=WAITING_MAX)

    def keep(self, topic: str, payload: bytes, refused: Refused) -> None:
        now = dt.datetime.now(dt.UTC)
        message = refused.message.replace("\0", "")  # PostgreSQL keeps no NUL in text
        self._waiting.append((now, topic, payload[:PAYLOAD_BYTES_KEPT], refused.code.value, message))

    async def run(self) -> None:
        try:
            while True:
                await asyncio.sleep(FLUSH_EVERY_S)
                await self._flush()
        finally:
            await self._flush()  # what came in the last moment

    async def _flush(self) -> None:
        try:
            await self._write()
        except DRIVER_ERRORS as error:
            log.warning("quarantine_not_written", error=str(error), waiting=len(self._waiting))

    async def _write(self) -> None:
        if not self._waiting:
            return
        rows = list(self._waiting)
        await self._pool.executemany(
            "INSERT INTO quarantine (at, topic, payload, code, message) VALUES ($1, $2, $3, $4, $5)", rows
        )
        for _ in rows:
            self._waiting.popleft()
        await self._pool.execute(
            "DELETE FROM quarantine WHERE id <= (SELECT max(id) FROM quarantine) - $1::bigint", KEPT_MAX
        )
