"""Where a link's audit chain stood when the gaming day ended, with the signature that has left the database."""

import asyncio
import datetime as dt
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

from sqlalchemy import select
from sqlalchemy.ext.asyncio import AsyncConnection

from jackpot.ledger.heads.form import SignedHead
from jackpot.ledger.load import rfc3339
from jackpot.ledger.schema import events

Finder = Callable[[str, int, str, dt.datetime], tuple[SignedHead, str] | None]
"""The signed head of this link, event, chain and time, with its signature."""


@dataclass(frozen=True, slots=True)
class DayHead:
    n: int
    chain: str
    at: dt.datetime
    signed_at: dt.datetime | None = None
    """None: no signed head of exactly this is at hand."""
    key: str | None = None
    signature: str | None = None

    def document(self) -> dict[str, Any]:
        return {
            "n": self.n,
            "chain": self.chain,
            "at": rfc3339(self.at.astimezone(dt.UTC)),
            "signed_at": None if self.signed_at is None else rfc3339(self.signed_at.astimezone(dt.UTC)),
            "key": self.key,
            "signature": self.signature,
        }


async def read_head(connection: AsyncConnection, link: str, n: int) -> DayHead | None:
    """None if nothing had happened by then, or the event is missing: its number says so."""
    query = select(events.c.chain, events.c.at).where(events.c.link == link, events.c.n == n)
    row = (await connection.execute(query)).first()
    return None if row is None else DayHead(n, row.chain.hex(), row.at)


async def signed(head: DayHead | None, link: str, find: Finder | None) -> DayHead | None:
    found = None if head is None or find is None else await asyncio.to_thread(find, link, head.n, head.chain, head.at)
    if head is None or found is None:
        return head
    told, signature = found
    return replace(head, signed_at=told.signed_at, key=told.key, signature=signature)
