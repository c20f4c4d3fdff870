"""Dealers on a real daemon: whatever happens to them, their counters are the ledger's."""

import asyncio
import datetime as dt
import random
import uuid
from collections.abc import AsyncIterator, Callable
from pathlib import Path

import asyncpg
import pytest
from sqlalchemy.ext.asyncio import AsyncEngine

from jackpot.config import Table, load
from jackpot.contract.gaming_day import GamingDay
from jackpot.finance.reconciliation.data import TableDay
from jackpot.finance.reconciliation.read_day import reconcile
from jackpot.floor.dealer import Dealer, Habits, Pace
from jackpot.floor.tally import Tally
from jackpot.ledger import commands
from jackpot.ledger.connection import create_engine
from jackpot.link.commands import RoundConcluded
from jackpot.mqtt.broker import Broker
from jackpot.rules.megalink import Rank
from tests.acceptance.conftest import LINK
from tests.acceptance.processes import Daemon
from tests.waiting import patience_s

DAY = GamingDay.of("Asia/Singapore", "06:00")
AT_ONCE = Pace(step=0, between_rounds=0, paying=0)
RESTLESS = Habits(wager_cancelled=150, wager_returned=150, hand_declined=150, round_voided=200)

NewDealer = Callable[..., Dealer]


@pytest.fixture
async def engine(floor_database: str) -> AsyncIterator[AsyncEngine]:
    engine = create_engine(floor_database)
    yield engine
    await engine.dispose()


@pytest.fixture
def new_dealer(daemon: Daemon, floor_broker: str, tmp_path: Path) -> NewDealer:
    tables: dict[str, Table] = {table.id: table for table in load(daemon.config, {}).tables}

    def make(table: str, *, pace: Pace = AT_ONCE, habits: Habits = RESTLESS) -> Dealer:
        tally = Tally(500, DAY, path=tmp_path / f"{table}.json")
        chance = random.Random(table)
        return Dealer(Broker.from_url(floor_broker), tables[table], tally, chance=chance, pace=pace, habits=habits)

    return make


async def table_day(engine: AsyncEngine, table: str) -> TableDay:
    books = await reconcile(engine, DAY, DAY.day(dt.datetime.now(dt.UTC)))
    return next(found for found in books.tables if found.table == table)


async def until(condition: Callable[[], bool]) -> None:
    async with asyncio.timeout(patience_s(30)):
        while not condition():
            await asyncio.sleep(0.01)


async def test_what_dealers_count_is_what_the_ledger_holds(new_dealer: NewDealer, engine: AsyncEngine) -> None:
    dealers = [new_dealer(table) for table in ("BE-901", "UTH-901", "TCX-901")]
    dealers[0].wish(Rank.FOUR_OF_A_KIND)
    async with asyncio.TaskGroup() as tasks:
        for dealer in dealers:
            tasks.create_task(dealer.run())
        await until(lambda: all(dealer.rounds >= 8 for dealer in dealers))
        for dealer in dealers:
            dealer.finish()
    for dealer in dealers:
        day = await table_day(engine, dealer.table.id)
        assert (day.balanced, day.reported is not None, dealer.refusals) == (True, True, [])
        assert day.ours.wagers > 0
    assert (await table_day(engine, "BE-901")).ours.awards >= 1


async def test_a_table_that_stops_in_the_middle_comes_back_and_still_counts_right(
    new_dealer: NewDealer, engine: AsyncEngine
) -> None:
    for _ in range(3):
        stopped = new_dealer("UTH-902", pace=Pace(step=0.01, between_rounds=0, paying=0))
        running = asyncio.create_task(stopped.run())
        await until(lambda: stopped.rounds >= 4 and stopped.sight.phase == "closed")  # noqa: B023 waited for at once
        running.cancel()
        await asyncio.wait([running])
    back = new_dealer("UTH-902")
    back.finish()
    await back.run()
    day = await table_day(engine, "UTH-902")
    assert day.problems == ()
    assert day.ours.wagers > 0


async def test_a_round_that_a_person_ends_is_given_up_and_play_goes_on(
    new_dealer: NewDealer, engine: AsyncEngine, ledger: asyncpg.Connection
) -> None:
    dealer = new_dealer("BE-902", pace=Pace(step=0.1, between_rounds=0, paying=0), habits=Habits())
    running = asyncio.create_task(dealer.run())
    await until(lambda: dealer.sight.phase == "closed")
    ended = dealer.sight.round
    order = RoundConcluded(
        id=str(uuid.uuid4()), by="manager", reason="a test", table="BE-902", round=ended, outcome="void"
    )
    await commands.leave(ledger, LINK, order)
    await until(lambda: bool(dealer.refusals))
    assert "round_concluded" in dealer.refusals[0]
    played = dealer.rounds
    await until(lambda: dealer.rounds > played)
    dealer.finish()
    await running
    assert (await table_day(engine, "BE-902")).balanced
