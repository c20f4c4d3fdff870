"""The worked examples, end to end: unit S$5, increment 25 %, reserve 3.1 %, reset S$100,000, the reserve ample.

Closing a round lifts the pool, so the meter is set to the example's J after that, by an adjustment that two people
stand behind.
"""

import asyncio
import json
import uuid
from collections.abc import Awaitable, Callable
from typing import Literal

import asyncpg
import pytest

from jackpot.link.commands import BalanceAdjusted
from tests.acceptance.conftest import LINK, OTHER_LINK
from tests.acceptance.integrator import Integrator, Table
from tests.ledger.agreed import agree
from tests.waiting import patience_s

J = 48_000_000
RESET = 10_000_000

Display = Callable[[int], Awaitable[None]]
NewTable = Callable[[str], Table]


async def adjust(ledger: asyncpg.Connection, link: str, account: Literal["pool", "reserve"], amount_cents: int) -> None:
    names = {"id": str(uuid.uuid4()), "by": "anna", "approved_by": "ben"}
    command = BalanceAdjusted(**names, reason="to the example", account=account, amount_cents=amount_cents)
    await agree(ledger, link, command)
    async with asyncio.timeout(patience_s(30)):
        while (found := await ledger.fetchval("SELECT answer FROM requests WHERE id = $1", command.id)) is None:
            await asyncio.sleep(0.02)
    assert json.loads(found)["status"] == "accepted", found


async def pool_cents(ledger: asyncpg.Connection, link: str = LINK) -> int:
    cents: int = await ledger.fetchval("SELECT pool / 10000 FROM links WHERE link = $1", link)
    return cents


async def set_meter(pit: Integrator, ledger: asyncpg.Connection, link: str, cents: int) -> None:
    await adjust(ledger, link, "reserve", 10 * RESET)
    pool = await pool_cents(ledger, link)
    if pool != cents:
        await adjust(ledger, link, "pool", cents - pool)
    await pit.meter(link, displayed_cents=cents, pending=[])


@pytest.fixture
def display(pit: Integrator, ledger: asyncpg.Connection) -> Display:
    return lambda cents: set_meter(pit, ledger, LINK, cents)


def amounts(settled: dict[str, list[dict[str, int]]]) -> list[tuple[int, int]]:
    return [(award["position"], award["amount_cents"]) for award in settled["awards"]]


async def test_one_royal(pit: Integrator, uth: Table, display: Display) -> None:
    await uth.deal()
    await display(J)
    assert (await uth.enter(1, "Ah Kh", "Qh Jh Th"))["rank"] == "royal_flush"
    held = {"table": uth.name, "round": uth.round, "rank": "royal_flush", "base_cents": J}
    await pit.meter(LINK, displayed_cents=J, pending=[held])
    settled = await uth.settle()
    assert amounts(settled) == [(1, 48_000_000)]
    award = settled["awards"][0]
    assert (award["kind"], award["base_cents"], award["shared_by"]) == ("percentage", J, 1)
    assert "UTH 4.2" in award["rules"]
    await pit.meter(LINK, displayed_cents=10_000_000, pending=[])
    await uth.pay(award)


async def test_one_straight_flush_at_5x_is_not_multiplied(pit: Integrator, uth: Table, display: Display) -> None:
    await uth.deal({1: 5})
    await display(J)
    await uth.enter(1, "5h 6h", "7h 8h 9h")
    settled = await uth.settle()
    assert amounts(settled) == [(1, 4_800_000)]
    assert settled["awards"][0]["multiplier"] == 5
    await pit.meter(LINK, displayed_cents=43_200_000, pending=[])


async def test_four_of_a_kind_at_3x_comes_from_the_house(
    pit: Integrator, uth: Table, display: Display, ledger: asyncpg.Connection
) -> None:
    await uth.deal({1: 3})
    await display(J)
    house = await ledger.fetchval("SELECT house FROM links WHERE link = $1", LINK)
    await uth.enter(1, "Ah Ad", "Ac As 2d")
    assert amounts(await uth.settle()) == [(1, 600_000)]
    assert (await pit.meter(LINK, pending=[]))["displayed_cents"] == J
    assert await ledger.fetchval("SELECT house FROM links WHERE link = $1", LINK) == house - 600_000 * 10_000


async def test_two_straight_flushes_of_one_round(pit: Integrator, uth: Table, display: Display) -> None:
    await uth.deal({1: 1, 2: 1})
    await display(J)
    await uth.enter(1, "5h 6h", "7h 8h 9h")
    await uth.enter(2, "Th Jh", "7h 8h 9h")
    settled = await uth.settle()
    assert amounts(settled) == [(1, 4_560_000), (2, 4_560_000)]
    for award in settled["awards"]:
        assert (award["base_cents"], award["shared_by"]) == (J, 2)
        assert {"UTH 4.2", "UTH 3.15.1"} <= set(award["rules"])
        assert "D7" in award["decisions"]
    await pit.meter(LINK, displayed_cents=38_880_000, pending=[])


@pytest.mark.parametrize("second_settles_first", [False, True])
async def test_two_straight_flushes_at_separate_tables(
    pit: Integrator, new_table: NewTable, display: Display, second_settles_first: bool
) -> None:
    first, second = new_table("UTH"), new_table("TCX")
    await first.deal()
    await second.deal()
    await display(J)
    await first.enter(1, "5h 6h", "7h 8h 9h")
    await second.enter(1, "Th Jh 9h", "7h 8h")
    pending = [
        {"table": table.name, "round": table.round, "rank": "straight_flush", "base_cents": J}
        for table in (first, second)
    ]
    await pit.meter(LINK, displayed_cents=J, pending=pending)
    if second_settles_first:
        assert await second.settle() == {"awards": [], "pending": [1]}
        await pit.state(LINK, second.name, pending=[second.round], round=None)
        assert amounts(await first.settle()) == [(1, 4_800_000)]
        notice = await second.notice(await _only_award(second))
        assert (notice["amount_cents"], notice["base_cents"]) == (4_320_000, 43_200_000)
        assert "TCX 3.17" in notice["rules"]
        assert "D6" in notice["decisions"]
        await pit.state(LINK, second.name, pending=[])
    else:
        assert amounts(await first.settle()) == [(1, 4_800_000)]
        await pit.meter(LINK, displayed_cents=43_200_000, pending=[pending[1] | {"base_cents": 43_200_000}])
        assert amounts(await second.settle()) == [(1, 4_320_000)]
    await pit.meter(LINK, displayed_cents=38_880_000, pending=[])


async def _only_award(table: Table) -> str:
    await table.pit.until(lambda: table.pit.notices(table.link, table.name))
    (award,) = {notice["award"] for notice in table.pit.notices(table.link, table.name)}
    return str(award)


async def test_two_royals_of_one_round(pit: Integrator, bullseye: Table, display: Display) -> None:
    await bullseye.deal({1: 1, 2: 1})
    await display(J)
    await bullseye.enter(1, "As Ks Qs Js Ts")
    await bullseye.enter(2, "Ah Kh Qh Jh Th")
    settled = await bullseye.settle()
    assert amounts(settled) == [(1, 29_000_000), (2, 29_000_000)]
    for award in settled["awards"]:
        assert {"BE 4.5", "BE 3.20.1"} <= set(award["rules"])
        assert "D8" in award["decisions"]
    await pit.meter(LINK, displayed_cents=RESET, pending=[])


async def test_three_royals_without_an_odd_cent(pit: Integrator, bullseye: Table, display: Display) -> None:
    await bullseye.deal({1: 1, 2: 1, 3: 1})
    await display(48_000_001)
    for position, suit in enumerate("shd", start=1):
        await bullseye.enter(position, " ".join(f"{rank}{suit}" for rank in "AKQJT"))
    assert amounts(await bullseye.settle()) == [(1, 22_666_667), (2, 22_666_667), (3, 22_666_667)]
    await pit.meter(LINK, displayed_cents=RESET, pending=[])


async def test_a_royal_and_a_straight_flush_of_one_round(pit: Integrator, uth: Table, display: Display) -> None:
    await uth.deal({1: 1, 2: 1})
    await display(J)
    royal = await uth.enter(1, "Ah Kh", "Qh Jh Th")
    flush = await uth.enter(2, "9h 8h", "Qh Jh Th")
    assert royal["entry"] < flush["entry"]
    settled = await uth.settle()
    assert amounts(settled) == [(2, 4_800_000), (1, 43_200_000)]
    assert [award["base_cents"] for award in settled["awards"]] == [J, 43_200_000]
    assert "UTH 3.15.2" in settled["awards"][1]["rules"]
    await pit.meter(LINK, displayed_cents=RESET, pending=[])


async def test_a_royal_entered_first_is_paid_first(
    pit: Integrator, new_table: NewTable, display: Display, ledger: asyncpg.Connection
) -> None:
    a, b, meanwhile = new_table("BE"), new_table("UTH"), new_table("UTH")
    await a.deal()
    await b.deal()
    await display(J)
    await a.enter(1, "As Ks Qs Js Ts")
    assert (await meanwhile.deal({1: 5, 2: 5}))["displayed_cents"] == J, "held"
    between = await pool_cents(ledger) - J  # not quite 25 %: what earlier rounds gave back is owed first (D4)
    await b.enter(1, "5h 6h", "7h 8h 9h")
    await meanwhile.settle()
    await meanwhile.deal({1: 5})
    after = await pool_cents(ledger) - J - between
    assert await b.settle() == {"awards": [], "pending": [1]}
    await b.open()  # the next round may open while the award waits
    assert amounts(await a.settle()) == [(1, 48_000_000)]
    notice = await b.notice(await _only_award(b))
    base = RESET + between
    assert (notice["base_cents"], notice["amount_cents"]) == (base, base // 10)
    await pit.meter(LINK, displayed_cents=base + after - base // 10, pending=[])


async def test_the_same_but_a_is_voided(
    pit: Integrator, new_table: NewTable, display: Display, ledger: asyncpg.Connection
) -> None:
    a, b, meanwhile = new_table("BE"), new_table("UTH"), new_table("UTH")
    await a.deal()
    await b.deal()
    await display(J)
    await a.enter(1, "As Ks Qs Js Ts")
    await meanwhile.deal({1: 5, 2: 5})
    at_entry = await pool_cents(ledger)
    assert at_entry > J
    await b.enter(1, "5h 6h", "7h 8h 9h")
    assert await b.settle() == {"awards": [], "pending": [1]}
    assert await a.void() == {"returned_cents": 500}
    notice = await b.notice(await _only_award(b))
    assert (notice["base_cents"], notice["amount_cents"]) == (at_entry, at_entry // 10)
    assert pit.notices(LINK, a.name) == []


async def test_a_claim_that_leaves_lets_the_next_be_paid(
    pit: Integrator, new_table: NewTable, display: Display
) -> None:
    for leave in ("hand.withdrawn", "wager.returned"):
        a, b = new_table("BE"), new_table("UTH")
        await a.deal()
        await b.deal()
        await display(J)
        await a.enter(1, "As Ks Qs Js Ts")
        await b.enter(1, "5h 6h", "7h 8h 9h")
        await b.settle()
        await a.accepted(leave, position=1, reason="5.9")
        assert (await b.notice(await _only_award(b)))["amount_cents"] == 4_800_000
        await pit.meter(LINK, displayed_cents=43_200_000, pending=[])


async def test_the_other_reading_of_a_shared_straight_flush(pit: Integrator, ledger: asyncpg.Connection) -> None:
    """D7 `reset_amount`: 10 % of J plus 10 % of the reset amount, the extra funded like a reset."""
    table = pit.table(OTHER_LINK, "UTH-502")
    await table.deal({1: 1, 2: 1})
    await set_meter(pit, ledger, OTHER_LINK, J)
    await table.enter(1, "5h 6h", "7h 8h 9h")
    await table.enter(2, "Th Jh", "7h 8h 9h")
    assert amounts(await table.settle()) == [(1, 2_900_000), (2, 2_900_000)]
    await pit.meter(OTHER_LINK, displayed_cents=J + 1_000_000 - 5_800_000, pending=[])
