"""All the boards of one program, fed with the contract's messages."""

import asyncio
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from typing import Any, Final

import structlog

from drivers.line import Lines
from jackpot.errors import UserError
from jackpot.signs.face import WIN_SECONDS, LinkView
from jackpot.signs.history import History
from jackpot.signs.keeper import Keeper, SignBoard
from jackpot.signs.messages import read_award, read_meter, read_state
from jackpot.wire.feed import UnreadableError

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
        self._keepers: dict[str, list[Keeper]] = {link: [] for link in self._views}
        self._unreadable: dict[str, str] = {}
        places = [(board.wiring.port, board.wiring.address) for board in boards]
        for place, board in enumerate(boards):
            if places.count((board.wiring.port, board.wiring.address)) > 1:
                raise UserError(f"signs: {board.id}: another board has its port and address too")
            try:
                behind = SPREAD_SECONDS * place / len(boards)
                keeper = Keeper(board, self._views[board.link], lines, history, behind_seconds=behind)
            except ValueError as error:
                raise UserError(f"signs: {board.id}: {error}") from error
            self._keepers[board.link].append(keeper)

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
            view.take_meter(meter, self._now(), live=live)
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

    def keepers(self) -> list[Keeper]:
        return [keeper for keepers in self._keepers.values() for keeper in keepers]

    def _wake(self, link: str) -> None:
        for keeper in self._keepers[link]:
            keeper.wake()

    @staticmethod
    def _now() -> float:
        return asyncio.get_running_loop().time()
