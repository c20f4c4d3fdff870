import asyncio

import typer

from jackpot.cli.options import ConfigOption
from jackpot.config import Config, load
from jackpot.embedded.servers import database
from jackpot.ledger import migrate
from jackpot.ledger.connection import create_engine
from jackpot.ledger.errors import unreachable


def command(config: ConfigOption) -> None:
    """Create or upgrade the schema; `serve` refuses to start on an older one."""
    before, now = asyncio.run(_migrate(load(config)))
    typer.echo(f"schema is at {now}" if before == now else f"schema upgraded from {before or 'nothing'} to {now}")


async def _migrate(config: Config) -> tuple[str | None, str | None]:
    async with database(config) as (url, password):
        engine = create_engine(url, password)
        try:
            with unreachable(url):
                return await migrate.migrate(engine)
        finally:
            await engine.dispose()
