"""A daemon: the product's own leaders, one for each link, in a process that can be killed at any point."""

import asyncio
import datetime as dt
from collections.abc import Callable
from contextvars import copy_context
from typing import Any, cast

from jackpot.config import Config
from jackpot.daemon.lease_balancer import LeaseBalancer
from jackpot.daemon.link_runner import LinkRunner
from jackpot.daemon.unknown_links import UnknownLinkResponder
from tests.simulation.database import Database, Pool
from tests.simulation.loop import Process, VirtualLoop
from tests.simulation.network import Network
from tests.simulation.tables import BROKER

LEFT = {"replied", "acknowledged"}
"""The points after which what was said is on its way."""


class Killed(BaseException):
    """Not even a `finally` may do anything any more: the world is cut off already."""


class Quarantine:
    """What could not be read is kept by nobody here."""

    def keep(self, *_: object) -> None: ...


class Daemon:
    """A daemon over all its lives: whatever ends one, another begins after a while."""

    def __init__(
        self,
        name: str,
        loop: VirtualLoop,
        network: Network,
        database: Database,
        config: Config,
        *,
        now: Callable[[], dt.datetime],
        restart_after_s: Callable[[], float],
        complain: Callable[[str], None],
    ) -> None:
        self.name = name
        self.loop = loop
        self.network = network
        self.database = database
        self.config = config
        self.lives = 0
        self.clock_off_s = 0.0
        self.die_at: str | None = None
        """At which of the desk's named points it is killed next."""
        self.leaders: list[LinkRunner] = []
        self.share: LeaseBalancer | None = None
        self._now = now
        self._restart_after_s = restart_after_s
        self._complain = complain
        self._restart: asyncio.TimerHandle | None = None
        self._context = copy_context()
        self.start()

    def start(self) -> None:
        if self._restart is not None:
            self._restart.cancel()
            self._restart = None
        self.lives += 1
        self.die_at = None
        self.process = Process(f"{self.name}-{self.lives}", self.loop)
        self.process.start(self._live).add_done_callback(self._ended, context=self._context)

    @property
    def dead(self) -> bool:
        return self._restart is not None

    def kill(self, *, silently: bool = False) -> None:
        """`silently`: its machine is gone with it, so that nobody is told."""
        if not self.dead:
            self.process.kill()
            self.network.cut(self.process, silently=silently)
            self.database.cut(self.process, silently=silently)
            self._start_later()

    def close(self) -> None:
        """SIGTERM."""
        if self.share is not None:
            self.share.close()
        for leader in self.leaders:
            leader.close()

    def _ended(self, task: "asyncio.Task[None]") -> None:
        if not self.dead and not self.process.killed:
            if task.cancelled() or (error := task.exception()) is None:
                self._start_later()
            else:
                self._complain(f"daemon {self.process.name} died of {error!r}")

    def _start_later(self) -> None:
        self._restart = self.loop.call_later(self._restart_after_s(), self.start, context=self._context)

    async def _live(self) -> None:
        directory = {table.id: table.link for table in self.config.tables}
        links = [link.id for link in self.config.links]
        unknown_links = UnknownLinkResponder(BROKER, links, directory, self.process.name, on_unreadable=lambda *_: None)
        pool = cast("Any", Pool(self.database, self.process))
        self.share = LeaseBalancer(links, self.process.name, pool) if self.config.leases.share else None
        self.leaders = [
            LinkRunner(
                link,
                self.config,
                database_url="",
                password=None,
                broker=BROKER,
                pool=pool,
                quarantine=cast("Any", Quarantine()),
                holder=self.process.name,
                reaches_broker=lambda: self.network.reaches_broker(self.process),
                share=self.share,
                clock=self._clock,
                at_point=self._at_point,
                beside=(unknown_links.run,) if link is self.config.links[0] else (),
            )
            for link in self.config.links
        ]
        async with asyncio.TaskGroup() as tasks:
            if self.share is not None:
                tasks.create_task(self.share.run())
            for leader in self.leaders:
                tasks.create_task(leader.run())

    def _clock(self) -> dt.datetime:
        return self._now() + dt.timedelta(seconds=self.clock_off_s)

    def _at_point(self, point: str) -> None:
        if self.process.killed:
            return
        if point == self.die_at:
            if point in LEFT:
                self.network.flush(self.process)
            self.kill()
            raise Killed(point)
        if point == "begun" and self.die_at == "written":
            # While the batch is on its way, executed, or answered.
            self.die_at = None
            moment_s = self.database.arrival(self.process) - self.loop.time()
            self.loop.call_later(moment_s, self._die, self.process, context=self._context)

    def _die(self, process: Process) -> None:
        if self.process is process:
            self.kill(silently=True)
