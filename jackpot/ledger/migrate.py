"""Brings the schema to the newest version, and says whether it is there."""

from pathlib import Path

from alembic import command
from alembic.config import Config
from alembic.migration import MigrationContext
from alembic.script import ScriptDirectory
from sqlalchemy import Connection
from sqlalchemy.ext.asyncio import AsyncEngine

from jackpot.errors import UserError


def _config() -> Config:
    config = Config()
    config.set_main_option("script_location", str(Path(__file__).parent / "migrations"))
    return config


def newest() -> str | None:
    return ScriptDirectory.from_config(_config()).get_current_head()


def _current(connection: Connection) -> str | None:
    return MigrationContext.configure(connection).get_current_revision()


async def current(engine: AsyncEngine) -> str | None:
    """The version the database is at; None if it is empty."""
    async with engine.connect() as connection:
        return await connection.run_sync(_current)


def _upgrade(connection: Connection) -> None:
    config = _config()
    config.attributes["connection"] = connection
    command.upgrade(config, "head")


async def migrate(engine: AsyncEngine) -> tuple[str | None, str | None]:
    """Upgrade to the newest version. Returns where it was and where it is."""
    before = await current(engine)
    _require_known(before)
    async with engine.begin() as connection:
        await connection.run_sync(_upgrade)
    return before, newest()


def _require_known(version: str | None) -> None:
    known = {script.revision for script in ScriptDirectory.from_config(_config()).walk_revisions()}
    if version is not None and version not in known:
        raise UserError(
            f"the database schema is at version {version}, which this program does not know: its own is {newest()}; "
            "install the newer program that the database was upgraded for, or restore the database from before"
        )


async def require_newest(engine: AsyncEngine) -> None:
    found = await current(engine)
    _require_known(found)
    if found != newest():
        raise UserError(
            f"the database schema is {'empty' if found is None else f'at version {found}'}, "
            f"this program needs {newest()}; run: jackpot migrate --config FILE"
        )
