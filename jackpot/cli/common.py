"""What commands that ask the ledger share."""

import asyncio
import datetime as dt
import sys
from collections.abc import AsyncIterator, Coroutine
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TypeVar

import asyncpg
from sqlalchemy.exc import SQLAlchemyError
from sqlalchemy.ext.asyncio import AsyncEngine

from jackpot import logs
from jackpot.config import Config
from jackpot.embedded.servers import database
from jackpot.errors import UserError
from jackpot.ledger.connection import CONNECT_TIMEOUT_S, connect, create_engine
from jackpot.ledger.errors import LedgerError, reason, unreachable
from jackpot.ledger.migrate import require_newest
from jackpot.ledger.seal import UNSEALED, Seal
from jackpot.pki.secrets import people_seal

T = TypeVar("T")


def run(main: Coroutine[Any, Any, T]) -> T:
    """Run what a command waits for. Only warnings are logged, and not where its data goes."""
    logs.set_up(level="warning")
    return asyncio.run(main)


@dataclass(frozen=True, slots=True)
class Ledger:
    """The database of a configuration, at the newest schema."""

    engine: AsyncEngine
    url: str
    password: str | None = field(repr=False)
    seal: Seal = UNSEALED

    def reader(self) -> AbstractAsyncContextManager[asyncpg.Connection]:
        """A connection for long reading, which can change nothing."""
        return self.connection(application_name="jackpot-reader", default_transaction_read_only="on")

    @asynccontextmanager
    async def connection(self, **settings: str) -> AsyncIterator[asyncpg.Connection]:
        with unreachable(self.url):
            connection = await connect(
                self.url, password=self.password, timeout=CONNECT_TIMEOUT_S, server_settings=settings
            )
        try:
            yield connection
        finally:
            await connection.close()


@asynccontextmanager
async def open_ledger(config: Config, *, console: bool = True, sealing: bool = False) -> AsyncIterator[Ledger]:
    """The configured database; without one, the embedded server: the daemon's if it runs, else one for the while.

    `console`: in the role that may leave requests. `sealing`: to write what only our programs may, with their key.
    """
    seal = people_seal(config) if sealing else UNSEALED
    async with database(config, console=console) as (url, password):
        engine = create_engine(url, password, seal)
        try:
            with unreachable(url):
                await require_newest(engine)
            yield Ledger(engine, url, password, seal)
        except TimeoutError as error:
            raise UserError("the database took too long; try again when it is less busy") from error
        except (SQLAlchemyError, LedgerError, asyncpg.PostgresError, asyncpg.InterfaceError) as error:
            raise UserError(f"the database did not answer as it should: {reason(error)}") from error
        finally:
            await engine.dispose()


def read_day(text: str) -> dt.date:
    """Written in one way only, and of this millennium."""
    try:
        day = dt.date.fromisoformat(text)
    except ValueError:
        day = dt.date.min
    if day.isoformat() != text or not 2000 <= day.year < 3000:
        raise UserError(f"{text!r} is no gaming day; write it as 2026-11-16")
    return day


def write_out(content: bytes, out: Path | None) -> None:
    """To a file or, without one, to standard output."""
    if out is None:
        sys.stdout.buffer.write(content)
        sys.stdout.buffer.flush()
        return
    try:
        out.write_bytes(content)
    except OSError as error:
        raise UserError(f"cannot write {out}: {error.strerror}") from error
