"""Where the database is: one server, or the primary of several."""

import asyncio
import socket

import asyncpg
import pytest
from sqlalchemy import text

from jackpot.ledger.connection import connect, create_engine, one_each
from tests import brokers
from tests.proxy import CuttingProxy


def test_several_hosts_are_tried_one_by_one_and_must_be_primary() -> None:
    several = "postgresql://settle:p%40ss@a:5432,[::1]:6432/jackpot?sslmode=verify-full"
    assert one_each(several) == [
        "postgresql://settle:p%40ss@a:5432/jackpot?sslmode=verify-full&target_session_attrs=primary",
        "postgresql://settle:p%40ss@[::1]:6432/jackpot?sslmode=verify-full&target_session_attrs=primary",
    ]
    assert one_each("postgresql://a,b/jackpot?target_session_attrs=any")[1].endswith(
        "//b/jackpot?target_session_attrs=any"
    )


@pytest.mark.parametrize(
    "url", ["postgresql://settle@a:5432/jackpot", "postgresql://settle@/jackpot?host=/run/postgresql"]
)
def test_one_host_is_taken_as_it_is_written(url: str) -> None:
    assert one_each(url) == [url]


def several(url: str, *others: int) -> str:
    """The URL of a proxy, behind servers of these ports."""
    scheme, _, rest = url.partition("127.0.0.1:")
    hosts = ",".join(f"127.0.0.1:{port}" for port in others)
    return f"{scheme}{hosts},127.0.0.1:{rest}"


async def test_the_one_that_answers_is_found_behind_one_that_refuses_and_one_that_is_silent(database_url: str) -> None:
    with socket.create_server(("127.0.0.1", 0)) as silent:
        async with CuttingProxy(database_url) as proxy:
            url = several(proxy.url, brokers.free_port(), silent.getsockname()[1])
            async with asyncio.timeout(60):  # less than one alone is waited for
                connection = await connect(url, timeout=90)
            assert await connection.fetchval("SELECT 1") == 1
            await connection.close()
            engine = create_engine(url)
            async with engine.connect() as asking:
                assert await asking.scalar(text("SELECT 1")) == 1
            await engine.dispose()


async def test_a_standby_is_not_taken(database_url: str) -> None:
    """As while nobody leads: it is no failure of ours, but one that passes, and each server's word is in it."""
    async with CuttingProxy(database_url) as proxy:
        refusing = brokers.free_port()
        url = several(proxy.url, refusing) + "?target_session_attrs=standby"  # this primary plays the unwanted one
        with pytest.raises(ConnectionError) as caught:
            await connect(url, timeout=5)
        assert f"127.0.0.1:{refusing}: " in str(caught.value)
        assert "target attribute" in str(caught.value)


async def test_one_server_fails_as_the_driver_says(database_url: str) -> None:
    with pytest.raises(asyncpg.InvalidCatalogNameError):
        await connect(database_url.replace("/test_", "/none_"), timeout=5)
