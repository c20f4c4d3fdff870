"""One board's task: connect, say the newest at the board's own pace, a packet a turn; come back after a fault."""

import asyncio
from collections import deque
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any, Final, assert_never

import structlog

from drivers.board import DARK, SAYINGS, Amount, BoardProtocol, DriverError, Known, Pending, Shown, Win
from drivers.connect import Board, connect
from drivers.line import Lines, wire_seconds
from drivers.wiring import ResolvedWiring, Wiring
from jackpot import metrics
from jackpot.signs.display import ODOMETER_STEP_MS, Dashes, Face, LinkView
from jackpot.signs.history import Entry, Event, History

RETRY_SECONDS: Final = 1.0
LOOK_SECONDS: Final = 0.5
"""How often an idle board's line is looked at: an unplugged one says nothing by itself."""
ANSWER_KEPT_SECONDS: Final = 60.0
"""Of answers that only say the same again one a minute is kept."""
FAREWELL_SECONDS: Final = 3.0
FAREWELL_SECONDS_MAX: Final = 10.0
PACKET_BYTES: Final = 48
"""About what a figure takes on the wire."""
REMEMBERED: Final = 8
STOPPING: Final = Dashes("the signs' program stops")

log = structlog.get_logger()


@dataclass(frozen=True, slots=True)
class SignBoard:
    id: str
    link: str
    wiring: Wiring
    stale_seconds: float = 5.0


@dataclass(frozen=True, slots=True)
class Wanted:
    """What a board shall show, and of which meter it is."""

    told: Shown
    face: Face
    version: int | None


class BoardTask:
    def __init__(
        self,
        board: SignBoard,
        wiring: ResolvedWiring,
        view: LinkView,
        lines: Lines,
        history: History,
        *,
        behind_seconds: float,
        line_boards: int,
    ) -> None:
        self._sign = board
        self._wiring = wiring
        self._view = view
        self._lines = lines
        self._history = history
        self.behind_seconds = behind_seconds
        round_seconds = line_boards * wire_seconds(PACKET_BYTES, wiring.baud)
        # On a slow line a step that is on its way would only hold up the amount itself.
        self._climbs = round_seconds * 1000 <= ODOMETER_STEP_MS
        self._farewell_seconds = min(FAREWELL_SECONDS + SAYINGS * round_seconds, FAREWELL_SECONDS_MAX)
        self._news = asyncio.Event()
        self._known = Known(answers=history.has_answered(board.id))
        self._face: Face | None = None
        self._wanted: deque[Wanted] = deque(maxlen=REMEMBERED)
        self._stops = False
        self._connected = False
        self._told: Shown | None = None
        self._told_at: datetime | None = None
        self._answered_at: datetime | None = None
        self._answer_kept_at: datetime | None = None
        self._line_fault: str | None = None
        self._board_fault: str | None = None
        self._misfit: str | None = None
        metrics.sign_connected.labels(board.id, board.link).set_function(self._is_well)

    @property
    def fault(self) -> str | None:
        return self._line_fault or self._board_fault or self._misfit or self._view.clock_fault

    def _is_well(self) -> bool:
        return self._connected and self.fault is None

    def wake(self) -> None:
        """Something new was heard; what exactly is read when the board is ready for it."""
        self._news.set()

    async def run(self) -> None:
        await asyncio.sleep(self.behind_seconds)
        while True:
            try:
                await self._connect_and_keep()
            except DriverError as error:
                self._note_line_fault(str(error))
            except Exception:
                # A fault in one board's driver must end neither the other boards nor the money's path.
                log.exception("sign_board_task_failed", board=self._sign.id)
                self._note_line_fault("internal error, see the log")
            await asyncio.sleep(RETRY_SECONDS)

    async def _connect_and_keep(self) -> None:
        board = await connect(self._wiring, self._lines, self._known)
        try:
            self._board_fault = self._face = None
            while True:
                await self._take_turn(board)
        except asyncio.CancelledError:
            await self._farewell(board)
            raise
        finally:
            self._connected = False
            board.close()

    async def _take_turn(self, board: Board) -> None:
        """One packet, or the wait for the next."""
        now = asyncio.get_running_loop().time
        await board.ready()
        self._news.clear()
        self._look(board.talk)
        if board.talk.due_at > now():
            change_at = self._view.next_change(now(), self._sign.stale_seconds)
            await self._news_or(min(board.talk.due_at, change_at, now() + LOOK_SECONDS))
            return
        async with board.turn(lambda: self._look(board.talk)):
            self._look(board.talk)
            await self._say(board)

    def _look(self, talk: BoardProtocol) -> None:
        """The newest face, at the last moment; with the version of the meter that it is of."""
        now = asyncio.get_running_loop().time()
        face = STOPPING if self._stops else self._view.face(now, self._sign.stale_seconds, climbs=self._climbs)
        if face != self._face:
            version = self._view.meter.version if self._view.meter and isinstance(face, Amount | Pending) else None
            self._face = face
            self._wanted.append(Wanted(_show(talk, face), face, version))

    async def _say(self, board: Board) -> None:
        at, confirmed = datetime.now(UTC), False
        saying = board.talk.next(asyncio.get_running_loop().time())
        try:
            confirmed = await board.say(saying)
            if saying.shows not in (None, DARK):
                self._note_connected()
        finally:
            # Also of what failed: the board may have it.
            if saying.shows is not None and saying.shows != self._told:
                self._note_told(saying.shows, at, confirmed=confirmed)
            elif confirmed:
                self._note_answer()
        self._note_board_fault(board.talk.fault)

    async def _news_or(self, moment: float) -> None:
        try:
            async with asyncio.timeout_at(moment):
                await self._news.wait()
        except TimeoutError:
            pass
        # What wakes this board wakes the others too: each has its own moment after it.
        await asyncio.sleep(self.behind_seconds)

    async def _farewell(self, board: Board) -> None:
        """From now on no one vouches for the figure."""
        self._stops = True
        try:
            async with asyncio.timeout(self._farewell_seconds):
                self._look(board.talk)
                while not board.talk.sure:
                    await self._take_turn(board)
        except (DriverError, TimeoutError) as error:
            self._note_line_fault(f"perhaps not blanked at the end: {str(error) or 'too slow'}")

    def _note_connected(self) -> None:
        """Only when it was told something: a port can be opened, and take a little, though nothing behind it reads."""
        if not self._connected:
            self._connected, self._line_fault = True, None
            self._keep("connected")
            log.info("sign_board_connected", board=self._sign.id, port=self._wiring.port)

    def _note_told(self, told: Shown, at: datetime, *, confirmed: bool) -> None:
        self._told, self._told_at = told, at
        wanted = next((wanted for wanted in reversed(self._wanted) if wanted.told == told), None)
        face = wanted.face if wanted else None
        reason = "its memory is laid out" if told == DARK else face.reason if isinstance(face, Dashes) else None
        if told != DARK:
            fits = told.cents is not None or isinstance(face, Dashes | None)
            self._misfit = None if fits else f"the amount does not fit on {self._wiring.width} places"
            reason = reason or self._misfit
        version = wanted.version if wanted else None
        self._keep("told", told, at, version, reason, confirmed=confirmed)
        self._answer_kept_at = None
        if confirmed:
            self._answered_at = self._answer_kept_at = at

    def _note_answer(self) -> None:
        self._answered_at = datetime.now(UTC)
        kept_at = self._answer_kept_at
        if kept_at is None or (self._answered_at - kept_at).total_seconds() >= ANSWER_KEPT_SECONDS:
            self._answer_kept_at = self._answered_at
            self._keep("answered", Shown(self._told.text) if self._told else None, confirmed=True)

    def _note_line_fault(self, fault: str) -> None:
        if fault != self._line_fault:
            log.warning("sign_board_fault", board=self._sign.id, fault=fault)
            self._keep("fault", reason=fault)
        self._line_fault = fault

    def _note_board_fault(self, fault: str | None) -> None:
        if fault == self._board_fault:
            return
        self._board_fault = fault
        if fault is not None:
            log.warning("sign_board_fault", board=self._sign.id, fault=fault)
            self._keep("fault", reason=fault)
        else:
            log.info("sign_board_well", board=self._sign.id)
            self._answer_kept_at = None  # the next answer ends the fault in the record too

    def _keep(
        self,
        event: Event,
        told: Shown | None = None,
        at: datetime | None = None,
        version: int | None = None,
        reason: str | None = None,
        *,
        confirmed: bool = False,
    ) -> None:
        text, cents = (told.text, told.cents) if told else (None, None)
        at = at or datetime.now(UTC)
        self._history.add(Entry(at, self._sign.id, event, text, cents, version, reason, confirmed))

    def snapshot(self) -> dict[str, Any]:
        return {
            "id": self._sign.id,
            "link": self._sign.link,
            "protocol": self._wiring.protocol,
            "port": self._wiring.port,
            "connected": self._connected,
            "shown_text": self._told.text if self._told else None,
            "shown_cents": self._told.cents if self._told else None,
            "shown_at": self._told_at,
            "acknowledged_at": self._answered_at,
            "fault": self.fault,
        }


def _show(talk: BoardProtocol, face: Face) -> Shown:
    match face:
        case Amount():
            return talk.show_amount(face)
        case Pending():
            return talk.show_pending(face)
        case Win():
            return talk.announce(face)
        case Dashes():
            return talk.blank()
        case _:
            assert_never(face)
