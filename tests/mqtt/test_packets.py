"""Packets byte by byte, with the examples and tables of the MQTT 3.1.1 standard."""

import socket
import threading
from itertools import pairwise

import paho.mqtt.client as paho
import pytest
from hypothesis import given
from hypothesis import strategies as st
from paho.mqtt.enums import CallbackAPIVersion

from jackpot.mqtt import packets
from jackpot.mqtt.packets import PACKET_BYTES_MAX, ConnAck, MqttError, Packet, PubAck, Publish, Reader, SubAck, Will


def hexed(text: str) -> bytes:
    return bytes.fromhex(text)


# Sending


@pytest.mark.parametrize(
    ("length", "encoded"),
    [
        (0, "00"),
        (127, "7F"),
        (128, "80 01"),
        (321, "C1 02"),
        (16_383, "FF 7F"),
        (16_384, "80 80 01"),
        (2_097_151, "FF FF 7F"),
        (2_097_152, "80 80 80 01"),
        (268_435_455, "FF FF FF 7F"),
    ],
)
def test_2_2_3_remaining_length(length: int, encoded: str) -> None:
    assert packets._remaining_length(length) == hexed(encoded)


def test_2_2_3_a_longer_packet_cannot_be_sent() -> None:
    with pytest.raises(ValueError, match="more than MQTT allows"):
        packets._remaining_length(268_435_456)


def test_1_5_3_text_is_utf_8_with_its_length() -> None:
    assert packets._text("A\U0002a6d4") == hexed("00 05 41 F0 AA 9B 94")


def test_1_5_3_a_byte_order_mark_is_text_like_any_other() -> None:
    assert packets._text("\ufeff") == hexed("00 03 EF BB BF")


def test_3_1_2_connect_with_everything() -> None:
    """Figure 3.6 of the standard, followed by the five fields of 3.1.3 in their order."""
    sent = packets.connect(
        "c", clean_session=True, keepalive_s=10, will=Will("w", b"gone", retain=False), username="u", password="p"
    )
    header = "10 1C 00 04 4D 51 54 54 04 CE 00 0A"
    fields = "00 01 63  00 01 77  00 04 67 6F 6E 65  00 01 75  00 01 70"
    assert sent == hexed(header) + hexed(fields)


def test_3_1_2_connect_with_nothing() -> None:
    assert packets.connect("c", clean_session=False, keepalive_s=60) == hexed(
        "10 0D 00 04 4D 51 54 54 04 00 00 3C 00 01 63"
    )


def test_3_1_2_7_a_will_is_kept_unless_told_otherwise() -> None:
    flags = packets.connect("c", clean_session=True, keepalive_s=10, will=Will("w", b""))[9]
    assert flags == 0b0010_1110


def test_3_1_2_9_no_password_without_a_user_name() -> None:
    without = packets.connect("c", clean_session=True, keepalive_s=10)
    assert packets.connect("c", clean_session=True, keepalive_s=10, password="p") == without


@pytest.mark.parametrize("keepalive_s", [-1, 0, 65_536])
def test_3_1_2_10_keepalive_out_of_range(keepalive_s: int) -> None:
    with pytest.raises(ValueError, match="keepalive"):
        packets.connect("c", clean_session=True, keepalive_s=keepalive_s)


def test_3_3_publish_with_qos_1() -> None:
    assert packets.publish("a/b", b"hello", 10) == hexed("32 0C 00 03 61 2F 62 00 0A") + b"hello"


def test_3_3_1_3_publish_to_be_kept() -> None:
    assert packets.publish("a/b", b"", 10, retain=True) == hexed("33 07 00 03 61 2F 62 00 0A")


def test_3_4_puback() -> None:
    assert packets.puback(0xABCD) == hexed("40 02 AB CD")


def test_3_8_subscribe() -> None:
    assert packets.subscribe(10, [("a/b", 1), ("c/d", 2)]) == hexed("82 0E 00 0A 00 03 61 2F 62 01 00 03 63 2F 64 02")


def test_3_12_and_3_14_pingreq_and_disconnect() -> None:
    assert hexed("C0 00") == packets.PINGREQ
    assert hexed("E0 00") == packets.DISCONNECT


@pytest.mark.parametrize("topic", ["", "a/+/b", "a/#", "a\0b", "\ud800", "x" * 65_536])
def test_4_7_what_is_no_topic_is_not_published_to(topic: str) -> None:
    with pytest.raises(ValueError):
        packets.publish(topic, b"", 1)


def what_paho_sends(client: paho.Client) -> bytes:
    """The first packet of a paho client, its keepalive being 10 s."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        connecting = threading.Thread(target=client.connect, args=("127.0.0.1", server.getsockname()[1], 10))
        connecting.start()
        connection, _ = server.accept()
        with connection:
            sent = connection.recv(1000)
        connecting.join()
    return sent


def test_connect_is_what_paho_sends() -> None:
    client = paho.Client(CallbackAPIVersion.VERSION2, client_id="table", protocol=paho.MQTTv311, clean_session=False)
    client.username_pw_set("dealer", "pässword")
    client.will_set("megalink/status", b"lost", qos=1, retain=True)
    assert what_paho_sends(client) == packets.connect(
        "table",
        clean_session=False,
        keepalive_s=10,
        will=Will("megalink/status", b"lost"),
        username="dealer",
        password="pässword",
    )


# Receiving


@pytest.mark.parametrize(
    ("sent", "packet"),
    [
        ("20 02 00 00", ConnAck(0)),
        ("20 02 01 00", ConnAck(0)),
        ("20 02 00 05", ConnAck(5)),
        ("90 05 00 0A 00 01 80", SubAck(b"\x00\x01\x80")),
        ("40 02 AB CD", PubAck(0xABCD)),
        ("30 05 00 03 61 2F 62", Publish("a/b", b"", retain=False, packet_id=0)),
        ("31 06 00 03 61 2F 62 FF", Publish("a/b", b"\xff", retain=True, packet_id=0)),
        ("32 08 00 03 61 2F 62 00 0A 00", Publish("a/b", b"\x00", retain=False, packet_id=10)),
        ("3B 07 00 03 61 2F 62 00 0A", Publish("a/b", b"", retain=True, packet_id=10)),
    ],
)
def test_what_a_client_gets(sent: str, packet: Packet) -> None:
    assert Reader().feed(hexed(sent)) == [packet]


def test_3_13_pingresp_is_read_over() -> None:
    assert Reader().feed(hexed("D0 00 40 02 00 01 D0 00")) == [PubAck(1)]


@pytest.mark.parametrize(
    ("sent", "complaint"),
    [
        ("00 00", "what no client gets: 00 00"),
        ("10 00", "what no client gets"),
        ("50 02 00 01", "what no client gets"),
        ("F0 00", "what no client gets"),
        ("41 02 00 01", "what no client gets"),
        ("40 03 00 01 00", "what no client gets"),
        ("90 02 00 01", "what no client gets"),
        ("D0 01 00", "what no client gets"),
        ("20 00", "what no client gets"),
        ("40 FF FF FF FF 01", "length of more than four bytes"),
        ("40 80 80 20", "control packet of 524288 bytes"),
        ("30 00", "without a topic"),
        ("30 02 00 00", "without a topic"),
        ("30 03 00 03 61", "cut short"),
        ("32 05 00 03 61 2F 62 40 02 00 01", "cut short"),
        ("32 07 00 03 61 2F 62 00 00", "without its packet id"),
        ("34 07 00 03 61 2F 62 00 01", "QoS 2"),
        ("36 07 00 03 61 2F 62 00 01", "QoS 2"),
        ("30 04 00 02 C3 28", "not UTF-8"),
        ("30 05 00 03 ED A0 80", "not UTF-8"),
    ],
)
def test_what_no_broker_may_send(sent: str, complaint: str) -> None:
    with pytest.raises(MqttError, match=complaint):
        Reader().feed(hexed(sent))


def test_a_message_that_is_too_large_is_cut_and_what_follows_is_read() -> None:
    large = packets.publish("a/b", b"x" * (3 * PACKET_BYTES_MAX), 7)
    stream = large + packets.puback(8)
    reader = Reader()
    read = [packet for start in range(0, len(stream), 50_000) for packet in reader.feed(stream[start : start + 50_000])]
    assert read == Reader().feed(stream)
    first, second = read
    assert isinstance(first, Publish)
    assert (first.topic, first.packet_id, len(first.payload)) == ("a/b", 7, PACKET_BYTES_MAX - 7)
    assert second == PubAck(8)


def test_the_largest_message_is_not_cut() -> None:
    payload = b"x" * (PACKET_BYTES_MAX - 7)
    assert Reader().feed(packets.publish("a/b", payload, 7)) == [Publish("a/b", payload, retain=False, packet_id=7)]


topics = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0+#"), min_size=1, max_size=200)
publishes = st.builds(Publish, topics, st.binary(max_size=20_000), st.booleans(), st.integers(1, 65_535))
pubacks = st.builds(PubAck, st.integers(0, 65_535))


def to_bytes(packet: Publish | PubAck) -> bytes:
    if isinstance(packet, PubAck):
        return packets.puback(packet.packet_id)
    return packets.publish(packet.topic, packet.payload, packet.packet_id, packet.retain)


def pieces_of(stream: bytes, cuts: list[int]) -> list[bytes]:
    places = sorted({0, len(stream), *(cut % (len(stream) + 1) for cut in cuts)})
    return [stream[start:stop] for start, stop in pairwise(places)]


@given(st.lists(publishes | pubacks, max_size=20), st.lists(st.integers(0, 2**20)))
def test_packets_survive_any_split(sent: list[Publish | PubAck], cuts: list[int]) -> None:
    reader = Reader()
    pieces = pieces_of(b"".join(map(to_bytes, sent)), cuts)
    assert [packet for piece in pieces for packet in reader.feed(piece)] == sent


def read_all(pieces: list[bytes]) -> tuple[list[Packet], str]:
    reader = Reader()
    read: list[Packet] = []
    try:
        for piece in pieces:
            read += reader.feed(piece)
    except MqttError as error:
        return read, str(error)
    return read, ""


@given(
    st.binary(max_size=300)
    | st.lists(st.sampled_from([b"\x30\x03\x00\x01a", b"\x40\x02\x00\x01", b"\x00"])).map(b"".join)
)
def test_any_bytes_are_packets_or_an_error_however_they_come(stream: bytes) -> None:
    whole, complaint = read_all([stream])
    one_by_one, same_complaint = read_all([bytes((byte,)) for byte in stream])
    assert complaint == same_complaint
    assert complaint or whole == one_by_one
