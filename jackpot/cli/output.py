"""How a command prints its data: for people, or for programs."""

import os
import sys
from enum import StrEnum
from typing import Annotated

import typer
from rich.console import Console


class Output(StrEnum):
    TABLE = "table"
    JSON = "json"


OutputOption = Annotated[Output, typer.Option("-o", "--output", help="For people or for programs.")]


class Page(Console):
    """For people. Who reads may have had enough, as `head` does: what was found still decides how the command ends."""

    def on_broken_pipe(self) -> None:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
