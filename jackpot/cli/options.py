"""Options that several commands share."""

from pathlib import Path
from typing import Annotated

import typer

ConfigOption = Annotated[Path, typer.Option("--config", help="The configuration file (TOML).")]
LinkOption = Annotated[str, typer.Option("--link", help="The link's id.")]
ReasonOption = Annotated[str, typer.Option("--reason", help="Why; it is recorded.")]
