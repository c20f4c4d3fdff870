"""Brokers that do not read, confirm what nobody sent, or break off: whoever waits is told."""

import asyncio
import gc
import socket
import struct
from asyncio import StreamReader, StreamWriter

import pytest

from jackpot.mqtt import client, packets
from jackpot.mqtt.client import MqttError
from tests.mqtt.peers import fake_broker, forever, greet, opened, read_packet

pytestmark = pytest.mark.usefixtures("calm_loop")


# Sending


async def test_packet_ids_in_flight_never_collide_and_order_is_kept() -> None:
    """There are more publishes than packet ids, and the broker leaves the first one unconfirmed for long."""
    received: list[bytes] = []
    stuck = asyncio.Event()

    async def talk(reader: StreamReader, writer: StreamWriter) -> None:
        in_flight: set[int] = set()

        async def take_one() -> int:
            kind, body = await read_packet(reader)
            while kind != 0x32:  # a ping
                kind, body = await read_packet(reader)
            packet_id = int.from_bytes(body[5:7], "big")
            assert packet_id not in in_flight
            in_flight.add(packet_id)
            received.append(body[7:])
            return packet_id

        async def nothing_comes() -> None:
            with pytest.raises(TimeoutError):
                await asyncio.wait_for(take_one(), 0.2)

        def confirm(packet_ids: list[int]) -> None:
            writer.write(b"".join(map(packets.puback, packet_ids)))
            in_flight.difference_update(packet_ids)

        await greet(reader, writer)
        first = await take_one()
        packet_id = 0
        while packet_id != first - 1:  # once round
            packet_id = await take_one()
            if len(in_flight) == client.IN_FLIGHT_MAX:
                await nothing_comes()
                confirm(sorted(in_flight - {first}, reverse=True))
        await nothing_comes()
        stuck.set()
        await nothing_comes()
        while len(received) < 70_000:
            confirm(list(in_flight))
            await take_one()
        confirm(list(in_flight))
        await forever(reader)

    async with fake_broker(talk) as broker:
        connection = await opened(broker)
        sent = [b"%d" % number for number in range(70_000)]
        for payload in sent[:66_000]:
            connection.publish_nowait("a/b", payload)
        assert connection.unsettled == 66_000
        await stuck.wait()
        for payload in sent[66_000:]:
            connection.publish_nowait("a/b", payload)
        await connection.settled()
        assert received == sent
        connection.abort()


async def test_drain_waits_for_a_broker_that_does_not_read() -> None:
    reads = asyncio.Event()

    async def talk(reader: StreamReader, writer: StreamWriter) -> None:
        await greet(reader, writer)
        await reads.wait()
        await forever(reader)

    async with fake_broker(talk) as broker:
        connection = await opened(broker)
        for _ in range(1_000):
            connection.publish_nowait("a/b", b"x" * 32_000)
        with pytest.raises(TimeoutError):
            async with asyncio.timeout(0.2):
                await connection.drain()
        reads.set()
        await connection.drain()
        connection.abort()


async def test_confirmations_of_nothing_are_ignored() -> None:
    async def talk(reader: StreamReader, writer: StreamWriter) -> None:
        await greet(reader, writer)
        writer.write(packets.puback(9) + packets.puback(2))
        await read_packet(reader)
        writer.write(packets.puback(2))
        await forever(reader)

    async with fake_broker(talk) as broker:
        connection = await opened(broker)
        await connection.publish("a/b", b"")
        connection.abort()


async def test_confirmations_nobody_waits_for_make_no_noise_when_the_connection_is_lost() -> None:
    async with fake_broker(greet) as broker:
        connection = await opened(broker)
        connection.publish("a/b", b"")
        await connection.wait_closed()
        connection._in_flight.clear()
        gc.collect()


# Ending


async def test_a_broken_connection_says_how() -> None:
    async def talk(reader: StreamReader, writer: StreamWriter) -> None:
        await greet(reader, writer)
        await read_packet(reader)
        no_goodbye = struct.pack("ii", 1, 0)
        writer.get_extra_info("socket").setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, no_goodbye)

    async with fake_broker(talk) as broker:
        connection = await opened(broker)
        connection.publish_nowait("a/b", b"")
        why = await connection.wait_closed()
        assert "the connection broke" in str(why)
        assert why is not None
        assert isinstance(why.__cause__, ConnectionResetError)


async def test_close_ends_also_what_the_broker_does_not_close(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(client, "CLOSE_TIMEOUT_S", 0.1)
    last: list[int] = []
    left = asyncio.Event()

    async def talk(reader: StreamReader, writer: StreamWriter) -> None:
        await greet(reader, writer)
        try:
            while True:
                last.append((await read_packet(reader))[0])
        finally:
            left.set()

    async with fake_broker(talk) as broker:
        connection = await opened(broker)
        waiting = connection.publish("a/b", b"")
        await connection.close()
        assert await connection.wait_closed() is None
        with pytest.raises(MqttError, match="the connection is closed"):
            await waiting
        await left.wait()
        assert last[-1] == 0xE0


async def test_who_waits_for_confirmations_is_told_of_the_end() -> None:
    async def talk(reader: StreamReader, writer: StreamWriter) -> None:
        await greet(reader, writer)
        await read_packet(reader)

    async with fake_broker(talk) as broker:
        connection = await opened(broker)
        connection.publish_nowait("a/b", b"")
        with pytest.raises(MqttError, match="the broker closed the connection"):
            await connection.settled()


async def test_the_end_can_be_waited_for_by_many_who_may_give_up() -> None:
    async with fake_broker(greet) as broker:
        connection = await opened(broker)
        first, second = (asyncio.create_task(connection.wait_closed()) for _ in range(2))
        first.cancel()
        assert str(await second) == "the broker closed the connection"
