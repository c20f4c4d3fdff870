"""The pool over a gaming day: a few hundred points of it, however many journals the day has."""

import datetime as dt
from dataclasses import dataclass
from typing import Final

from sqlalchemy import func, select
from sqlalchemy.ext.asyncio import AsyncConnection

from jackpot.ledger.schema import awards, journals
from jackpot.link.money import Kind, whole_cents

POINTS: Final = 240
WINS_MAX: Final = 40


@dataclass(frozen=True, slots=True)
class Point:
    at: dt.datetime
    pool_cents: int
    win: bool = False
    """A Royal or Straight Flush was paid here."""


async def read_history(connection: AsyncConnection, link: str, day: dt.date) -> list[Point]:
    of_day = (journals.c.link == link) & (journals.c.day == day)
    first, last = (
        await connection.execute(select(func.min(journals.c.journal), func.max(journals.c.journal)).where(of_day))
    ).one()
    if first is None:
        return []
    wins = await _wins(connection, link, day)
    step = max(1, (last - first) // POINTS)
    wanted = {*range(first, last + 1, step), last, *wins, *(win - 1 for win in wins if win > first)}
    columns = select(journals.c.journal, journals.c.kind, journals.c.at, journals.c.pool, journals.c.pool_after)
    rows = await connection.execute(
        columns.where(journals.c.link == link, journals.c.journal.in_(wanted)).order_by(journals.c.journal)
    )
    points: list[Point] = []
    for row in rows:
        if not points and row.kind != Kind.OPENING:
            points.append(Point(row.at, whole_cents(row.pool_after - row.pool)))
        points.append(Point(row.at, whole_cents(row.pool_after), win=row.journal in wins))
    return points


async def _wins(connection: AsyncConnection, link: str, day: dt.date) -> set[int]:
    """The journals by which the day's last shares were paid, without which a drop could fall between two points."""
    of_day = select(awards.c.award, awards.c.n).where(
        awards.c.link == link, awards.c.day == day, awards.c.kind == "percentage"
    )
    paid = (await connection.execute(of_day.order_by(awards.c.award.desc()).limit(WINS_MAX))).all()
    if not paid:
        return set()
    rows = await connection.execute(
        select(journals.c.journal).where(
            journals.c.link == link, journals.c.n.in_([row.n for row in paid]), journals.c.kind == "share"
        )
    )
    return set(rows.scalars())
