"""What every page stands on: the ledger to read, the feed to listen to, and the floor as configured."""

import datetime as dt
from collections.abc import Callable
from dataclasses import dataclass
from typing import Annotated, Any, Literal

from fastapi import Depends, Request
from prometheus_client import CollectorRegistry
from sqlalchemy.ext.asyncio import AsyncEngine

from jackpot.config import Config
from jackpot.console.live import Watchers
from jackpot.console.render import Renderer
from jackpot.contract.gaming_day import GamingDay
from jackpot.finance.reconciliation.day_head import Finder
from jackpot.signs.feed import Feed

LinkState = Literal["running", "suspended", "stopped", "lost"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Console:
    engine: AsyncEngine
    feed: Feed
    config: Config
    boards: Callable[[], list[dict[str, Any]]]
    ready: Callable[[], dict[str, Any]]
    """What `/readyz` answers; its `ready` says whether all parts are there."""
    registry: CollectorRegistry
    watchers: Watchers
    renderer: Renderer
    gaming_day: GamingDay
    find_head: Finder | None = None
    """Looks for a signed head in this daemon's file."""

    def today(self) -> dt.date:
        return self.gaming_day.day(dt.datetime.now(dt.UTC))

    def state_of(self, link: str, suspended: str | None) -> LinkState:
        """As the controller announces it; what the ledger says about a suspension goes first."""
        if suspended is not None:
            return "suspended"
        announced = self.feed.latest.get(("status", link), {}).get("state")
        return announced if self.feed.connected and announced in ("running", "suspended", "stopped") else "lost"

    def shown_version(self, link: str) -> int | None:
        """The event up to which the announced meter counts; None while nothing is announced."""
        version = self.feed.latest.get(("meter", link), {}).get("version")
        return version if isinstance(version, int) else None


def _console(request: Request) -> Console:
    console: Console = request.app.state.console
    return console


ConsoleDep = Annotated[Console, Depends(_console)]


def room_for_one_more(console: ConsoleDep) -> None:
    """Streams stay open, and those of the sign page are public: their number is bounded."""
    console.watchers.admit()
