"""The pool over a gaming day: a few hundred points of it, however many journals the day has."""

import datetime as dt
from dataclasses import dataclass, replace
from typing import Final

from sqlalchemy import func, select
from sqlalchemy.ext.asyncio import AsyncConnection

from jackpot.ledger.schema import awards, journals
from jackpot.link.money import whole_cents

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
    # A Royal takes the pool and a reset fills it again in one commit: nobody ever saw what lay between.
    unseen = {journal for win in wins for journal in win[:-1]}
    seen = {*range(first, last + 1, step), last, *(win[-1] for win in wins)} - unseen
    before = {first - 1, *(win[0] - 1 for win in wins)}
    rows = await connection.execute(
        select(journals.c.journal, journals.c.at, journals.c.pool_after)
        .where(journals.c.link == link, journals.c.journal.in_(seen | before))
        .order_by(journals.c.journal)
    )
    paid = {win[-1] for win in wins}
    points = [Point(row.at, whole_cents(row.pool_after), win=row.journal in paid) for row in rows]
    # The day begins with what the last one left.
    return [replace(points[0], at=points[1].at), *points[1:]] if first > 1 else points


async def _wins(connection: AsyncConnection, link: str, day: dt.date) -> list[range]:
    """The journals of each event by which the day's last shares were paid: without them a drop could be missed."""
    of_day = select(awards.c.award, awards.c.n).where(
        awards.c.link == link, awards.c.day == day, awards.c.kind == "percentage"
    )
    paid = (await connection.execute(of_day.order_by(awards.c.award.desc()).limit(WINS_MAX))).all()
    if not paid:
        return []
    rows = await connection.execute(
        select(func.min(journals.c.journal), func.max(journals.c.journal))
        .where(journals.c.link == link, journals.c.n.in_([row.n for row in paid]))
        .group_by(journals.c.n)
    )
    return [range(first, last + 1) for first, last in rows.all()]
