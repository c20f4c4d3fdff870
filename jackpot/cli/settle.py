"""`jackpot settle`: rounds in, one result line for each."""

import json
import sys
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.console import Console
from rich.table import Table

from jackpot.cli.output import Output, OutputOption, Page
from jackpot.errors import UserError
from jackpot.rules.reading import round_texts
from jackpot.rules.settlement import settle


def command(
    file: Annotated[
        str, typer.Argument(metavar="[FILE]", help="One JSON object or JSON Lines; - is standard input.")
    ] = "-",
    output: OutputOption = Output.JSON,
) -> None:
    refused = False
    for text in round_texts(_read(file)):
        result = settle(text)
        refused = refused or "error" in result
        if output is Output.JSON:
            sys.stdout.write(json.dumps(result) + "\n")
        else:
            _show(result, Page())
    if refused:
        raise typer.Exit(1)


def _show(result: dict[str, Any], console: Console) -> None:
    if error := result.get("error"):
        console.print(f"refused: {error['message']} ({error['rule'] or error['code']})", markup=False, highlight=False)
        return
    table = Table("position", "wager", "net", "paragraph", title=result["game"], title_justify="left")
    for bet in result.get("bets", ()):
        table.add_row("", f"{bet['bet']} {bet.get('number', '')}", _amount(bet["net_cents"]), bet["rule"])
    for position in result.get("positions", ()):
        for name, wager in position["wagers"].items():
            table.add_row(str(position["position"]), name, _amount(wager["net_cents"]), wager["rule"])
    console.print(table)


def _amount(cents: int) -> str:
    sign = "-" if cents < 0 else "+" if cents else ""
    return f"{sign}{abs(cents) // 100:,}.{abs(cents) % 100:02d}"


def _read(file: str) -> bytes:
    if file == "-" and sys.stdin is None:
        raise UserError("standard input is closed; name a file of rounds")
    try:
        return sys.stdin.buffer.read() if file == "-" else Path(file).read_bytes()
    except OSError as error:
        hint = "name a file of rounds, or - for standard input"
        raise UserError(f"cannot read {file}: {error.strerror}; {hint}") from error
