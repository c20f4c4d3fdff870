"""One casino, one browser and one office for all tests of the console: they are costly to open."""

from collections.abc import AsyncIterator, Iterator

import pytest
import pytest_asyncio
from argon2 import PasswordHasher
from playwright.async_api import Browser, async_playwright

from jackpot.people import passwords
from tests import brokers
from tests.console.console_client import ConsoleClient, open_office
from tests.console.site import Site, open_house
from tests.ledger.ledger_driver import ledger_template, ledger_url
from tests.servers import PostgresProgram, RestartableBroker

__all__ = ["ledger_template", "ledger_url"]

HASHER = passwords._hasher
"""As the product uses it."""
CHROMIUM = ["--no-sandbox", "--disable-gpu", "--disable-background-networking", "--disable-component-update"]


@pytest.fixture(scope="session", autouse=True)
def quick_passwords() -> Iterator[None]:
    """Argon2 as weak as it goes: what these tests ask does not depend on how long a guess takes."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(passwords, "_hasher", PasswordHasher(time_cost=1, memory_cost=8, parallelism=1))
        yield


@pytest.fixture(scope="session")
def restartable_broker(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RestartableBroker]:
    broker = RestartableBroker(brokers.mosquitto, tmp_path_factory.mktemp("console-broker"))
    broker.start()
    yield broker
    broker.kill()


@pytest_asyncio.fixture(scope="session", loop_scope="session")
async def browser() -> AsyncIterator[Browser]:
    async with async_playwright() as playwright:
        started = await playwright.chromium.launch(executable_path="/usr/bin/chromium", args=CHROMIUM)
        yield started
        await started.close()


@pytest_asyncio.fixture(scope="session", loop_scope="session")
async def house(
    postgres: PostgresProgram,
    ledger_template: str,
    restartable_broker: RestartableBroker,
    browser: Browser,
    tmp_path_factory: pytest.TempPathFactory,
) -> AsyncIterator[Site]:
    async with (
        postgres.database(ledger_template) as url,
        open_house(tmp_path_factory.mktemp("house"), url, restartable_broker, browser) as house,
    ):
        yield house


@pytest_asyncio.fixture(scope="session", loop_scope="session")
async def office(postgres: PostgresProgram, ledger_template: str) -> AsyncIterator[ConsoleClient]:
    async with postgres.database(ledger_template) as url, open_office(url) as office:
        yield office
