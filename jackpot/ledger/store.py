"""One link's way to its ledger: a connection that writes, made anew when it is lost."""

import contextlib
from collections.abc import Collection

import asyncpg

from jackpot.ledger import load, post
from jackpot.ledger.connection import connect_writer
from jackpot.ledger.errors import DRIVER_ERRORS, translated
from jackpot.ledger.load import RecordedEvent
from jackpot.ledger.record import Head
from jackpot.link.state import ClosedHistory, LinkState, RoundKey


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
            with contextlib.suppress(*DRIVER_ERRORS):
                await self._connection.close(timeout=2.0)
            self._connection = None

    async def load(self) -> tuple[Head, LinkState, int]:
        return await load.load(await self._writer(), self._link)

    async def kept(self, ids: Collection[str]) -> dict[str, RecordedEvent]:
        return await load.kept(await self._writer(), ids)

    async def past(self, rounds: Collection[RoundKey], awards: Collection[str]) -> ClosedHistory:
        return await load.past(await self._writer(), self._link, rounds, awards)

    async def next_seqs(self, tables: Collection[str]) -> dict[str, int]:
        return await load.next_seqs(await self._writer(), tables)

    async def commit(self, batch: post.Batch, state: LinkState, *, sent: int) -> None:
        """Returns when the batch is durable; Unknown if that is not certain, and the lease must be taken anew."""
        await post.commit(await self._writer(), batch, state, sent=sent)
