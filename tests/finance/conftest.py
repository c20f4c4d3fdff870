from collections.abc import AsyncIterator

import pytest
from sqlalchemy.ext.asyncio import AsyncEngine

from jackpot.ledger.connection import create_engine
from tests.ledger.ledger_driver import intruder, ledger_template, ledger_url, played_template

__all__ = ["engine", "intruder", "ledger_template", "ledger_url", "played_template"]


@pytest.fixture
async def engine(ledger_url: str) -> AsyncIterator[AsyncEngine]:
    engine = create_engine(ledger_url)
    yield engine
    await engine.dispose()
