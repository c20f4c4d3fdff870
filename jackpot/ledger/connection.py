"""Connections to PostgreSQL: one that writes money, and an engine for everything that only asks."""

import asyncio
from typing import TYPE_CHECKING, Any, TypeAlias
from urllib.parse import urlsplit, urlunsplit

import asyncpg
from sqlalchemy.ext.asyncio import AsyncEngine, create_async_engine

from jackpot.ledger.seal import UNSEALED, Seal

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
    # A wait for the standby that was cancelled is told by a warning alone: see `certain` in errors.py.
    "client_min_messages": "warning",
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
    "synchronous_commit": "on",
    "client_min_messages": "warning",
    # A daemon that stalls in the middle of taking or giving up a lease keeps its row from others no longer than this.
    "lock_timeout": "3s",
    "idle_in_transaction_session_timeout": "2s",
    "tcp_user_timeout": "10s",
}


async def connect(url: str, **how: Any) -> asyncpg.Connection:
    """To the server of the URL; to the primary, if it names several.

    Those are asked all at once: a machine that is gone does not refuse, it keeps one waiting.
    """
    urls = one_each(url)
    if len(urls) == 1:
        connection: asyncpg.Connection = await asyncpg.connect(url, **how)
        return connection
    asked: dict[asyncio.Task[asyncpg.Connection], str]
    asked = {asyncio.create_task(asyncpg.connect(one, **how)): one for one in urls}
    waiting, errors = set(asked), list[str]()
    try:
        while waiting:
            done, waiting = await asyncio.wait(waiting, return_when=asyncio.FIRST_COMPLETED)
            for answer in done:
                if (error := answer.exception()) is None:
                    del asked[answer]
                    return answer.result()
                where = urlsplit(asked[answer]).netloc.rpartition("@")[2]
                errors.append(f"{where}: {str(error) or type(error).__name__}")
        raise ConnectionError(f"none is the primary: {'; '.join(sorted(errors))}")
    finally:
        for unwanted in asked:
            if not unwanted.done():
                unwanted.cancel()
            elif unwanted.exception() is None:
                unwanted.result().terminate()


def one_each(url: str) -> list[str]:
    """`postgresql://role@a:5432,b:5432/jackpot` as a URL for each host, whose server must be the primary."""
    parts = urlsplit(url)
    role, at, hosts = parts.netloc.rpartition("@")
    if "," not in hosts:
        return [url]
    query = parts.query if "target_session_attrs" in parts.query else f"{parts.query}&target_session_attrs=primary"
    return [
        urlunsplit(parts._replace(netloc=f"{role}{at}{host}", query=query.lstrip("&"))) for host in hosts.split(",")
    ]


async def connect_writer(url: str, password: str | None = None) -> asyncpg.Connection:
    return await connect(
        url,
        password=password,
        timeout=CONNECT_TIMEOUT_S,
        command_timeout=COMMAND_TIMEOUT_S,
        server_settings=WRITER_SETTINGS,
    )


def create_engine(url: str, password: str | None = None, seal: Seal = UNSEALED) -> AsyncEngine:
    async def by_the_driver() -> asyncpg.Connection:
        """Which reads all of the URL: sslmode and sslrootcert too."""
        return await connect(
            url,
            password=password,
            timeout=CONNECT_TIMEOUT_S,
            server_settings={"application_name": "jackpot", "idle_in_transaction_session_timeout": "30s"},
        )

    return create_async_engine(
        "postgresql+asyncpg://",
        async_creator=by_the_driver,
        pool_pre_ping=True,
        pool_size=4,
        execution_options=seal.on_engine,
    )
