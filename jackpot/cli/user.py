"""`jackpot user`: people and their tokens, from the terminal. The first engineer is made here."""

import getpass
import json
import sys
from collections.abc import Awaitable, Callable
from dataclasses import asdict
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.table import Table
from sqlalchemy.ext.asyncio import AsyncEngine

from jackpot.cli.common import open_ledger, run
from jackpot.cli.options import ConfigOption
from jackpot.cli.output import Output, OutputOption, Page
from jackpot.cli.pki import event_key
from jackpot.config import load
from jackpot.errors import UserError
from jackpot.people import accounts, tokens
from jackpot.people.audit import TERMINAL, Actor
from jackpot.people.roles import Role

command = typer.Typer(help="People who use the console, their passwords and tokens.", no_args_is_help=True)

NameArgument = Annotated[str, typer.Argument(help="The account's name: lower-case letters, digits, '.', '_', '-'.")]
RoleOption = Annotated[Role, typer.Option(help="What the person may do.")]


@command.command()
def add(name: NameArgument, config: ConfigOption, role: RoleOption) -> None:
    """Add a person. The password is asked for, or read from standard input, and changed at the first login."""
    password = _new_password()
    _vouched(config, lambda engine, own: accounts.add(engine, _doer(), name, role, password, vouching=own))
    typer.echo(f"{name} is added as {role.value} and must choose a password at the first login")


@command.command("list")
def list_(config: ConfigOption, output: OutputOption = Output.TABLE) -> None:
    """List everyone, with the tokens in use."""

    async def read(engine: AsyncEngine) -> list[dict[str, Any]]:
        people = await accounts.listed(engine)
        return [
            asdict(person)
            | {"waits": person.waits, "tokens": [asdict(token) for token in await tokens.listed(engine, person.name)]}
            for person in people
        ]

    found = _do(config, read)
    if output is Output.JSON:
        typer.echo(json.dumps(found, default=str))
        return
    table = Table("name", "role", "added", "state", "tokens")
    for person in found:
        held = ", ".join(f"{token['id']} ({token['label']})" for token in person["tokens"])
        state = "disabled" if person["disabled_at"] else "to be confirmed" if person["waits"] else "in use"
        added = f"{person['created_at']:%Y-%m-%d} by {person['created_by']}"
        table.add_row(person["name"], person["role"], added, state, held)
    Page().print(table)


@command.command()
def disable(name: NameArgument, config: ConfigOption) -> None:
    """End an account with all its sessions and tokens. Its name stays taken: it stands in the ledger."""
    _do(config, lambda engine: accounts.disable(engine, _doer(), name))
    typer.echo(f"{name} is disabled")


@command.command()
def password(name: NameArgument, config: ConfigOption) -> None:
    """Set a person's password; it must be changed at the next login. All sessions end."""
    chosen = _new_password()
    _vouched(config, lambda engine, own: accounts.set_password(engine, _doer(), name, chosen, vouching=own))
    typer.echo(f"{name} must choose a new password at the next login")


@command.command()
def token(
    name: NameArgument,
    config: ConfigOption,
    label: Annotated[str, typer.Option(help="What the token is for.")],
    days: Annotated[int, typer.Option(help="How long it lasts.")] = tokens.DAYS,
) -> None:
    """Make a token for a program that uses the API as this person, and print it. It cannot be shown again."""
    typer.echo(_do(config, lambda engine: tokens.issue(engine, _doer(), name, label, days=days)))


@command.command()
def revoke(id_: Annotated[str, typer.Argument(metavar="TOKEN_ID")], config: ConfigOption) -> None:
    """Take a token back; `jackpot user list` shows the ids."""
    _do(config, lambda engine: tokens.revoke(engine, _doer(), id_))
    typer.echo(f"token {id_} is revoked")


@command.command("new-key")
def new_key(file: Annotated[Path, typer.Argument(help="Where the key is written; `key_file` in [people].")]) -> None:
    """Make the key that seals accounts, sessions and orders. The database's account must not be able to read it."""
    event_key(file)  # another use of the same kind of key


@command.command("seal")
def seal_all(config: ConfigOption) -> None:
    """Seal every account as it stands, once there is a key, or another. Sessions end, and tokens are made anew."""
    if load(config).people.key_file is None:
        raise UserError("there is nothing to seal with; name a key_file in [people]")
    sealed = _do(config, lambda engine: accounts.seal_all(engine, _doer()))
    typer.echo(f"sealed: {', '.join(sealed) or 'nobody is there'}")


def _do(config: Path, what: Callable[[AsyncEngine], Awaitable[Any]]) -> Any:
    return _vouched(config, lambda engine, _: what(engine))


def _vouched(config: Path, what: Callable[[AsyncEngine, AsyncEngine], Awaitable[Any]]) -> Any:
    """With the console's way to the database and the daemon's own, which confirms what is done here."""

    async def main() -> Any:
        read = load(config)
        async with open_ledger(read, sealing=True) as ledger, open_ledger(read, console=False) as own:
            return await what(ledger.engine, own.engine)

    try:
        return run(main())
    except accounts.AccountRefusedError as error:
        raise UserError(str(error)) from error


def _doer() -> Actor:
    return Actor(f"{getpass.getuser()} (terminal)", TERMINAL)


def _new_password() -> str:
    if not sys.stdin.isatty():
        return sys.stdin.readline().rstrip("\n")
    chosen = getpass.getpass("Password: ")
    if getpass.getpass("Again: ") != chosen:
        raise UserError("the password was not typed the same way twice; try again")
    return chosen
