"""The database, how money is written to it, its clock, the end of the ledger, and whether it is as it was signed."""

import datetime as dt
import json
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Final, Literal

import asyncpg

from jackpot.cli.checks.finding import Finding, bad, good, odd
from jackpot.config import Config, Link
from jackpot.errors import UserError
from jackpot.ledger import migrate
from jackpot.ledger.audit import self_audit
from jackpot.ledger.connection import create_engine
from jackpot.ledger.heads import keeping
from jackpot.ledger.heads.form import SignedHead
from jackpot.ledger.schema import FACTS
from jackpot.link.commands import parameters_document
from jackpot.pki.secrets import heads_file

POSTGRESQL_MIN: Final = 14
SKEW_S_MAX: Final = 1.0
REFUSED: Final = ("JP001", "JP003", "42501")
"""Not serializable; append-only; or this role may not do it in the first place."""
Isolation = Literal["read_committed", "serializable"]
SYNCHRONISE: Final = "synchronise the clocks of this machine and of the database's (chrony, systemd-timesyncd)"


async def examine(
    config: Config, path: Path, connection: asyncpg.Connection, url: str, password: str | None
) -> AsyncIterator[Finding]:
    """`connection` is one as the desk has it."""
    yield await _server(connection)
    yield await _clock(connection)
    engine = create_engine(url, password)
    try:
        at, newest = await migrate.current(engine), migrate.newest()
    finally:
        await engine.dispose()
    if at != newest:
        found = f"the schema is {'empty' if at is None else f'at {at}'}, this program needs {newest}"
        yield bad("database", found, f"jackpot migrate --config {path}")
        return
    yield await _isolation(connection)
    yield await _append_only(connection)
    for link in config.links:
        async for finding in _ledger(link, path, connection):
            yield finding
    try:
        signed = heads_file(config)
    except UserError as error:
        yield bad("heads", str(error), "let the daemon's user read the key_file in [heads]")
        return
    if signed is not None:
        for link in config.links:
            if (last := signed.last(link.id)) is not None:
                yield await _head(last, path, connection)


async def _head(last: SignedHead, path: Path, connection: asyncpg.Connection) -> Finding:
    if await keeping.holds(connection, last):
        at = f"{last.signed_at:%Y-%m-%d %H:%M:%S}Z"
        return good("heads", f"{last.link}: the ledger holds event {last.n:,} as it was signed at {at}")
    accept = f"jackpot heads accept --config {path} --link {last.link} --reason ..."
    fix = f"was it restored? Then runbooks/database-lost.md, and {accept}; if not, call the auditor"
    return bad("heads", f"{last.link}: {keeping.contradiction(last)}", fix)


async def _server(connection: asyncpg.Connection) -> Finding:
    row = await connection.fetchrow(
        "SELECT rolname, rolsuper, datname, current_setting('server_version') AS version,"
        " current_setting('server_version_num')::int / 10000 AS major"
        " FROM pg_roles, pg_database WHERE rolname = current_user AND datname = current_database()"
    )
    if row is None:
        return bad("database", "the server does not say who we are", "look at pg_roles and pg_database")
    found = f"PostgreSQL {row['version']}, role {row['rolname']} on database {row['datname']}"
    if row["major"] < POSTGRESQL_MIN:
        return bad("database", found, f"use PostgreSQL {POSTGRESQL_MIN} or newer")
    if row["rolsuper"]:
        fix = f"ALTER ROLE {row['rolname']} NOSUPERUSER"
        return bad("database", f"{found}: a superuser, whom nothing is refused", fix)
    return good("database", found)


async def _clock(connection: asyncpg.Connection) -> Finding:
    before = dt.datetime.now(dt.UTC)
    theirs = await connection.fetchval("SELECT clock_timestamp()")
    ours = before + (dt.datetime.now(dt.UTC) - before) / 2
    ahead_ms = (theirs - ours).total_seconds() * 1000
    found = f"the database's clock is {abs(ahead_ms):.0f} ms {'ahead' if ahead_ms > 0 else 'behind'}"
    return bad("clock", found, SYNCHRONISE) if abs(ahead_ms) > SKEW_S_MAX * 1000 else good("clock", found)


async def _isolation(connection: asyncpg.Connection) -> Finding:
    """What a session of the desk really is, and that the ledger refuses any other."""
    wanted = {
        "transaction_isolation": ("serializable",),
        "synchronous_commit": ("on", "remote_apply"),
        "fsync": ("on",),
        "full_page_writes": ("on",),
    }
    are = {name: await connection.fetchval("SELECT current_setting($1)", name) for name in wanted}
    wrong = [f"{name} is {are[name]}" for name, allowed in wanted.items() if are[name] not in allowed]
    if wrong:
        return bad("isolation", "; ".join(wrong), "mend postgresql.conf: a commit must be serializable and durable")
    # No row is written: the trigger is asked once for each statement.
    if not await _is_refused(connection, "INSERT INTO events SELECT * FROM events LIMIT 0", "read_committed"):
        found = "the ledger takes money from transactions that are not serializable"
        return bad("isolation", found, "the trigger refuse_unsafe_commit is off or gone: find out why, put it back")
    return good("isolation", "serializable and durable; the ledger refuses anything less")


async def _append_only(connection: asyncpg.Connection) -> Finding:
    changeable = []
    for table in FACTS:
        statement = f"DELETE FROM {table.name} WHERE false"  # noqa: S608 a table of our own schema
        if not await _is_refused(connection, statement, "serializable"):
            changeable.append(table.name)
    if changeable:
        found = f"records can be changed in {', '.join(changeable)}"
        fix = "the trigger refuse_changed_fact is off or gone: jackpot verify, find out why, put it back"
        return bad("isolation", found, fix)
    return good("isolation", "records are append-only")


async def _is_refused(connection: asyncpg.Connection, statement: str, isolation: Isolation) -> bool:
    """Try, on no rows at all, what must not be possible; by the ledger's own triggers or for want of the right."""
    transaction = connection.transaction(isolation=isolation)
    await transaction.start()
    try:
        await connection.execute(statement)
    except asyncpg.PostgresError as error:
        if error.sqlstate not in REFUSED:
            raise
        return True
    finally:
        await transaction.rollback()
    return False


async def _ledger(link: Link, path: Path, connection: asyncpg.Connection) -> AsyncIterator[Finding]:
    row = await connection.fetchrow("SELECT n, at, suspended, parameters FROM links WHERE link = $1 AND n > 0", link.id)
    if row is None:
        yield odd("ledger", f"{link.id} is not in it yet", f"the daemon opens it: jackpot serve --config {path}")
        return
    if (problem := await self_audit(connection, link.id)) is not None:
        fix = f"jackpot suspend --config {path} --link {link.id}, then jackpot verify --config {path}"
        yield bad("ledger", f"{link.id}: {problem}", fix)
        return
    yield good("ledger", f"{link.id}: {row['n']:,} events, and their end agrees with itself")
    if (row["at"] - dt.datetime.now(dt.UTC)).total_seconds() > SKEW_S_MAX:
        yield bad("clock", f"{link.id}: the last event was at {row['at']:%Y-%m-%d %H:%M:%S}Z, after now", SYNCHRONISE)
    in_force, configured = json.loads(row["parameters"]), parameters_document(link.parameters)
    if differing := [name for name, value in configured.items() if in_force[name] != value]:
        fix = "the file changes nothing on a link that exists: propose it in the console, or mend the file"
        yield odd("ledger", f"{link.id}: the file has another {', '.join(differing)}", fix)
    if row["suspended"] is not None:
        fix = f"when it is mended: jackpot resume --config {path} --link {link.id} --reason ..."
        yield odd("ledger", f"{link.id} is suspended: {row['suspended']}", fix)
