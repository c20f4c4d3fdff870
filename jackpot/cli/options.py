"""Options that several commands share."""

from pathlib import Path
from typing import Annotated

import typer

from jackpot.errors import UserError

ConfigOption = Annotated[Path, typer.Option("--config", help="The configuration file (TOML).")]
LinkOption = Annotated[str, typer.Option("--link", help="The link's id.")]


def _text(value: str) -> str:
    """What was typed in bytes that are no UTF-8 cannot be kept."""
    try:
        value.encode()
    except UnicodeEncodeError as error:
        raise UserError("--reason is no text in UTF-8") from error
    return value


ReasonOption = Annotated[str, typer.Option("--reason", help="Why; it is recorded.", callback=_text)]
