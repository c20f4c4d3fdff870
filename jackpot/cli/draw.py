"""`jackpot draw`: the ten Bonus Numbers of a round of Sands Fast Action Roulette."""

import json

import typer

from jackpot.cli.output import Output, OutputOption
from jackpot.rules.fast_action_roulette import LINKS, draw_bonus_numbers, is_scatter_bonus, super_bonus_links


def command(output: OutputOption = Output.TABLE) -> None:
    bonus = draw_bonus_numbers()
    supers = super_bonus_links(bonus)
    scatter = is_scatter_bonus(bonus)
    if output is Output.JSON:
        numbers = [number for link in supers for number in LINKS[link]]
        typer.echo(json.dumps({"bonus": bonus, "super_bonus": numbers, "scatter_bonus": scatter}))
        return
    typer.echo(f"Bonus Numbers: {' '.join(bonus)}")
    for name, link in LINKS.items():
        row = "".join((f"[{number}]" if number in bonus else number).center(7) for number in link)
        typer.echo(f"  {name} {row}{' Super Bonus Numbers (FAR 1.1.11)' if name in supers else ''}".rstrip())
    if scatter:
        typer.echo("Scatter Bonus: a Bonus Number in every link (FAR 1.1.8)")
