"""A casino for the console's tests: the real daemon on a real broker and ledger, its people, tables, and a browser."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from playwright.async_api import Browser, Page
from sqlalchemy.ext.asyncio import AsyncEngine

from drivers.emulator import EmulatedPort, emulate
from jackpot.console.access import COOKIE
from jackpot.floor.table import TableController
from jackpot.ledger.connection import create_engine
from jackpot.mqtt.client import Broker
from jackpot.people import accounts, sessions
from jackpot.people.audit import Actor
from jackpot.people.roles import Role
from tests.acceptance import processes
from tests.acceptance.processes import Daemon
from tests.brokers import free_port
from tests.servers import RestartableBroker
from tests.waiting import patience_s

PASSWORD = "correct horse battery"
INSTALLER = Actor("installer (terminal)", "terminal")
PEOPLE = {
    "dora": Role.DEALER,
    "sam": Role.PIT_SUPERVISOR,
    "mona": Role.PIT_MANAGER,
    "fritz": Role.FINANCE,
    "flora": Role.FINANCE,
    "ada": Role.AUDITOR,
    "emil": Role.ENGINEER,
}
OF_ROLE = {role: name for name, role in PEOPLE.items()}

LINK = "megalink"
TABLES = ("UTH-01", "UTH-02", "BE-01", "BE-02", "TCX-01")
ROYAL = ["As", "Ks", "Qs", "Js", "Ts"]
OTHER_ROYAL = ["Ah", "Kh", "Qh", "Jh", "Th"]
STRAIGHT_FLUSH = ["5d", "6d", "7d", "8d", "9d"]

PHONE = {"width": 390, "height": 844}
DESK = {"width": 1440, "height": 900}
WALL = {"width": 3840, "height": 2160}


async def hire(engine: AsyncEngine) -> None:
    for name, role in PEOPLE.items():
        await accounts.add(engine, INSTALLER, name, role, PASSWORD, must_change=False, vouching=engine)


@dataclass
class Site:
    url: str
    engine: AsyncEngine
    daemon: Daemon
    broker: RestartableBroker
    tables: dict[str, TableController]
    browser: Browser

    @asynccontextmanager
    async def page(
        self, name: str | None = None, viewport: dict[str, int] | None = None, **options: Any
    ) -> AsyncIterator[Page]:
        """A browser of its own, with this person logged in; a page that breaks the rules of its own CSP fails the test."""
        context = await self.browser.new_context(base_url=self.url, viewport=viewport or DESK, **options)  # type: ignore[arg-type]  # a plain dict is what it takes
        context.set_default_timeout(patience_s(15) * 1000)
        page = await context.new_page()
        complaints: list[str] = []
        page.on("pageerror", lambda error: complaints.append(str(error)))
        page.on("console", lambda said: complaints.append(said.text) if "Content Security" in said.text else None)
        try:
            if name is not None:
                secret = await sessions.log_in(self.engine, name, PASSWORD, "127.0.0.1")
                await context.add_cookies([{"name": COOKIE, "value": secret, "url": self.url}])
                await page.goto("/")
            yield page
        finally:
            await context.close()
        assert complaints == []

    async def deal(self, table: str, round_: str, *positions: int) -> int:
        """A round from "Place your bets" to "No more bets". Returns what the meter shows after it, in cents."""
        dealer = self.tables[table]
        if left := (await dealer.known())["round"]:  # by a test that failed
            await _accepted(dealer.say("round.voided", left["id"], reason="left behind"))
        await _accepted(dealer.say("round.opened", round_))
        for position in positions or (1,):
            await _accepted(dealer.say("wager.placed", round_, position=position, multiplier=1))
        closed = await _accepted(dealer.say("round.closed", round_))
        shown: int = closed["result"]["displayed_cents"]
        return shown

    async def enter(self, table: str, round_: str, cards: list[str], position: int = 1) -> None:
        await _accepted(self.tables[table].say("hand.entered", round_, position=position, cards=cards, community=[]))

    async def settle(self, table: str, round_: str) -> dict[str, Any]:
        return await _accepted(self.tables[table].say("round.settled", round_))


async def _accepted(answer: Any) -> dict[str, Any]:
    async with asyncio.timeout(patience_s(20)):
        reply: dict[str, Any] = await answer
    assert reply["status"] == "accepted", reply
    return reply


async def log_in(page: Page, name: str, password: str = PASSWORD) -> None:
    await page.goto("/login")
    await page.get_by_label("Name").fill(name)
    await page.get_by_label("Password").fill(password)
    await page.get_by_role("button", name="Log in").click()
    await page.wait_for_url(lambda url: not url.endswith("/login"))


@asynccontextmanager
async def open_house(
    directory: Path, database_url: str, broker: RestartableBroker, browser: Browser
) -> AsyncIterator[Site]:
    async with AsyncExitStack() as stack:
        engine = create_engine(database_url)
        stack.push_async_callback(engine.dispose)
        await hire(engine)
        port = EmulatedPort((emulate("alpha", "01", 16),), directory / "ttyBoard")
        await stack.enter_async_context(port)
        listen = f"127.0.0.1:{free_port()}"
        board = f'[[signs]]\nid = "pit-3"\nlink = "{LINK}"\nprotocol = "alpha"\nport = "{port.path}"\nbaud = 115200\n'
        floor = [
            processes.link(LINK),
            *(processes.table(table, LINK) for table in TABLES),
            processes.table("FAR-01", None),
        ]
        daemon = Daemon(directory, processes.configuration(database_url, broker.url, [*floor, board], listen))
        daemon.start()
        stack.callback(daemon.end)
        await asyncio.to_thread(daemon.wait_ready)
        tables = {
            table: await stack.enter_async_context(TableController(Broker.from_url(broker.url), LINK, table))
            for table in TABLES
        }
        yield Site(f"http://{listen}", engine, daemon, broker, tables, browser)
