"""ED400 and ICP DAS frames against the examples in their manuals."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from drivers import ed400, icpdas


def test_the_ed400_manual_sets_display_01_to_1234_with_eight_characters() -> None:
    published = b"\x02011234\x03"
    assert len(published) == 8
    assert ed400.Frame("01", "1234").to_bytes() == published
    assert ed400.Frame.from_bytes(published) == ed400.Frame("01", "1234")


@pytest.mark.parametrize("data", ["-----", "  12.50", "0.01", "479999.00"])
def test_an_ed400_takes_digits_spaces_minus_signs_and_one_point(data: str) -> None:
    assert ed400.Frame.from_bytes(ed400.Frame("42", data).to_bytes()).data == data


@pytest.mark.parametrize(
    "frame", [b"\x0201A\x03", b"\x02011.2.3\x03", b"01123\x03", b"\x0201123", b"\x02X1123\x03", b""]
)
def test_what_an_ed400_does_not_take(frame: bytes) -> None:
    with pytest.raises(ed400.BadFrameError):
        ed400.Frame.from_bytes(frame)


def test_published_dcon_checksums() -> None:
    assert icpdas.Command("01", "2").to_bytes() == b"$012B7\r"
    assert icpdas.Accepted("01", "200600").to_bytes() == b"!01200600AA\r"
    assert icpdas.Command.from_bytes(b"$012B7\r") == icpdas.Command("01", "2")
    assert icpdas.Accepted.from_bytes(b"!01200600AA\r") == icpdas.Accepted("01", "200600")


@pytest.mark.parametrize(
    ("published", "address", "data"),
    [
        (b"$01999999.", "01", "99999."),
        (b"$0290.0000", "02", "0.0000"),
        (b"$03912.345", "03", "12.345"),
        (b"$0282", "02", None),
    ],
)
def test_the_i_7080d_manual_s_commands(published: bytes, address: str, data: str | None) -> None:
    text = icpdas.HOST_CONTROL if data is None else icpdas.SHOW + data
    frame = icpdas.Command(address, text).to_bytes()
    assert frame[:-3] == published
    assert frame[-1:] == b"\r"


def test_an_answer_is_read_behind_noise() -> None:
    assert icpdas.answer_from_bytes(b"\x00?!9" + icpdas.Accepted("01").to_bytes()) == icpdas.Accepted("01")
    assert icpdas.answer_from_bytes(b"!!" + icpdas.Invalid("0A").to_bytes()) == icpdas.Invalid("0A")


@given(st.data())
def test_a_changed_byte_of_an_icp_das_frame_is_noticed(data: st.DataObject) -> None:
    frame = icpdas.Command("01", "9479999.").to_bytes()
    at = data.draw(st.integers(0, len(frame) - 1))
    other = data.draw(st.integers(0, 127).filter(lambda byte: byte != frame[at]))
    with pytest.raises(icpdas.BadFrameError):
        icpdas.Command.from_bytes(frame[:at] + bytes([other]) + frame[at + 1 :])
