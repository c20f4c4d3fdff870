"""The client with brokers that lie, stall, or speak something else: a clear error, bounded memory, a calm event loop."""

import asyncio
import gc
import socket
import struct
from asyncio import StreamReader, StreamWriter
from collections.abc import AsyncIterator, Callable

import pytest

from jackpot.wire import mqtt, packets
from jackpot.wire.mqtt import Broker, Connection, Message, MqttError, OnMessage
from tests import brokers
from tests.wire.peers import CONNACK, SUBACK, Inbox, fake_broker, greet, quiet_loop, read_packet


@pytest.fixture(autouse=True)
async def calm() -> AsyncIterator[None]:
    async with quiet_loop():
        yield


async def opened(broker: Broker, on_message: OnMessage | None = None) -> Connection:
    """Subscribed to one topic filter, as `greet` expects it."""
    return await Connection.open(broker, "client", on_message=on_message or Inbox(), subscriptions=[("a/#", 1)])


async def forever(reader: StreamReader) -> None:
    """Reads until the client leaves."""
    while await reader.read(65_536):
        pass


# Opening


@pytest.mark.parametrize(
    ("code", "words"),
    [
        (1, "it does not speak MQTT 3.1.1"),
        (2, "it does not allow this client id"),
        (3, "it is not available"),
        (4, "bad user name or password"),
        (5, "not authorized"),
        (77, "code 77"),
    ],
)
async def test_a_refusal_is_said_in_words(code: int, words: str) -> None:
    async def refuse(reader: StreamReader, writer: StreamWriter) -> None:
        await read_packet(reader)
        writer.write(bytes((0x20, 2, 0, code)))
        await forever(reader)

    async with fake_broker(refuse) as broker:
        with pytest.raises(MqttError, match=f"^the broker refused the connection: {words}$"):
            await opened(broker)


@pytest.mark.parametrize(
    ("answer", "words"),
    [
        (b"HTTP/1.1 400 Bad Request\r\n\r\n", "the broker closed the connection"),
        (b"\x15\x03\x01\x00\x02\x02\x46", "what no client gets"),
        (packets.publish("a/b", b"early", 1), "did not begin with CONNACK"),
        (SUBACK, "did not begin with CONNACK"),
        (CONNACK * 2, "what we did not ask for: ConnAck"),
        (b"\x20\x02\x00", "the broker closed the connection"),
        (b"", "the broker closed the connection"),
    ],
)
async def test_what_does_not_begin_like_mqtt(answer: bytes, words: str) -> None:
    async def talk(reader: StreamReader, writer: StreamWriter) -> None:
        await read_packet(reader)
        writer.write(answer)

    inbox = Inbox()
    async with fake_broker(talk) as broker:
        with pytest.raises(MqttError, match=words):
            await opened(broker, inbox)
    assert inbox.messages == []


@pytest.mark.parametrize("codes", [b"\x80", b"\x00", b"\x01\x01"])
async def test_a_subscription_not_granted_as_asked_is_an_error(codes: bytes) -> None:
    """With QoS 0 instead of 1 events would be lost without a word."""

    async def talk(reader: StreamReader, writer: StreamWriter) -> None:
        await read_packet(reader)
        writer.write(CONNACK + bytes((0x90, 2 + len(codes), 0, 1)) + codes)
        await forever(reader)

    async with fake_broker(talk) as broker:
        with pytest.raises(MqttError, match="did not grant what we subscribed to: a/#"):
            await opened(broker)


async def test_a_subscription_is_granted_once() -> None:
    async def talk(reader: StreamReader, writer: StreamWriter) -> None:
        await greet(reader, writer)
        writer.write(SUBACK + packets.publish("a/b", b"behind", 1))
        await forever(reader)

    inbox = Inbox()
    async with fake_broker(talk) as broker:
        connection = await opened(broker, inbox)
        assert "what we did not ask for: SubAck" in str(await connection.wait_closed())
    assert inbox.messages == []


async def test_nobody_is_there() -> None:
    with pytest.raises(MqttError, match=r"^the broker 127\.0\.0\.1:\d+ cannot be reached: ") as caught:
        await opened(Broker("127.0.0.1", brokers.free_port()))
    assert isinstance(caught.value.__cause__, OSError)


async def test_a_host_that_is_no_name() -> None:
    with pytest.raises(MqttError, match="cannot be reached"):
        await opened(Broker("a..b", 1883))


async def test_a_broker_that_does_not_answer_is_left() -> None:
    left = asyncio.Event()

    async def listen(reader: StreamReader, writer: StreamWriter) -> None:
        await forever(reader)
        left.set()

    async with fake_broker(listen) as broker:
        with pytest.raises(MqttError, match=f"^the broker {broker} does not answer$"):
            await Connection.open(broker, "client", on_message=Inbox(), timeout_s=0.1)
        await left.wait()


async def test_opening_can_be_cancelled() -> None:
    came, left = asyncio.Event(), asyncio.Event()

    async def listen(reader: StreamReader, writer: StreamWriter) -> None:
        came.set()
        await forever(reader)
        left.set()

    async with fake_broker(listen) as broker:
        opening = asyncio.create_task(opened(broker))
        await came.wait()
        opening.cancel()
        with pytest.raises(asyncio.CancelledError):
            await opening
        await left.wait()


@pytest.mark.parametrize(
    "wrong", [{"subscriptions": [("a\0b", 1)]}, {"keepalive_s": 0}, {"will": mqtt.Will("a/#", b"")}]
)
async def test_what_mqtt_cannot_say_is_refused_before_anything_is_sent(wrong: dict[str, object]) -> None:
    settings: dict[str, object] = {"on_message": Inbox(), **wrong}
    with pytest.raises(ValueError):
        await Connection.open(Broker("127.0.0.1", 1), "client", **settings)  # type: ignore[arg-type]  # that is the point


# Receiving


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
    monkeypatch.setattr(mqtt, "CLOSE_TIMEOUT_S", 1_000)
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
            if len(in_flight) == mqtt.IN_FLIGHT_MAX:
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
    monkeypatch.setattr(mqtt, "CLOSE_TIMEOUT_S", 0.1)
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
