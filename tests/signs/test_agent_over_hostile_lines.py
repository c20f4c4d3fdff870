"""End to end: agent, driver, a real pty, an emulated board, and everything that goes wrong between them."""

import asyncio
import os
from collections.abc import Callable
from contextlib import suppress
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from drivers import alpha_frames
from drivers.emulator import emulate
from drivers.emulator.boards import AlphaSign
from drivers.wiring import ProtocolName, Wiring
from jackpot.config import Sign
from jackpot.errors import UserError
from jackpot.signs import BoardAgent, SignBoard
from jackpot.signs.configured import sign_board
from tests.signs.conftest import Hall, Record, eventually
from tests.waiting import patience_s

PROTOCOLS: tuple[ProtocolName, ...] = ("alpha", "ed400", "icpdas")
LINES: dict[str, dict[str, Any]] = {
    "plain": {},
    "one byte at a time": {"byte_by_byte": True},
    "random loss": {"drop": 0.002},
    "delays": {"slow_seconds": 0.08},
}
FIGURES = {"alpha": "$479,999.00", "ed400": "479999.00", "icpdas": "0479999.00"}
AFTER_WIN = {"alpha": "$432,000.00", "ed400": "432000.00", "icpdas": "0432000.00"}
DASHES = {"alpha": "--------", "ed400": "----------", "icpdas": "0.00000000"}


def all_show(hall: Hall, texts: dict[str, str]) -> Callable[[], bool]:
    """Every board whose name begins with a protocol shows that protocol's text."""
    return lambda: all(hall.shows(name, texts[name.split()[0]]) for name in hall.boards if name.split()[0] in texts)


async def test_every_board_shows_the_truth_over_every_line(hall: Hall) -> None:
    for line, faults in LINES.items():
        for protocol in PROTOCOLS:
            await hall.add(f"{protocol} over {line}", protocol, **faults)
    async with hall.open():
        hall.running(47_990_000)
        hall.meter(47_999_900)
        await eventually(all_show(hall, FIGURES))
        await eventually(
            lambda: all(board["acknowledged_at"] or "ed400" in board["id"] for board in hall.agent.snapshot())
        )

        hall.award(4_800_000)
        hall.meter(43_200_000)
        await eventually(all_show(hall, {"alpha": "UTH-01 STRAIGHT FLUSH $48,000.00"}))
        await eventually(all_show(hall, AFTER_WIN))

        hall.meter(43_200_000, [{"table": "BE-02", "round": "r", "rank": "royal_flush", "base_cents": 43_200_000}])
        await eventually(all_show(hall, {**AFTER_WIN, "alpha": "HELD $432,000.00"}))

        hall.agent.status("megalink", {"state": "lost"})
        await eventually(all_show(hall, DASHES))

    told_cents = [entry.cents for entry in hall.record.entries if entry.cents is not None]
    assert max(told_cents) == 47_999_900, "never beyond the committed amount"


async def test_boards_are_told_one_after_another_not_all_in_one_moment(hall: Hall) -> None:
    for number in range(5):
        await hall.add(f"ed400 {number}", "ed400")
    async with hall.open():
        behind = [keeper.behind_seconds for keeper in hall.agent.keepers()]
    assert behind == pytest.approx([0.0, 0.02, 0.04, 0.06, 0.08])


async def test_an_unplugged_board_comes_back_with_its_layout(hall: Hall) -> None:
    for protocol in PROTOCOLS:
        await hall.add(protocol, protocol)
    async with hall.open():
        hall.running(47_999_900)
        await eventually(all_show(hall, FIGURES))
        await eventually(lambda: all(board["connected"] for board in hall.agent.snapshot()))
        for name, port in hall.ports.items():
            port.unplug()
            hall.boards[name].power_cycle()
        await eventually(lambda: not any(board["connected"] for board in hall.agent.snapshot()))
        assert all(board["fault"] for board in hall.agent.snapshot())
        hall.meter(43_200_000)
        before, plugged_at = len(hall.record.entries), datetime.now(UTC)
        for port in hall.ports.values():
            port.replug()
        await eventually(all_show(hall, AFTER_WIN))
        await eventually(lambda: not any(board["fault"] for board in hall.agent.snapshot()))
    for name in hall.ports:
        since = [entry for entry in hall.record.entries[before:] if entry.board == name]
        for event in ("connected", "told"):
            at = next(entry.at for entry in since if entry.event == event)
            assert at - plugged_at < timedelta(seconds=patience_s(5.0)), (name, event)


async def test_a_board_that_lost_its_memory_alone_gets_its_layout_again(hall: Hall) -> None:
    await hall.add("alpha", "alpha")
    await hall.add("icpdas", "icpdas")
    async with hall.open():
        hall.running(47_999_900)
        await eventually(all_show(hall, FIGURES))
        hall.boards["alpha"].power_cycle()
        hall.boards["icpdas"].power_cycle()
        assert not hall.shows("alpha", FIGURES["alpha"])
        await eventually(all_show(hall, FIGURES))


async def fill(path: Path) -> None:
    """To the brim, as hours of figures that nothing reads would."""
    line = os.open(path, os.O_WRONLY | os.O_NOCTTY | os.O_NONBLOCK)
    for _ in range(5):
        with suppress(BlockingIOError):
            while True:
                os.write(line, b"\x00" * 64)
        await asyncio.sleep(0.05)  # meanwhile the system moves it on, and there is room again
    os.close(line)


async def test_a_stuck_board_changes_nothing_for_the_others_and_comes_back(hall: Hall) -> None:
    await hall.add("stuck", "alpha")
    await hall.add("other", "alpha")
    async with hall.open():
        hall.running(47_999_900)
        await eventually(lambda: hall.shows("stuck", FIGURES["alpha"]) and hall.shows("other", FIGURES["alpha"]))
        hall.ports["stuck"].stick()
        await fill(hall.ports["stuck"].path)
        for cents in range(48_000_000, 48_000_300, 100):
            hall.meter(cents)
            await eventually(lambda cents=cents: hall.snapshot("other")["shown_cents"] == cents)  # type: ignore[misc]  # mypy cannot infer a lambda's default
        await eventually(lambda: "takes no more bytes" in (hall.snapshot("stuck")["fault"] or ""))
        assert hall.shows("stuck", FIGURES["alpha"]), "it cannot be told any better"
        hall.ports["stuck"].unstick()
        await eventually(lambda: hall.shows("stuck", "$480,002.00") and hall.shows("other", "$480,002.00"))


async def test_noise_on_the_line_is_survived(hall: Hall) -> None:
    for protocol in PROTOCOLS:
        await hall.add(protocol, protocol)
    async with hall.open():
        hall.running(10_000_000)
        for cents in range(47_000_000, 47_999_901, 99_990):
            for port in hall.ports.values():
                port.noise(300)
            hall.meter(cents)
            await asyncio.sleep(0.1)
        await eventually(all_show(hall, FIGURES))


async def test_spoiled_bytes_never_make_a_summed_board_show_a_figure_it_was_not_told(hall: Hall) -> None:
    await hall.add("alpha", "alpha", garble=0.01)
    await hall.add("icpdas", "icpdas", garble=0.01)
    async with hall.open():
        hall.running(10_000_000)
        seen: dict[str, set[str]] = {"alpha": set(), "icpdas": set()}
        for cents in range(10_000_000, 10_003_000, 100):
            hall.meter(cents)
            for _ in range(5):
                await asyncio.sleep(0.02)
                for name, texts in seen.items():
                    texts.add(hall.boards[name].state().text.strip())
        for name, texts in seen.items():
            told = {entry.text for entry in hall.record.told(name)}
            assert texts - told <= {"", "--------", "0.00000000", "000000000."}


class SpoiledEnds(AlphaSign):
    """Every meter's ETX arrives as a blank: such a packet has no checksum any more, and is taken."""

    def feed(self, data: bytes, now: float) -> bytes:
        return super().feed(data.replace(b"\x03", b" ") if b"\x02Ga" in data else data, now)


async def test_a_packet_whose_end_is_spoiled_darkens_the_board_rather_than_change_its_figure(hall: Hall) -> None:
    await hall.add_line("line", {"alpha": SpoiledEnds("01", 16)}, "alpha")
    async with hall.open():
        hall.running(47_999_900)
        await eventually(lambda: bool(hall.record.told("alpha")))
        await asyncio.sleep(1.0)
        assert hall.shows("alpha", "")


class MissesOnePacket(AlphaSign):
    """Of what is written to it the packet with this number never arrives."""

    def __init__(self, missed: int, *, answers: bool) -> None:
        self._left = missed
        super().__init__("01", 16, answers=answers)

    def _write(self, command: alpha_frames.Command) -> None:
        self._left -= 1
        if self._left:
            super()._write(command)


LAYOUT_PACKETS = 9


@pytest.mark.parametrize("answers", [True, False], ids=["that answers", "that never answers"])
async def test_no_single_packet_of_the_layout_can_leave_a_board_dark(hall: Hall, *, answers: bool) -> None:
    for missed in range(1, LAYOUT_PACKETS + 1):
        await hall.add_line(f"line-{missed}", {f"{missed}": MissesOnePacket(missed, answers=answers)}, "alpha")
    async with hall.open():
        hall.running(47_999_900)
        await eventually(lambda: all(hall.shows(name, FIGURES["alpha"]) for name in hall.boards))


class LosesItsFace(AlphaSign):
    """Its STRING is as it was told; the TEXT that calls it is gone."""

    def lose_face(self) -> None:
        del self._texts["A"]


async def test_a_board_that_has_the_figure_and_does_not_show_it_is_mended(hall: Hall) -> None:
    board = LosesItsFace("01", 16)
    await hall.add_line("line", {"alpha": board}, "alpha")
    async with hall.open():
        hall.running(47_999_900)
        await eventually(lambda: hall.shows("alpha", FIGURES["alpha"]))
        board.lose_face()
        assert hall.shows("alpha", "")
        await eventually(lambda: hall.shows("alpha", FIGURES["alpha"]))


async def test_a_board_that_never_answers_is_told_again(hall: Hall) -> None:
    await hall.add_line("line", {"mute": AlphaSign("01", 16, answers=False)}, "alpha", drop=0.01)
    async with hall.open():
        hall.running(47_999_900)
        await eventually(lambda: hall.shows("mute", FIGURES["alpha"]))
        hall.agent.status("megalink", {"state": "suspended"})
        await eventually(lambda: hall.shows("mute", "--------"))
        assert hall.snapshot("mute")["acknowledged_at"] is None
        assert hall.snapshot("mute")["fault"] is None


async def test_boards_on_one_rs_485_line_are_told_apart_and_a_dead_one_harms_no_other(hall: Hall) -> None:
    meters = {name: emulate("icpdas", f"{number:02d}", 9) for number, name in enumerate(("left", "right"), start=1)}
    await hall.add_line("bus", meters, "icpdas")
    wiring = Wiring("icpdas", str(hall.ports["bus"].path), baud=115_200, address="7F", width=9)
    hall.add_sign(SignBoard("dead", "megalink", wiring), emulate("icpdas", "7F", 9))
    async with hall.open():
        hall.running(47_999_900)
        await eventually(lambda: all(hall.shows(name, FIGURES["icpdas"]) for name in meters))
        await eventually(lambda: bool(hall.snapshot("dead")["fault"]))
        hall.meter(43_200_000)
        await eventually(lambda: all(hall.shows(name, AFTER_WIN["icpdas"]) for name in meters))
        assert hall.shows("dead", "000000000.")


async def test_a_board_behind_a_serial_server(hall: Hall) -> None:
    board = emulate("icpdas", "01", 9)

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        while data := await reader.read(64):
            writer.write(board.feed(data, 0.0))
        writer.close()

    server = await asyncio.start_server(serve, "127.0.0.1", 0)
    number = server.sockets[0].getsockname()[1]
    hall.add_sign(SignBoard("far", "megalink", Wiring("icpdas", f"socket://127.0.0.1:{number}", width=9)), board)
    async with server, hall.open():
        hall.running(47_999_900)
        await eventually(lambda: hall.shows("far", FIGURES["icpdas"]))
    assert hall.shows("far", "0.00000000"), "who stops driving a board leaves dashes"


async def test_a_figure_too_wide_for_the_board_is_dashes_and_a_fault(hall: Hall) -> None:
    board = emulate("ed400", "01", 6)
    await hall.add_line("line", {}, "ed400")
    hall.add_sign(SignBoard("small", "megalink", Wiring("ed400", str(hall.ports["line"].path), width=6)), board)
    hall.ports["line"].boards = (board,)
    async with hall.open():
        hall.running(99_99_99)
        await eventually(lambda: hall.shows("small", "9999.99"))
        hall.meter(1_000_000)
        await eventually(lambda: hall.shows("small", "------"))
        await eventually(lambda: "does not fit" in (hall.snapshot("small")["fault"] or ""))


async def test_boards_that_show_whole_dollars_cut_the_cents_and_say_what_they_show(hall: Hall) -> None:
    figures = {"alpha": "$479,999", "ed400": "479999", "icpdas": "000479999."}
    for protocol in PROTOCOLS:
        board = emulate(protocol, "01", 9)
        await hall.add_line(protocol, {}, protocol)
        hall.ports[protocol].boards = (board,)
        port = str(hall.ports[protocol].path)
        sign = Sign(id=protocol, link="megalink", protocol=protocol, port=port, width=9, decimals=0)
        hall.add_sign(sign_board(sign), board)
    async with hall.open():
        hall.running(47_999_999)
        await eventually(all_show(hall, figures))
        await eventually(lambda: all(board["shown_cents"] == 47_999_900 for board in hall.agent.snapshot()))
        hall.meter(48_000_000)
        await eventually(all_show(hall, {"alpha": "$480,000", "ed400": "480000", "icpdas": "000480000."}))


async def test_fifty_boards_on_one_agent(hall: Hall) -> None:
    for number in range(50):
        protocol = PROTOCOLS[number % 3]
        await hall.add(f"{protocol} {number}", protocol)
    async with hall.open():
        hall.running(47_990_000)
        hall.meter(47_999_900)
        await eventually(all_show(hall, FIGURES))
        hall.meter(43_200_000)
        await eventually(all_show(hall, AFTER_WIN))
        await eventually(lambda: all(board["connected"] and not board["fault"] for board in hall.agent.snapshot()))


async def test_what_is_no_message_of_the_contract_changes_no_board(hall: Hall) -> None:
    await hall.add("ed400", "ed400")
    async with hall.open():
        hall.running(47_999_900)
        await eventually(lambda: hall.shows("ed400", FIGURES["ed400"]))
        hall.agent.meter({"link": "megalink", "displayed_cents": "1"})
        hall.agent.meter({"link": "elsewhere", "currency": "SGD", "displayed_cents": 1, "version": 9**9, "pending": []})
        hall.agent.award({"link": "megalink"})
        hall.agent.award({})
        hall.agent.status("megalink", {"state": 7})
        await asyncio.sleep(0.5)
        assert hall.shows("ed400", FIGURES["ed400"])


@pytest.mark.parametrize(
    ("other", "why"),
    [
        ({}, "pit-2: its address '01' on /dev/ttyUSB0 is also that of pit-1, '01'"),
        ({"address": "00"}, "pit-2: its address '00' on /dev/ttyUSB0 is also that of pit-1, '01'"),
        ({"address": "0?"}, "pit-2: its address '0\\?' on /dev/ttyUSB0 is also that of pit-1, '01'"),
        ({"address": "02", "baud": 1200}, "pit-2: 1200 baud, 7E1 on /dev/ttyUSB0, where pit-1 has 9600 baud, 7E1"),
        ({"address": "02", "format": "8N1"}, "boards on one line need one baud rate and one format"),
    ],
)
def test_two_boards_that_cannot_be_told_apart_are_refused(other: dict[str, Any], why: str) -> None:
    """Whatever their links: the wrong figure is worse than none, and the right one twice is too late for somebody."""
    for link in ("megalink", "another"):
        one = SignBoard("pit-1", "megalink", Wiring("alpha", "/dev/ttyUSB0"))
        with pytest.raises(UserError, match=why):
            BoardAgent([one, SignBoard("pit-2", link, Wiring("alpha", "/dev/ttyUSB0", **other))], Record())


def test_boards_that_can_be_told_apart_share_a_line() -> None:
    places = [
        Wiring("alpha", "/dev/ttyUSB0", address="01"),
        Wiring("alpha", "/dev/ttyUSB0", address="02"),
        Wiring("alpha", "/dev/ttyUSB0", address="1?"),
        Wiring("alpha", "/dev/ttyUSB1", address="01", baud=1200),
        Wiring("icpdas", "/dev/ttyUSB2", address="01"),
        Wiring("ed400", "/dev/ttyUSB2", address="01"),
    ]
    boards = [SignBoard(f"pit-{number}", "megalink", wiring) for number, wiring in enumerate(places)]
    assert len(BoardAgent(boards, Record()).snapshot()) == len(places)
