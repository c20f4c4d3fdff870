"""The daemon: builds the concrete things, runs them in one TaskGroup, and takes them down in order."""

import asyncio
import os
import signal
import socket
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import AsyncExitStack, asynccontextmanager
from typing import Any, cast

import asyncpg
import structlog
from sqlalchemy.ext.asyncio import AsyncEngine

from jackpot.config import Config, systemd_settings
from jackpot.console.app import create_app
from jackpot.console.server import HttpServer
from jackpot.daemon.lease_balancer import LeaseBalancer
from jackpot.daemon.link_runner import LinkRunner
from jackpot.daemon.service_manager import ServiceManager
from jackpot.daemon.unknown_links import UnknownLinkResponder
from jackpot.embedded import default_data_dir
from jackpot.embedded.servers import Servers, servers
from jackpot.errors import UserError
from jackpot.ledger.connection import CONNECT_TIMEOUT_S, CONTROL_SETTINGS, connect, create_engine
from jackpot.ledger.errors import DRIVER_ERRORS, unreachable
from jackpot.ledger.migrate import migrate, require_newest
from jackpot.ledger.quarantine import Quarantine
from jackpot.ledger.seal import UNSEALED, Seal
from jackpot.pki import expiry
from jackpot.pki.secrets import event_keys, exposed, heads_file, people_seal
from jackpot.signs import BoardAgent, JsonLinesHistory
from jackpot.signs.configured import sign_board
from jackpot.signs.feed import Feed

log = structlog.get_logger()

CLOSE_WITHIN_S = 2.0


class Service:
    """All links of one daemon, and what they share."""

    def __init__(
        self,
        config: Config,
        at: Servers,
        pool: asyncpg.Pool,
        history: JsonLinesHistory,
        at_point: Callable[[str], None] = lambda _: None,
    ) -> None:
        self.config = config
        self.broker = str(at.broker)
        name = f"{socket.gethostname()}-{os.getpid()}"
        self.feed = Feed(at.broker, f"jackpot-feed-{name}")
        self.boards = BoardAgent([sign_board(sign) for sign in config.signs], history)
        self.feed.listen(self.boards.hear)
        self.quarantine = Quarantine(pool)
        directory = {table.id: table.link for table in config.tables}
        keys = event_keys(config)
        links = [link.id for link in config.links]
        self.heads, seal = heads_file(config), people_seal(config)
        unknown_links = UnknownLinkResponder(at.broker, links, directory, name, self.quarantine.keep)
        self.share = (
            LeaseBalancer(links, name, pool, is_well=lambda: self.feed.connected) if config.leases.share else None
        )
        self.leaders = [
            LinkRunner(
                link,
                config,
                database_url=at.database_url,
                password=at.database_password,
                broker=at.broker,
                pool=pool,
                quarantine=self.quarantine,
                holder=name,
                reaches_broker=lambda: self.feed.connected,
                keys=keys,
                heads=self.heads,
                seal=seal,
                share=self.share,
                at_point=at_point,
                # Strays get one answer: from whoever leads the first link.
                beside=(unknown_links.run,) if link is config.links[0] else (),
            )
            for link in config.links
        ]

    def ready(self) -> dict[str, Any]:
        """What `/readyz` answers: every link has its lease, its ledger and its broker, or is led by another."""
        parts = {leader.link.id: self._parts(leader) for leader in self.leaders}
        return {"ready": all(all(part.values()) for part in parts.values()), "links": parts}

    def _parts(self, leader: LinkRunner) -> dict[str, bool | str | None]:
        if self.share is not None and not leader.leading:
            return {"leader": self.share.leader_of(leader.link.id)}
        return {"lease": leader.vouches(), "database": leader.reaches_ledger, "broker": leader.reaches_broker}

    async def lead(self) -> None:
        """Serve the links until `close`."""
        async with asyncio.TaskGroup() as links:
            for leader in self.leaders:
                links.create_task(leader.run(), name=leader.link.id)

    def close(self) -> None:
        if self.share is not None:
            self.share.close()
        for leader in self.leaders:
            leader.close()


async def serve(config: Config, *, at_point: Callable[[str], None] = lambda _: None) -> None:
    """Run the daemon until SIGTERM or SIGINT."""
    if not config.links:
        raise UserError("no links are configured; add at least one [[links]]")
    stop = asyncio.Event()
    for number in (signal.SIGTERM, signal.SIGINT):
        asyncio.get_running_loop().add_signal_handler(number, stop.set)
    folder = (config.embedded.data_dir or default_data_dir()) / "signs"
    with listening(config) as door:
        async with servers(config) as at, ledger(at, people_seal(config)) as (engine, pool):
            expiry.measure(config)
            for path, key in exposed(config).items():
                log.warning("secret_exposed", key=key, file=str(path), hint=f"chmod 400 {path}")
            with JsonLinesHistory(folder) as history:
                await _run(Service(config, at, pool, history, at_point), engine, door, stop)


def listening(config: Config) -> socket.socket:
    host, port = config.http.host, config.http.port
    try:
        return socket.create_server((host, port), family=socket.AF_INET6 if ":" in host else socket.AF_INET)
    except OSError as error:
        raise UserError(f"cannot listen on {config.http.listen}: {error}; choose another http.listen") from error


@asynccontextmanager
async def ledger(at: Servers, seal: Seal = UNSEALED) -> AsyncIterator[tuple[AsyncEngine, asyncpg.Pool]]:
    """The database, at the newest schema: an engine for questions and a pool for what the leaders do beside money."""
    console = (at.console_url, at.console_password) if at.console_url else (at.database_url, at.database_password)
    async with AsyncExitStack() as stack:
        engine = create_engine(*console, seal)
        stack.push_async_callback(_soon, engine.dispose)
        with unreachable(console[0]):
            if at.embedded_database:
                await migrate(engine)
            await require_newest(engine)
        pool = asyncpg.create_pool(
            at.database_url,
            connect=cast("Any", connect),  # as asyncpg's own, of which it takes only what we give it
            password=at.database_password,
            min_size=1,
            max_size=6,
            timeout=CONNECT_TIMEOUT_S,
            command_timeout=10.0,
            server_settings=CONTROL_SETTINGS,
        )
        with unreachable(at.database_url):
            await pool
        stack.push_async_callback(_soon, pool.close)
        yield engine, pool


async def _soon(close: Callable[[], Awaitable[None]]) -> None:
    """A database that stands still does not say goodbye; whoever stops does not wait for it."""
    try:
        async with asyncio.timeout(CLOSE_WITHIN_S):
            await close()
    except DRIVER_ERRORS as error:
        log.warning("database_not_closed", error=str(error) or type(error).__name__)


async def _run(service: Service, engine: AsyncEngine, door: socket.socket, stop: asyncio.Event) -> None:
    """Until asked to stop: then the links first, so that money is settled, and what shows it last."""
    config = service.config
    boards = service.boards.snapshot
    find_head = None if service.heads is None else service.heads.find
    app = create_app(
        engine=engine, feed=service.feed, config=config, boards=boards, ready=service.ready, find_head=find_head
    )
    http = HttpServer(app, config.http.trusted_proxies)
    async with asyncio.TaskGroup() as tasks:
        web = tasks.create_task(http.serve([door]), name="http")
        beside = [
            tasks.create_task(service.quarantine.run(), name="quarantine"),
            tasks.create_task(service.feed.run(), name="feed"),
            tasks.create_task(service.boards.run(), name="boards"),
        ]
        if service.share is not None:
            beside.append(tasks.create_task(service.share.run(), name="share"))
        links = tasks.create_task(service.lead(), name="links")
        manager = ServiceManager(*systemd_settings())
        beside.append(tasks.create_task(manager.beat(), name="watchdog"))
        asked = tasks.create_task(stop.wait(), name="stop")
        # Not only when it leads: a standby, or a daemon whose broker is away, is up and must not be started again.
        manager.tell("READY=1")
        # Where tables are to connect: an embedded broker has chosen its port by itself.
        log.info("serving", links=[link.id for link in config.links], broker=service.broker, http=config.http.listen)
        await asyncio.wait([asked, links], return_when=asyncio.FIRST_COMPLETED)
        manager.tell("STOPPING=1")
        log.info("stopping")
        service.close()
        await links
        app.state.console.watchers.close()
        http.should_exit = True
        await web
        for task in (asked, *beside):
            task.cancel()
    log.info("stopped")
