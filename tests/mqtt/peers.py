"""The other ends of a connection: an application that keeps what it gets, and brokers that play what they are told."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager, suppress

from jackpot.mqtt.client import Broker, Connection, Message, OnMessage

PATIENCE_S = 120.0
CONNACK = b"\x20\x02\x00\x00"
SUBACK = b"\x90\x03\x00\x01\x01"

BoardProtocol = Callable[[asyncio.StreamReader, asyncio.StreamWriter], Awaitable[None]]


class Inbox:
    """An application's end: keeps messages in the order in which they come, and acknowledges them at once if told to."""

    def __init__(self, *, acknowledges: bool = True) -> None:
        self.messages: list[Message] = []
        self._acknowledges = acknowledges
        self._arrived = asyncio.Event()

    def __call__(self, message: Message) -> None:
        self.messages.append(message)
        self._arrived.set()
        if self._acknowledges:
            message.connection.ack(message)

    @property
    def payloads(self) -> list[bytes]:
        return [message.payload for message in self.messages]

    async def holds(self, count: int) -> list[bytes]:
        """The payloads, once there are `count` of them."""
        return await self._payloads_once(lambda: len(self.messages) >= count)

    async def holds_in_order(self, last: bytes) -> list[bytes]:
        """The payloads up to this one, each where it came first: with QoS 1 a slow broker may deliver one again."""
        payloads = await self._payloads_once(lambda: any(message.payload == last for message in self.messages[-2_000:]))
        return list(dict.fromkeys(payloads))

    async def _payloads_once(self, enough: Callable[[], bool]) -> list[bytes]:
        async with asyncio.timeout(PATIENCE_S):
            while not enough():
                self._arrived.clear()
                await self._arrived.wait()
        return self.payloads


async def read_packet(reader: asyncio.StreamReader) -> tuple[int, bytes]:
    """First byte and body of a packet that a client sent. Raises IncompleteReadError at the end."""
    first = (await reader.readexactly(1))[0]
    length = shift = 0
    while True:
        byte = (await reader.readexactly(1))[0]
        length |= (byte & 127) << shift
        shift += 7
        if byte < 128:
            return first, await reader.readexactly(length)


async def greet(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    """Takes CONNECT and the SUBSCRIBE of one topic filter as a broker does."""
    assert (await read_packet(reader))[0] == 0x10
    writer.write(CONNACK)
    while (await read_packet(reader))[0] != 0x82:
        pass
    writer.write(SUBACK)


@asynccontextmanager
async def fake_broker(talk: BoardProtocol) -> AsyncIterator[Broker]:
    """A broker that holds the given talk with each client, and then closes."""
    failures: list[BaseException] = []

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            with suppress(ConnectionError, asyncio.IncompleteReadError):  # a client may leave in the middle
                await talk(reader, writer)
        except BaseException as error:
            failures.append(error)
            raise
        finally:
            writer.close()

    server = await asyncio.start_server(serve, "127.0.0.1", 0)
    try:
        yield Broker(*server.sockets[0].getsockname())
    finally:
        server.close()
    assert failures == []


@asynccontextmanager
async def quiet_loop() -> AsyncIterator[None]:
    """Nothing that goes wrong inside may reach the event loop as an exception."""
    complaints: list[dict[str, object]] = []
    loop = asyncio.get_running_loop()
    loop.set_exception_handler(lambda _, context: complaints.append(context))
    yield
    await asyncio.sleep(0)
    assert complaints == []


async def opened(broker: Broker, on_message: OnMessage | None = None) -> Connection:
    """Subscribed to one topic filter, as `greet` expects it."""
    return await Connection.open(broker, "client", on_message=on_message or Inbox(), subscriptions=[("a/#", 1)])


async def forever(reader: asyncio.StreamReader) -> None:
    """Reads until the client leaves."""
    while await reader.read(65_536):
        pass
