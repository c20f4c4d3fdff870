"""The talk with an Alpha board: its layout, the figure in its STRING, and the priority TEXT for a win.

Most of these boards are wired one way and never answer; then all that helps is to tell them again. Where a board does
answer, TEXT and STRING are read back: a TEXT that calls the STRING, and what that holds, is what the players see.

`E$` wipes a board's memory, and it is dark until its layout is there again. So it is said when a connection is made,
when an answer shows that the memory is not what it was, and rarely to a board that never answers, for it may have lost
its memory with its power. Never because a board is silent.
"""

from collections.abc import Callable, Generator
from dataclasses import dataclass
from itertools import cycle
from typing import Final

from drivers import alpha_frames as frames
from drivers.alpha_layout import WIN_CHARACTERS_MAX, Layout
from drivers.amount import fit_characters
from drivers.board import DARK, REFRESH_SECONDS, SAYINGS, Amount, BoardPacket, Known, Pending, Shown, Win
from drivers.wiring import ResolvedWiring, is_shared

SOON_SECONDS: Final = 0.5
OVERDUE_SECONDS: Final = 4.0
"""On a busy floor there is always a newer figure: so late, a question or a refresh goes before it."""
FACE_SECONDS: Final = 10.0
SLOWLY_SECONDS: Final = 30.0
SILENCES_MAX: Final = 4
WRONGS_MAX: Final = 3
CLEARINGS: Final = 3
LAYOUT_SECONDS: Final = (10.0, 590.0)
"""After which a board that never answers is laid out again, by turns: in pairs, so that one makes good what was lost of
the other. It is four packets, and dark for the three pauses between them: a new figure waits less than a second."""
MEND_SECONDS: Final = (10.0, 600.0)
"""A board that is laid out and does not get well is laid out again after the first, then twice as long each time."""
DASHES: Final = "--------"

Make = Callable[[], frames.Command]


@dataclass(frozen=True, slots=True)
class Step:
    """Of a plan: what to say is made when its turn comes, from the newest."""

    make: Make
    after: float = 0.0


Plan = Generator[Step, str | None, None]
"""Steps, one a turn; each is given what the board answered to it."""


class AlphaProtocol:
    def __init__(self, wiring: ResolvedWiring, known: Known) -> None:
        self._wiring = wiring
        self._known = known
        if wiring.answers is not None:
            known.answers, known.silent = wiring.answers, wiring.answers and known.silent
        # Several boards that answer at once would only talk over each other.
        self._may_answer = wiring.answers is not False and not is_shared(wiring.address)
        self._layout = Layout(wiring)
        self._laid_out = False

        self._dashes = Shown(DASHES[: wiring.width])
        self._figure = self._said_figure = self._dashes
        self._win: Shown | None = None
        self._releases_due = 0
        self._news: list[Make] = []
        """What was not said yet of the newest."""
        self._repeats: list[Make] = []
        """What was, and no answer proves."""
        self._said = self._tellings = 0
        self._proved = self._confirmed = False
        self._silences = self._wrongs = 0
        self._wrong: str | None = None

        self._now = self._face_at = self._slowly_at = self._layout_at = self._mend_at = 0.0
        # Boards on one line, whose addresses differ, not all at once.
        behind = 0 if is_shared(wiring.address) else 2.0 * (int(wiring.address, 16) % 8)
        self._layout_rests, self._mend_rest = cycle((LAYOUT_SECONDS[0] + behind, LAYOUT_SECONDS[1])), MEND_SECONDS[0]
        self._plan = self._upkeep()
        self._step, self._due_at = next(self._plan), 0.0
        self._saying: list[Make] | None = None
        self._command = self._layout.memory()

    def show_amount(self, amount: Amount) -> Shown:
        return self._show_figure(amount)

    def show_pending(self, pending: Pending) -> Shown:
        return self._show_figure(pending.amount, f"{_printable(pending.hand)} PENDING", "PENDING", "HELD")

    def announce(self, win: Win) -> Shown:
        figure = fit_characters(win.amount, WIN_CHARACTERS_MAX, self._wiring.decimals)
        # The amount stands last and what is too long is cut in front: never the figure.
        text = _printable(f"{win.table} {win.hand} {figure}")[-WIN_CHARACTERS_MAX:]
        self._win = Shown(text, win.amount.cut_to(self._wiring.decimals).cents)
        self._releases_due = 0
        # Said again because no answer tells whether it came, and soon, because a long text starts over.
        self._news, self._repeats = [self._announce], [self._announce] * (SAYINGS - 1)
        return self._win

    def blank(self) -> Shown:
        return self._show(self._dashes)

    def show_test(self) -> Shown:
        return self._show(Shown("TEST 0123456789.,$"[: self._wiring.width]))

    def _show_figure(self, amount: Amount, *words: str) -> Shown:
        text = fit_characters(amount, self._wiring.width, self._wiring.decimals, words)
        return self.blank() if text is None else self._show(Shown(text, amount.cut_to(self._wiring.decimals).cents))

    def _show(self, told: Shown) -> Shown:
        if self._win is not None:
            self._win, self._releases_due = None, SAYINGS
        release = [self._uncover] if self._releases_due else []
        # What a win covers is the figure before it, so first the STRING; but newer ones must not hold up the release.
        is_next = bool(release) and self._news[:1] == release
        self._news = [*release, self._string] if is_next else [self._string, *release]
        self._repeats = (release if self._known.answers else [self._string, *release]) * (SAYINGS - 1)
        self._figure, self._said, self._proved = told, 0, False
        self._tellings += 1
        return told

    @property
    def due_at(self) -> float:
        return 0.0 if self._laid_out and (self._news or self._repeats) else self._due_at

    @property
    def urgent(self) -> bool:
        if self._laid_out:
            return bool(self._news)
        return not isinstance(self._step.make(), frames.ReadString)

    @property
    def sure(self) -> bool:
        if self._news or self._repeats or not self._laid_out:
            return False
        proves = self._known.answers and not self._known.silent
        return self._proved if proves else self._said >= SAYINGS

    @property
    def fault(self) -> str | None:
        if self._known.silent:
            return "the board has answered before and does not any more; it is told blindly"
        return self._wrong

    def next(self, now: float) -> BoardPacket:
        self._now = now
        overdue = now > self._due_at + OVERDUE_SECONDS
        self._saying = None if overdue or not self._laid_out else self._news or self._repeats or None
        self._command = (self._saying[0] if self._saying else self._step.make)()
        return self._layout.saying(self._command, self._shows(self._command))

    def heard(self, answer: bytes | None, now: float) -> bool:
        self._now = now
        match self._command:
            case frames.WriteString():
                self._said, self._said_figure = self._said + 1, self._figure
            case frames.ReleasePriority():
                self._releases_due = max(0, self._releases_due - 1)
            case frames.ClearMemory() | frames.AllocateMemory():
                self._laid_out = False  # not before: a figure that comes just then goes first
        if self._saying:
            del self._saying[0]
            if not self._news and self._known.answers and not self._known.silent:
                self._due_at = min(self._due_at, now)
            return False
        self._confirmed = False
        self._step = self._plan.send(None if answer is None else self._layout.read(self._command, answer))
        self._due_at = now + self._step.after
        return self._confirmed

    def _upkeep(self) -> Plan:
        yield from self._lay_out(first=True)
        while True:
            yield from self._ask() if self._known.answers else self._tell()

    def _tell(self) -> Plan:
        """To a board that never answers."""
        if self._now >= self._layout_at:
            yield from self._lay_out()
        elif self._now >= self._slowly_at:
            self._slowly_at = self._now + SLOWLY_SECONDS
            yield Step(self._layout.face)
            yield Step(self._uncover)
            if self._may_answer and (yield Step(self._layout.ask_meter)) is not None:
                self._known.answers = True
                yield from self._lay_out()  # what was said blindly, now with proof
                return
        yield Step(self._string, REFRESH_SECONDS)

    def _ask(self) -> Plan:
        """A board that answers, or did."""
        wait = REFRESH_SECONDS if self._known.silent or self._proved else SOON_SECONDS if self._silences else 0.0
        found = yield Step(self._layout.ask_meter, wait)
        if found is None:
            yield from self._bear_silence()
            return
        self._silences, self._known.silent = 0, False
        told, tellings = self._said_figure.text.strip(), self._tellings
        self._wrongs = 0 if found == told else self._wrongs + 1
        is_whole = True
        if self._wrongs or self._now >= self._face_at:
            self._face_at = self._now + FACE_SECONDS
            face = yield Step(self._layout.ask_face)
            if face is None:
                yield from self._bear_silence()
                return
            is_whole = self._layout.is_whole(face)
        if not is_whole:
            yield from self._mend(f"the board has {found!r} and does not show it: its layout is gone")
        elif self._wrongs > WRONGS_MAX:
            yield from self._mend(f"the board shows {found!r} and was told {told!r}")
        elif self._wrongs:
            yield Step(self._string)
        elif tellings == self._tellings:  # else it says nothing of the newest
            self._note_right()
            if self._now >= self._slowly_at:
                self._slowly_at = self._now + SLOWLY_SECONDS
                yield Step(self._uncover, SOON_SECONDS)

    def _bear_silence(self) -> Plan:
        """It may hear though it is not heard."""
        self._silences += 1
        self._proved = False
        if self._silences >= SILENCES_MAX:
            self._known.silent = True
        yield Step(self._string)

    def _note_right(self) -> None:
        self._wrong, self._mend_rest = None, MEND_SECONDS[0]
        self._proved = not self._news
        # What was read is on view only if no win covers it.
        self._confirmed = self._proved and self._win is None and not self._releases_due

    def _mend(self, wrong: str) -> Plan:
        self._proved = False
        if self._now >= self._mend_at:
            yield from self._lay_out()
            self._mend_at = self._now + self._mend_rest
            self._mend_rest = min(2 * self._mend_rest, MEND_SECONDS[1])
        else:
            self._wrong = wrong
            yield Step(self._string, SOON_SECONDS)

    def _lay_out(self, *, first: bool = False) -> Plan:
        found = None
        if first and self._may_answer and (self._known.answers or not self._known.asked):
            found = yield Step(self._layout.ask_meter)
            self._known.asked = True
            self._known.answers |= found is not None
            self._known.silent &= found is None
        if found is not None or (self._known.answers and not first):
            yield from self._clear_with_proof(found)
        else:
            yield Step(frames.ClearMemory)
            if first:
                # Where nothing was shown before, each step twice: whichever packet is lost, the board has all it needs.
                yield Step(frames.ClearMemory)
                yield Step(self._layout.memory)
        yield Step(self._layout.memory)
        yield Step(self._layout.face)
        self._laid_out = True
        self._news = [self._string] if self._win is None else [self._string, self._announce]
        self._repeats = [] if self._known.answers else [self._layout.face, self._string, self._uncover, self._string]
        self._said = self._wrongs = self._releases_due = 0
        self._proved = False
        self._face_at, self._slowly_at = self._now, self._now + SLOWLY_SECONDS
        self._layout_at = self._now + next(self._layout_rests)

    def _clear_with_proof(self, held: str | None) -> Plan:
        """A board that missed its `E$` may stay dark and say nothing: it came if what it wipes is gone."""
        for _ in range(CLEARINGS):
            if not held:
                yield Step(self._layout.memory)
                yield Step(self._string)
                held = yield Step(self._layout.ask_meter)
            yield Step(frames.ClearMemory)
            if held and (yield Step(self._layout.ask_meter)) == "":
                return
            held = None

    def _string(self) -> frames.Command:
        return self._layout.meter(self._figure)

    def _announce(self) -> frames.Command:
        return self._layout.win(self._win) if self._win else self._string()

    def _uncover(self) -> frames.Command:
        """No board says whether a win still covers its meter, so the release is said more than once."""
        return frames.ReleasePriority() if self._win is None else self._string()

    def _shows(self, command: frames.Command) -> Shown | None:
        match command:
            case frames.ClearMemory() | frames.AllocateMemory():
                return DARK
            case frames.WriteText(frames.PRIORITY):
                return self._win
            case frames.WriteString() if self._laid_out and self._win is None and self._releases_due < SAYINGS:
                return self._figure
            case frames.ReleasePriority() if self._laid_out:
                return self._said_figure
            case _:
                return None


def _printable(text: str) -> str:
    """The board has seven bits, and no control code in a table's name may reach it."""
    return "".join(char if " " <= char <= "~" else "?" for char in text)
