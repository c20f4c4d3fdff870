"""The pool over a day: a bounded number of points, and no win falls between two of them."""

import datetime as dt

from sqlalchemy.ext.asyncio import AsyncEngine

from jackpot.console.chart import HEIGHT, WIDTH, draw
from jackpot.ledger.connection import create_engine
from jackpot.ledger.read import reading
from jackpot.ledger.read.history import POINTS, WINS_MAX, Point, read_history
from tests.ledger.ledger_driver import NOON, scribe_at


async def history(engine: AsyncEngine, day: dt.date) -> list[Point]:
    async with reading(engine) as connection:
        return await read_history(connection, "megalink", day)


async def test_a_long_day_is_drawn_in_bounded_points_with_every_win(ledger_url: str) -> None:
    engine = create_engine(ledger_url)
    try:
        async with scribe_at(ledger_url, "BE-01", "UTH-01") as scribe:
            for number in range(3 * POINTS):
                scribe.deal("UTH-01", {1: 1})
                scribe.settle("UTH-01")
                if number == POINTS:
                    scribe.deal("BE-01", {1: 1})
                    scribe.enter("BE-01", 1, "As Ks Qs Js Ts")
                    scribe.settle("BE-01")
            await scribe.commit()
            pool_cents = scribe.pool_cents
        points = await history(engine, NOON.date())
    finally:
        await engine.dispose()
    assert len(points) <= POINTS + 2 * WINS_MAX + 2
    (win,) = [nth for nth, point in enumerate(points) if point.win]
    assert points[win - 1].pool_cents > 10_000_000
    assert points[win].pool_cents == 10_000_000, "the Royal took all of it, and it was reset in the same commit"
    assert min(point.pool_cents for point in points) == 10_000_000, "nobody ever saw an empty pool"
    assert points[-1].pool_cents == pool_cents


async def test_a_day_begins_with_what_the_last_one_left_though_it_begins_with_a_win(ledger_url: str) -> None:
    engine = create_engine(ledger_url)
    tomorrow = NOON + dt.timedelta(days=1)
    try:
        async with scribe_at(ledger_url, "BE-01") as scribe:
            scribe.deal("BE-01", {1: 1})
            scribe.enter("BE-01", 1, "As Ks Qs Js Ts")
            before_cents = scribe.pool_cents
            await scribe.commit()
            scribe.pass_time(days=1)
            scribe.settle("BE-01")
            await scribe.commit()
        points = await history(engine, tomorrow.date())
    finally:
        await engine.dispose()
    assert [(point.pool_cents, point.win) for point in points] == [(before_cents, False), (10_000_000, True)]
    assert points[0].at == points[1].at


async def test_a_day_without_money_has_no_points(ledger_url: str) -> None:
    engine = create_engine(ledger_url)
    try:
        assert await history(engine, NOON.date()) == []
    finally:
        await engine.dispose()


def test_the_line_keeps_within_its_frame_and_steps() -> None:
    minutes = [NOON + dt.timedelta(minutes=nth) for nth in range(4)]
    points = [Point(at, cents) for at, cents in zip(minutes, (100, 300, 200, 250), strict=True)]
    chart = draw(points, minutes[3])
    assert chart is not None
    assert (chart.low_cents, chart.high_cents) == (100, 300)
    assert chart.line.count("V") == 3, "the pool stands still between two journals"
    numbers = [int(number) for number in chart.line.replace("M", " ").replace("H", " ").replace("V", " ").split()]
    assert min(numbers) >= 0
    assert max(numbers) == WIDTH
    assert chart.area.endswith(f"V{HEIGHT}H0Z")
    assert draw([], NOON) is None


def test_a_pool_that_does_not_move_is_a_line_too() -> None:
    chart = draw([Point(NOON, 500)], NOON)
    assert chart is not None
    assert chart.line.startswith("M0 ")
