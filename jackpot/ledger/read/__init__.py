"""What the pages ask the ledger: SQLAlchemy Core, read-only, bounded in rows and in time.

Every query walks an index from a known place and stops after a page, so history costs nothing.
"""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Final

from sqlalchemy import text
from sqlalchemy.ext.asyncio import AsyncConnection, AsyncEngine

PAGE_ROWS: Final = 50
STATEMENT_S: Final = 5


@asynccontextmanager
async def reading(engine: AsyncEngine) -> AsyncIterator[AsyncConnection]:
    """One snapshot for a whole page; it writes nothing and holds up no writer for long."""
    async with engine.connect() as plain:
        connection = await plain.execution_options(isolation_level="REPEATABLE READ", postgresql_readonly=True)
        async with connection.begin():
            await connection.execute(text(f"SET LOCAL statement_timeout = '{STATEMENT_S}s'"))
            yield connection
