"""The emulated boards have the quirks of real ones, so that a driver that works here works there."""

from pathlib import Path

import pytest
from PIL import Image

from drivers import alpha_frames as alpha
from drivers import icpdas
from drivers.emulator import BoardState, emulate, render, save_png
from drivers.emulator.boards import AlphaSign

LAYOUT = (
    alpha.ClearMemory(),
    alpha.AllocateMemory((alpha.File.text("A", 0x40), alpha.File.string("a", 0x10))),
    alpha.WriteText("A", alpha.HOLD, alpha.CALL_STRING + "a"),
)


class Shown:
    """Packets to an Alpha sign, one second apart unless said otherwise."""

    def __init__(self, sign: AlphaSign) -> None:
        self.sign = sign
        self.now = 100.0

    def __call__(self, *commands: alpha.Command, address: str = "01", after: float = 1.0) -> str:
        for command in commands:
            self.now += after
            self.sign.feed(alpha.Packet(command, address).to_bytes(), self.now)
        return self.sign.state().text


@pytest.fixture
def tell() -> Shown:
    return Shown(AlphaSign("01", 16))


def test_nothing_shows_before_a_bare_e_dollar(tell: Shown) -> None:
    assert tell(*LAYOUT[1:], alpha.WriteString("a", "$1.00")) == ""
    assert tell(*LAYOUT, alpha.WriteString("a", "$1.00")) == "$1.00"


def test_a_string_longer_than_its_space_is_emptied(tell: Shown) -> None:
    assert tell(*LAYOUT, alpha.WriteString("a", "$1.00")) == "$1.00"
    assert tell(alpha.WriteString("a", "x" * 17)) == ""


def test_writes_closer_than_a_quarter_second_are_lost(tell: Shown) -> None:
    tell(*LAYOUT, alpha.WriteString("a", "$1.00"))
    assert tell(alpha.WriteString("a", "$2.00"), after=0.2) == "$1.00"
    assert tell(alpha.WriteString("a", "$3.00"), after=0.3) == "$3.00"


def test_a_wrong_checksum_is_dropped_without_a_word(tell: Shown) -> None:
    tell(*LAYOUT, alpha.WriteString("a", "$1.00"))
    frame = alpha.Packet(alpha.WriteString("a", "$2.00"), "01").to_bytes()
    assert tell.sign.feed(frame.replace(b"$2", b"$9"), tell.now + 5) == b""
    assert tell.sign.state().text == "$1.00"


@pytest.mark.parametrize(("address", "heard"), [("01", True), ("00", True), ("0?", True), ("02", False), ("?2", False)])
def test_addresses(tell: Shown, address: str, heard: bool) -> None:
    tell(*LAYOUT)
    assert tell(alpha.WriteString("a", "$1.00"), address=address) == ("$1.00" if heard else "")


def test_the_priority_text_covers_the_meter_and_a_bare_a0_releases_it(tell: Shown) -> None:
    tell(*LAYOUT, alpha.WriteString("a", "$1.00"))
    assert tell(alpha.WriteText(alpha.PRIORITY, alpha.ROTATE, "\x1c1WIN")) == "WIN"
    assert (tell.sign.state().colour, tell.sign.state().motion) == ("red", "rotate")
    assert tell(alpha.WriteString("a", "$2.00")) == "WIN"
    assert tell(alpha.ReleasePriority()) == "$2.00"


def test_memory_is_lost_with_power(tell: Shown) -> None:
    tell(*LAYOUT, alpha.WriteString("a", "$1.00"))
    tell.sign.power_cycle()
    assert tell(alpha.WriteString("a", "$2.00")) == ""


def test_a_sign_tells_its_string_when_asked(tell: Shown) -> None:
    tell(*LAYOUT, alpha.WriteString("a", "$1.00"))
    answer = tell.sign.feed(alpha.Packet(alpha.ReadString("a"), "01").to_bytes(), tell.now)
    assert answer.startswith(b"\x00" * 20 + b"\x01000\x02Ga$1.00\x03")


def test_an_icp_das_meter_shows_its_counter_until_the_host_takes_its_digits() -> None:
    meter = emulate("icpdas", "01", 5)
    show, take = icpdas.Command("01", "9123.45").to_bytes(), icpdas.Command("01", "82").to_bytes()
    assert meter.feed(show, 0) == icpdas.Invalid("01").to_bytes()
    assert meter.feed(take, 0) == icpdas.Accepted("01").to_bytes()
    assert meter.feed(show, 0) == icpdas.Accepted("01").to_bytes()
    assert meter.state().text == "123.45"
    assert meter.feed(icpdas.Command("01", "9-----.").to_bytes(), 0) == icpdas.Invalid("01").to_bytes()
    assert meter.feed(icpdas.Command("02", "9543.21").to_bytes(), 0) == b""
    assert meter.state().text == "123.45"


def test_an_ed400_has_no_checksum_and_shows_what_it_gets() -> None:
    meter = emulate("ed400", "01", 6)
    assert meter.feed(b"\x02011234\x03", 0) == b""
    assert meter.state().text == "1234"
    assert meter.feed(b"\x0201----\x03\x02025\x03", 0) == b""
    assert meter.state().text == "----"


def test_a_board_is_drawn_lamp_by_lamp() -> None:
    lines = render(BoardState("1", 2), columns=80).plain.splitlines()
    assert [line[1:-1].replace("·", ".").replace("●", "#") for line in lines[1:-1]] == [
        ".....#......",
        "....##......",
        ".....#......",
        ".....#......",
        ".....#......",
        ".....#......",
        "....###.....",
    ]


def test_a_narrow_screen_loses_no_lit_lamp() -> None:
    wide, narrow = BoardState("$479,999.00", 16), 60
    assert max(map(len, render(wide, 80).plain.splitlines())) <= 80
    assert max(map(len, render(wide, narrow).plain.splitlines())) <= narrow
    assert "●" in render(wide, 80).plain
    assert "●" not in render(wide, narrow).plain, "too narrow for lamps: braille"


def test_rotating_text_passes_and_flashing_text_goes_dark() -> None:
    passing = BoardState("A LONG WAY TO GO", 4, motion="rotate")
    assert len({passing.lamps(now / 10) for now in range(20)}) > 10
    flashing = BoardState("WIN", 4, motion="flash")
    assert any(map(any, flashing.lamps(0.0)))
    assert not any(map(any, flashing.lamps(0.3)))


def _bright_pixels(image: Image.Image) -> int:
    return sum(image.convert("L").histogram()[100:])


@pytest.mark.parametrize(
    "state",
    [
        BoardState("$479,999.00", 16),
        BoardState("479999.00", 10, "digits", "red"),
        BoardState("UTH-01 STRAIGHT FLUSH $48,000.00", 16, motion="rotate"),
        BoardState("WIN $48,000.00", 16, motion="flash"),
    ],
)
def test_the_picture_glows_where_lamps_are_lit(state: BoardState, tmp_path: Path) -> None:
    lit, dark = tmp_path / "lit.png", tmp_path / "dark.png"
    save_png(state, lit)
    save_png(BoardState("", state.width, state.kind, state.colour), dark)
    with Image.open(lit) as one, Image.open(dark) as other:
        assert one.size == other.size
        assert _bright_pixels(one) > 1000
        assert _bright_pixels(other) == 0
