"""The client with real brokers: at least once, in order, and nothing acknowledged before we say so."""

import asyncio
import socket
from collections.abc import Awaitable, Callable
from pathlib import Path

import aiomqtt
import pytest

from jackpot.mqtt.client import Broker, Connection, Message, MqttError, Will
from jackpot.mqtt.packets import PACKET_BYTES_MAX
from tests import brokers
from tests.mqtt.peers import PATIENCE_S, Inbox, quiet_loop
from tests.proxy import CuttingProxy


@pytest.fixture
def broker(any_broker: str) -> Broker:
    return Broker.from_url(any_broker)


async def publisher(broker: Broker, name: str, will: Will | None = None) -> Connection:
    return await Connection.open(broker, f"{name}-publisher", on_message=Inbox(), clean_session=True, will=will)


async def subscriber(broker: Broker, name: str, inbox: Inbox) -> Connection:
    """Subscribed below `name`, with a session that the broker keeps."""
    return await Connection.open(broker, name, on_message=inbox, subscriptions=[(f"{name}/#", 1)])


async def test_a_message_arrives_as_it_was_published(broker: Broker, name: str) -> None:
    inbox = Inbox()
    connection = await subscriber(broker, name, inbox)
    payload = bytes(range(256))
    await connection.publish(f"{name}/tables/UTH-01/evénts", payload)
    await inbox.holds(1)
    message = inbox.messages[0]
    assert (message.topic, message.payload, message.retain) == (f"{name}/tables/UTH-01/evénts", payload, False)
    await connection.close()
    assert await connection.wait_closed() is None


async def test_what_is_not_acknowledged_comes_again(broker: Broker, name: str) -> None:
    inbox = Inbox(acknowledges=False)
    first = await subscriber(broker, name, inbox)
    other = await publisher(broker, name)
    for number in range(10):
        other.publish_nowait(f"{name}/events", b"%d" % number)
    await inbox.holds(10)
    for message in inbox.messages[:4]:
        first.ack(message)
    first.publish_nowait(f"{name}-elsewhere", b"")
    await first.settled()  # so the broker has read the acknowledgements before it
    first.abort()
    again = Inbox()
    second = await subscriber(broker, name, again)
    assert await again.holds(6) == [b"4", b"5", b"6", b"7", b"8", b"9"]
    await second.settled()
    await second.close()
    last = Inbox()
    third = await subscriber(broker, name, last)
    await other.publish(f"{name}/events", b"new")
    assert await last.holds(1) == [b"new"]
    await third.close()
    await other.close()


async def test_a_message_of_an_earlier_connection_is_not_acknowledged_on_a_later_one(broker: Broker, name: str) -> None:
    """Packet ids begin anew on each connection: an acknowledgement of the old one would hit another message."""
    inbox, again, last = Inbox(acknowledges=False), Inbox(acknowledges=False), Inbox()
    first = await subscriber(broker, name, inbox)
    await first.publish(f"{name}/events", b"wager")
    await inbox.holds(1)
    first.abort()
    second = await subscriber(broker, name, again)
    await again.holds(1)
    second.ack(inbox.messages[0])
    first.ack(again.messages[0])
    first.ack(inbox.messages[0])
    await second.publish(f"{name}-elsewhere", b"")
    second.abort()
    third = await subscriber(broker, name, last)
    assert await last.holds(1) == [b"wager"]
    await third.close()


async def test_what_waited_at_the_broker_is_there_when_open_returns_or_comes_after(broker: Broker, name: str) -> None:
    await (await subscriber(broker, name, Inbox())).close()
    other = await publisher(broker, name)
    sent = [b"%d" % number for number in range(500)]
    for payload in sent:
        other.publish_nowait(f"{name}/events", payload)
    await other.settled()
    inbox = Inbox()
    connection = await subscriber(broker, name, inbox)
    assert await inbox.holds(500) == sent
    await connection.close()
    await other.close()


async def test_a_kept_message_comes_to_later_subscribers_and_says_so(broker: Broker, name: str) -> None:
    live, late = Inbox(), Inbox()
    first = await subscriber(broker, f"{name}/meter", live)
    await first.publish(f"{name}/meter/amount", b"old", retain=True)
    await first.publish(f"{name}/meter/amount", b"new", retain=True)
    assert await live.holds(2) == [b"old", b"new"]
    assert [message.retain for message in live.messages] == [False, False]
    second = await Connection.open(broker, f"{name}-late", on_message=late, subscriptions=[(f"{name}/meter/#", 1)])
    assert await late.holds(1) == [b"new"]
    assert late.messages[0].retain
    await first.close()
    await second.close()


async def test_the_will_is_published_when_we_are_lost_and_kept(broker: Broker, name: str) -> None:
    inbox, late = Inbox(), Inbox()
    watcher = await subscriber(broker, name, inbox)
    controller = await publisher(broker, name, Will(f"{name}/status", b"lost"))
    controller.abort()
    assert await inbox.holds(1) == [b"lost"]
    assert str(await controller.wait_closed()) == "the connection was aborted"
    second = await Connection.open(broker, f"{name}-late", on_message=late, subscriptions=[(f"{name}/status", 1)])
    assert await late.holds(1) == [b"lost"]
    await second.close()
    await watcher.close()


async def test_after_close_there_is_no_will_even_with_messages_on_their_way_to_us(broker: Broker, name: str) -> None:
    inbox = Inbox()
    watcher = await Connection.open(broker, name, on_message=inbox, subscriptions=[(f"{name}/status", 1)])
    for _ in range(20):
        controller = await Connection.open(
            broker,
            f"{name}-controller",
            on_message=Inbox(acknowledges=False),
            subscriptions=[(f"{name}/events", 1)],
            clean_session=True,
            will=Will(f"{name}/status", b"lost"),
        )
        for _ in range(20):
            watcher.publish_nowait(f"{name}/events", b"x" * 10_000)
        await watcher.drain()
        controller.publish_nowait(f"{name}/status", b"stopped")
        await controller.close()
    await watcher.publish(f"{name}/status", b"end")
    assert await inbox.holds(21) == [b"stopped"] * 20 + [b"end"]
    await watcher.close()


async def test_who_takes_our_client_id_takes_our_place(broker: Broker, name: str) -> None:
    inbox = Inbox()
    first = await subscriber(broker, name, Inbox())
    second = await subscriber(broker, name, inbox)
    async with asyncio.timeout(PATIENCE_S):
        why = await first.wait_closed()
    assert isinstance(why, MqttError)
    await second.publish(f"{name}/events", b"wager")
    assert await inbox.holds(1) == [b"wager"]
    await second.close()


async def test_50_000_events_are_answered_in_order(broker: Broker, name: str) -> None:
    def answer(event: Message) -> None:
        event.connection.publish_nowait(f"{name}/replies", event.payload)
        event.connection.ack(event)

    replies = Inbox()
    controller = await Connection.open(broker, name, on_message=answer, subscriptions=[(f"{name}/events", 1)])
    table = await Connection.open(broker, f"{name}-table", on_message=replies, subscriptions=[(f"{name}/replies", 1)])
    sent = [*(b"%d" % number for number in range(50_000)), b"the end"]
    for payload in sent:
        table.publish_nowait(f"{name}/events", payload)
        if table.unsettled > 1_000:
            await table.settled(at_most=500)
    assert await replies.holds_in_order(sent[-1]) == sent
    await table.settled()
    await controller.settled()
    await table.close()
    await controller.close()


async def test_while_paused_nothing_is_delivered_and_nothing_is_lost(broker: Broker, name: str) -> None:
    inbox = Inbox()

    def take(message: Message) -> None:
        inbox(message)
        if len(inbox.messages) % 100 == 0:
            message.connection.pause_reading()

    connection = await Connection.open(broker, name, on_message=take, subscriptions=[(f"{name}/events", 1)])
    other = await publisher(broker, name)
    sent = [b"%d" % number for number in range(1_000)]
    for payload in sent:
        other.publish_nowait(f"{name}/events", payload)
    for full in range(100, 1_001, 100):
        assert await inbox.holds(full) == sent[:full]
        await other.publish(f"{name}-elsewhere", b"")  # time enough for more to come, if it could
        assert len(inbox.messages) == full
        connection.resume_reading()
    await connection.close()
    await other.close()


Meanwhile = Callable[[Connection], Awaitable[None]]


async def survives(broker: Broker, name: str, meanwhile: Meanwhile) -> None:
    """Of some connections with a keepalive of a second one lives through this: where machines stall, not each does."""
    for attempt in range(10):
        inbox, client = Inbox(), f"{name}-{attempt}"
        connection = await Connection.open(
            broker, client, on_message=inbox, subscriptions=[(f"{client}/#", 1)], keepalive_s=1
        )
        await meanwhile(connection)
        try:
            await connection.publish(f"{client}/events", b"wager")
        except MqttError:
            continue
        assert await inbox.holds(1) == [b"wager"]
        await connection.close()
        return
    pytest.fail("no connection was kept alive")


async def test_a_pause_longer_than_the_keepalive_is_survived(mosquitto: str, name: str) -> None:
    async def pause(connection: Connection) -> None:
        connection.pause_reading()
        await asyncio.sleep(2.5)
        connection.resume_reading()

    await survives(Broker.from_url(mosquitto), name, pause)


async def test_an_idle_connection_is_kept_alive(broker: Broker, name: str) -> None:
    await survives(broker, name, lambda _: asyncio.sleep(2.5))


async def test_a_broker_that_falls_silent_is_noticed(mosquitto: str, name: str) -> None:
    async with CuttingProxy(mosquitto) as proxy, asyncio.timeout(PATIENCE_S):
        connection = await Connection.open(Broker.from_url(proxy.url), name, on_message=Inbox(), keepalive_s=1)
        proxy.stall()
        unconfirmed = connection.publish(f"{name}/events", b"wager")
        assert str(await connection.wait_closed()) == "the broker did not answer a ping within 0.5 s"
        with pytest.raises(MqttError, match="did not answer a ping"):
            await unconfirmed


async def test_a_killed_broker_is_noticed_and_found_again(tmp_path: Path, name: str) -> None:
    with brokers.mosquitto(tmp_path) as port:
        broker = Broker("127.0.0.1", port)
        connection = await Connection.open(broker, name, on_message=Inbox())
    assert await connection.wait_closed() is not None
    with pytest.raises(MqttError, match="cannot be reached"):
        await Connection.open(broker, name, on_message=Inbox())
    with brokers.mosquitto(tmp_path, port=port):
        await (await Connection.open(broker, name, on_message=Inbox())).close()


async def test_one_byte_at_a_time(broker: Broker, name: str) -> None:
    inbox = Inbox()
    async with CuttingProxy(f"mqtt://{broker}") as proxy, quiet_loop():
        proxy.one_byte_at_a_time = True
        connection = await subscriber(Broker.from_url(proxy.url), name, inbox)
        sent = [b"x" * size for size in range(0, 400, 5)]
        for payload in sent:
            connection.publish_nowait(f"{name}/events", payload)
        assert await inbox.holds(len(sent)) == sent
        await connection.close()


async def test_a_message_too_large_does_not_stop_those_behind_it(broker: Broker, name: str) -> None:
    """It is cut, can be refused and acknowledged, and does not come again."""
    inbox = Inbox()
    connection = await subscriber(broker, name, inbox)
    other = await publisher(broker, name)
    large = b"x" * (2 * PACKET_BYTES_MAX)
    await other.publish(f"{name}/events", large)
    await other.publish(f"{name}/events", b"wager")
    cut, wager = await inbox.holds(2)
    assert 16_384 < len(cut) < PACKET_BYTES_MAX
    assert wager == b"wager"
    await connection.close()
    await other.close()


async def test_aiomqtt_hears_what_we_publish(broker: Broker, name: str) -> None:
    connection = await publisher(broker, name)
    async with aiomqtt.Client(broker.host, broker.port, protocol=aiomqtt.ProtocolVersion.V311) as client:
        await client.subscribe(f"{name}/#", qos=1)
        await connection.publish(f"{name}/replies", b"accepted")
        async with asyncio.timeout(PATIENCE_S):
            message = await anext(client.messages)
        assert (str(message.topic), message.payload, message.qos) == (f"{name}/replies", b"accepted", 1)
    await connection.close()


@pytest.mark.parametrize("qos", [0, 1, 2])
async def test_we_hear_what_aiomqtt_publishes(broker: Broker, name: str, qos: int) -> None:
    inbox = Inbox()
    connection = await subscriber(broker, name, inbox)
    async with aiomqtt.Client(broker.host, broker.port, protocol=aiomqtt.ProtocolVersion.V311) as client:
        await client.publish(f"{name}/events", b"wager", qos=qos)
        await client.publish(f"{name}/events", b"hand", qos=qos)
    assert await inbox.holds(2) == [b"wager", b"hand"]
    assert [message.packet_id > 0 for message in inbox.messages] == [qos > 0] * 2
    await connection.close()


async def test_small_packets_are_not_held_back(broker: Broker, name: str) -> None:
    """Nagle's algorithm would make an acknowledgement wait for the one before it."""
    connection = await publisher(broker, name)
    assert connection._transport is not None
    sock = connection._transport.get_extra_info("socket")
    assert sock.getsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY) != 0
    await connection.close()


async def test_a_bad_user_is_refused_in_words(tmp_path: Path, name: str) -> None:
    with brokers.mosquitto(tmp_path, settings=["allow_anonymous false"]) as port:
        stranger = Broker("127.0.0.1", port, username="dealer", password="secret")
        with pytest.raises(MqttError, match="refused the connection: not authorized"):
            await Connection.open(stranger, name, on_message=Inbox())
