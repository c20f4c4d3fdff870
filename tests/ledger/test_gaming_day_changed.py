"""A gaming day that is configured anew moves on from where the ledger stands: no day comes after a later one."""

import datetime as dt

import asyncpg

from jackpot.cli.verify import LANGUAGE
from jackpot.contract.gaming_day import GamingDay
from jackpot.finance.reconciliation.read_day import reconcile
from jackpot.ledger.connection import connect_writer, create_engine
from jackpot.ledger.verify import verify
from tests.ledger.ledger_driver import NOON, SINGAPORE
from tests.ledger.processors import Counter, desk_at

HONOLULU = GamingDay.of("Pacific/Honolulu", "12:00")
TABLE = {"id": "UTH-01", "game": "ultimate-texas-holdem", "positions": 7}
THE_16TH, THE_17TH = dt.date(2026, 11, 16), dt.date(2026, 11, 17)


async def play(counter: Counter, round_: str) -> None:
    await counter.accepted("UTH-01", "round.opened", round=round_)
    await counter.accepted("UTH-01", "wager.placed", round=round_, position=1)
    await counter.accepted("UTH-01", "round.closed", round=round_)


async def days(connection: asyncpg.Connection) -> dict[str, dt.date]:
    rows = await connection.fetch("SELECT round, day FROM events WHERE type = 'round.closed'")
    return {row["round"]: row["day"] for row in rows}


async def test_the_day_never_goes_back(ledger_url: str) -> None:
    seqs: dict[str, int] = {}
    assert (SINGAPORE.day(NOON), HONOLULU.day(NOON)) == (THE_16TH, dt.date(2026, 11, 15))
    async with desk_at(ledger_url, TABLE, seqs=seqs) as before:
        await play(before, "in Singapore")
        await before.accepted("UTH-01", "round.settled", round="in Singapore")
    now = [NOON]
    async with desk_at(ledger_url, TABLE, seqs=seqs, gaming_day=HONOLULU, clock=lambda: now[0]) as after:
        await play(after, "held")
        await after.accepted("UTH-01", "round.settled", round="held")
        now[0] = HONOLULU.start(THE_17TH)
        await play(after, "the next day")
    reader = await connect_writer(ledger_url)
    engine = create_engine(ledger_url)
    try:
        assert await days(reader) == {"in Singapore": THE_16TH, "held": THE_16TH, "the next day": THE_17TH}
        for configured in (SINGAPORE, HONOLULU):
            await verify(reader, "megalink", LANGUAGE, gaming_day=configured)
            for day, wagers in ((THE_16TH, 2), (THE_17TH, 1)):
                assert (await reconcile(engine, configured, day)).tables[0].ours.wagers == wagers
    finally:
        await engine.dispose()
        await reader.close()
