"""All parts in turn. One that fails does not keep the others from being looked at."""

from collections.abc import AsyncIterator, Iterator
from pathlib import Path

from sqlalchemy.exc import SQLAlchemyError

from jackpot.cli.checks import books, certificates, machine, secrets, wires
from jackpot.cli.checks.finding import Finding, bad, good, odd
from jackpot.config import Config
from jackpot.embedded.servers import database
from jackpot.errors import UserError
from jackpot.ledger.connection import connect_writer
from jackpot.ledger.errors import DRIVER_ERRORS, reason
from jackpot.pki.secrets import event_keys


async def examine(config: Config, path: Path) -> AsyncIterator[Finding]:
    for finding in _config(config):
        yield finding
    for finding in secrets.files(config):
        yield finding
    async for finding in _database(config, path):
        yield finding
    async for finding in secrets.seals(config, path):
        yield finding
    for finding in certificates.examine(config):
        yield finding
    async for finding in wires.broker(config):
        yield finding
    for finding in wires.boards(config.signs):
        yield finding
    yield await machine.synchronised()
    yield await machine.daemon(config)


def _config(config: Config) -> Iterator[Finding]:
    linked = [table for table in config.tables if table.link is not None]
    found = f"{len(config.links)} links, {len(linked)} linked tables of {len(config.tables)}, {len(config.signs)} signs"
    if not config.links:
        yield bad("config", found, "add at least one [[links]]")
    elif silent := [link.id for link in config.links if not config.tables_of(link.id)]:
        yield odd("config", f"{found}; no table feeds {', '.join(silent)}", "add [[tables]] with that link")
    else:
        yield good("config", found)
    try:
        event_keys(config)
    except UserError as error:
        yield bad("config", str(error), "let the daemon's user read the table's key_file, or take it out")


async def _database(config: Config, path: Path) -> AsyncIterator[Finding]:
    try:
        async with database(config) as (url, password):
            connection = await connect_writer(url, password)
            try:
                async for finding in books.examine(config, path, connection, url, password):
                    yield finding
            finally:
                await connection.close()
    except (UserError, SQLAlchemyError, *DRIVER_ERRORS) as error:
        fix = "start the server; else mend url and password_file in [database], or what the role may do there"
        yield bad("database", reason(error), fix)
