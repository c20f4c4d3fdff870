"""MQTT 3.1.1 packets to bytes and back: those that a client with QoS 1 sends, and those that it gets. Pure.

Paragraphs cited as MQTT are those of the OASIS standard, version 3.1.1.
"""

import struct
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Final

PACKET_BYTES_MAX: Final = 256 * 1024  # kept of one packet: sixteen times the largest event of the contract
PINGREQ: Final = b"\xc0\x00"
DISCONNECT: Final = b"\xe0\x00"
CONNECT_REFUSED: Final = {  # MQTT 3.2.2.3
    1: "it does not speak MQTT 3.1.1",
    2: "it does not allow this client id",
    3: "it is not available",
    4: "bad user name or password",
    5: "not authorized",
}


class MqttError(Exception):
    """The broker is out of reach, refuses us, is lost, or does not speak MQTT. The cause is chained."""


@dataclass(frozen=True, slots=True)
class Will:
    """What the broker publishes for us, with QoS 1, if the connection ends without a DISCONNECT."""

    topic: str
    payload: bytes
    retain: bool = True


@dataclass(slots=True)
class Publish:
    topic: str
    payload: bytes
    retain: bool
    packet_id: int  # 0: QoS 0, nothing to acknowledge


@dataclass(slots=True)
class PubAck:
    packet_id: int


@dataclass(slots=True)
class ConnAck:
    code: int


@dataclass(slots=True)
class SubAck:
    codes: bytes


Packet = Publish | PubAck | ConnAck | SubAck  # what a client gets; PINGRESP says nothing but that bytes come


def connect(
    client_id: str,
    *,
    clean_session: bool,
    keepalive_s: int,
    will: Will | None = None,
    username: str | None = None,
    password: str | None = None,
) -> bytes:
    if not 0 < keepalive_s < 65_536:
        raise ValueError(f"a keepalive of {keepalive_s} s: 1 to 65,535 are possible")
    flags = clean_session << 1
    fields = [_text(client_id)]
    if will is not None:
        flags |= 0x0C | will.retain << 5  # a will, of QoS 1
        fields += _topic(will.topic), _binary(will.payload)
    if username is not None:
        flags |= 0x80
        fields.append(_text(username))
        if password is not None:  # MQTT 3.1.2.9: no password without a user name
            flags |= 0x40
            fields.append(_binary(password.encode()))
    body = struct.pack(">H4sBBH", 4, b"MQTT", 4, flags, keepalive_s) + b"".join(fields)
    return b"\x10" + _remaining_length(len(body)) + body


def subscribe(packet_id: int, subscriptions: Sequence[tuple[str, int]]) -> bytes:
    filters = b"".join(_text(topic_filter) + bytes((qos,)) for topic_filter, qos in subscriptions)
    return b"\x82" + _remaining_length(2 + len(filters)) + packet_id.to_bytes(2, "big") + filters


def publish(topic: str, payload: bytes, packet_id: int, retain: bool = False) -> bytes:
    name = _topic(topic)
    length = _remaining_length(len(name) + 2 + len(payload))
    return b"".join((b"\x33" if retain else b"\x32", length, name, packet_id.to_bytes(2, "big"), payload))


def puback(packet_id: int) -> bytes:
    return b"\x40\x02" + packet_id.to_bytes(2, "big")


class Reader:
    """Cuts a stream of bytes, however it was split on its way, into packets.

    A PUBLISH of more than PACKET_BYTES_MAX is cut there: its payload lacks its end. To give up the connection instead
    would let one large message stop a link for good, for the broker sends it again on the next connection.
    """

    def __init__(self) -> None:
        self._rest = bytearray()  # the start of a packet
        self._wanted = 0  # bytes that `_rest` needs before it is worth another look
        self._skip = 0  # bytes still to come of a PUBLISH that was cut

    def feed(self, data: bytes) -> list[Packet]:
        """The packets that `data` completes. Raises MqttError for what cannot be MQTT."""
        if self._skip:
            data, self._skip = data[self._skip :], max(0, self._skip - len(data))
        if self._rest:
            self._rest += data
            if len(self._rest) < self._wanted:
                return []
            data = bytes(self._rest)
            self._rest.clear()
        packets: list[Packet] = []
        start, end = 0, len(data)
        while start < end:
            body, length = start + 2, data[start + 1] if start + 1 < end else -1
            if length > 127:
                body, length = _long_length(data, start)
            if length < 0:  # the length itself is not all there
                self._wanted = end - start + 1
                break
            first, stop, skip = data[start], body + length, 0
            if length > PACKET_BYTES_MAX:
                if first & 0xF0 != 0x30:
                    raise MqttError(f"the broker sent a control packet of {length} bytes")
                stop, skip = body + PACKET_BYTES_MAX, length - PACKET_BYTES_MAX
            if stop > end:
                self._wanted = stop - start
                break
            if first & 0xF0 == 0x30:
                packets.append(_publish(first, data, body, stop))
            elif first == 0x40 and length == 2:
                packets.append(PubAck(data[body] << 8 | data[body + 1]))
            elif first == 0x90 and length > 2:
                packets.append(SubAck(data[body + 2 : stop]))
            elif first == 0x20 and length == 2:
                packets.append(ConnAck(data[body + 1]))
            elif first != 0xD0 or length:  # PINGRESP
                raise MqttError(f"the broker sent what no client gets: {data[start:stop][:32].hex(' ')}")
            start = stop + skip
        self._rest += data[start:]
        self._skip += max(0, start - end)
        return packets


def _publish(first: int, data: bytes, body: int, stop: int) -> Publish:
    topic_end = body + 2 + int.from_bytes(data[body : body + 2], "big")
    payload, packet_id = topic_end, 0
    if first & 0x06:
        payload += 2
        packet_id = int.from_bytes(data[topic_end:payload], "big")
        if first & 0x04 or not packet_id:
            raise MqttError("the broker sent a PUBLISH of QoS 2, or without its packet id")
    if payload > stop or topic_end == body + 2:
        raise MqttError("the broker sent a PUBLISH without a topic, or one that is cut short")
    try:
        topic = str(data[body + 2 : topic_end], "utf-8")
    except UnicodeDecodeError as error:
        raise MqttError("the broker sent a topic that is not UTF-8") from error
    return Publish(topic, data[payload:stop], first & 1 == 1, packet_id)


def _long_length(data: bytes, start: int) -> tuple[int, int]:
    """Where the body of a packet begins and how long it is, or -1 if that is not all there (MQTT 2.2.3)."""
    length = 0
    for place, byte in enumerate(data[start + 1 : start + 5]):
        length |= (byte & 127) << (7 * place)
        if byte < 128:
            return start + place + 2, length
    if len(data) >= start + 5:
        raise MqttError("the broker sent a length of more than four bytes")
    return start, -1


def _remaining_length(length: int) -> bytes:
    if length > 268_435_455:
        raise ValueError(f"a packet of {length} bytes is more than MQTT allows")
    encoded = bytearray()
    while length > 127:
        encoded.append(length & 127 | 128)
        length >>= 7
    encoded.append(length)
    return bytes(encoded)


def _binary(value: bytes) -> bytes:
    if len(value) > 65_535:
        raise ValueError(f"{len(value)} bytes in an MQTT field, which holds 65,535")
    return len(value).to_bytes(2, "big") + value


def _text(value: str) -> bytes:
    if "\0" in value:
        raise ValueError(f"{value!r} holds a NUL, which MQTT does not allow")  # MQTT 1.5.3
    return _binary(value.encode())


@lru_cache(maxsize=4096)
def _topic(topic: str) -> bytes:
    """Remembered: a floor has a few topics for each table, and publishes on them all day."""
    if not topic or "+" in topic or "#" in topic:
        raise ValueError(f"{topic!r} is no topic to publish to")  # MQTT 4.7
    return _text(topic)
