"""A ledger that nobody touched verifies, however it is read and whoever writes meanwhile."""

import asyncio
from collections.abc import AsyncIterator

import asyncpg
import pytest

from jackpot.cli.verify import LANGUAGE
from jackpot.ledger import verify as module
from jackpot.ledger.connection import connect_writer
from jackpot.ledger.record import THE_BEGINNING
from jackpot.ledger.verify import Verified, links_in, verify
from tests.ledger.ledger_driver import LedgerDriver, play_every_kind, scribe_at

TABLES = ("UTH-01", "UTH-02", "BE-01", "TCX-01")


@pytest.fixture
async def scribe(ledger_url: str) -> AsyncIterator[LedgerDriver]:
    """A ledger in which everything has happened once."""
    async with scribe_at(ledger_url, *TABLES) as scribe:
        play_every_kind(scribe)
        await scribe.commit()
        yield scribe


@pytest.fixture
async def reader(ledger_url: str) -> AsyncIterator[asyncpg.Connection]:
    connection = await connect_writer(ledger_url)
    yield connection
    await connection.close()


async def test_an_untouched_ledger_verifies(scribe: LedgerDriver, reader: asyncpg.Connection) -> None:
    verified = await verify(reader, "megalink", LANGUAGE)
    assert verified.n == scribe.n
    assert verified.counts["awards"] == len(scribe.awards) == 5
    assert verified.counts["payments"] == 2
    assert verified.counts["parameters"] == 2
    assert verified.counts["rounds"] == 8


@pytest.mark.parametrize("chunk", [1, 2, 7, 13])
async def test_it_does_not_matter_how_the_events_fall_into_chunks(
    scribe: LedgerDriver, reader: asyncpg.Connection, monkeypatch: pytest.MonkeyPatch, chunk: int
) -> None:
    monkeypatch.setattr(module, "CHUNK", chunk)
    assert (await verify(reader, "megalink", LANGUAGE)).n == scribe.n


async def test_a_link_without_events_verifies(ledger_url: str, reader: asyncpg.Connection) -> None:
    await reader.execute("INSERT INTO links (link) VALUES ('quiet')")
    assert await links_in(reader) == ["quiet"]
    assert await verify(reader, "quiet", LANGUAGE) == Verified("quiet", 0, b"", THE_BEGINNING, {})


async def test_a_ledger_verifies_while_it_is_written(scribe: LedgerDriver, reader: asyncpg.Connection) -> None:
    async def play_on() -> None:
        for _ in range(30):
            scribe.deal("UTH-02", {1: 1})
            scribe.settle("UTH-02")
            await scribe.commit()

    async def look() -> None:
        for _ in range(5):
            await verify(reader, "megalink", LANGUAGE)

    await asyncio.gather(play_on(), look())


async def test_a_table_that_was_on_another_link_meanwhile_verifies_on_both(
    ledger_url: str, reader: asyncpg.Connection
) -> None:
    async with scribe_at(ledger_url, "UTH-01") as here, scribe_at(ledger_url, link="other") as there:
        here.deal("UTH-01")
        here.settle("UTH-01")
        await here.configure()
        await there.configure("UTH-01")
        there.deal("UTH-01")
        there.settle("UTH-01")
        await there.commit()
        await here.configure("UTH-01")
        here.deal("UTH-01")
        await here.commit()
    assert await links_in(reader) == ["megalink", "other"]
    for link in ("megalink", "other"):
        await verify(reader, link, LANGUAGE)


async def test_what_a_table_says_of_a_round_that_a_pit_manager_ended_is_answered_the_same_again(
    ledger_url: str, reader: asyncpg.Connection
) -> None:
    async with scribe_at(ledger_url, "UTH-01") as scribe:
        scribe.deal("UTH-01")
        round_ = scribe.round_of("UTH-01")
        scribe.conclude("UTH-01", "settled")
        assert scribe.refused("UTH-01", "round.settled", round=round_).code == "round_concluded"
        await scribe.commit()
        assert (await verify(reader, "megalink", LANGUAGE)).n == scribe.n
