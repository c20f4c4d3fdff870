"""An award slip is read by keys: what the table said after the award was made adds nothing."""

from typing import Any

import asyncpg
import pytest
from sqlalchemy import text
from sqlalchemy.ext.asyncio import AsyncEngine

from jackpot.finance.slips.reading import read_slip
from tests.finance.test_reads_only_its_day import nodes, plans, rows_read, statements_of
from tests.ledger.ledger_driver import scribe_at

MAKE_A_FUTURE = """
INSERT INTO events SELECT 'megalink', n + :n, 'new-' || n, 'BE-01', :seq + n, 'round.settled', 'new-' || n / 10,
    now() + interval '100 years', date '2126-11-16', '{}', '{"status":"refused"}', '' FROM generate_series(1, 60000) AS n;
ANALYZE
"""


async def explained(
    engine: AsyncEngine, url: str, intruder: asyncpg.Connection, outcome: str
) -> tuple[str, list[tuple[str, dict[str, Any]]]]:
    """Who confirmed an award that waited for another table's, and how the database found all of its slip."""
    async with scribe_at(url, "UTH-01", "BE-01") as scribe:
        scribe.deal("UTH-01")
        scribe.deal("BE-01")
        scribe.enter("UTH-01", 1, "5h 6h", "7h 8h 9h")
        scribe.enter("BE-01", 1, "As Ks Qs Js Ts")
        if outcome == "by the table":
            scribe.settle("BE-01")
        else:
            scribe.conclude("BE-01", "settled")
        for _ in range(20):  # it plays on while it waits
            scribe.deal("BE-01")
            scribe.settle("BE-01")
        await scribe.commit()
        scribe.pass_time(minutes=1)
        scribe.settle("UTH-01")
        await scribe.commit()
        award = next(award for award in scribe.awards if award.table == "BE-01")
        seq = scribe.next_seq("BE-01") - 1
        await intruder.execute(MAKE_A_FUTURE.replace(":n", str(scribe.n)).replace(":seq", str(seq)))
    async with engine.connect() as connection:
        await connection.execute(text("ANALYZE"))
        await connection.commit()
        with statements_of(engine) as asked:
            slip = await read_slip(connection, award.id)
    return slip.confirmed.type, await plans(engine, asked)


@pytest.mark.parametrize(
    ("outcome", "confirmed"), [("by the table", "round.settled"), ("by a person", "round.concluded")]
)
async def test_60000_later_events_of_the_table_are_not_read(
    engine: AsyncEngine, ledger_url: str, intruder: asyncpg.Connection, outcome: str, confirmed: str
) -> None:
    type_, found = await explained(engine, ledger_url, intruder, outcome)
    assert type_ == confirmed
    for statement, plan in found:
        scanned = {node["Relation Name"] for node in nodes(plan) if node["Node Type"] == "Seq Scan"}
        assert "events" not in scanned, statement
        assert rows_read(plan) <= 100, statement
    assert sum(rows_read(plan) for _, plan in found) < 300
