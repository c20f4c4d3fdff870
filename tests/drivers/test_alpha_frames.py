"""Alpha packets against byte sequences published elsewhere, and against another implementation."""

import pytest
from alphasign.command.write_text import WriteText as OtherWriteText  # type: ignore[import-untyped]  # ships no types
from alphasign.packet import Packet as OtherPacket  # type: ignore[import-untyped]  # likewise
from hypothesis import given
from hypothesis import strategies as st

from drivers.alpha_frames import (
    AllocateMemory,
    BadFrameError,
    ClearMemory,
    Command,
    File,
    Packet,
    ReadString,
    ReadText,
    ReleasePriority,
    WriteString,
    WriteText,
    checksum,
)

HEAD = b"\x00\x00\x00\x00\x00\x01Z01\x02"


@pytest.mark.parametrize(("command", "published"), [(b"AAHELLO", b"01FB"), (b"GaREAD ME", b"027B")])
def test_published_checksums(command: bytes, published: bytes) -> None:
    assert checksum(command) == published


@pytest.mark.parametrize(
    ("command", "published"),
    [
        (ClearMemory(), b"E$\x03006E\x04"),
        (AllocateMemory((File.text("A", 0x40), File.string("a", 0x10))), b"E$AAU0040FFFFaBL00100000\x030591\x04"),
        (WriteString("a", "$12,345.67"), b"Ga$12,345.67\x030297\x04"),
        (ReleasePriority(), b"A0\x030076\x04"),
        (WriteText("A", None, "HELLO"), b"AAHELLO\x0301FB\x04"),
    ],
)
def test_published_frames_for_board_01(command: Command, published: bytes) -> None:
    assert Packet(command, "01").to_bytes() == HEAD + published
    assert Packet.from_bytes(HEAD + published) == Packet(command, "01")


@given(st.text(st.characters(min_codepoint=0x20, max_codepoint=0x7E), max_size=60), st.sampled_from("AB0"))
def test_another_implementation_makes_the_same_packet(text: str, label: str) -> None:
    other = OtherPacket(address="01")
    command = OtherWriteText(text, label=label, position=" ", mode="b")
    command.checksum = True
    other.add_command(command)
    # It sends a literal FFh after STX, which it does not count either.
    theirs = other.to_bytes().replace(b"\x02\xff", b"\x02")
    assert Packet(WriteText(label, "b", text), "01").to_bytes() == theirs


TEXTS = st.text(st.characters(min_codepoint=0x20, max_codepoint=0x7E), max_size=40)
LABELS = st.sampled_from("ABab1")
COMMANDS = st.one_of(
    st.builds(WriteString, LABELS, TEXTS),
    st.builds(ReadString, LABELS),
    st.builds(ReadText, LABELS),
    st.builds(WriteText, LABELS, st.sampled_from(["a", "b", "c", None]), TEXTS),
    st.builds(AllocateMemory, st.lists(st.builds(File.string, LABELS, st.integers(0, 0xFFFF)), min_size=1).map(tuple)),
)


@given(COMMANDS, st.sampled_from(["00", "01", "FF", "0?"]))
def test_every_packet_is_read_back(command: Command, address: str) -> None:
    packet = Packet(command, address)
    assert Packet.from_bytes(b"noise" + packet.to_bytes()) == packet


@given(COMMANDS, st.data())
def test_a_changed_byte_is_noticed(command: Command, data: st.DataObject) -> None:
    frame = Packet(command, "01").to_bytes()
    at = data.draw(st.integers(frame.index(b"\x02"), len(frame) - 1))
    other = data.draw(st.integers(0, 127).filter(lambda byte: byte != frame[at]))
    with pytest.raises(BadFrameError):
        Packet.from_bytes(frame[:at] + bytes([other]) + frame[at + 1 :])


@given(st.binary(max_size=80))
def test_noise_is_no_packet(noise: bytes) -> None:
    with pytest.raises(BadFrameError):
        Packet.from_bytes(noise.replace(b"\x04", b""))
