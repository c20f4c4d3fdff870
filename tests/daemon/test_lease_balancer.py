"""Which lease a daemon takes and which it asks for, and that it comes to an end."""

import asyncio
import random
from collections.abc import AsyncIterator

import asyncpg
import pytest

from jackpot.daemon.lease_balancer import LeaseBalancer, loads, worth_asking_for
from jackpot.ledger import lease
from jackpot.ledger.lease import Lease


def leases(*held: str) -> list[Lease]:
    """`A`: held by A. `A>B`: held by A, and B asks for it. `-A`: of A, and over."""
    found = []
    for number, said in enumerate(held):
        holder, _, asked_by = said.lstrip("-").partition(">")
        found.append(Lease(f"link-{number}", holder, 1, asked_by or None, -1.0 if said.startswith("-") else 3.0))
    return found


def asked_for(me: str, *held: str) -> str | None:
    found = leases(*held)
    wanted = worth_asking_for(found, [one.link for one in found], me, loads(found)[me])
    return None if wanted is None else wanted.link


@pytest.mark.parametrize(
    ("held", "link"),
    [
        (["A", "A"], "link-0"),
        (["A"], None),
        (["A", "A", "B"], None),
        (["A", "A", "A", "B"], "link-0"),
        (["A", "A", "C", "C", "C"], "link-2"),
        (["A", "A>C"], None),  # A leads one in the end
        (["A", "A", "A", "A>C"], None),  # one at a time
        (["A", "A", "A", "A>B"], None),  # it has asked already
        (["A", "A", "A>C", "D", "D"], "link-3"),
        (["-A", "-A"], None),  # nobody leads them
        (["-B", "A", "A"], "link-1"),
    ],
)
def test_b_asks_who_leads_most_if_it_leads_two_fewer(held: list[str], link: str | None) -> None:
    assert asked_for("B", *held) == link


def test_only_a_link_that_the_daemon_is_configured_for_is_asked_for() -> None:
    assert worth_asking_for(leases("A", "A", "A"), ["link-2"], "B", 0) == leases("A", "A", "A")[2]
    assert worth_asking_for(leases("A", "A", "A"), ["other"], "B", 0) is None


@pytest.mark.parametrize("seed", range(20))
def test_from_anywhere_it_comes_to_an_end_with_an_even_share(seed: int) -> None:
    chance = random.Random(seed)
    daemons = "ABCDE"[: chance.randint(2, 5)]
    held = [chance.choice(daemons) for _ in range(chance.randint(1, 64))]
    for _ in range(len(held)):
        moved = [(me, asked_for(me, *held)) for me in daemons]
        wanted = [(me, link) for me, link in moved if link is not None]
        if not wanted:
            break
        me, link = chance.choice(wanted)
        held[int(link.removeprefix("link-"))] = me
    counts = [held.count(daemon) for daemon in daemons]
    assert max(counts) - min(counts) <= 1


# -- on a real database --------------------------------------------------------------------------------------------


@pytest.fixture
async def pool(ledger_url: str) -> AsyncIterator[asyncpg.Pool]:
    async with asyncpg.create_pool(ledger_url, min_size=1, max_size=4) as found:
        yield found


LINKS = [f"link-{number}" for number in range(8)]


async def take(pool: asyncpg.Pool, link: str, daemon: str, seconds: float = 60.0) -> int | None:
    async with pool.acquire() as connection:
        return await lease.take(connection, link, daemon, seconds)


async def survey(pool: asyncpg.Pool) -> list[Lease]:
    async with pool.acquire() as connection:
        return await lease.survey(connection)


async def asked_by(pool: asyncpg.Pool, share: LeaseBalancer) -> set[str]:
    await share._look()
    return {one.asked_by for one in await survey(pool) if one.asked_by is not None}


async def test_daemons_that_start_together_take_a_share_each(pool: asyncpg.Pool) -> None:
    async def stand_by(share: LeaseBalancer, daemon: str, link: str) -> None:
        while share.leader_of(link) is None:
            if await share.turn(link) and await take(pool, link, daemon) is not None:
                return

    async with asyncio.TaskGroup() as tasks:
        shares = {daemon: LeaseBalancer(LINKS, daemon, pool) for daemon in "AB"}
        looking = [tasks.create_task(share.run()) for share in shares.values()]
        await asyncio.gather(*(stand_by(share, daemon, link) for daemon, share in shares.items() for link in LINKS))
        for task in looking:
            task.cancel()
    found = await survey(pool)
    assert [(one.link, one.epoch) for one in found] == [(link, 1) for link in LINKS], "each is taken, and once"
    assert {one.holder for one in found} == {"A", "B"}


async def test_a_daemon_that_could_not_serve_a_link_asks_for_none(pool: asyncpg.Pool) -> None:
    for link in LINKS:
        await take(pool, link, "A")
    well = False
    share = LeaseBalancer(LINKS, "B", pool, is_well=lambda: well)
    assert await asked_by(pool, share) == set()
    well = True
    assert await asked_by(pool, share) == {"B"}


async def test_a_daemon_that_stops_asks_for_none(pool: asyncpg.Pool) -> None:
    for link in LINKS:
        await take(pool, link, "A")
    share = LeaseBalancer(LINKS, "B", pool)
    share.close()
    assert await asked_by(pool, share) == set()


async def test_who_leads_a_link_is_known_as_long_as_the_lease_is_valid(pool: asyncpg.Pool) -> None:
    await take(pool, "link-0", "A")
    await take(pool, "link-1", "A", -1.0)
    share = LeaseBalancer(LINKS, "B", pool)
    assert share.leader_of("link-0") is None, "it has not looked yet"
    await share._look()
    assert [share.leader_of(link) for link in LINKS[:3]] == ["A", None, None]
