"""Connections to PostgreSQL: one that writes money, and an engine for everything that only asks."""

from typing import TYPE_CHECKING, TypeAlias

import asyncpg
from sqlalchemy.engine import make_url
from sqlalchemy.exc import ArgumentError
from sqlalchemy.ext.asyncio import AsyncEngine, create_async_engine

from jackpot.errors import UserError

if TYPE_CHECKING:
    from asyncpg.pool import PoolConnectionProxy

AnyConnection: TypeAlias = "asyncpg.Connection | PoolConnectionProxy"
"""A connection of one's own, or one lent by a pool."""

CONNECT_TIMEOUT_S = 5.0
COMMAND_TIMEOUT_S = 10.0

WRITER_SETTINGS = {
    "application_name": "jackpot-desk",
    # A single statement is a whole transaction, at this isolation, in one round trip.
    "default_transaction_isolation": "serializable",
    "synchronous_commit": "on",
    # Sequential scans of small tables make SERIALIZABLE see conflicts between links that share nothing.
    "enable_seqscan": "off",
    # A batch touches few rows of long tables: always by their keys, whatever the planner believes of the lengths.
    "enable_hashjoin": "off",
    "enable_mergejoin": "off",
    "jit": "off",
    # Planning the posting statement costs more than running it for one event; one plan is right for every batch.
    "plan_cache_mode": "force_generic_plan",
    # Whoever holds the link's row longer than this holds up play, and the link must say so.
    "lock_timeout": "3s",
    "idle_in_transaction_session_timeout": "10s",
    "tcp_user_timeout": "10s",
}

CONTROL_SETTINGS = {
    "application_name": "jackpot-control",
    # A daemon that stalls in the middle of taking or giving up a lease keeps its row from others no longer than this.
    "lock_timeout": "3s",
    "idle_in_transaction_session_timeout": "2s",
    "tcp_user_timeout": "10s",
}


async def connect_writer(url: str, password: str | None = None) -> asyncpg.Connection:
    return await asyncpg.connect(
        url,
        password=password,
        timeout=CONNECT_TIMEOUT_S,
        command_timeout=COMMAND_TIMEOUT_S,
        server_settings=WRITER_SETTINGS,
    )


def create_engine(url: str, password: str | None = None) -> AsyncEngine:
    try:
        make_url(url)
    except ArgumentError as error:
        raise UserError(
            f"database.url is not a URL such as postgresql://jackpot@127.0.0.1:5432/jackpot: {error}"
        ) from error

    async def connect() -> asyncpg.Connection:
        """By the driver itself, which reads all of the URL: sslmode and sslrootcert too."""
        return await asyncpg.connect(
            url,
            password=password,
            timeout=CONNECT_TIMEOUT_S,
            server_settings={"application_name": "jackpot", "idle_in_transaction_session_timeout": "30s"},
        )

    return create_async_engine("postgresql+asyncpg://", async_creator=connect, pool_pre_ping=True, pool_size=4)
