import json

import typer

from jackpot.contract.asyncapi import document


def command() -> None:
    """Print the MQTT contract as an AsyncAPI 3 document (JSON)."""
    typer.echo(json.dumps(document(), indent=2))
