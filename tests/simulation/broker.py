"""A broker with what MQTT 3.1.1 promises for QoS 1, and no more.

It keeps persistent sessions, delivers again on reconnection what was not acknowledged (as NATS does, in some worlds also
after a while), has so many on their way to a client and no more, keeps retained messages, sends wills, and cuts off whoever's
client id is used again. It may crash, with or without its memory; and whatever stands between it and the tables may lose,
double or hold back an event that it has already confirmed.
"""

import math
from collections import deque
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from tests.simulation.loop import VirtualLoop
from tests.simulation.network import Pipe
from tests.simulation.packets import Hello, Sent, matches, publish_packet, read_connect, read_filters, take_packets
from tests.simulation.trace import Trace

if TYPE_CHECKING:
    from collections.abc import Callable

IN_FLIGHT_MAX = 100
CONNACK = b"\x20\x02\x00\x00"
PINGRESP = b"\xd0\x00"


@dataclass(slots=True)
class Session:
    client_id: str
    clean: bool
    filters: dict[str, int] = field(default_factory=dict)
    queue: deque[Sent] = field(default_factory=deque)
    """Not delivered yet: the client is away, or has not acknowledged enough of what came before."""
    unacknowledged: dict[int, tuple[Sent, float]] = field(default_factory=dict)
    """By packet id: what it is, and when it was sent last."""
    last_packet_id: int = 0
    peer: "Peer | None" = None


class Broker:
    def __init__(self, loop: VirtualLoop, trace: Trace, ack_wait_s: float | None = None) -> None:
        """After `ack_wait_s` it sends again what was not acknowledged, on the same connection too."""
        self.loop = loop
        self.trace = trace
        self.ack_wait_s = ack_wait_s
        self.up = True
        self.sessions: dict[str, Session] = {}
        self.retained: dict[str, bytes] = {}
        self.peers: list[Peer] = []
        self.on_publish: Callable[[str, str, bytes], None] = lambda *_: None
        """Hears client id, topic and payload of all that clients publish."""
        self.on_deliver: Callable[[str, str, bytes, bool], None] = lambda *_: None
        """The same of all that reaches a client, and whether it was kept."""
        self.on_greet: Callable[[str], None] = lambda _: None
        """Hears who has connected."""
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
        if qos == 0:
            if session.peer is not None:
                session.peer.publish(0, sent)
        elif session.peer is not None or not session.clean:
            session.queue.append(sent)
            self.pump(session)

    def pump(self, session: Session) -> None:
        """As much of what waits as may be on its way."""
        while session.peer is not None and session.queue and len(session.unacknowledged) < IN_FLIGHT_MAX:
            sent = session.queue.popleft()
            session.last_packet_id = session.last_packet_id % 65_535 + 1
            session.unacknowledged[session.last_packet_id] = (sent, self.loop.time())
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
        self.on_greet(hello.client_id)
        peer.pipe.send(CONNACK)
        self.send_again(session, older_than_s=0.0)
        self.pump(session)
        if self.ack_wait_s is not None:
            self.loop.call_later(self.ack_wait_s, self._look_after, peer, session)

    def send_again(self, session: Session, older_than_s: float) -> None:
        """In the order in which they were sent first."""
        now = self.loop.time()
        for packet_id, (sent, sent_at) in session.unacknowledged.items():
            if session.peer is not None and now - sent_at >= older_than_s:
                session.unacknowledged[packet_id] = (sent, now)
                session.peer.publish(packet_id, sent)

    def _look_after(self, peer: "Peer", session: Session) -> None:
        if session.peer is peer and self.ack_wait_s is not None:
            self.send_again(session, older_than_s=self.ack_wait_s)
            self.loop.call_later(self.ack_wait_s, self._look_after, peer, session)

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
            held = [*(sent for sent, _ in session.unacknowledged.values()), *session.queue]
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
        self._read = bytearray()

    def received(self, data: bytes) -> None:
        self._heard = True
        self._read += data
        for first, body in take_packets(self._read):
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
            self.broker.pump(self.session)
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
            self.pipe.send(packet, lambda: self.broker.on_deliver(client_id, sent.topic, sent.payload, sent.retain))

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
