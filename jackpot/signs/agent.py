"""All the boards of one program, fed with the contract's messages."""

import asyncio
from collections import Counter
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from typing import Any, Final

import structlog

from drivers.line import Lines
from drivers.wiring import ResolvedWiring, clashes
from jackpot.errors import UserError
from jackpot.signs.board_task import BoardTask, SignBoard
from jackpot.signs.display import WIN_SECONDS, LinkView
from jackpot.signs.feed import UnreadableError
from jackpot.signs.history import History
from jackpot.signs.messages import read_award, read_meter, read_state

SPREAD_SECONDS: Final = 0.1
"""The boards are told one after another within this: at once, fifty would hold up the money for a moment."""

log = structlog.get_logger()


class BoardAgent:
    """One task a board. Whoever feeds it never waits: each call only notes the message and wakes the boards.

    A figure is shown while the link's status is `running` and a live meter came within the board's
    `stale_seconds`; so feed the meter at least every second or two, changed or not.
    """

    def __init__(self, boards: Sequence[SignBoard], history: History, *, win_seconds: float = WIN_SECONDS) -> None:
        lines = Lines()
        self._views: dict[str, LinkView] = {board.link: LinkView(win_seconds) for board in boards}
        self._keepers: dict[str, list[BoardTask]] = {link: [] for link in self._views}
        self._unreadable: dict[str, str] = {}
        self._clock_off: set[str] = set()
        wirings = _wirings(boards)
        sharing = Counter(wiring.port for wiring in wirings.values())
        for place, board in enumerate(boards):
            wiring = wirings[board.id]
            self._keepers[board.link].append(
                BoardTask(
                    board,
                    wiring,
                    self._views[board.link],
                    lines,
                    history,
                    behind_seconds=SPREAD_SECONDS * place / len(boards),
                    line_boards=sharing[wiring.port],
                )
            )

    async def run(self) -> None:
        """Until it is cancelled; then every board that can still be reached shows dashes."""
        async with asyncio.TaskGroup() as tasks:
            for keeper in self.keepers():
                tasks.create_task(keeper.run())

    def hear(self, kind: str, link: str, message: dict[str, Any], live: bool) -> None:
        """Listen to a feed of the wire."""
        match kind:
            case "meter":
                self.meter(message, live=live)
            case "award":
                self.award(message)
            case _:
                self.status(link, message)

    def meter(self, message: Mapping[str, Any], *, live: bool = True) -> None:
        """`live` is false for a retained message: it may be old and vouches for nothing."""
        try:
            meter = read_meter(message)
        except UnreadableError as error:
            self._note_unreadable("meter", str(error))
            return
        if view := self._views.get(meter.link):
            view.take_meter(meter, self._now(), datetime.now(UTC), live=live)
            self._note_clock(meter.link, view.clock_fault)
            self._wake(meter.link)

    def award(self, message: Mapping[str, Any]) -> None:
        try:
            view = self._views.get(str(message.get("link")))
            if view is None:
                return
            currency = view.meter.displayed.currency if view.meter else "SGD"
            award = read_award(message, currency)
        except UnreadableError as error:
            self._note_unreadable("award", str(error))
            return
        view.take_award(award, self._now(), datetime.now(UTC))
        self._wake(award.link)

    def status(self, link: str, message: Mapping[str, Any]) -> None:
        """A status does not say whose it is: the link is the one whose topic it came on."""
        try:
            state = read_state(message)
        except UnreadableError as error:
            self._note_unreadable("status", str(error))
            return
        if view := self._views.get(link):
            view.take_status(state)
            self._wake(link)

    def snapshot(self) -> list[dict[str, Any]]:
        return [keeper.snapshot() for keeper in self.keepers()]

    @property
    def links(self) -> tuple[str, ...]:
        return tuple(self._views)

    def _note_unreadable(self, kind: str, error: str) -> None:
        """It changes no board, and is said once: a meter comes several times a second."""
        if self._unreadable.get(kind) != error:
            self._unreadable[kind] = error
            log.warning("sign_message_unreadable", kind=kind, error=error)

    def _note_clock(self, link: str, fault: str | None) -> None:
        """Said once: it differs a little every time."""
        if fault is None:
            self._clock_off.discard(link)
        elif link not in self._clock_off:
            self._clock_off.add(link)
            log.warning("sign_clock_off", link=link, fault=fault)

    def keepers(self) -> list[BoardTask]:
        return [keeper for keepers in self._keepers.values() for keeper in keepers]

    def _wake(self, link: str) -> None:
        for keeper in self._keepers[link]:
            keeper.wake()

    @staticmethod
    def _now() -> float:
        return asyncio.get_running_loop().time()


def _wirings(boards: Sequence[SignBoard]) -> dict[str, ResolvedWiring]:
    found = {}
    for board in boards:
        try:
            found[board.id] = board.wiring.resolved()
        except ValueError as error:
            raise UserError(f"signs: {board.id}: {error}") from error
    for clash in clashes(found):
        raise UserError(f"signs: {clash}")
    return found
