"""A small MQTT 3.1.1 client on asyncio, for what the contract needs: QoS 1, acknowledged when we say so.

Why our own: a table's event may be acknowledged only after its COMMIT, which general clients hide or do not offer, and
they, not PostgreSQL, limited the data path. Here bytes go straight from the transport to one callback, and all that is
written in one turn of the loop leaves in one write: to receive, acknowledge and answer a message takes a quarter of the
processor time that paho needs.

A connection has one life. Whoever reconnects opens another one, publishes again what was not confirmed, and gets again
from the broker what was not acknowledged.
"""

import asyncio
import ssl
from collections import deque
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import Final, Self, cast

from jackpot.mqtt import packets
from jackpot.mqtt.broker import Broker
from jackpot.mqtt.packets import ConnAck, MqttError, Packet, PubAck, Publish, SubAck, Will

__all__ = ["Broker", "Connection", "Message", "MqttError", "Will"]

# Packet ids have 16 bits and go round: with half of them in flight, the next one is all but always free.
IN_FLIGHT_MAX: Final = 32_767
CLOSE_TIMEOUT_S: Final = 5.0

Subscriptions = Sequence[tuple[str, int]]  # topic filter and QoS
OnMessage = Callable[["Message"], None]
Confirmed = asyncio.Future[None] | None  # None: nobody waits for this one


@dataclass(slots=True, eq=False)
class Message:
    """A message received. Only the connection that it came on can acknowledge it."""

    topic: str
    payload: bytes
    retain: bool
    packet_id: int
    connection: "Connection"


class Connection(asyncio.Protocol):
    """One connection, from CONNECT to its end. Made by `open`."""

    def __init__(self, hello: bytes, subscriptions: Subscriptions, keepalive_s: int, on_message: OnMessage) -> None:
        self._loop = asyncio.get_running_loop()
        self._transport: asyncio.Transport | None = None
        self._hello = hello
        self._subscriptions = subscriptions
        self._subscribe = packets.subscribe(1, subscriptions)
        self._patience_s = keepalive_s / 2
        self._on_message = on_message
        self._reader = packets.Reader()
        self._inbox: deque[Packet] = deque()  # read; held back while paused
        self._outbox: list[bytes] = []  # leaves with the next turn of the loop
        self._packet_id = 1  # the last used
        self._in_flight: dict[int, Confirmed] = {}
        self._waiting: deque[tuple[int, bytes, Confirmed]] = deque()  # to be in flight
        self._accepted = False  # CONNACK has come
        self._paused = False  # the application wants no more for now
        self._writable = True  # the transport does
        self._heard = True  # anything at all, since the last ping
        self._over = False  # nothing goes in or out any more
        self._why: MqttError | None = None  # it is over; None: we closed it
        self._progress = asyncio.Event()  # time to look again at what one waits for
        self._opened: asyncio.Future[None] = self._loop.create_future()
        self._ended: asyncio.Future[None] = self._loop.create_future()

    @classmethod
    async def open(
        cls,
        broker: Broker,
        client_id: str,
        *,
        on_message: OnMessage,
        subscriptions: Subscriptions = (),
        clean_session: bool = False,
        will: Will | None = None,
        keepalive_s: int = 10,
        timeout_s: float = 10.0,
    ) -> Self:
        """Connects and subscribes.

        `on_message` is called for each message as it is read, also before this returns: what the broker had kept for
        us comes first of all. It must not block.
        """
        hello = packets.connect(
            client_id,
            clean_session=clean_session,
            keepalive_s=keepalive_s,
            will=will,
            username=broker.username,
            password=broker.password,
        )
        connection = cls(hello, subscriptions, keepalive_s, on_message)
        try:
            async with asyncio.timeout(timeout_s):
                await connection._loop.create_connection(lambda: connection, broker.host, broker.port, ssl=broker.tls)
                await connection._opened
        except TimeoutError as error:
            raise MqttError(f"the broker {broker} does not answer") from error
        except (OSError, UnicodeError) as error:
            raise MqttError(f"the broker {broker} cannot be reached: {error}") from error
        finally:
            if connection._opened.cancelled():
                connection.abort()
        return connection

    # What the application does.

    def publish(self, topic: str, payload: bytes, *, retain: bool = False) -> asyncio.Future[None]:
        """Publishes with QoS 1, without waiting; the future is done when the broker has confirmed it."""
        confirmed: asyncio.Future[None] = self._loop.create_future()
        self._publish(topic, payload, retain, confirmed)
        return confirmed

    def publish_nowait(self, topic: str, payload: bytes, *, retain: bool = False) -> None:
        """Like `publish`, without a future for each: for many, and `settled` at the end."""
        self._publish(topic, payload, retain, None)

    def ack(self, message: Message) -> None:
        """Acknowledges a message of this connection. One of an earlier connection comes again, and has its turn then.

        MQTT 4.6: messages are acknowledged in the order in which they came.
        """
        if message.connection is self and message.packet_id:
            self._write(packets.puback(message.packet_id))

    @property
    def certificate_ends(self) -> float | None:
        """When the broker's certificate does, in seconds since 1970; None without TLS."""
        shown = self._transport and self._transport.get_extra_info("peercert")
        return ssl.cert_time_to_seconds(shown["notAfter"]) if shown else None

    @property
    def unsettled(self) -> int:
        """How many publishes the broker has not confirmed."""
        return len(self._in_flight) + len(self._waiting)

    async def settled(self, at_most: int = 0) -> None:
        """Waits until no more than `at_most` publishes are unconfirmed. While paused, no confirmation is read."""
        await self._until(lambda: self.unsettled <= at_most)

    async def drain(self) -> None:
        """Waits until the transport holds no more of what was written than it likes to."""
        self.flush()
        await self._until(lambda: self._writable and not self._over)

    def pause_reading(self) -> None:
        """Holds back all that comes, so that the broker must wait too: no message is delivered any more."""
        if self._transport and not self._paused:
            self._paused = True
            self._transport.pause_reading()

    def resume_reading(self) -> None:
        if self._transport and self._paused:
            self._paused = False
            self._heard = True  # while paused we could not hear
            self._transport.resume_reading()
            self._loop.call_soon(self._dispatch)

    async def wait_closed(self) -> MqttError | None:
        """Waits for the end of the connection and tells why; None if `close` ended it."""
        await asyncio.shield(self._ended)
        return self._why

    async def close(self) -> None:
        """Ends the connection in good order: the broker publishes no will."""
        self._write(packets.DISCONNECT)
        self.flush()
        self._over = True
        self._inbox.clear()
        self.resume_reading()
        # MQTT 3.14.4: the broker closes. Did we, with bytes of it unread, the connection would be reset, and the broker
        # might see that before the DISCONNECT.
        with suppress(TimeoutError):
            async with asyncio.timeout(CLOSE_TIMEOUT_S):
                await self.wait_closed()
        self.abort()

    def abort(self) -> None:
        """Ends the connection at once: to the broker we are lost."""
        self._lose(MqttError("the connection was aborted"))

    # What the transport tells.

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast("asyncio.Transport", transport)
        self._write(self._hello)

    def data_received(self, data: bytes) -> None:
        self._heard = True
        if not self._over:
            try:
                self._inbox += self._reader.feed(data)
            except MqttError as error:
                self._lose(error)
            self._dispatch()

    def pause_writing(self) -> None:
        self._writable = False

    def resume_writing(self) -> None:
        self._writable = True
        self._progress.set()

    def connection_lost(self, exc: Exception | None) -> None:
        if not self._over:
            self._over = True
            self._why = MqttError(f"the connection broke: {exc}" if exc else "the broker closed the connection")
            self._why.__cause__ = exc
        for confirmed in (self._opened, *self._in_flight.values(), *(waiting[2] for waiting in self._waiting)):
            if confirmed and not confirmed.done():
                confirmed.set_exception(self._error())
                confirmed.exception()  # looked at, so that asyncio does not complain of those nobody waits for
        self._progress.set()
        self._ended.set_result(None)

    # What comes in.

    def _dispatch(self) -> None:
        inbox = self._inbox
        if inbox and not self._accepted:
            self._connected(inbox.popleft())
        while inbox and not self._paused:
            packet = inbox.popleft()
            if type(packet) is Publish:
                message = Message(packet.topic, packet.payload, packet.retain, packet.packet_id, self)
                try:
                    self._on_message(message)
                except Exception as error:
                    self._lose(MqttError(f"a message on {message.topic} could not be taken: {error!r}"))
                    raise
            elif type(packet) is PubAck:
                self._confirmed(packet.packet_id)
            elif type(packet) is SubAck and not self._opened.done():
                self._subscribed(packet.codes)
            else:
                self._lose(MqttError(f"the broker sent what we did not ask for: {packet}"))

    def _connected(self, packet: Packet) -> None:
        if type(packet) is not ConnAck:
            self._lose(MqttError(f"the broker did not begin with CONNACK, but with {packet}"))
        elif packet.code:
            why = packets.CONNECT_REFUSED.get(packet.code, f"code {packet.code}")
            self._lose(MqttError(f"the broker refused the connection: {why}"))
        else:
            self._accepted = True
            self._loop.call_later(self._patience_s, self._keep_alive)
            if self._subscriptions:
                self._write(self._subscribe)
            else:
                self._opened.set_result(None)

    def _subscribed(self, codes: bytes) -> None:
        if list(codes) == [qos for _, qos in self._subscriptions]:
            self._opened.set_result(None)
        else:
            asked = ", ".join(topic_filter for topic_filter, _ in self._subscriptions)
            self._lose(MqttError(f"the broker did not grant what we subscribed to: {asked}"))

    def _confirmed(self, packet_id: int) -> None:
        confirmed = self._in_flight.pop(packet_id, None)
        if confirmed and not confirmed.done():
            confirmed.set_result(None)
        self._progress.set()
        while self._waiting and self._may_fly(self._waiting[0][0]):
            self._fly(*self._waiting.popleft())

    # What goes out.

    def _publish(self, topic: str, payload: bytes, retain: bool, confirmed: Confirmed) -> None:
        if self._over:
            raise self._error()
        packet_id = self._packet_id % 65_535 + 1
        packet = packets.publish(topic, payload, packet_id, retain)
        self._packet_id = packet_id
        if self._waiting or not self._may_fly(packet_id):
            self._waiting.append((packet_id, packet, confirmed))
        else:
            self._fly(packet_id, packet, confirmed)

    def _may_fly(self, packet_id: int) -> bool:
        return packet_id not in self._in_flight and len(self._in_flight) < IN_FLIGHT_MAX

    def _fly(self, packet_id: int, packet: bytes, confirmed: Confirmed) -> None:
        self._in_flight[packet_id] = confirmed
        self._write(packet)

    def _write(self, packet: bytes) -> None:
        if not self._over:
            if not self._outbox:
                self._loop.call_soon(self.flush)
            self._outbox.append(packet)

    def flush(self) -> None:
        """All that was written in this turn of the loop leaves in one piece: at its end, or now."""
        if self._transport and self._outbox and not self._transport.is_closing():
            self._transport.write(b"".join(self._outbox))
            self._outbox.clear()

    def _keep_alive(self) -> None:
        if self._over:
            return
        if self._heard or self._paused:
            self._heard = False
            self._write(packets.PINGREQ)
            self._loop.call_later(self._patience_s, self._keep_alive)
        else:
            self._lose(MqttError(f"the broker did not answer a ping within {self._patience_s} s"))

    # How it ends.

    def _lose(self, why: MqttError) -> None:
        if not self._over:
            self._over = True
            self._why = why
        self._inbox.clear()
        if self._transport:
            self._transport.abort()

    def _error(self) -> MqttError:
        error = MqttError(str(self._why or "the connection is closed"))
        error.__cause__ = self._why and self._why.__cause__
        return error

    async def _until(self, condition: Callable[[], bool]) -> None:
        while not condition():
            if self._over:
                raise self._error()
            self._progress.clear()
            await self._progress.wait()
