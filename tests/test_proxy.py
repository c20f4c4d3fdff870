"""The proxy that the fault tests trust: it must fail exactly as told."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import aiomqtt
import asyncpg
import pytest
from sqlalchemy import make_url

from tests.proxy import CuttingProxy, Towards


@asynccontextmanager
async def echo_through_proxy() -> AsyncIterator[tuple[CuttingProxy, bytearray]]:
    """A proxy before a server that sends back what it receives, and what that server has received."""
    received = bytearray()

    async def echo(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            while data := await reader.read(100):
                received.extend(data)
                writer.write(data)
        except ConnectionError:
            pass
        finally:
            writer.close()

    async with await asyncio.start_server(echo, "127.0.0.1", 0) as server:
        port = server.sockets[0].getsockname()[1]
        async with CuttingProxy(f"tcp://127.0.0.1:{port}") as proxy:
            yield proxy, received


async def connect(proxy: CuttingProxy) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
    return await asyncio.open_connection("127.0.0.1", make_url(proxy.url).port)


async def test_what_goes_in_comes_out() -> None:
    async with echo_through_proxy() as (proxy, _):
        reader, writer = await connect(proxy)
        writer.write(b"x" * 100_000)
        assert await reader.readexactly(100_000) == b"x" * 100_000
        writer.close()


async def test_cut_ends_every_connection_and_the_next_one_works() -> None:
    async with echo_through_proxy() as (proxy, _):
        reader, writer = await connect(proxy)
        writer.write(b"before")
        assert await reader.readexactly(6) == b"before"
        proxy.cut()
        with pytest.raises((ConnectionError, asyncio.IncompleteReadError)):
            await reader.readexactly(1)
        reader, writer = await connect(proxy)
        writer.write(b"after")
        assert await reader.readexactly(5) == b"after"
        writer.close()


async def test_cut_after_so_many_bytes_to_the_server() -> None:
    async with echo_through_proxy() as (proxy, received):
        reader, writer = await connect(proxy)
        proxy.cut_after(4, Towards.SERVER)
        writer.write(b"012345")
        with pytest.raises((ConnectionError, asyncio.IncompleteReadError)):
            await reader.readexactly(6)
        assert received == b"0123"


async def test_cut_after_so_many_bytes_to_the_client() -> None:
    async with echo_through_proxy() as (proxy, received):
        reader, writer = await connect(proxy)
        proxy.cut_after(4, Towards.CLIENT)
        writer.write(b"012345")
        assert await reader.read() == b"0123"
        assert received == b"012345"


async def test_stall_holds_back_and_flow_lets_go() -> None:
    async with echo_through_proxy() as (proxy, received):
        reader, writer = await connect(proxy)
        proxy.stall()
        writer.write(b"held")
        with pytest.raises(TimeoutError):
            await asyncio.wait_for(reader.readexactly(4), 0.2)
        assert received == b""
        proxy.flow()
        assert await reader.readexactly(4) == b"held"
        writer.close()


async def test_refused_connections_are_cut_at_once() -> None:
    async with echo_through_proxy() as (proxy, _):
        proxy.refuses = True
        with pytest.raises((ConnectionError, asyncio.IncompleteReadError)):
            await (await connect(proxy))[0].readexactly(1)


@pytest.mark.parametrize("one_byte_at_a_time", [False, True])
async def test_postgres_behind_it(database_url: str, one_byte_at_a_time: bool) -> None:
    async with CuttingProxy(database_url) as proxy:
        proxy.one_byte_at_a_time = one_byte_at_a_time
        connection = await asyncpg.connect(proxy.url)
        assert await connection.fetchval("SELECT current_user") == "jackpot"
        assert await connection.fetchval("SELECT current_database()") == make_url(database_url).database
        proxy.cut_after(0, Towards.CLIENT)
        with pytest.raises((asyncpg.PostgresConnectionError, ConnectionError)):
            await connection.execute("CREATE TABLE the_answer_was_lost ()")
    connection = await asyncpg.connect(database_url)
    assert await connection.fetchval("SELECT to_regclass('the_answer_was_lost') IS NOT NULL")
    await connection.close()


@pytest.mark.parametrize("one_byte_at_a_time", [False, True])
async def test_each_broker_behind_it(any_broker: str, one_byte_at_a_time: bool) -> None:
    async with CuttingProxy(any_broker) as proxy:
        proxy.one_byte_at_a_time = one_byte_at_a_time
        async with aiomqtt.Client("127.0.0.1", make_url(proxy.url).port or 0) as client:
            await client.subscribe("a/b", qos=1)
            await client.publish("a/b", b"word", qos=1)
            assert (await anext(aiter(client.messages))).payload == b"word"
