"""The files that only the daemon may read, and what is sealed with one of them."""

import stat
from collections.abc import AsyncIterator, Iterator
from pathlib import Path

from sqlalchemy.exc import SQLAlchemyError

from jackpot.cli.checks.finding import Finding, bad, good
from jackpot.config import Config
from jackpot.embedded.servers import database
from jackpot.errors import UserError
from jackpot.ledger.connection import create_engine
from jackpot.ledger.errors import DRIVER_ERRORS, reason
from jackpot.people import accounts
from jackpot.pki.secrets import exposed, people_seal, secret_files


def files(config: Config) -> Iterator[Finding]:
    named = secret_files(config)
    open_ones = exposed(config)
    for path, key in open_ones.items():
        mode = stat.S_IMODE(path.stat().st_mode)
        yield bad("secrets", f"{key}: others may read or change {path} ({mode:o})", f"chmod 400 {path}")
    if named and not open_ones:
        yield good("secrets", f"{len(named)} files, for the daemon alone")


async def seals(config: Config, path: Path) -> AsyncIterator[Finding]:
    """Are the accounts those that our programs made, by this machine's key?"""
    if config.people.key_file is None:
        return
    try:
        seal = people_seal(config)
    except UserError as error:
        yield bad("people", str(error), "let the daemon's user read the key_file in [people]")
        return
    try:
        async with database(config, console=True) as (url, password):
            engine = create_engine(url, password, seal)
            try:
                forged = await accounts.forged(engine)
            finally:
                await engine.dispose()
    except (UserError, SQLAlchemyError, *DRIVER_ERRORS) as error:
        yield bad("people", reason(error), "mend console_url and console_password_file in [database]")
        return
    if forged:
        fix = f"is the key another daemon's too? Then jackpot user seal --config {path}; else call the auditor"
        yield bad("people", f"their seal does not fit: {', '.join(forged)}", fix)
    else:
        yield good("people", "every account in use has its seal")
