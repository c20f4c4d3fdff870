"""Commands to a link from the terminal: left for the desk that holds the link, whose answer is awaited."""

import getpass
import uuid
from pathlib import Path

import typer

from jackpot.cli.common import open_ledger, run
from jackpot.config import load
from jackpot.errors import CheckFailedError, UserError
from jackpot.ledger import commands
from jackpot.link.commands import PersonCommand

PATIENCE_S = 15.0


def identity() -> dict[str, str]:
    return {"id": str(uuid.uuid4()), "by": f"{getpass.getuser()} (terminal)"}


def give_order(config_path: Path, link: str, order: PersonCommand) -> None:
    config = load(config_path)
    if link not in {known.id for known in config.links}:
        raise UserError(f"link {link!r} is not configured; the links are {', '.join(k.id for k in config.links)}")

    async def leave_and_wait() -> dict[str, object] | None:
        async with open_ledger(config, sealing=True) as ledger, ledger.connection() as connection:
            await commands.leave(connection, link, order, ledger.seal)
            return await commands.answer_to(connection, order.id, PATIENCE_S)

    answer = run(leave_and_wait())
    if answer is None:
        raise CheckFailedError(f"no daemon leads {link} now; the order stands and is carried out when one does")
    if answer["status"] != "accepted":
        raise CheckFailedError(str(answer["message"]))
    typer.echo(f"{link}: {order.type}")
