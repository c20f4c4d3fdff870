"""A link's channel holds no more than it may, from the first message of a connection on; its states say since when.

Who does not vouch for the link when a connection is there says nothing on it.
"""

import asyncio
import json
from asyncio import StreamReader, StreamWriter
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress

import pytest

from jackpot.daemon import link_channel as module
from jackpot.daemon.link_channel import LinkChannel
from jackpot.link.parameters import Parameters
from jackpot.link.state import LinkState, Table
from jackpot.mqtt import packets
from jackpot.mqtt.broker import Broker
from jackpot.mqtt.client import Message
from jackpot.mqtt.session import always
from jackpot.rules.megalink import GAMES
from tests.mqtt.peers import CONNACK, PATIENCE_S, SUBACK, fake_broker, forever, greet, read_packet

HELD_MAX, HELD_LOW, KEPT = 4, 2, 20
"""At most so many are held, reading goes on at so many, and the broker had kept so many for us."""


class Waiting:
    """Stands where the desk does: takes what comes, and is served when the test says so."""

    def __init__(self) -> None:
        self.messages: list[Message] = []
        self.most = 0
        self.now = "at first"
        self.vouches = True
        self.seen: set[bytes] = set()
        self.connected = asyncio.Event()

    def take(self, _: str, message: Message) -> None:
        self.messages.append(message)
        self.most = max(self.most, len(self.messages))
        self.seen.add(message.payload)

    async def hold(self, count: int) -> None:
        async with asyncio.timeout(PATIENCE_S):
            while len(self.messages) < count:
                await asyncio.sleep(0)

    async def serve(self, channel: LinkChannel) -> None:
        """One after the other, until all that the broker had kept was there."""
        async with asyncio.timeout(PATIENCE_S):
            while self.messages or len(self.seen) < KEPT:
                if self.messages:
                    channel.acknowledge([self.messages.pop(0)])
                await asyncio.sleep(0)


@asynccontextmanager
async def channel_at(broker: Broker, waiting: Waiting, monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[LinkChannel]:
    monkeypatch.setattr(module, "HELD_MAX", HELD_MAX)
    monkeypatch.setattr(module, "HELD_LOW", HELD_LOW)
    channel = LinkChannel(
        "megalink",
        broker,
        tables={"UTH-01"},
        now=lambda: waiting.now,
        on_event=waiting.take,
        waiting=lambda: len(waiting.messages),
        may_connect=always,
        vouches=lambda: waiting.vouches,
        on_connect=waiting.connected.set,
    )
    running = asyncio.create_task(channel.session.run())
    try:
        yield channel
    finally:
        running.cancel()
        await asyncio.gather(running, return_exceptions=True)


def kept() -> bytes:
    topic = "jackpot/v1/megalink/tables/UTH-01/events"
    return b"".join(packets.publish(topic, b"%d" % number, number) for number in range(1, KEPT + 1))


async def test_what_the_broker_had_kept_is_bounded_before_the_suback_too(monkeypatch: pytest.MonkeyPatch) -> None:
    async def talk(reader: StreamReader, writer: StreamWriter) -> None:
        await read_packet(reader)
        writer.write(CONNACK + kept() + SUBACK)
        await forever(reader)

    waiting = Waiting()
    async with fake_broker(talk) as broker, channel_at(broker, waiting, monkeypatch) as channel:
        await waiting.hold(HELD_MAX)
        assert not waiting.connected.is_set(), "the SUBACK is behind what we do not read yet"
        await waiting.serve(channel)
        async with asyncio.timeout(PATIENCE_S):
            await waiting.connected.wait()
        assert waiting.most == HELD_MAX


async def test_what_comes_before_the_suback_is_answered_before_it_is_acknowledged(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """A resend that was recorded long ago is answered by nobody else once it is acknowledged."""
    said: asyncio.Queue[tuple[int, bytes]] = asyncio.Queue()

    async def talk(reader: StreamReader, writer: StreamWriter) -> None:
        await read_packet(reader)
        writer.write(CONNACK + kept())
        await read_packet(reader)  # SUBSCRIBE: it is never granted
        while True:
            said.put_nowait(await read_packet(reader))

    waiting = Waiting()
    async with fake_broker(talk) as broker, channel_at(broker, waiting, monkeypatch) as channel:
        await waiting.hold(1)
        channel.reply("UTH-01", b"the first answer again")
        channel.acknowledge([waiting.messages.pop(0)])
        async with asyncio.timeout(PATIENCE_S):
            (_, reply), (acknowledged, packet_id) = await said.get(), await said.get()
        assert reply.endswith(b"the first answer again")
        assert (acknowledged, packet_id) == (0x40, b"\x00\x01")


async def test_a_connection_that_failed_while_it_was_paused_leaves_the_next_one_bounded(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    connections = 0

    async def talk(reader: StreamReader, writer: StreamWriter) -> None:
        nonlocal connections
        connections += 1
        await read_packet(reader)
        writer.write(CONNACK + kept() + SUBACK)
        if connections == 1:
            await waiting.hold(HELD_MAX)
            writer.transport.abort()
            return
        await forever(reader)

    monkeypatch.setattr("jackpot.mqtt.session.BACKOFF_S", (0.0,))
    waiting = Waiting()
    async with fake_broker(talk) as broker, channel_at(broker, waiting, monkeypatch) as channel:
        await waiting.hold(HELD_MAX + 1)  # the first of the next connection
        await waiting.serve(channel)
        async with asyncio.timeout(PATIENCE_S):
            await waiting.connected.wait()
        assert connections == 2
        assert waiting.most == HELD_MAX + 1


async def test_a_state_has_the_moment_since_which_it_is_so(monkeypatch: pytest.MonkeyPatch) -> None:
    told: asyncio.Queue[tuple[bool, str]] = asyncio.Queue()

    async def talk(reader: StreamReader, writer: StreamWriter) -> None:
        await greet(reader, writer)
        while True:
            _, body = await read_packet(reader)
            topic, payload = body[2 : (end := 2 + int.from_bytes(body[:2]))], body[end + 2 :]
            if topic.endswith(b"/state"):
                state = json.loads(payload)
                told.put_nowait((state["accepts_play"], state["at"]))

    waiting = Waiting()
    async with fake_broker(talk) as broker, channel_at(broker, waiting, monkeypatch) as channel:
        table = Table("UTH-01", GAMES["ultimate-texas-holdem"], 7)
        channel.lead(LinkState("megalink", {"UTH-01": table}, Parameters()), 1, 0)
        async with asyncio.timeout(PATIENCE_S):
            assert await told.get() == (True, "at first")
            waiting.now = "the ledger is lost"
            channel.say("suspended", reason="the ledger cannot be reached")
            assert await told.get() == (False, "the ledger is lost")
            waiting.now = "somebody has suspended it"
            channel.say("suspended", reason="fire alarm")
            assert await told.get() == (False, "the ledger is lost")
            waiting.now = "it is back"
            channel.say("running")
            assert await told.get() == (True, "it is back")


async def test_whoever_vouches_no_longer_once_it_is_connected_says_nothing_and_leaves(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    told: list[list[bytes]] = []

    async def talk(reader: StreamReader, writer: StreamWriter) -> None:
        await greet(reader, writer)
        told.append([])
        with suppress(asyncio.IncompleteReadError, ConnectionError):
            while True:
                _, body = await read_packet(reader)
                told[-1].append(body[2 : 2 + int.from_bytes(body[:2])])
                if body[2:].startswith(b"jackpot/v1/megalink/status"):
                    said.set()
        waiting.vouches = True

    said = asyncio.Event()
    monkeypatch.setattr("jackpot.mqtt.session.BACKOFF_S", (0.0,))
    waiting = Waiting()
    waiting.vouches = False
    async with fake_broker(talk) as broker, channel_at(broker, waiting, monkeypatch):
        async with asyncio.timeout(PATIENCE_S):
            await said.wait()
        *before, last = told
        assert before
        assert not any(before)
        assert last == [b"jackpot/v1/megalink/status"]


async def test_a_status_is_said_again_as_it_was_said_first(monkeypatch: pytest.MonkeyPatch) -> None:
    told: asyncio.Queue[dict[str, str]] = asyncio.Queue()

    async def talk(reader: StreamReader, writer: StreamWriter) -> None:
        await greet(reader, writer)
        while True:
            _, body = await read_packet(reader)
            told.put_nowait(json.loads(body[4 + int.from_bytes(body[:2]) :]))

    monkeypatch.setattr(module, "NOTICES_EVERY_S", 0.0)
    waiting = Waiting()
    async with fake_broker(talk) as broker, channel_at(broker, waiting, monkeypatch) as channel:
        async with asyncio.timeout(PATIENCE_S):
            first = await told.get()
            waiting.now = "later"
            reminding = asyncio.create_task(channel.remind())
            assert [await told.get(), await told.get()] == [first, first]
            channel.say("suspended", reason="fire alarm")
            while (status := await told.get()) == first:
                pass
            assert (status["state"], status["at"]) == ("suspended", "later")
        reminding.cancel()
