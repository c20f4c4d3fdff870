"""What a broker may send: garbage, floods, too much and too early. Memory stays bounded, the event loop calm."""

import asyncio
from asyncio import StreamReader, StreamWriter
from collections.abc import Callable

import pytest

from jackpot.mqtt import client, packets
from jackpot.mqtt.client import Connection, Message, MqttError
from tests.mqtt.peers import CONNACK, SUBACK, Inbox, fake_broker, forever, greet, opened, read_packet

pytestmark = pytest.mark.usefixtures("calm_loop")


async def test_messages_before_the_suback_are_delivered() -> None:
    async def talk(reader: StreamReader, writer: StreamWriter) -> None:
        await read_packet(reader)
        writer.write(CONNACK + packets.publish("a/b", b"kept", 1) + SUBACK + packets.publish("a/b", b"new", 2))
        await forever(reader)

    inbox = Inbox()
    async with fake_broker(talk) as broker:
        connection = await opened(broker, inbox)
        assert await inbox.holds(2) == [b"kept", b"new"]
        connection.abort()


async def test_garbage_ends_the_connection_and_nothing_else() -> None:
    async def talk(reader: StreamReader, writer: StreamWriter) -> None:
        await greet(reader, writer)
        await read_packet(reader)
        writer.write(packets.publish("a/b", b"good", 1))
        await read_packet(reader)
        writer.write(b"\xff\xff\xff\xff\xff" + packets.publish("a/b", b"behind", 2))
        await forever(reader)

    inbox = Inbox()
    async with fake_broker(talk) as broker:
        connection = await opened(broker, inbox)
        confirmed = connection.publish("a/b", b"")
        why = await connection.wait_closed()
        assert str(why) == "the broker sent a length of more than four bytes"
        assert inbox.payloads == [b"good"]
        with pytest.raises(MqttError, match="more than four bytes"):
            await confirmed
        with pytest.raises(MqttError, match="more than four bytes"):
            connection.publish_nowait("a/b", b"")
        with pytest.raises(MqttError, match="more than four bytes"):
            await connection.settled()
        with pytest.raises(MqttError, match="more than four bytes"):
            await connection.drain()
        connection.ack(inbox.messages[0])
        connection.pause_reading()
        connection.resume_reading()
        await connection.close()
        assert await connection.wait_closed() is why


async def test_a_broker_that_floods_us_must_wait_while_we_are_paused() -> None:
    flood = packets.publish("a/b", b"x" * 1_000, 1) * 64
    sent = 0

    async def talk(reader: StreamReader, writer: StreamWriter) -> None:
        nonlocal sent
        await greet(reader, writer)
        for _ in range(1_000):
            writer.write(flood)
            await writer.drain()
            sent += 1
        await forever(reader)

    inbox = Inbox(acknowledges=False)
    full = True

    def take(message: Message) -> None:
        inbox(message)
        if full:
            message.connection.pause_reading()

    async with fake_broker(talk) as broker:
        connection = await opened(broker, take)
        await inbox.holds(1)
        while True:  # until neither side moves
            before = sent
            await asyncio.sleep(0.2)
            if sent == before:
                break
        assert 0 < sent < 1_000
        assert len(inbox.messages) == 1
        full = False
        connection.resume_reading()
        await inbox.holds(64_000)
        connection.abort()


async def send_three(reader: StreamReader, writer: StreamWriter) -> None:
    """Three messages in one piece, then nothing until the client says DISCONNECT, and a last one after that."""
    await greet(reader, writer)
    writer.write(b"".join(packets.publish("a/b", b"%d" % number, number) for number in (1, 2, 3)))
    while (await read_packet(reader))[0] != 0xE0:
        pass
    writer.write(packets.publish("a/b", b"4", 4))


async def test_what_was_read_before_a_pause_is_delivered_after_it() -> None:
    inbox = Inbox()

    def take(message: Message) -> None:
        inbox(message)
        message.connection.pause_reading()

    async with fake_broker(send_three) as broker:
        connection = await opened(broker, take)
        for count in (1, 2, 3):
            assert len(await inbox.holds(count)) == count
            connection.resume_reading()
        connection.abort()
    assert inbox.payloads == [b"1", b"2", b"3"]


@pytest.mark.parametrize("end", [Connection.abort, lambda connection: asyncio.create_task(connection.close())])
async def test_nothing_is_delivered_after_the_end(
    end: Callable[[Connection], object], monkeypatch: pytest.MonkeyPatch
) -> None:
    """And a connection that was paused sees that the broker closes it."""
    monkeypatch.setattr(client, "CLOSE_TIMEOUT_S", 1_000)
    inbox = Inbox()
    ending: list[object] = []

    def take(message: Message) -> None:
        inbox(message)
        message.connection.pause_reading()
        ending.append(end(message.connection))

    async with fake_broker(send_three) as broker:
        connection = await opened(broker, take)
        await connection.wait_closed()
    assert inbox.payloads == [b"1"]


async def test_a_message_that_cannot_be_taken_ends_the_connection_and_is_shown() -> None:
    """Else it would never be acknowledged nor come again."""

    async def talk(reader: StreamReader, writer: StreamWriter) -> None:
        await greet(reader, writer)
        writer.write(packets.publish("a/b", b"first", 1) + packets.publish("a/b", b"second", 2))
        await forever(reader)

    def fail(message: Message) -> None:
        raise KeyError(message.payload)

    shown: list[object] = []
    asyncio.get_running_loop().set_exception_handler(lambda _, context: shown.append(context["exception"]))
    async with fake_broker(talk) as broker:
        connection = await opened(broker, fail)
        assert str(await connection.wait_closed()) == "a message on a/b could not be taken: KeyError(b'first')"
    assert [repr(error) for error in shown] == ["KeyError(b'first')"]
