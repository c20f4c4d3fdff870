"""Which numbers of a series a gaming day holds, and which are missing.

Events, journals, entries and awards are counted within their link without holes, and days follow each other as the
numbers do. So a day is a range of numbers, found by halving: the cost grows with the logarithm of the past.
"""

import datetime as dt
from dataclasses import dataclass

from sqlalchemy import TextClause, text
from sqlalchemy.ext.asyncio import AsyncConnection

from jackpot.finance.reconciliation.data import Numbers

HOLES_NAMED = 5


@dataclass(frozen=True, slots=True)
class Series:
    table: str
    number: str
    owner: str = "link"
    """The column that says whose numbers they are."""
    by_day: bool = True
    """Whether the table can be asked by its day, so that a row moved to another day is noticed here."""

    def query(self, template: str) -> TextClause:
        names = {"{table}": self.table, "{number}": self.number, "{owner}": self.owner}
        for mark, name in names.items():
            template = template.replace(mark, name)
        return text(template)


SERIES = (
    Series("events", "n", by_day=False),
    Series("journals", "journal"),
    Series("entries", "entry"),
    Series("awards", "award"),
)
TABLE_EVENTS = Series("events", "seq", owner="table_id", by_day=False)

_START = """
WITH RECURSIVE search (low, high) AS (
    SELECT 0::bigint, CAST(:head AS bigint) + 1
    UNION ALL
    SELECT CASE WHEN before THEN middle ELSE low END, CASE WHEN before THEN high ELSE middle END
    FROM search, LATERAL (SELECT (low + high) / 2 AS middle) AS halved, LATERAL (SELECT coalesce((
        SELECT day < :day FROM {table} WHERE {owner} = :owner AND {number} >= middle ORDER BY {number} LIMIT 1
    ), false) AS before) AS probed
    WHERE high - low > 1
)
SELECT high FROM search WHERE high - low = 1
"""

_NEXT = "SELECT {number} FROM {table} WHERE {owner} = :owner AND {number} >= :start ORDER BY {number} LIMIT 1"

_COUNT = "SELECT count(*) FROM {table} WHERE {owner} = :owner AND {number} >= :start AND {number} < :end"

_COUNT_BY_DAY = "SELECT count(*) FROM {table} WHERE {owner} = :owner AND day = :day"

_HOLES = """
SELECT before + 1 AS first, number - 1 AS last FROM (
    SELECT number, lag(number, 1, CAST(:start AS bigint) - 1) OVER (ORDER BY number) AS before FROM (
        SELECT {number} AS number FROM {table} WHERE {owner} = :owner AND {number} >= :start AND {number} < :end
        UNION ALL SELECT CAST(:end AS bigint)
    ) AS there
) AS pairs
WHERE number > before + 1 ORDER BY number LIMIT :most
"""


async def start_of(connection: AsyncConnection, series: Series, owner: str, day: dt.date, head: int) -> int:
    """The smallest number from which on every row lies on this day or later; `head` is the last one given."""
    values = {"owner": owner, "day": day, "head": head}
    found: int | None = await connection.scalar(series.query(_START), values)
    return head + 1 if found is None else found


async def numbers_of(
    connection: AsyncConnection, series: Series, owner: str, day: dt.date, head: int
) -> tuple[Numbers, list[str]]:
    """The day's numbers, and what is wrong with them. `head` is the last number that was given."""

    async def ask(template: str, **values: object) -> int | None:
        found: int | None = await connection.scalar(series.query(template), {"owner": owner, **values})
        return found

    start = await start_of(connection, series, owner, day, head)
    after = await start_of(connection, series, owner, day + dt.timedelta(days=1), head)
    end = await ask(_NEXT, start=after) or head + 1
    count = await ask(_COUNT, start=start, end=end) or 0
    problems = []
    holes: tuple[tuple[int, int], ...] = ()
    if count != end - start:
        values = {"owner": owner, "start": start, "end": end, "most": HOLES_NAMED}
        rows = await connection.execute(series.query(_HOLES), values)
        holes = tuple((row.first, row.last) for row in rows)
        problems += [f"{series.table}: {series.number} {_span(*hole)} missing" for hole in holes]
    if series.by_day and (there := await ask(_COUNT_BY_DAY, day=day)) != count:
        problems.append(f"{series.table}: {there} rows lie on this day, but {count} of its numbers")
    if (stranger := await ask(_NEXT, start=head + 1)) is not None:
        problems.append(f"{series.table}: {series.number} {stranger} lies beyond the last that was given, {head}")
    return Numbers(start, end - start, holes), problems


def _span(first: int, last: int) -> str:
    return f"{first} is" if first == last else f"{first} to {last} are"
