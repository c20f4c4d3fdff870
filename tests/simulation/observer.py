"""The auditor's eyes on the boards: he knows what their program was told, and sees what stands on the wall.

- No board ever shows a figure that is not committed, nor one on its way between two that are.
- Where nobody vouches for a figure (the feed is cut, the link does not run, no meter comes) none stands for longer than
  its line needs.
- Where somebody does, it is the newest that came, within what the line needs.
"""

import json
import re
from collections.abc import Callable
from dataclasses import dataclass, field

from tests.properties.naive_messages import Json
from tests.simulation.auditor import Auditor
from tests.simulation.boards import Boards, Hung

BLANKED_WITHIN_S = 2.5
SHOWN_WITHIN_S = 6.0
"""A board that was laid out anew, or has a win taken off, takes some packets for it, at its own pace."""
WIN_S = 8.0
FIGURE = re.compile(r"\$?([\d,]+)\.(\d\d)")


@dataclass
class Heard:
    """What the boards' program has been told of a link on its present connection."""

    status: str | None = None
    said: list[str] = field(default_factory=list)
    live_at: float | None = None
    version: int = 0
    displayed: int | None = None


@dataclass
class Seen:
    """A board, and since when something is wrong with it."""

    unvouched_since: float | None = None
    wrong_since: float | None = None


def read(text: str) -> tuple[str, int | None]:
    """What stands on a board: `dark` or `dashes`, or a `figure` or a `win` in cents."""
    text = text.strip()
    if not text.strip("0."):
        # A numeric meter has no dashes: it is told a zero that no amount looks like. Before that it shows its own.
        return ("figure", 0) if re.fullmatch(r"0+\.00", text) else ("dashes" if text else "dark", None)
    if not text.strip("-"):
        return "dashes", None
    found = FIGURE.search(text)
    if found is None:
        return "unreadable", None
    cents = int(found[1].replace(",", "") + found[2])
    words = text[: found.start()].strip()
    return ("win" if words and not words.endswith(("PENDING", "HELD")) else "figure"), cents


class Observer:
    def __init__(self, auditor: Auditor, boards: Boards, now: Callable[[], float]) -> None:
        self._auditor = auditor
        self._boards = boards
        self._now = now
        self._heard: dict[str, Heard] = {}
        self._seen: dict[str, Seen] = {}
        self._awards: dict[str, float] = {}
        self._wins_until = 0.0

    # What their program is told.

    def connected(self) -> None:
        """A program that was started anew announces again what it hears again."""
        self._heard.clear()
        self._awards.clear()

    def delivered(self, topic: str, payload: bytes, *, retained: bool) -> None:
        _, _, link, *rest = topic.split("/")
        content = json.loads(payload)
        heard = self._heard.setdefault(link, Heard())
        if rest == ["status"]:
            self._status(heard, content)
        elif rest == ["meter"]:
            self._meter(heard, content, retained=retained)
        elif rest == ["awards"] and content["kind"] == "percentage" and content["award"] not in self._awards:
            self._awards[content["award"]] = self._now()
            self._wins_until = max(self._wins_until, self._now()) + WIN_S
        for hung in self._boards.hung.values():
            if hung.sign.link == link:
                self.look(hung)

    def _status(self, heard: Heard, status: Json) -> None:
        at = status.get("at")
        if at is not None and at in heard.said:
            if at != heard.said[-1]:
                return
        elif at is not None:
            heard.said.append(at)
            heard.version = 0
        heard.status = status["state"]
        if heard.status != "running":
            heard.live_at = None

    def _meter(self, heard: Heard, meter: Json, *, retained: bool) -> None:
        if meter["version"] < heard.version:
            return
        heard.displayed = meter["displayed_cents"]
        if not retained:
            heard.version, heard.live_at = meter["version"], self._now()

    # What he sees.

    def look_around(self) -> None:
        for hung in self._boards.hung.values():
            self.look(hung)

    def look(self, hung: Hung) -> None:
        now, boards = self._now(), self._boards
        seen = self._seen.setdefault(hung.sign.id, Seen())
        kind, cents = read(hung.board.state().text)
        if cents is not None:
            self._committed(hung, kind, cents)
        if not boards.process.running:
            hung.excuse(now)
        heard = self._heard.get(hung.sign.link, Heard())
        vouched = (
            boards.network.connected(boards.process)
            and heard.status == "running"
            and heard.live_at is not None
            and now - heard.live_at < hung.sign.stale_seconds
        )
        seen.unvouched_since = None if vouched else min(seen.unvouched_since or now, now)
        winning = now < self._wins_until + SHOWN_WITHIN_S
        right = (vouched and kind == "figure" and cents == heard.displayed) or (
            heard.displayed == 0 and kind == "dashes"
        )
        excused = now < hung.excused_until or winning
        seen.wrong_since = None if right or excused or not vouched else min(seen.wrong_since or now, now)
        if excused:
            seen.unvouched_since = None
        text = hung.board.state().text
        if seen.unvouched_since is not None and cents is not None and now - seen.unvouched_since > BLANKED_WITHIN_S:
            self._auditor.complain(
                f"{hung.sign.id} shows {text!r}, for which nobody vouches since {seen.unvouched_since}"
            )
        if seen.wrong_since is not None and now - seen.wrong_since > SHOWN_WITHIN_S:
            self._auditor.complain(f"{hung.sign.id} shows {text!r}, not {heard.displayed}, since {seen.wrong_since}")

    def _committed(self, hung: Hung, kind: str, cents: int) -> None:
        """Digits have no words: on a numeric meter a win is a figure, too."""
        file = self._auditor.files[hung.sign.link]
        amounts = {award["amount_cents"] for award in file.model.now.awards.values()}
        if cents not in amounts and (kind == "win" or (cents not in file.displayed and cents not in file.climb)):
            text = hung.board.state().text
            self._auditor.complain(f"{hung.sign.id} shows {text!r}, which was never committed")

    def busy(self) -> list[str]:
        """Boards that do not show what they must yet."""
        found = [name for name, seen in self._seen.items() if seen.wrong_since or seen.unvouched_since]
        return [*found, "wins"] if self._now() < self._wins_until + SHOWN_WITHIN_S else found
