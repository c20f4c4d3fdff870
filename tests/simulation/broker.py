"""A broker with what MQTT 3.1.1 promises for QoS 1, and no more.

It keeps persistent sessions, delivers again on reconnection what was not acknowledged, keeps retained messages, sends
wills, and cuts off whoever's client id is used again. It may crash, with or without its memory; and whatever stands
between it and the tables may lose, double or hold back an event that it has already confirmed.
"""

import math
import struct
from collections import deque
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field

from tests.simulation.loop import VirtualLoop
from tests.simulation.network import Pipe
from tests.simulation.trace import Trace

CONNACK = b"\x20\x02\x00\x00"
PINGRESP = b"\xd0\x00"


@dataclass(slots=True)
class Sent:
    topic: str
    payload: bytes
    retain: bool


@dataclass(slots=True)
class Hello:
    """What a CONNECT says."""

    client_id: str
    clean: bool
    keepalive_s: int
    will: Sent | None


@dataclass(slots=True)
class Session:
    client_id: str
    clean: bool
    filters: dict[str, int] = field(default_factory=dict)
    queue: deque[Sent] = field(default_factory=deque)
    """Not delivered yet: the client is away."""
    unacknowledged: dict[int, Sent] = field(default_factory=dict)
    last_packet_id: int = 0
    peer: "Peer | None" = None


class Broker:
    def __init__(self, loop: VirtualLoop, trace: Trace) -> None:
        self.loop = loop
        self.trace = trace
        self.up = True
        self.sessions: dict[str, Session] = {}
        self.retained: dict[str, bytes] = {}
        self.peers: list[Peer] = []
        self.on_publish: Callable[[str, str, bytes], None] = lambda *_: None
        """Hears client id, topic and payload of all that clients publish."""
        self.on_deliver: Callable[[str, str, bytes], None] = lambda *_: None
        """The same of all that reaches a client."""
        self.fates: Callable[[str], list[float]] = lambda _: [0.0]
        """After how many seconds each copy of a message on this topic is passed on; none: it is lost."""
        self._receivers: dict[str, list[tuple[Session, int]]] = {}
        self._held_back: list[tuple[float, float, Sent]] = []
        """When it is passed on, when it came, and what it is."""
        self.longest_delay_s = 0.0

    def accept(self, pipe: Pipe) -> "Peer | None":
        return Peer(self, pipe) if self.up else None

    # Messages.

    def take(self, client_id: str, sent: Sent) -> None:
        self.trace.note(client_id, f"{sent.topic} {sent.payload!r}")
        self.on_publish(client_id, sent.topic, sent.payload)
        for delay_s in self.fates(sent.topic):
            if delay_s:
                self._held_back.append((self.loop.time() + delay_s, self.loop.time(), sent))
                self.loop.call_later(delay_s, self._let_go_until_now)
            else:
                self.pass_on(sent)

    def _let_go_until_now(self) -> None:
        self.let_go(self.loop.time())

    def let_go(self, until: float = math.inf) -> None:
        """Pass on what was held back until then."""
        due = [held for held in self._held_back if held[0] <= until]
        self._held_back = [held for held in self._held_back if held[0] > until]
        for _, came_at, sent in due:
            if self.up:
                self.longest_delay_s = max(self.longest_delay_s, self.loop.time() - came_at)
                self.trace.note("network", f"late: {sent.payload!r}")
                self.pass_on(sent)

    def pass_on(self, sent: Sent) -> None:
        if sent.retain:
            self.retained[sent.topic] = sent.payload
        for session, qos in self._who_hears(sent.topic):
            # MQTT 3.3.1.3: to those who are subscribed already it is a message like any other.
            self.deliver(session, Sent(sent.topic, sent.payload, retain=False), qos)

    def deliver(self, session: Session, sent: Sent, qos: int) -> None:
        if session.peer is None:
            if not session.clean and qos:
                session.queue.append(sent)
        elif qos == 0:
            session.peer.publish(0, sent)
        else:
            session.last_packet_id = session.last_packet_id % 65_535 + 1
            session.unacknowledged[session.last_packet_id] = sent
            session.peer.publish(session.last_packet_id, sent)

    def _who_hears(self, topic: str) -> list[tuple[Session, int]]:
        found = self._receivers.get(topic)
        if found is None:
            found = self._receivers[topic] = [
                (session, max(granted))
                for session in self.sessions.values()
                if (granted := [qos for wanted, qos in session.filters.items() if matches(wanted, topic)])
            ]
        return found

    # Sessions.

    def greet(self, peer: "Peer", hello: Hello) -> None:
        session = self.sessions.get(hello.client_id)
        if session is not None and session.peer is not None:
            self.trace.note("broker", f"{hello.client_id} is taken over")
            session.peer.end(with_will=True)
            session = self.sessions.get(hello.client_id)
        if session is None or hello.clean:
            session = self.sessions[hello.client_id] = Session(hello.client_id, hello.clean)
            self._receivers.clear()
        session.peer = peer
        peer.session = session
        self.peers.append(peer)
        self.trace.note("broker", f"{hello.client_id} is here")
        peer.pipe.send(CONNACK)
        for packet_id, sent in session.unacknowledged.items():
            peer.publish(packet_id, sent)
        waiting, session.queue = session.queue, deque()
        for sent in waiting:
            self.deliver(session, sent, 1)

    def subscribe(self, session: Session, filters: list[tuple[str, int]]) -> None:
        session.filters.update(filters)
        self._receivers.clear()
        for wanted, qos in filters:
            for topic, payload in self.retained.items():
                if matches(wanted, topic):
                    self.deliver(session, Sent(topic, payload, retain=True), qos)

    def gone(self, peer: "Peer", session: Session) -> None:
        if session.peer is peer:
            session.peer = None
            if session.clean:
                del self.sessions[session.client_id]
                self._receivers.clear()
        self.peers.remove(peer)

    # What happens to it.

    def crash(self, *, forgets: float, wiped: bool) -> None:
        """`forgets` of the messages that it holds for clients were not on its disk yet; wiped: nothing was."""
        self.trace.note("broker", f"crashes, forgets {forgets:.1f}, wiped {wiped}")
        self.up = False
        for peer in list(self.peers):
            peer.end(with_will=False)
        for session in self.sessions.values():
            held = [*session.unacknowledged.values(), *session.queue]
            session.unacknowledged.clear()
            session.queue = deque(held[: len(held) - int(len(held) * forgets)])
        if wiped:
            self.sessions.clear()
            self.retained.clear()
        self._receivers.clear()

    def start(self) -> None:
        self.trace.note("broker", "starts")
        self.up = True


class Peer:
    """The broker's end of one connection."""

    def __init__(self, broker: Broker, pipe: Pipe) -> None:
        self.broker = broker
        self.pipe = pipe
        self.session: Session | None = None
        self._will: Sent | None = None
        self._patience_s = 0.0
        self._heard = False
        self._over = False

    def received(self, data: bytes) -> None:
        self._heard = True
        for first, body in split(data):
            if self._over:
                return
            self._take(first, body)

    def _take(self, first: int, body: bytes) -> None:
        kind = first & 0xF0
        if kind == 0x10:
            hello = read_connect(body)
            self._will = hello.will
            self._patience_s = 1.5 * hello.keepalive_s
            self.broker.loop.call_later(self._patience_s, self._listen)
            self.broker.greet(self, hello)
        elif self.session is None:
            raise ValueError(f"a client began with {first:#x}")
        elif kind == 0x30:
            end = 2 + int.from_bytes(body[:2], "big")
            sent = Sent(body[2:end].decode(), body[end + 2 :], retain=first & 1 == 1)
            self.broker.take(self.session.client_id, sent)
            self.pipe.send(b"\x40\x02" + body[end : end + 2])
        elif kind == 0x40:
            self.session.unacknowledged.pop(int.from_bytes(body, "big"), None)
        elif kind == 0x80:
            filters = list(read_filters(body))
            self.pipe.send(bytes((0x90, 2 + len(filters))) + body[:2] + bytes(qos for _, qos in filters))
            self.broker.subscribe(self.session, filters)
        elif kind == 0xC0:
            self.pipe.send(PINGRESP)
        elif kind == 0xE0:
            self.end(with_will=False)

    def publish(self, packet_id: int, sent: Sent) -> None:
        if self.session is not None:
            client_id = self.session.client_id
            packet = publish_packet(packet_id, sent)
            self.pipe.send(packet, lambda: self.broker.on_deliver(client_id, sent.topic, sent.payload))

    def lost(self) -> None:
        self.end(with_will=True)

    def end(self, *, with_will: bool) -> None:
        if self._over:
            return
        self._over = True
        self.pipe.close()
        if self.session is not None:
            self.broker.gone(self, self.session)
            if with_will and self._will is not None:
                self.broker.pass_on(self._will)

    def _listen(self) -> None:
        """MQTT 3.1.2.10: whoever is silent for one and a half keepalives is gone."""
        if self._over:
            return
        if self._heard:
            self._heard = False
            self.broker.loop.call_later(self._patience_s, self._listen)
        else:
            self.end(with_will=True)


# Packets as a broker writes and reads them; they always come whole.


def publish_packet(packet_id: int, sent: Sent) -> bytes:
    """Without a packet id it is QoS 0."""
    topic = sent.topic.encode()
    body = struct.pack(">H", len(topic)) + topic + (struct.pack(">H", packet_id) if packet_id else b"") + sent.payload
    length, left = bytearray(), len(body)
    while left > 127:
        length.append(left & 127 | 128)
        left >>= 7
    length.append(left)
    return bytes((0x30 | (2 if packet_id else 0) | sent.retain,)) + bytes(length) + body


def split(data: bytes) -> Iterator[tuple[int, bytes]]:
    start = 0
    while start < len(data):
        first, length, shift, place = data[start], 0, 0, start + 1
        while True:
            byte = data[place]
            length |= (byte & 127) << shift
            shift, place = shift + 7, place + 1
            if byte < 128:
                break
        start = place + length
        yield first, data[place:start]


def read_connect(body: bytes) -> Hello:
    flags, keepalive_s = struct.unpack_from(">BH", body, 7)
    fields, start = [], 10
    while start < len(body):
        end = start + 2 + int.from_bytes(body[start : start + 2], "big")
        fields.append(body[start + 2 : end])
        start = end
    will = Sent(fields[1].decode(), fields[2], retain=bool(flags & 0x20)) if flags & 0x04 else None
    return Hello(fields[0].decode(), bool(flags & 0x02), keepalive_s, will)


def read_filters(body: bytes) -> Iterator[tuple[str, int]]:
    start = 2
    while start < len(body):
        end = start + 2 + int.from_bytes(body[start : start + 2], "big")
        yield body[start + 2 : end].decode(), body[end]
        start = end + 1


def matches(wanted: str, topic: str) -> bool:
    parts, given = wanted.split("/"), topic.split("/")
    return len(parts) == len(given) and all(part in ("+", level) for part, level in zip(parts, given, strict=True))
