"""MQTT 3.1.1 as a broker writes and reads it."""

import struct
from collections.abc import Iterator
from dataclasses import dataclass


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


def take_packets(data: bytearray) -> list[tuple[int, bytes]]:
    """First byte and body of those that are there whole, taken off the front."""
    found, start = [], 0
    while (size := _size(data, start)) is not None:
        header, length = size
        place = start + header
        found.append((data[start], bytes(data[place : place + length])))
        start = place + length
    del data[:start]
    return found


def _size(data: bytearray, start: int) -> tuple[int, int] | None:
    """Of the packet that begins here: how long its header is, and its body; None if it is not all there."""
    length = 0
    for nth, byte in enumerate(data[start + 1 : start + 5]):
        length |= (byte & 127) << 7 * nth
        if byte < 128:
            header = 2 + nth
            return (header, length) if start + header + length <= len(data) else None
    return None


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
