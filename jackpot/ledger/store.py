"""One link's way to its ledger: a connection that writes, made anew when it is lost."""

import asyncio
import contextlib
from collections.abc import Collection

import asyncpg

from jackpot.ledger import load, post
from jackpot.ledger.connection import connect_writer
from jackpot.ledger.errors import TryAgain, Unknown, translated
from jackpot.ledger.load import Kept
from jackpot.ledger.record import Head
from jackpot.link.state import LinkState, Past, RoundKey

RESOLVE_ATTEMPTS = 5
RESOLVE_PAUSE_S = 0.5


class Store:
    def __init__(self, url: str, link: str, password: str | None = None) -> None:
        self._url = url
        self._link = link
        self._password = password
        self._connection: asyncpg.Connection | None = None

    async def _writer(self) -> asyncpg.Connection:
        if self._connection is None or self._connection.is_closed():
            with translated():
                self._connection = await connect_writer(self._url, self._password)
        return self._connection

    def drop(self) -> None:
        """Whatever goes on on this connection, we no longer wait for it."""
        if self._connection is not None:
            self._connection.terminate()
            self._connection = None

    async def close(self) -> None:
        if self._connection is not None:
            with contextlib.suppress(OSError, TimeoutError, asyncpg.PostgresError, asyncpg.InterfaceError):
                await self._connection.close(timeout=2.0)
            self._connection = None

    async def load(self) -> tuple[Head, LinkState, int]:
        return await load.load(await self._writer(), self._link)

    async def kept(self, ids: Collection[str]) -> dict[str, Kept]:
        return await load.kept(await self._writer(), ids)

    async def past(self, rounds: Collection[RoundKey], awards: Collection[str]) -> Past:
        return await load.past(await self._writer(), self._link, rounds, awards)

    async def commit(self, batch: post.Batch, state: LinkState, *, sent: int) -> None:
        """Returns when the batch is durable, also if the answer to its COMMIT was lost on the way.

        Raises TryAgain if it is certain that nothing was written. Unknown stays unknown only if the database cannot be
        asked; whoever takes the batch up again then is stopped by the head if it was written after all.
        """
        try:
            await post.commit(await self._writer(), batch, state, sent=sent)
        except Unknown as unknown:
            self.drop()
            await self._resolve(batch, unknown)

    async def _resolve(self, batch: post.Batch, unknown: Unknown) -> None:
        for attempt in range(RESOLVE_ATTEMPTS):
            if attempt:
                await asyncio.sleep(RESOLVE_PAUSE_S)
            try:
                committed = await load.holds(await self._writer(), self._link, batch.head.n, batch.head.chain)
            except Unknown:
                self.drop()
                continue
            if committed:
                return
            raise TryAgain(f"the commit did not happen: {unknown}") from unknown
        raise unknown
