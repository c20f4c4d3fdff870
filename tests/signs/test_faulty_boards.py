"""Boards that are silent, late, without power or on a wire that goes one way: what is seen of it, and who suffers."""

import asyncio
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from prometheus_client import REGISTRY

from drivers import alpha_frames
from drivers.emulator import EmulatedPort, Faults
from drivers.emulator.boards import AlphaSign
from drivers.wiring import Wiring
from jackpot.signs import BoardAgent, JsonLinesHistory, SignBoard, agent
from jackpot.signs.history import answer
from tests.logged import logged_by
from tests.signs.conftest import Hall, eventually
from tests.waiting import patience_s


def is_well(board: str) -> bool:
    return REGISTRY.get_sample_value("jackpot_sign_connected", {"sign": board, "link": "megalink"}) == 1.0


async def test_a_board_without_power_on_a_line_that_lives_is_a_fault_until_it_answers(hall: Hall) -> None:
    await hall.add("alpha", "alpha")
    port, board = hall.ports["alpha"], hall.boards["alpha"]
    async with hall.open():
        hall.running(47_999_900)
        await eventually(lambda: hall.snapshot("alpha")["acknowledged_at"] is not None)
        assert is_well("alpha")
        port.boards = ()
        await eventually(lambda: "does not any more" in (hall.snapshot("alpha")["fault"] or ""))
        # Unplugged and plugged in again, it is still without power.
        port.unplug()
        await eventually(lambda: not hall.snapshot("alpha")["connected"])
        port.replug()
        await eventually(lambda: hall.snapshot("alpha")["connected"])
        hall.meter(43_200_000)
        await eventually(lambda: hall.snapshot("alpha")["shown_cents"] == 43_200_000)
        assert "does not any more" in hall.snapshot("alpha")["fault"]
        assert not is_well("alpha")
        board.power_cycle()
        port.boards = (board,)
        await eventually(lambda: hall.shows("alpha", "$432,000.00"))
        await eventually(lambda: hall.snapshot("alpha")["fault"] is None)
        assert is_well("alpha")
        await eventually(lambda: hall.record.entries[-1].event == "answered")


async def test_the_record_says_that_a_silent_board_was_at_fault_whatever_it_was_told(
    hall: Hall, tmp_path: Path
) -> None:
    await hall.add("alpha", "alpha")
    await hall.add("icpdas", "icpdas")
    async with hall.open():
        hall.running(47_999_900)
        await eventually(lambda: all(board["acknowledged_at"] for board in hall.agent.snapshot()))
        for port in hall.ports.values():
            port.faults = Faults(mute=True)  # the return wire breaks
        await eventually(lambda: all(board["fault"] for board in hall.agent.snapshot()))
        hall.meter(43_200_000)
        await eventually(lambda: hall.shows("alpha", "$432,000.00") and hall.shows("icpdas", "0432000.00"))
        hall.agent.status("megalink", {"state": "lost"})
        await eventually(lambda: hall.shows("alpha", "--------") and hall.shows("icpdas", "0.00000000"))
        at_fault = datetime.now(UTC)
        for port in hall.ports.values():
            port.faults = Faults()
        await eventually(lambda: not any(board["fault"] for board in hall.agent.snapshot()))
        await eventually(lambda: [entry.confirmed for entry in hall.record.entries[-2:]] == [True, True])
    with JsonLinesHistory(tmp_path / "kept") as kept:
        for entry in hall.record.entries:
            kept.add(entry)
    for name, figure in (("alpha", "$432,000.00"), ("icpdas", "0432000.00")):
        assert figure in [entry.text for entry in hall.record.told(name)], "what it did show is in the record"
        then, now = (answer(tmp_path / "kept", name, at) for at in (at_fault, datetime.now(UTC)))
        assert then.told
        assert then.told.reason == "the link is lost"
        assert then.fault, "after all that it was told in the meantime"
        assert now.fault is None


async def test_a_board_that_has_answered_once_is_known_by_the_next_program_too(tmp_path: Path) -> None:
    """Else a board that has no power when its program starts would be taken for one that never answers."""
    path = tmp_path / "port"

    async def drive(boards: tuple[AlphaSign, ...], answers: bool | None, until: str) -> dict[str, Any]:
        sign = SignBoard("pit-1", "megalink", Wiring("alpha", str(path), baud=115_200, answers=answers))
        with JsonLinesHistory(tmp_path / "kept") as kept:
            async with EmulatedPort(boards, path):
                agent = BoardAgent([sign], kept)
                running = asyncio.create_task(agent.run())
                await eventually(lambda: bool(agent.snapshot()[0][until]))
                found = agent.snapshot()[0]
                running.cancel()
                await asyncio.gather(running, return_exceptions=True)
        return found

    assert (await drive((AlphaSign("01", 16),), None, "acknowledged_at"))["fault"] is None
    assert "does not any more" in (await drive((), None, "fault"))["fault"]
    # One that is wired one way has taken its place, and the configuration says so.
    assert (await drive((), False, "shown_text"))["fault"] is None


class Misses(AlphaSign):
    """When told to, it misses the next packets that are written to it."""

    missing = 0

    def _write(self, command: alpha_frames.Command) -> None:
        self.missing -= 1
        if self.missing < 0:
            super()._write(command)


@pytest.mark.parametrize("in_a_win", [False, True], ids=["a figure", "a win"])
async def test_an_orderly_stop_is_said_more_than_once(hall: Hall, *, in_a_win: bool) -> None:
    signs = {"answers": Misses("01", 16), "one way": Misses("01", 16, answers=False)}
    for name, board in signs.items():
        await hall.add_line(name, {name: board}, "alpha")
    async with hall.open():
        hall.running(47_999_900)
        await eventually(lambda: all(hall.shows(name, "$479,999.00") for name in signs))
        if in_a_win:
            hall.award(4_800_000)
            await eventually(lambda: all(hall.boards[name].state().text.startswith("UTH-01") for name in signs))
        signs["answers"].missing, signs["one way"].missing = 2, 1
    for name in signs:
        assert hall.shows(name, "--------")
        assert hall.record.told(name)[-1].reason == "the signs' program stops"


async def test_alpha_boards_of_every_kind_share_a_line(hall: Hall) -> None:
    """Some answer, some never do, some are not there; and one of those that answer dies."""
    boards = {f"{number}": AlphaSign(f"{number:02d}", 16, answers=number % 2 == 1) for number in range(1, 5)}
    await hall.add_line("bus", dict(boards), "alpha")
    for number in range(5, 7):
        wiring = Wiring("alpha", str(hall.ports["bus"].path), baud=115_200, address=f"{number:02d}", width=16)
        hall.add_sign(SignBoard(f"absent {number}", "megalink", wiring), AlphaSign("7F", 16))
    async with hall.open():
        hall.running(47_999_900)
        await eventually(lambda: all(hall.shows(name, "$479,999.00") for name in boards))
        await eventually(lambda: all(bool(hall.snapshot(name)["acknowledged_at"]) for name in ("1", "3")))
        hall.ports["bus"].boards = tuple(board for name, board in boards.items() if name != "3")
        await eventually(lambda: bool(hall.snapshot("3")["fault"]))
        for cents in range(48_000_000, 48_000_500, 100):
            hall.meter(cents)
            await eventually(lambda cents=cents: all(hall.shows(name, f"${cents // 100:,}.00") for name in "124"))  # type: ignore[misc]  # mypy cannot infer a lambda's default
        assert {name: hall.snapshot(name)["fault"] for name in "124"} == dict.fromkeys("124")
        hall.ports["bus"].boards = tuple(boards.values())
        await eventually(lambda: hall.shows("3", "$480,004.00"))
        await eventually(lambda: hall.snapshot("3")["fault"] is None)
    assert all(hall.shows(name, "--------") for name in boards)


@pytest.mark.parametrize("baud", [1200, 9600])
async def test_a_board_wired_one_way_comes_back_when_it_is_plugged_in_again(hall: Hall, baud: int) -> None:
    board = AlphaSign("01", 16, answers=False)
    await hall.add_line("line", {}, "alpha")
    port = hall.ports["line"]
    port.boards = (board,)
    hall.add_sign(SignBoard("alpha", "megalink", Wiring("alpha", str(port.path), baud=baud)), board)
    async with hall.open():
        hall.running(47_999_900)
        await eventually(lambda: hall.shows("alpha", "$479,999.00") and hall.snapshot("alpha")["connected"])
        port.unplug()
        board.power_cycle()
        await eventually(lambda: not hall.snapshot("alpha")["connected"])
        hall.meter(43_200_000)
        before = len(hall.record.entries)
        port.replug()
        await eventually(lambda: hall.shows("alpha", "$432,000.00"))
        await eventually(lambda: hall.snapshot("alpha")["connected"])
    dark, connected, told = (entry for entry in hall.record.entries[before:][:3])
    assert (dark.text, dark.reason) == ("", "its memory is laid out")
    assert connected.event == "connected"
    assert told.text == "$432,000.00"
    assert told.at - dark.at < timedelta(seconds=patience_s(5.0))


async def test_the_record_names_the_version_that_a_figure_is_of(hall: Hall) -> None:
    """Though the next meter comes while the packet is on its way, which takes long."""
    board = AlphaSign("01", 16)
    await hall.add_line("line", {}, "alpha")
    hall.ports["line"].boards = (board,)
    hall.add_sign(SignBoard("alpha", "megalink", Wiring("alpha", str(hall.ports["line"].path), baud=1200)), board)
    truth: dict[int, int] = {}

    def meter(cents: int) -> None:
        hall.meter(cents)
        truth[hall._version] = cents

    async with hall.open():
        hall.running(10_000_000)
        truth[hall._version] = 10_000_000
        await eventually(lambda: hall.snapshot("alpha")["acknowledged_at"] is not None)
        for cents in range(9_000_000, 8_000_000, -250_000):
            meter(cents)
            await asyncio.sleep(0.05)
            meter(cents - 100_000)
            await eventually(lambda cents=cents: hall.snapshot("alpha")["shown_cents"] == cents - 100_000)  # type: ignore[misc]  # mypy cannot infer a lambda's default
    told = [entry for entry in hall.record.told("alpha") if entry.version is not None]
    assert len(told) > 5
    assert [entry.cents for entry in told] == [truth[entry.version or 0] for entry in told]


async def test_on_a_slow_line_the_committed_amount_is_shown_at_once(hall: Hall) -> None:
    """What climbs would be on its way while the amount itself waits."""
    board = AlphaSign("01", 16)
    await hall.add_line("line", {}, "alpha")
    hall.ports["line"].boards = (board,)
    hall.add_sign(SignBoard("alpha", "megalink", Wiring("alpha", str(hall.ports["line"].path), baud=2400)), board)
    async with hall.open():
        hall.running(10_000_000)
        await eventually(lambda: hall.shows("alpha", "$100,000.00"))
        for cents in (10_010_000, 10_020_000):
            hall.meter(cents)
            await eventually(lambda cents=cents: hall.snapshot("alpha")["shown_cents"] == cents)  # type: ignore[misc]  # mypy cannot infer a lambda's default
    assert {entry.cents for entry in hall.record.told("alpha")} == {None, 10_000_000, 10_010_000, 10_020_000}


async def test_a_machine_whose_clock_is_off_announces_wins_and_says_that_it_is_off(
    hall: Hall, monkeypatch: pytest.MonkeyPatch
) -> None:
    logged = logged_by(agent, monkeypatch)
    await hall.add("alpha", "alpha")
    hall.feeding = False
    async with hall.open():
        hall.agent.status("megalink", {"state": "running"})
        past = (datetime.now(UTC) - timedelta(minutes=10)).isoformat()
        message: dict[str, Any] = {
            "link": "megalink", "currency": "SGD", "displayed_cents": 47_999_900, "version": 1, "pending": [], "at": past,
        }  # fmt: skip
        for _ in range(3):
            hall.agent.meter(message)
        await eventually(lambda: hall.shows("alpha", "$479,999.00"))
        assert hall.snapshot("alpha")["fault"] == "this machine's clock is 600 s ahead of the controller's"
        hall.agent.award(
            {
                "award": "megalink-000001", "link": "megalink", "table": "UTH-01", "rank": "royal_flush",
                "kind": "percentage", "amount_cents": 47_999_900, "at": past,
            }
        )  # fmt: skip
        await eventually(lambda: hall.shows("alpha", "UTH-01 ROYAL FLUSH $479,999.00"))
    assert [entry["event"] for entry in logged].count("sign_clock_off") == 1
