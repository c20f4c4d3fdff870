"""Brokers that refuse, stall, or speak something else when the client comes: a clear error, and nothing left behind."""

import asyncio
from asyncio import StreamReader, StreamWriter

import pytest

from jackpot.mqtt import client, packets
from jackpot.mqtt.client import Broker, Connection, MqttError
from tests import brokers
from tests.mqtt.peers import CONNACK, SUBACK, Inbox, fake_broker, forever, greet, opened, read_packet

pytestmark = pytest.mark.usefixtures("calm_loop")


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
    "wrong", [{"subscriptions": [("a\0b", 1)]}, {"keepalive_s": 0}, {"will": client.Will("a/#", b"")}]
)
async def test_what_mqtt_cannot_say_is_refused_before_anything_is_sent(wrong: dict[str, object]) -> None:
    settings: dict[str, object] = {"on_message": Inbox(), **wrong}
    with pytest.raises(ValueError):
        await Connection.open(Broker("127.0.0.1", 1), "client", **settings)  # type: ignore[arg-type]  # that is the point
