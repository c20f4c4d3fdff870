"""Runs a command as a terminal would, in a thread of its own, and keeps what it prints and how it ends."""

import asyncio
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import typer
from typer.testing import CliRunner

from jackpot.errors import UserError

CONFIG = """
[database]
url = "{url}"
[[links]]
id = "megalink"
increment_bp = 2500
reserve_bp = 310
reset_cents = 10_000_000
[[tables]]
id = "UTH-01"
link = "megalink"
game = "ultimate-texas-holdem"
"""


@dataclass(frozen=True, slots=True)
class Ended:
    exit_code: int
    stdout: bytes
    message: str


def write_config(directory: Path, url: str) -> Path:
    path = directory / "jackpot.toml"
    path.write_text(CONFIG.format(url=url))
    return path


async def at_terminal(command: Callable[..., Any], *arguments: str | Path, columns: int = 120) -> Ended:
    """What the command line's own `main` makes of a UserError is its exit code and one line."""
    app = typer.Typer(add_completion=False)
    app.command()(command)
    runner = CliRunner(env={"COLUMNS": str(columns)})
    result = await asyncio.to_thread(runner.invoke, app, [str(argument) for argument in arguments])
    error = result.exception
    if isinstance(error, UserError):
        return Ended(error.exit_code, result.stdout_bytes, str(error))
    if error is not None and not isinstance(error, SystemExit):
        raise error
    return Ended(result.exit_code, result.stdout_bytes, result.stderr)
