"""What is said to numeric meters, packet by packet."""

import pytest

from drivers import icpdas
from drivers.board import Amount, Known
from drivers.connect import talk
from drivers.emulator.boards import Ed400Meter, IcpDasMeter
from drivers.wiring import Wiring
from tests.drivers.virtual import Virtual


def icpdas_at(meter: IcpDasMeter, known: Known | None = None) -> Virtual:
    return Virtual(talk(Wiring("icpdas", "/dev/null", width=9).resolved(), known or Known()), meter)


def test_a_meter_whose_answers_do_not_arrive_is_told_all_the_same() -> None:
    """It may hear: a figure that nobody vouches for any more must not stay on it."""
    meter = icpdas_at(IcpDasMeter("01", 9))
    meter.talk.show_amount(Amount(479_999_00))
    meter.until_shown("0479999.00")
    meter.mute = True
    meter.talk.show_amount(Amount(432_000_00))
    assert meter.until_shown("0432000.00") == 1
    meter.turns(5.0)
    assert meter.talk.fault
    meter.talk.blank()
    assert meter.until_shown("0.00000000") == 1
    meter.board.power_cycle()
    meter.turns(4.0)
    assert meter.shown == "0.00000000", "its digits are taken back blindly too"
    meter.mute = False
    meter.turns(4.0)
    assert meter.talk.fault is None
    assert meter.talk.sure


def test_a_meter_that_never_answered_and_kept_an_old_figure_is_blanked_blindly() -> None:
    board = IcpDasMeter("01", 9)
    for text in (icpdas.HOST_CONTROL, icpdas.SHOW + "0123456.00"):
        board.feed(icpdas.Command("01", text).to_bytes(), 0.0)
    meter = icpdas_at(board)
    meter.mute = True
    meter.turns(5.0)
    assert meter.shown == "0.00000000"
    assert meter.talk.fault


@pytest.mark.parametrize("late_seconds", [0.3, 0.42, 0.55, 0.65, 0.9, 1.4])
def test_a_late_answer_does_not_confirm_a_figure_that_never_arrived(late_seconds: float) -> None:
    meter = icpdas_at(IcpDasMeter("01", 9))
    meter.talk.show_amount(Amount(50_000_00))
    meter.until_shown("0050000.00")
    for cents in range(100_000_00, 110_000_00, 100_000):
        meter.late_seconds = late_seconds
        meter.talk.show_amount(Amount(cents))
        meter.turn()
        meter.late_seconds = 0.0
        meter.turn()
        lost = iter([True])
        meter.lost = lambda _, lost=lost: next(lost, False)  # type: ignore[misc]  # mypy cannot infer a lambda's default
        meter.talk.show_amount(Amount(cents - 50_000))
        shows = f"{(cents - 50_000) / 100:010.2f}"
        while not meter.talk.sure:
            meter.turn()
            assert not meter.confirmed or meter.shown == shows
        assert meter.shown == shows


def test_a_meter_that_calls_a_figure_invalid_is_a_fault() -> None:
    meter = icpdas_at(IcpDasMeter("01", 5))
    meter.talk.show_amount(Amount(50_000_00))
    meter.turns(5.0)
    assert meter.talk.fault == "the meter calls '0050000.00' invalid"


def test_a_meter_without_answers_is_told_soon_again_and_then_now_and_then() -> None:
    meter = Virtual(talk(Wiring("ed400", "/dev/null", width=10).resolved(), Known()), Ed400Meter("01", 10))
    meter.talk.show_amount(Amount(1234))
    assert meter.until_shown("12.34") == 1
    assert not meter.talk.sure
    meter.turns(0.3)
    assert meter.talk.sure
    assert len(meter.turns(60.0)) == pytest.approx(28, abs=2)
