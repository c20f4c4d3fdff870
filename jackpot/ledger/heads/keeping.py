"""Keeping heads while a daemon leads a link: signed as it goes on, and compared with the ledger before."""

import asyncio
import datetime as dt
import json
from collections.abc import Awaitable, Callable

import structlog

from jackpot import metrics
from jackpot.contract.gaming_day import GamingDay
from jackpot.ledger.connection import AnyConnection
from jackpot.ledger.errors import DATABASE_ERRORS, translated
from jackpot.ledger.heads.file import HeadsFile
from jackpot.ledger.heads.form import SignedHead
from jackpot.ledger.record import Head

HEADS_EVERY_S = 60.0
CLOSE_AFTER = dt.timedelta(minutes=1)
"""Whatever was decided before a gaming day ended is committed by then."""

log = structlog.get_logger()


async def holds(connection: AnyConnection, head: SignedHead) -> bool:
    with translated():
        found = await connection.fetchval("SELECT chain FROM events WHERE link = $1 AND n = $2", head.link, head.n)
    return found is not None and bytes(found).hex() == head.chain


async def last_on(connection: AnyConnection, link: str, day: dt.date) -> Head:
    """Where the link stood when this gaming day ended. Days follow each other as the numbers do: it is halved."""
    with translated():
        high = await connection.fetchval("SELECT n FROM links WHERE link = $1", link) or 0
        low = 0
        while low < high:
            middle = (low + high + 1) // 2
            of = await connection.fetchval("SELECT day FROM events WHERE link = $1 AND n = $2", link, middle)
            low, high = (middle, high) if of is not None and of <= day else (low, middle - 1)
        row = await connection.fetchrow("SELECT n, chain, at, day FROM events WHERE link = $1 AND n = $2", link, low)
    return Head() if row is None else Head(n=row["n"], chain=row["chain"], at=row["at"], day=row["day"])


def contradiction(last: SignedHead) -> str:
    return f"the ledger does not hold event {last.n} as it was signed at {last.signed_at:%Y-%m-%d %H:%M:%S}Z"


async def keep_heads(
    file: HeadsFile,
    link: str,
    *,
    head: Callable[[], Head],
    last_on: Callable[[dt.date], Awaitable[Head]],
    doubted: Callable[[], Awaitable[bool]],
    gaming_day: GamingDay,
    clock: Callable[[], dt.datetime],
    publish: Callable[[bytes], None],
) -> None:
    """Sign a link's head at once, then every minute that it has moved, and the last one of each gaming day.

    `doubted`: the ledger contradicts the head that was signed last. Then nothing is signed until somebody has looked.
    """
    signed = -1
    last = await asyncio.to_thread(file.last, link)
    day = max(gaming_day.day(head().at), head().day) if last is None else gaming_day.day(last.signed_at - CLOSE_AFTER)

    async def keep(kept: Head, closes: dt.date | None) -> None:
        nonlocal signed
        line = await asyncio.to_thread(file.keep, link, kept, now, closes)
        signed = kept.n
        publish(line)
        log.info("head_signed", link=link, head=json.loads(line))

    while True:
        now, current = clock(), head()
        try:
            if not await doubted():
                today = max(gaming_day.day(now - CLOSE_AFTER), current.day)
                if today > day:
                    ended = today - dt.timedelta(days=1)
                    closing = await last_on(ended)
                    if closing.n:
                        await keep(closing, ended)
                    day = today
                if current.n != signed:
                    await keep(current, None)
        except DATABASE_ERRORS as error:
            # Money is not stopped for it: the alert is, that no head was signed for a while.
            log.warning("head_not_signed", link=link, error=str(error))
        if current.n == signed:
            metrics.head_signed.labels(link).set(now.timestamp())
        await asyncio.sleep(HEADS_EVERY_S)
