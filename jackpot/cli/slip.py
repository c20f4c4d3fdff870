"""`jackpot slip`: an award with all that it was worked out from."""

import importlib
from enum import StrEnum
from pathlib import Path
from typing import Annotated

import msgspec
import typer

from jackpot.cli.common import open_ledger, run, write_out
from jackpot.cli.options import ConfigOption
from jackpot.config import Config, load
from jackpot.finance.slips.as_text import as_text
from jackpot.finance.slips.data import Slip
from jackpot.finance.slips.reading import read_slip


class Output(StrEnum):
    TEXT = "text"
    JSON = "json"
    PDF = "pdf"


def command(
    award: Annotated[str, typer.Argument(metavar="AWARD", help="The award's name, such as megalink-000123.")],
    config: ConfigOption,
    output: Annotated[Output, typer.Option("-o", "--output", help="How it is written.")] = Output.TEXT,
    out: Annotated[Path | None, typer.Option("--out", help="Write to this file instead of standard output.")] = None,
) -> None:
    slip = run(slip_from_ledger(load(config), award))
    match output:
        case Output.TEXT:
            write_out(as_text(slip).encode(), out)
        case Output.JSON:
            write_out(msgspec.json.encode(slip) + b"\n", out)
        case Output.PDF:
            # Large, and loaded only when it is asked for.
            write_out(importlib.import_module("jackpot.finance.slips.as_pdf").as_pdf(slip), out)


async def slip_from_ledger(config: Config, award: str) -> Slip:
    async with open_ledger(config) as ledger, ledger.engine.connect() as connection:
        snapshot = await connection.execution_options(isolation_level="REPEATABLE READ", postgresql_readonly=True)
        return await read_slip(snapshot, award)
