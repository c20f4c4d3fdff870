"""Puts the demonstration up, and takes it down: servers, board, daemon, accounts, tables, in this order."""

import asyncio
import os
import random
import socket
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import AsyncExitStack, asynccontextmanager, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import structlog

from drivers.emulator import BoardState, EmulatedPort, emulate
from jackpot.config import Config
from jackpot.demo.books import BookReader
from jackpot.demo.by_hand import HandBookkeeper
from jackpot.demo.daemon import Daemon
from jackpot.demo.floor import Floor, tally_of
from jackpot.demo.news import News
from jackpot.demo.people import kept_password, open_accounts
from jackpot.demo.place import BOARD_WIDTH, BY_HAND, Place
from jackpot.embedded import EmbeddedBroker, EmbeddedPostgres
from jackpot.embedded.place import Lock, make_home
from jackpot.errors import UserError
from jackpot.mqtt.broker import Broker
from jackpot.signs.feed import Feed

HOST: Final = "127.0.0.1"
PORT_USUAL: Final = 8080


@dataclass(frozen=True, slots=True, kw_only=True)
class Stage:
    place: Place
    config: Config
    password: str
    broker: Broker
    daemon: Daemon
    floor: Floor
    by_hand: HandBookkeeper
    feed: Feed
    books: BookReader
    news: News
    board: "Board"


class Board:
    """The emulated board at the end of a serial line that can be pulled out."""

    def __init__(self, port: EmulatedPort, news: News) -> None:
        self._port = port
        self._news = news
        self.plugged = True

    def state(self) -> BoardState:
        return self._port.boards[0].state()

    def toggle(self) -> None:
        self.plugged = not self.plugged
        if self.plugged:
            self._port.boards[0].power_cycle()
            self._port.replug()
        else:
            self._port.unplug()
        self._news.tell("the board is plugged in again" if self.plugged else "the board is unplugged: it is dark")


@asynccontextmanager
async def stage(
    data_dir: Path, port: int | None, chance: random.Random, say: Callable[[str], None]
) -> AsyncIterator[Stage]:
    """`say` is told what is being done, while there is no screen yet."""
    make_home(data_dir)
    place, news = Place(data_dir), News()
    _log_to(place.demo_log)
    async with AsyncExitStack() as stack:
        stack.enter_context(_alone(place))
        config = place.write_config(_port(port))
        password, new = kept_password(place.password)
        say(f"PostgreSQL and an MQTT broker start in {place.data_dir}")
        async with asyncio.TaskGroup() as starting:
            database = starting.create_task(stack.enter_async_context(EmbeddedPostgres(place.data_dir)))
            mqtt = starting.create_task(stack.enter_async_context(EmbeddedBroker(place.data_dir)))
        board = emulate("alpha", "01", BOARD_WIDTH)
        board_port = await stack.enter_async_context(EmulatedPort([board], place.board_port))
        daemon = Daemon(place, config, news.tell)
        stack.push_async_callback(daemon.stop)
        say(f"the daemon starts: {', '.join(link.id for link in config.links)}, {len(config.tables)} tables, one board")
        await daemon.start()
        await open_accounts(database.result(), password, new=new)
        broker = Broker.from_url(mqtt.result())
        feed = Feed(broker, "demo-screen")
        feed.listen(news.hear)
        link = next(table.link for table in config.tables if table.id == BY_HAND) or ""
        floor = Floor(place, config, broker, chance)
        news.hand_of = floor.hand_of
        yield Stage(
            place=place,
            config=config,
            password=password,
            broker=broker,
            daemon=daemon,
            floor=floor,
            by_hand=HandBookkeeper(broker, link, BY_HAND, tally_of(BY_HAND, place, config)),
            feed=feed,
            books=BookReader(database.result()),
            news=news,
            board=Board(board_port, news),
        )


@contextmanager
def _alone(place: Place) -> Iterator[None]:
    """One demonstration a directory. Its process id is there for who wants to send it a signal."""
    lock = Lock(place.data_dir / "lock")
    if not lock.take():
        raise UserError(
            f"a demonstration runs in {place.data_dir} already (process {place.demo_pid.read_text().strip()}); "
            "stop it, or choose another place with --data-dir"
        )
    place.demo_pid.write_text(f"{os.getpid()}\n")
    try:
        yield
    finally:
        place.demo_pid.unlink(missing_ok=True)
        lock.release()


def _port(wanted: int | None) -> int:
    """The port asked for; else the usual one, or any if that is taken."""
    for port in (PORT_USUAL, 0) if wanted is None else (wanted,):
        with socket.socket() as probe:
            probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            try:
                probe.bind((HOST, port))
            except OSError:
                continue
            found: int = probe.getsockname()[1]
            return found
    raise UserError(f"port {wanted} of {HOST} cannot be used; choose another with --port")


def _log_to(path: Path) -> None:
    """The terminal is for the floor; what programs have to say goes to a file."""
    structlog.configure(
        processors=[
            structlog.processors.add_log_level,
            structlog.processors.TimeStamper(fmt="iso", utc=True),
            structlog.processors.JSONRenderer(),
        ],
        logger_factory=structlog.PrintLoggerFactory(path.open("a", encoding="utf-8")),
    )
