"""How a command prints its data: for people, or for programs."""

from enum import StrEnum
from typing import Annotated

import typer


class Output(StrEnum):
    TABLE = "table"
    JSON = "json"


OutputOption = Annotated[Output, typer.Option("-o", "--output", help="For people or for programs.")]
