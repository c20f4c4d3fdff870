"""What is said to a board, packet by packet, on a clock of our own: no line, no waiting."""

from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import UTC, datetime

import pytest

from drivers import alpha_frames as alpha
from drivers import icpdas
from drivers.board import Amount, Expected, Known, Pending, Saying, Talk, Told, Win
from drivers.connect import talk
from drivers.emulator import EmulatedBoard
from drivers.emulator.boards import AlphaSign, Ed400Meter, IcpDasMeter
from drivers.line import TURNAROUND_SECONDS, wire_seconds
from drivers.wiring import Wiring
from jackpot.signs.face import LinkView
from jackpot.signs.messages import Meter

BAUD = 9600
WIN = Win("UTH-01", "STRAIGHT FLUSH", Amount(4_800_000))
HOUR = 3600.0
NOON = datetime(2026, 11, 16, 12, tzinfo=UTC)


@dataclass
class Virtual:
    """A talk and its board, with what it takes on the wire; time passes as nobody waits for it."""

    talk: Talk
    board: EmulatedBoard
    now: float = 100.0
    mute: bool = False
    late_seconds: float = 0.0
    lost: Callable[[Saying], bool] = lambda _: False
    said: list[Saying] = field(default_factory=list)
    dark_seconds: float = 0.0
    confirmed: bool = False
    _late: list[tuple[float, bytes]] = field(default_factory=list)

    def turn(self) -> Saying:
        """The next packet, when it is due and the board can take it."""
        self.rest(max(0.0, self.talk.due_at - self.now))
        saying = self.talk.next(self.now)
        self.said.append(saying)
        self.rest(wire_seconds(len(saying.data), BAUD))
        answered = b"" if self.lost(saying) else self.board.feed(saying.data, self.now)
        heard = None if saying.answer is None else self._hear(answered, saying.answer)
        self.confirmed = self.talk.heard(heard, self.now)
        self.rest(saying.pause_seconds)
        return saying

    def _hear(self, answered: bytes, expected: Expected) -> bytes | None:
        if self.mute:
            answered = b""
        if answered:
            self._late.append((self.now + self.late_seconds, answered))
        until = self.now + TURNAROUND_SECONDS + wire_seconds(expected.length, BAUD)
        # What had come before the question was asked is thrown away.
        came = [(at, data) for at, data in self._late if self.now <= at <= until and expected.is_mine(data)]
        self._late = [(at, data) for at, data in self._late if at > until]
        self.rest((came[0][0] if came else until) - self.now)
        return came[0][1] if came else None

    def rest(self, seconds: float) -> None:
        self.dark_seconds += 0.0 if self.shown else seconds
        self.now += seconds

    def turns(self, seconds: float) -> list[Saying]:
        until, before = self.now + seconds, len(self.said)
        while self.now < until:
            self.turn()
        return self.said[before:]

    def until_shown(self, text: str, packets_max: int = 30) -> int:
        """How many packets it took."""
        for packets in range(1, packets_max + 1):
            self.turn()
            if self.shown == text:
                return packets
        raise AssertionError(f"{packets_max} packets, and the board shows {self.shown!r}")

    @property
    def shown(self) -> str:
        return self.board.state().text.strip()


def dollars(cents: int) -> str:
    return f"${cents // 100:,}.{cents % 100:02d}"


def alpha_at(board: AlphaSign, known: Known | None = None, address: str = "01") -> Virtual:
    wiring = Wiring("alpha", "/dev/null", address=address, width=16).resolved()
    return Virtual(talk(wiring, known or Known()), board)


def command(saying: Saying) -> alpha.Command:
    return alpha.Packet.from_bytes(saying.data).command


def clearings(said: list[Saying]) -> int:
    return sum(isinstance(command(saying), alpha.ClearMemory) for saying in said)


KINDS = pytest.mark.parametrize("answers", [True, False], ids=["answers", "one way"])


@KINDS
def test_the_very_next_packet_carries_the_newest_figure(*, answers: bool) -> None:
    """Whatever else was to be said: the repeats of the last one, a question, a refresh."""
    board = alpha_at(AlphaSign("01", 16, answers=answers))
    board.talk.show_amount(Amount(100_00))
    board.turns(20.0)
    for cents in range(200_00, 260_00, 100):
        for _ in range(1 + cents // 100 % 7):
            board.turn()
        board.talk.show_amount(Amount(cents))
        assert board.talk.urgent
        assert board.until_shown(dollars(cents)) == 1


@pytest.mark.parametrize("period", [1.3, 2.0, 3.1])
@pytest.mark.parametrize("kind", ["answers", "one way", "return wire cut"])
def test_a_figure_is_on_the_board_within_a_second_and_the_wire_whenever_it_comes(kind: str, period: float) -> None:
    """With the steps of its climb; through questions, refreshes and new layouts. On the clock of this test."""
    board = alpha_at(AlphaSign("01", 16, answers=kind != "one way"))
    board.until_shown("--------")
    board.turns(5.0)
    board.mute = kind == "return wire cut"
    view = LinkView()
    view.take_status("running")
    cents, version, came_at, next_at, on_wire = 10_000_000, 0, board.now, board.now, 0.0
    face: object = None
    late: list[float] = []
    until = board.now + 120.0
    while board.now < until:
        if next_at <= board.now:
            assert len(late) == version, "the one before has been shown"
            cents, version, came_at, on_wire = cents + 1250, version + 1, next_at, 0.0
            view.take_meter(Meter("megalink", version, Amount(cents), None, NOON), came_at, NOON, live=True)
            next_at += period
        newest = view.face(board.now, 5.0)
        if newest != face and isinstance(newest, Amount):
            board.talk.show_amount(newest)
            face = newest
        if board.talk.due_at > board.now:
            board.rest(0.01)
            continue
        said = board.turn()
        on_wire += wire_seconds(len(said.data), BAUD)
        if len(late) < version and board.shown == dollars(cents):
            late.append(board.now - said.pause_seconds - came_at - on_wire)
    assert max(late) < 1.0


@KINDS
def test_a_new_connection_has_the_figure_within_a_few_packets(*, answers: bool) -> None:
    board = alpha_at(AlphaSign("01", 16, answers=answers))
    board.talk.show_amount(Amount(100_00))
    started = board.now
    board.until_shown("$100.00", packets_max=9)
    assert board.now - started < 3.0


def test_a_board_that_never_answers_is_told_again_and_hardly_ever_dark() -> None:
    board = alpha_at(AlphaSign("01", 16, answers=False))
    board.talk.show_amount(Amount(100_00))
    board.until_shown("$100.00")
    board.dark_seconds = 0.0
    said = board.turns(HOUR)
    kinds = {type(command(saying)) for saying in said}
    assert {alpha.WriteString, alpha.WriteText, alpha.ReleasePriority} <= kinds
    assert 0 < clearings(said) <= 14, "rarely: it may have lost its memory with its power"
    assert board.dark_seconds < 15.0
    assert board.talk.fault is None


def test_a_figure_that_comes_while_a_board_is_laid_out_again_is_there_within_a_second_and_the_wire() -> None:
    board = alpha_at(AlphaSign("01", 16, answers=False))
    board.talk.show_amount(Amount(100_00))
    board.until_shown("$100.00")
    while not isinstance(command(board.turn()), alpha.ClearMemory):
        pass
    board.talk.show_amount(Amount(200_00))
    assert board.until_shown("$200.00") == 3


@KINDS
def test_a_board_that_lost_its_memory_gets_its_layout_again(*, answers: bool) -> None:
    board = alpha_at(AlphaSign("01", 16, answers=answers))
    board.talk.show_amount(Amount(100_00))
    board.turns(60.0)
    board.board.power_cycle()
    since = board.now
    board.until_shown("$100.00", packets_max=400)
    assert board.now - since < (5.0 if answers else 600.0)


@pytest.mark.parametrize("dead", [False, True], ids=["return wire cut", "without power"])
def test_silence_is_a_fault_that_stays_and_never_wipes_a_board(*, dead: bool) -> None:
    known = Known()
    board = alpha_at(AlphaSign("01", 16), known)
    board.talk.show_amount(Amount(100_00))
    board.turns(60.0)
    assert (known.answers, board.talk.fault) == (True, None)
    board.mute = True
    board.lost = lambda _: dead
    board.turns(6.0)
    assert "does not any more" in (board.talk.fault or "")
    board.talk.show_amount(Amount(200_00))
    assert isinstance(command(board.turn()), alpha.WriteString)
    assert board.shown == ("$100.00" if dead else "$200.00"), "it is told blindly"
    assert clearings(board.turns(HOUR)) == 0
    # A new connection, as after the adapter was unplugged, knows it still.
    again = alpha_at(board.board, known)  # type: ignore[arg-type]  # an AlphaSign
    again.mute = True
    assert again.talk.fault
    again.talk.show_amount(Amount(300_00))
    again.turns(20.0)
    assert again.talk.fault
    again.board.power_cycle()
    again.mute, since = False, again.now
    again.until_shown("$300.00", packets_max=60)
    assert again.now - since < 5.0
    again.turns(3.0)
    assert again.talk.fault is None


@pytest.mark.parametrize("late_seconds", [0.35, 0.45, 0.7, 1.5])
def test_a_board_that_answers_too_late_is_not_wiped_for_it(late_seconds: float) -> None:
    for known in (Known(), Known(answers=True)):
        board = alpha_at(AlphaSign("01", 16), known)
        board.late_seconds = late_seconds
        board.talk.show_amount(Amount(100_00))
        board.until_shown("$100.00")
        board.dark_seconds, cleared = 0.0, clearings(board.said)
        for cents in range(200_00, 300_00, 100):
            board.talk.show_amount(Amount(cents))
            assert board.until_shown(f"${cents // 100}.00", packets_max=5) <= 5
            board.turns(3.0)
        assert clearings(board.said) - cleared <= 2
        assert board.dark_seconds < 2.5
        assert bool(board.talk.fault) == known.answers


def test_a_wrong_answer_is_told_again_before_anything_is_wiped() -> None:
    board = alpha_at(AlphaSign("01", 16))
    board.talk.show_amount(Amount(100_00))
    board.turns(10.0)
    board.board.feed(alpha.Packet(alpha.WriteString("a", "$999.00"), "01").to_bytes(), board.now + 1)
    board.now += 2.0
    said = []
    while board.shown != "$100.00":
        said.append(board.turn())
    assert clearings(said) == 0
    assert len(said) <= 4


def test_a_board_says_nothing_that_another_was_asked() -> None:
    """No answer says whose it is; but the file's label follows from the address."""
    near, far = AlphaSign("01", 16), AlphaSign("02", 16)
    boards = [alpha_at(near), alpha_at(far, address="02")]
    for board in boards:
        board.talk.show_amount(Amount(100_00))
        board.turns(8.0)
    question = next(saying for saying in reversed(boards[0].said) if saying.answer)
    theirs = far.feed(next(saying for saying in reversed(boards[1].said) if saying.answer).data, boards[1].now)
    mine = near.feed(question.data, boards[0].now)
    assert question.answer
    assert question.answer.is_mine(mine)
    assert not question.answer.is_mine(theirs)


@KINDS
def test_on_the_busiest_floor_a_board_is_still_looked_after(*, answers: bool) -> None:
    """Always a newer figure before the last was said; and a win that ends is uncovered all the same."""
    board = alpha_at(AlphaSign("01", 16, answers=answers))
    cents = 100_00

    def busy(seconds: float) -> list[Saying]:
        nonlocal cents
        until, before = board.now + seconds, len(board.said)
        while board.now < until:
            cents += 1
            board.talk.show_amount(Amount(cents))
            board.turn()
        return board.said[before:]

    said = busy(120.0)
    assert sum(saying.answer is not None for saying in said) > (20 if answers else 2)
    assert any(isinstance(command(saying), alpha.ReleasePriority) for saying in said)
    board.talk.announce(WIN)
    board.turns(1.5)
    assert board.shown.startswith("UTH-01")
    assert clearings(busy(1.5)) == 0
    assert board.shown.startswith("$")
    if answers:
        board.board.power_cycle()
        busy(15.0)
        assert board.shown.startswith("$")


@KINDS
def test_what_the_board_is_made_to_show_is_told_with_each_packet(*, answers: bool) -> None:
    """For the record: also dark, and what a win covers and uncovers."""
    board = alpha_at(AlphaSign("01", 16, answers=answers))
    board.talk.show_amount(Amount(100_00))
    changes: list[str] = []
    shows: list[tuple[float, Callable[[], Told]]] = [
        (5.0, lambda: board.talk.show_amount(Amount(100_00))),
        (2.0, lambda: board.talk.announce(WIN)),
        (30.0, lambda: board.talk.show_amount(Amount(90_00))),
    ]
    for seconds, show in shows:
        show()
        until = board.now + seconds
        while board.now < until:
            saying = board.turn()
            if saying.shows is not None and saying.shows.text != (changes[-1] if changes else None):
                changes.append(saying.shows.text)
            assert board.shown == (changes[-1] if changes else "")
    win = "UTH-01 STRAIGHT FLUSH $48,000.00"
    assert [text for text in changes if text] == ["$100.00", win, *(["$90.00"] if answers else ["$90.00", "$90.00"])]
    assert changes[0] == ""


@KINDS
@pytest.mark.parametrize("in_a_win", [False, True])
def test_the_last_word_is_said_until_it_is_sure(*, answers: bool, in_a_win: bool) -> None:
    board = alpha_at(AlphaSign("01", 16, answers=answers))
    board.talk.show_amount(Amount(100_00))
    board.turns(5.0)
    if in_a_win:
        board.talk.announce(WIN)
        board.turns(1.0)
    lost = iter([True, True])
    board.lost = lambda _: next(lost, False)
    board.talk.blank()
    since = board.now
    while not board.talk.sure:
        board.turn()
    assert board.shown == "--------"
    assert board.now - since < 3.0
    assert clearings(board.said[-8:]) == 0


@pytest.mark.parametrize(
    ("width", "cents", "text"),
    [
        (16, 47_999_900, "HELD $479,999.00"),
        (16, 123_456_789, "HELD 1234567.89"),
        (16, 9_999_900, "PENDING 99999.00"),
        (14, 123_456_789, "$1,234,567.89"),
        (30, 47_999_900, "ROYAL FLUSH PENDING 479,999.00"),
        (80, 47_999_900, "ROYAL FLUSH PENDING $479,999.00"),
    ],
)
def test_d5_a_held_amount_is_shown_as_such_wherever_that_fits(width: int, cents: int, text: str) -> None:
    board = talk(Wiring("alpha", "/dev/null", width=width).resolved(), Known())
    assert board.show_pending(Pending("ROYAL FLUSH", Amount(cents))).text == text


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
