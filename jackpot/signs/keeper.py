"""One board's task: connect, show the newest face at the board's own pace, ask, come back after a fault."""

import asyncio
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any, Final, assert_never

import structlog

from drivers.board import Amount, Board, DriverError, Pending, Told, Win, Wiring
from drivers.connect import connect
from drivers.line import Lines
from jackpot import metrics
from jackpot.signs.face import Dashes, Face, LinkView
from jackpot.signs.history import Entry, Event, History

RETRY_SECONDS: Final = 1.0
PROBE_SECONDS: Final = 2.0
LOOK_SECONDS: Final = 0.5
"""How often an idle board's line is looked at: an unplugged one says nothing by itself."""
ANSWER_KEPT_SECONDS: Final = 60.0
"""Of answers that only say the same again one a minute is kept."""
FAREWELL_SECONDS: Final = 1.0

log = structlog.get_logger()


@dataclass(frozen=True, slots=True)
class SignBoard:
    id: str
    link: str
    wiring: Wiring
    stale_seconds: float = 5.0


class Keeper:
    def __init__(
        self, board: SignBoard, view: LinkView, lines: Lines, history: History, *, behind_seconds: float
    ) -> None:
        self._sign = board
        self._wiring = board.wiring.resolved()
        self._view = view
        self._lines = lines
        self._history = history
        self.behind_seconds = behind_seconds
        self._news = asyncio.Event()
        self._connected = False
        self._told: Told | None = None
        self._told_at: datetime | None = None
        self._answered_at: datetime | None = None
        self._answer_kept_at: datetime | None = None
        self._fault: str | None = None
        metrics.sign_connected.labels(board.id, board.link).set_function(self._is_well)

    def _is_well(self) -> bool:
        return self._connected and self._fault is None

    def wake(self) -> None:
        """Something new was heard; what exactly is read when the board is ready for it."""
        self._news.set()

    async def run(self) -> None:
        await asyncio.sleep(self.behind_seconds)
        while True:
            try:
                await self._connect_and_keep()
            except DriverError as error:
                self._note_fault(str(error))
            except Exception:
                # A fault in one board's driver must end neither the other boards nor the money's path.
                log.exception("sign_board_task_failed", board=self._sign.id)
                self._note_fault("internal error, see the log")
            await asyncio.sleep(RETRY_SECONDS)

    async def _connect_and_keep(self) -> None:
        board = await connect(self._wiring, self._lines)
        try:
            self._connected, self._fault = True, None
            self._keep("connected")
            log.info("sign_board_connected", board=self._sign.id, port=self._wiring.port)
            await self._keep_true(board)
        except asyncio.CancelledError:
            await self._farewell(board)
            raise
        finally:
            self._connected = False
            await board.close()

    async def _keep_true(self, board: Board) -> None:
        now = asyncio.get_running_loop().time
        shown: Face | None = None
        probe_at = now()
        while True:
            await board.ready()
            self._news.clear()
            face = self._view.face(now(), self._sign.stale_seconds)
            if face != shown:
                self._note_told(await _show(board, face), face)
                shown = face
                # Asked as soon as the board is ready again, unless there is a newer figure by then.
                probe_at = now()
            elif now() >= probe_at:
                if await board.probe():
                    self._note_answer()
                probe_at = now() + PROBE_SECONDS
            else:
                change_at = self._view.next_change(now(), self._sign.stale_seconds)
                await self._news_or(min(probe_at, change_at, now() + LOOK_SECONDS))

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
        try:
            async with asyncio.timeout(FAREWELL_SECONDS):
                dashes = Dashes("the signs' program stops")
                self._note_told(await _show(board, dashes), dashes)
        except (DriverError, TimeoutError) as error:
            self._note_fault(f"not blanked at the end: {str(error) or 'too slow'}")

    def _note_told(self, told: Told, face: Face) -> None:
        self._told, self._told_at = told, datetime.now(UTC)
        fits = told.cents is not None or isinstance(face, Dashes)
        self._fault = None if fits else f"the amount does not fit on {self._wiring.width} places"
        reason = face.reason if isinstance(face, Dashes) else self._fault
        version = self._view.meter.version if self._view.meter and isinstance(face, Amount | Pending) else None
        self._keep("told", told.text, told.cents, version, reason, confirmed=told.confirmed)
        self._answer_kept_at = None
        if told.confirmed:
            self._answered_at = self._answer_kept_at = self._told_at

    def _note_answer(self) -> None:
        self._answered_at = datetime.now(UTC)
        kept_at = self._answer_kept_at
        if kept_at is None or (self._answered_at - kept_at).total_seconds() >= ANSWER_KEPT_SECONDS:
            self._answer_kept_at = self._answered_at
            self._keep("answered", self._told.text if self._told else None, confirmed=True)

    def _note_fault(self, fault: str) -> None:
        if fault != self._fault:
            log.warning("sign_board_fault", board=self._sign.id, fault=fault)
            self._keep("fault", reason=fault)
        self._fault = fault

    def _keep(
        self,
        event: Event,
        text: str | None = None,
        cents: int | None = None,
        version: int | None = None,
        reason: str | None = None,
        *,
        confirmed: bool = False,
    ) -> None:
        at = datetime.now(UTC)
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
            "fault": self._fault,
        }


async def _show(board: Board, face: Face) -> Told:
    match face:
        case Amount():
            return await board.show_amount(face)
        case Pending():
            return await board.show_pending(face)
        case Win():
            return await board.announce(face)
        case Dashes():
            return await board.blank()
        case _:
            assert_never(face)
