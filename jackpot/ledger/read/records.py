"""What is kept beside the ledger: input that could not be read, and the trail of what people did."""

import datetime as dt
from dataclasses import dataclass
from typing import Any

from sqlalchemy import select
from sqlalchemy.ext.asyncio import AsyncConnection

from jackpot.ledger.read import PAGE_ROWS
from jackpot.ledger.schema import audit, quarantine


@dataclass(frozen=True, slots=True)
class Quarantined:
    id: int
    at: dt.datetime
    topic: str
    code: str
    message: str
    payload: str


@dataclass(frozen=True, slots=True)
class AuditEntry:
    id: int
    at: dt.datetime
    by: str
    action: str
    subject: str
    address: str
    detail: dict[str, Any]


async def read_quarantine(connection: AsyncConnection, before: int | None = None) -> list[Quarantined]:
    """A page, newest first."""
    query = select(quarantine).order_by(quarantine.c.id.desc()).limit(PAGE_ROWS)
    if before is not None:
        query = query.where(quarantine.c.id < before)
    return [
        Quarantined(row.id, row.at, row.topic, row.code, row.message, row.payload.decode("utf-8", "backslashreplace"))
        for row in await connection.execute(query)
    ]


async def read_trail(
    connection: AsyncConnection, *, by: str | None = None, before: int | None = None
) -> list[AuditEntry]:
    """A page, newest first; of everyone, or of one person."""
    query = select(audit).order_by(audit.c.id.desc()).limit(PAGE_ROWS)
    if by is not None:
        query = query.where(audit.c.by == by)
    if before is not None:
        query = query.where(audit.c.id < before)
    return [
        AuditEntry(row.id, row.at, row.by, row.action, row.subject, row.address, row.detail)
        for row in await connection.execute(query)
    ]
