"""The live feed for browsers: server-sent events, the newest of each kind, as fast as each browser takes them."""

import asyncio
import datetime as dt
from collections import deque
from collections.abc import AsyncGenerator, Awaitable, Callable
from typing import Any, Final

from fastapi.sse import ServerSentEvent

from jackpot.signs.feed import Feed

PACE_S: Final = 0.2
"""At most five turns a second to one browser: the eye needs no more, and a burst costs nothing."""
TICK_S: Final = 2.0
"""A browser that hears nothing for longer knows that what it shows is stale."""
STILL_ALLOWED_S: Final = 20.0
AWARDS_KEPT: Final = 16
WATCHERS_MAX: Final = 500


class TooManyWatchersError(Exception):
    """The sign page is public: the number of open streams is bounded."""


async def always() -> bool:
    return True


class Watchers:
    def __init__(self, feed: Feed) -> None:
        self._feed = feed
        self._watchers: set[_Watcher] = set()
        self._closed = False
        feed.listen(self._tell)

    def _tell(self, kind: str, link: str, content: dict[str, Any], live: bool) -> None:
        for watcher in self._watchers:
            watcher.take(kind, link, content, live=live)

    def admit(self) -> None:
        if len(self._watchers) >= WATCHERS_MAX:
            raise TooManyWatchersError

    async def watch(
        self, link: str | None = None, still_allowed: Callable[[], Awaitable[bool]] = always
    ) -> AsyncGenerator[ServerSentEvent, None]:
        """What is known first, then all that changes; of one link, or of all. Ends when it is no longer allowed."""
        watcher = _Watcher(link)
        for (kind, name), content in self._feed.latest.items():
            if kind != "award":
                watcher.take(kind, name, content, live=False)
        self._watchers.add(watcher)
        loop = asyncio.get_running_loop()
        ask_again_at = loop.time() + STILL_ALLOWED_S
        try:
            yield ServerSentEvent(retry=1000)
            while not self._closed:
                for event in watcher.news():
                    yield event
                if loop.time() >= ask_again_at:
                    if not await still_allowed():
                        return
                    ask_again_at = loop.time() + STILL_ALLOWED_S
                await asyncio.sleep(PACE_S)
                if not await watcher.changed(TICK_S):
                    yield ServerSentEvent(event="tick", data={"connected": self._feed.connected, "at": _now()})
        finally:
            self._watchers.discard(watcher)

    def close(self) -> None:
        """Ends every stream, so that the server can stop."""
        self._closed = True
        for watcher in self._watchers:
            watcher.wake()


class _Watcher:
    """One browser: what it has not been sent yet."""

    def __init__(self, link: str | None) -> None:
        self._link = link
        self._newest: dict[tuple[str, str], ServerSentEvent] = {}
        self._awards: deque[ServerSentEvent] = deque(maxlen=AWARDS_KEPT)
        self._awake = asyncio.Event()

    def take(self, kind: str, link: str, content: dict[str, Any], *, live: bool) -> None:
        if self._link not in (None, link):
            return
        event = ServerSentEvent(event=kind, data={**content, "link": link, "live": live})
        if kind == "award":
            self._awards.append(event)
        else:
            self._newest[kind, link] = event
        self._awake.set()

    def news(self) -> list[ServerSentEvent]:
        self._awake.clear()
        news = [*self._awards, *self._newest.values()]
        self._awards.clear()
        self._newest.clear()
        return news

    def wake(self) -> None:
        self._awake.set()

    async def changed(self, within_s: float) -> bool:
        try:
            async with asyncio.timeout(within_s):
                await self._awake.wait()
        except TimeoutError:
            return False
        return True


def _now() -> str:
    return dt.datetime.now(dt.UTC).isoformat(timespec="milliseconds")
