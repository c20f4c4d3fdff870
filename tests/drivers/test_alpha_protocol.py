"""What is said to an Alpha board, packet by packet."""

from collections.abc import Callable
from datetime import UTC, datetime

import pytest

from drivers import alpha_frames as alpha
from drivers.board import Amount, BoardPacket, Known, Pending, Shown, Win
from drivers.connect import talk
from drivers.emulator.boards import AlphaSign
from drivers.line import wire_seconds
from drivers.wiring import Wiring
from jackpot.signs.display import LinkView
from jackpot.signs.messages import Meter
from tests.drivers.virtual import BAUD, Virtual

WIN = Win("UTH-01", "STRAIGHT FLUSH", Amount(4_800_000))
HOUR = 3600.0
NOON = datetime(2026, 11, 16, 12, tzinfo=UTC)
Show = Callable[[], Shown]


def dollars(cents: int) -> str:
    return f"${cents // 100:,}.{cents % 100:02d}"


def alpha_at(board: AlphaSign, known: Known | None = None, address: str = "01") -> Virtual:
    wiring = Wiring("alpha", "/dev/null", address=address, width=16).resolved()
    return Virtual(talk(wiring, known or Known()), board)


def command(saying: BoardPacket) -> alpha.Command:
    return alpha.Packet.from_bytes(saying.data).command


def clearings(said: list[BoardPacket]) -> int:
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

    def busy(seconds: float) -> list[BoardPacket]:
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
    shows: list[tuple[float, Show]] = [
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


def test_no_answer_confirms_a_figure_that_was_told_after_its_question() -> None:
    """Between the question for the figure and the one for the face there may be a newer figure, and it may be lost."""
    board = alpha_at(AlphaSign("01", 16))
    for cents in range(100_00, 160_00, 100):
        board.talk.show_amount(Amount(cents))
        board.turns(cents / 1300)
        lost = iter([True])
        board.lost = lambda saying, lost=lost: saying.answer is None and next(lost, False)  # type: ignore[misc]  # mypy cannot infer a lambda's default
        board.talk.show_amount(Amount(cents + 1))
        while not board.talk.sure:
            board.turn()
            assert board.shown == dollars(cents + 1) or not board.confirmed
        assert board.shown == dollars(cents + 1)


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
