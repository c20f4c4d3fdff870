"""`jackpot demo`: the whole floor on embedded servers, to look at and to play with."""

import asyncio
import sys
from pathlib import Path
from typing import Annotated

import typer

from jackpot.demo.plain import Plain
from jackpot.demo.screen import Screen
from jackpot.demo.show import Wanted, show
from jackpot.embedded import default_data_dir
from jackpot.errors import UserError


def command(
    *,
    seconds: Annotated[float | None, typer.Option(min=1, help="End by itself after so long.")] = None,
    headless: Annotated[bool, typer.Option("--headless", help="Plain lines instead of a screen.")] = False,
    port: Annotated[int | None, typer.Option(min=1, max=65535, help="Of the console; else 8080 or a free one.")] = None,
    lucky: Annotated[bool, typer.Option("--lucky", help="Straight and Royal Flushes every few seconds.")] = False,
    data_dir: Annotated[Path | None, typer.Option(help="Where all its data is kept.")] = None,
    seed: Annotated[int | None, typer.Option(help="Shuffle the same way each time.")] = None,
) -> None:
    """Start PostgreSQL, a broker, the daemon, tables that play and a board; q or Ctrl-C stops it all."""
    place = (data_dir or default_data_dir() / "demo").absolute()
    wanted = Wanted(data_dir=place, port=port, seconds=seconds, lucky=lucky, seed=seed)
    front = Plain() if headless or not (sys.stdin.isatty() and sys.stdout.isatty()) else Screen()
    try:
        findings = asyncio.run(show(wanted, front))
    except KeyboardInterrupt:
        raise typer.Exit(130) from None
    except BaseExceptionGroup as group:
        raise _bad_use_in(group) or group from group
    if not findings:
        raise typer.Exit(130)
    # Whoever wants to leave is not kept by a long ledger; whoever gave a time gets the whole proof.
    if any(finding.holds is False or (finding.holds is None and seconds is not None) for finding in findings):
        raise typer.Exit(1)


def _bad_use_in(group: BaseExceptionGroup[BaseException]) -> UserError | None:
    """The first that a person can mend, however deep it lies."""
    for error in group.exceptions:
        found = _bad_use_in(error) if isinstance(error, BaseExceptionGroup) else error
        if isinstance(found, UserError):
            return found
    return None
