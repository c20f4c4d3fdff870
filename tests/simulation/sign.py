"""A sign on the floor: lives on the product's own feed, loses it, comes back, and must never show an older figure."""

from collections.abc import Callable
from typing import Any

from jackpot.signs.feed import Feed
from tests.simulation.loop import Process, VirtualLoop
from tests.simulation.tables import BROKER


class Sign:
    def __init__(self, loop: VirtualLoop, check: Callable[[str, dict[str, Any]], None]) -> None:
        """`check` is called with the link and the meter that is shown."""
        self._check = check
        self.process = Process("sign", loop)
        self.process.start(self._live)

    async def _live(self) -> None:
        feed = Feed(BROKER, "sign")
        feed.listen(self._hear)
        await feed.run()

    def _hear(self, kind: str, link: str, content: dict[str, Any], live: bool) -> None:
        if kind == "meter":
            self._check(link, dict(content))
