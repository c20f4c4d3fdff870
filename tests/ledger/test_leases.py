"""The statements by which several daemons share leases, on a real database."""

from collections.abc import AsyncIterator

import asyncpg
import pytest

from jackpot.ledger import lease, load
from jackpot.ledger.errors import DeposedError
from jackpot.ledger.lease import Lease


@pytest.fixture
async def ledger(ledger_url: str) -> AsyncIterator[asyncpg.Connection]:
    connection = await asyncpg.connect(ledger_url)
    yield connection
    await connection.close()


async def taken(ledger: asyncpg.Connection, link: str, holder: str, seconds: float = 60.0) -> int:
    epoch = await lease.take(ledger, link, holder, seconds)
    assert epoch is not None
    return epoch


async def of(ledger: asyncpg.Connection, link: str) -> Lease:
    (found,) = [one for one in await lease.survey(ledger) if one.link == link]
    return found


async def test_a_survey_tells_who_holds_what_and_for_how_long(ledger: asyncpg.Connection) -> None:
    assert await lease.survey(ledger) == []
    await taken(ledger, "two", "B", -1.0)
    await taken(ledger, "one", "A")
    one, two = await lease.survey(ledger)
    assert (one.link, one.holder, one.epoch, one.asked_by, one.valid) == ("one", "A", 1, None, True)
    assert 0.0 < one.left_s <= 60.0
    assert (two.link, two.holder, two.valid) == ("two", "B", False)


async def test_who_is_asked_hears_of_it_when_it_renews(ledger: asyncpg.Connection) -> None:
    epoch = await taken(ledger, "one", "A")
    assert await lease.renew(ledger, "one", "A", epoch, 60.0) is None
    assert await lease.ask(ledger, await of(ledger, "one"), "B")
    assert await lease.renew(ledger, "one", "A", epoch, 60.0) == "B"
    assert await lease.take(ledger, "one", "B", 60.0) is None, "asking is not having"


async def test_a_lease_is_asked_for_by_one_at_a_time(ledger: asyncpg.Connection) -> None:
    await taken(ledger, "one", "A")
    seen = await of(ledger, "one")
    assert await lease.ask(ledger, seen, "B")
    assert not await lease.ask(ledger, seen, "C")
    assert (await of(ledger, "one")).asked_by == "B"


async def test_a_lease_that_was_taken_anew_is_not_asked_for(ledger: asyncpg.Connection) -> None:
    await taken(ledger, "one", "A")
    seen = await of(ledger, "one")
    await taken(ledger, "one", "A")
    assert not await lease.ask(ledger, seen, "B")


async def test_a_lease_that_is_over_is_not_asked_for(ledger: asyncpg.Connection) -> None:
    await taken(ledger, "one", "A", -1.0)
    assert not await lease.ask(ledger, await of(ledger, "one"), "B")


async def test_a_lease_handed_over_is_for_who_asked(ledger: asyncpg.Connection) -> None:
    epoch = await taken(ledger, "one", "A")
    await lease.ask(ledger, await of(ledger, "one"), "B")
    await lease.hand_over(ledger, "one", "A", epoch, 60.0, sent=7)
    assert (await of(ledger, "one")).holder == "B"
    assert [await lease.take(ledger, "one", other, 60.0) for other in ("A", "C")] == [None, None]
    with pytest.raises(DeposedError):
        await lease.renew(ledger, "one", "A", epoch, 60.0)
    assert await lease.take(ledger, "one", "B", 60.0) == epoch + 1
    _, _, sent = await load.load(ledger, "one")
    assert sent == 7, "what was sent need not be sent again"


async def test_a_lease_handed_to_one_that_does_not_come_is_anybodys_in_the_end(ledger: asyncpg.Connection) -> None:
    epoch = await taken(ledger, "one", "A")
    await lease.ask(ledger, await of(ledger, "one"), "B")
    await lease.hand_over(ledger, "one", "A", epoch, -1.0, sent=0)
    assert await lease.take(ledger, "one", "C", 60.0) == epoch + 1


async def test_who_was_deposed_hands_nothing_over(ledger: asyncpg.Connection) -> None:
    epoch = await taken(ledger, "one", "A", -1.0)
    await taken(ledger, "one", "C")
    await lease.ask(ledger, await of(ledger, "one"), "B")
    await lease.hand_over(ledger, "one", "A", epoch, 60.0, sent=7)
    found = await of(ledger, "one")
    assert (found.holder, found.asked_by) == ("C", "B")
    assert (await load.load(ledger, "one"))[2] == 0


async def test_nobody_is_handed_what_nobody_asked_for(ledger: asyncpg.Connection) -> None:
    epoch = await taken(ledger, "one", "A")
    await lease.hand_over(ledger, "one", "A", epoch, 60.0, sent=0)
    assert (await of(ledger, "one")).holder == "A"


@pytest.mark.parametrize("taker", ["A", "B", "C"])
async def test_with_a_new_leader_what_was_asked_of_the_last_is_forgotten(
    ledger: asyncpg.Connection, taker: str
) -> None:
    epoch = await taken(ledger, "one", "A")
    await lease.ask(ledger, await of(ledger, "one"), "B")
    await lease.give_up(ledger, "one", "A", epoch, sent=0)
    await taken(ledger, "one", taker)
    assert (await of(ledger, "one")).asked_by is None
