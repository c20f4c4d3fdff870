"""The command line: one module a command, imported only when it is called.

A command's module has a function `command` with typer's annotations. Nothing here decides anything.
"""

import errno
import importlib
import os
import sys
from typing import Any

import typer
from typer._click.exceptions import UsageError  # it has no public name
from typer.core import TyperGroup

from jackpot.errors import UserError

COMMANDS: dict[str, str] = {
    "demo": "The whole floor on embedded servers, to look at and to play with.",
    "serve": "Run the daemon.",
    "migrate": "Create or upgrade the database schema.",
    "check": "Say whether all is as it should be, and how to mend what is not.",
    "status": "Show links, tables and what is wrong.",
    "table": "Play a table by hand, one event at a time.",
    "suspend": "Stop play on a link.",
    "resume": "Let play on a link go on.",
    "reconcile": "Reconcile a gaming day.",
    "slip": "Print an award's slip: base, arithmetic, rules, cards, who confirmed.",
    "verify": "Walk the ledger and the audit chain from the first record.",
    "heads": "Look after the signed heads of the audit chain.",
    "simulate": "Play a link's economics forward: pool, hits, return to player, reserve.",
    "user": "Add people, give them roles, passwords and tokens.",
    "broker-log": "Count whom mosquitto refuses, from its log.",
    "pki": "Make, renew and revoke the site's certificates.",
    "bench": "Measure the data path and the limits beside it.",
    "signs": "Drive sign boards, look at them and test them.",
    "asyncapi": "Print the MQTT contract as an AsyncAPI document.",
    "settle": "Settle rounds of any of the five games from JSON.",
    "draw": "Draw the ten bonus numbers of a roulette round.",
    "explain": "Show a hand's rank, what it pays and the paragraph.",
}
"""Each command and its line in `jackpot --help`; its module is `jackpot.cli.<name>` (`-` written `_`)."""

DISK_ERRORS = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG, errno.EIO)


class LazyGroup(TyperGroup):
    def list_commands(self, ctx: Any) -> list[str]:  # noqa: ARG002
        return list(COMMANDS)

    def get_command(self, ctx: Any, cmd_name: str) -> Any:  # noqa: ARG002
        if cmd_name not in COMMANDS:
            return None
        module = importlib.import_module(f"jackpot.cli.{cmd_name.replace('-', '_')}")
        if isinstance(found := module.command, typer.Typer):
            group = typer.main.get_command(found)
            group.name = cmd_name
            return group
        single = typer.Typer(add_completion=False)
        single.command(cmd_name, help=COMMANDS[cmd_name])(found)
        return typer.main.get_command(single)

    def invoke(self, ctx: Any) -> Any:
        """Whoever reads what we write may have had enough, as `head` does. That is no failure."""
        try:
            result = super().invoke(ctx)
            sys.stdout.flush()
        except BrokenPipeError:
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())  # for what is left in its buffer
            raise typer.Exit(0) from None
        return result


app = typer.Typer(cls=LazyGroup, add_completion=False, no_args_is_help=True, pretty_exceptions_enable=False)


@app.callback()
def jackpot() -> None:
    """Progressive jackpot link controller."""


def main() -> None:
    try:
        sys.exit(app(standalone_mode=False))
    except UserError as error:
        print(f"jackpot: {error}", file=sys.stderr)  # noqa: T201
        sys.exit(error.exit_code)
    except UsageError as error:
        # Without a message its help is all there is to say, and was printed.
        if message := " ".join(error.format_message().split()).rstrip("."):
            where = error.ctx.command_path if error.ctx else "jackpot"
            print(f"jackpot: {message}; see {where} --help", file=sys.stderr)  # noqa: T201
        sys.exit(error.exit_code)
    except typer.Abort:
        print("jackpot: given up", file=sys.stderr)  # noqa: T201
        sys.exit(1)
    except OSError as error:
        if error.errno not in DISK_ERRORS:
            raise
        print(f"jackpot: the output cannot be written: {error.strerror}", file=sys.stderr)  # noqa: T201
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        sys.exit(2)
