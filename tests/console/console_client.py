"""The console in this process, on a real ledger that holds every kind of event, and clients for each person."""

import asyncio
import datetime as dt
import socket
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any

import httpx
from fastapi import FastAPI
from prometheus_client import REGISTRY
from sqlalchemy.ext.asyncio import AsyncEngine

from jackpot.config import read
from jackpot.console import create_app
from jackpot.console.access import COOKIE
from jackpot.console.server import HttpServer
from jackpot.ledger.connection import create_engine
from jackpot.mqtt.client import Broker
from jackpot.people import sessions
from jackpot.signs.feed import Feed
from tests.console.site import LINK, PASSWORD, hire
from tests.ledger.ledger_driver import NOON, play_every_kind, scribe_at

OTHER_LINK = "minilink"
TABLES = ("UTH-01", "UTH-02", "BE-01", "TCX-01")
DAY = dt.date(2026, 11, 16)

CONFIG = read(
    {
        "links": [{"id": LINK, "increment_bp": 2500, "reserve_bp": 310, "reset_cents": 10_000_000}],
        "tables": [{"id": "FAR-01", "game": "fast-action-roulette"}],
    },
    "the test's configuration",
    {},
)

BOARD = {
    "id": "pit-3",
    "link": LINK,
    "protocol": "alpha",
    "port": "/dev/ttyUSB0",
    "connected": True,
    "shown_text": "$81,000.00",
    "shown_cents": 8_100_000,
    "shown_at": NOON,
    "acknowledged_at": NOON,
    "fault": None,
}


@dataclass
class ConsoleClient:
    engine: AsyncEngine
    app: FastAPI
    _secrets: dict[str, str] = field(default_factory=dict)

    async def secret(self, name: str) -> str:
        """The secret of the person's session; one login serves all tests."""
        if name not in self._secrets:
            self._secrets[name] = await sessions.log_in(self.engine, name, PASSWORD, "testclient")
        return self._secrets[name]

    async def session(self, name: str) -> sessions.Session:
        found = await sessions.find(self.engine, await self.secret(name))
        assert found is not None
        return found

    @asynccontextmanager
    async def client(
        self, name: str | None = None, *, csrf: bool = True, **options: Any
    ) -> AsyncIterator[httpx.AsyncClient]:
        """A browser's requests without the browser; with `csrf` as a page of the session would send them."""
        transport = httpx.ASGITransport(app=self.app, raise_app_exceptions=False)
        async with httpx.AsyncClient(transport=transport, base_url="http://console", **options) as client:
            client.headers["Accept"] = "text/html"
            if name is not None:
                client.cookies.set(COOKIE, await self.secret(name))
                if csrf:
                    client.headers["X-CSRF-Token"] = (await self.session(name)).csrf
            yield client


def console(engine: AsyncEngine) -> FastAPI:
    """No broker and no daemon: what it shows comes from the ledger alone."""
    return create_app(
        engine=engine,
        feed=Feed(Broker("127.0.0.1", 1), "office"),
        config=CONFIG,
        boards=lambda: [BOARD],
        ready=lambda: {"ready": True, "links": {}},
        registry=REGISTRY,
    )


@asynccontextmanager
async def open_office(url: str) -> AsyncIterator[ConsoleClient]:
    engine = create_engine(url)
    try:
        await hire(engine)
        async with scribe_at(url, *TABLES) as scribe:
            play_every_kind(scribe)
            await scribe.commit()
        async with scribe_at(url, link=OTHER_LINK):
            pass
        yield ConsoleClient(engine, console(engine))
    finally:
        await engine.dispose()


@asynccontextmanager
async def served(office: ConsoleClient, *trusted_proxies: str) -> AsyncIterator[int]:
    """The real web server around it; its port."""
    door = socket.create_server(("127.0.0.1", 0))
    server = HttpServer(office.app, trusted_proxies)
    serving = asyncio.create_task(server.serve([door]))
    while not server.started:
        await asyncio.sleep(0.01)
    yield door.getsockname()[1]
    server.should_exit = True
    await serving
