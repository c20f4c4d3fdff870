"""`jackpot simulate`: a link's economics played forward, so that rates and resets can be chosen."""

import json
from pathlib import Path
from statistics import fmean, quantiles
from typing import Annotated, Any

import typer
from rich.console import Console
from rich.table import Table

from jackpot.cli.output import Output, OutputOption, Page
from jackpot.config import load
from jackpot.errors import UserError
from jackpot.finance.economics.expected_value import Floor, Outlook
from jackpot.finance.economics.plot import area, bar, highest_mean, histogram
from jackpot.finance.economics.simulation import Played, simulate
from jackpot.formatting.money import cents as amount
from jackpot.formatting.money import grouped
from jackpot.link.parameters import Parameters
from jackpot.rules.megalink import Rank

PLOT_WIDTH = 64
PLOT_HEIGHT = 10
BAR_WIDTH = 32
BINS = 12
SHOWN_PERCENTILES = (5, 25, 50, 75, 95)

DEFAULT = Parameters()


def command(
    *,
    config: Annotated[Path | None, typer.Option(help="Take the terms of a link from this file.")] = None,
    link: Annotated[str | None, typer.Option(help="Which link of it; the first if absent.")] = None,
    unit_cents: Annotated[int | None, typer.Option(help=f"One unit of wager [{DEFAULT.unit_cents}].")] = None,
    increment_bp: Annotated[int | None, typer.Option(help=f"To the pool [{DEFAULT.increment_bp}].")] = None,
    reserve_bp: Annotated[int | None, typer.Option(help=f"To the reserve [{DEFAULT.reserve_bp}].")] = None,
    reset_cents: Annotated[int | None, typer.Option(help=f"The reset amount [{DEFAULT.reset_cents}].")] = None,
    ceiling_cents: Annotated[int | None, typer.Option(help="What the pool does not grow beyond [none].")] = None,
    tables: Annotated[int, typer.Option(min=1, max=10_000, help="Tables on the link.")] = 10,
    rounds_per_hour: Annotated[int, typer.Option(min=1, max=3_600, help="At each table.")] = 30,
    wagers_per_round: Annotated[int, typer.Option(min=1, max=7, help="Jackpot wagers in a round.")] = 4,
    hours_per_day: Annotated[int, typer.Option(min=1, max=24, help="Hours of play.")] = 24,
    multipliers: Annotated[str, typer.Option(help="How often wagers are 1x to 5x, as weights.")] = "100,0,0,0,0",
    days: Annotated[int, typer.Option(min=1, max=10_000_000, help="How long it is played.")] = 3650,
    seed: Annotated[int, typer.Option(help="The same seed plays the same game.")] = 1,
    output: OutputOption = Output.TABLE,
) -> None:
    given = {
        "unit_cents": unit_cents,
        "increment_bp": increment_bp,
        "reserve_bp": reserve_bp,
        "reset_cents": reset_cents,
        "ceiling_cents": ceiling_cents,
    }
    parameters = _parameters(config, link, {name: value for name, value in given.items() if value is not None})
    floor = Floor(tables, rounds_per_hour, wagers_per_round, hours_per_day, _weights(multipliers))
    outlook = Outlook(parameters, floor)
    played = simulate(parameters, floor, days=days, seed=seed)
    if output is Output.JSON:
        typer.echo(json.dumps(_document(outlook, played, seed)))
    else:
        _show(outlook, played, Page())


def _parameters(config: Path | None, link: str | None, given: dict[str, int]) -> Parameters:
    terms: dict[str, Any] = {}
    if config is not None:
        links = {found.id: found.parameters for found in load(config).links}
        name = link or next(iter(links), "")
        if name not in links:
            raise UserError(f"{config} has no link {name!r}; it has {', '.join(links) or 'none'}")
        found = links[name]
        terms = {part: getattr(found, part) for part in Parameters.__dataclass_fields__}
    elif link is not None:
        raise UserError("a link's terms are in a configuration; name it with --config FILE")
    parameters = Parameters(**terms | given)
    if problems := parameters.problems():
        raise UserError("; ".join(problems))
    return parameters


def _weights(text: str) -> tuple[int, ...]:
    try:
        weights = tuple(int(part) for part in text.split(","))
    except ValueError:
        weights = ()
    if len(weights) != 5 or min(weights) < 0 or not sum(weights):
        raise UserError(f"--multipliers {text!r} is not five weights for 1x to 5x such as 60,10,10,10,10")
    return weights


def percentiles(values: list[int]) -> dict[int, int]:
    if len(values) < 2:
        return {}
    cuts = quantiles(values, n=100, method="inclusive")
    return {percent: round(cuts[percent - 1]) for percent in SHOWN_PERCENTILES}


def _document(outlook: Outlook, played: Played, seed: int) -> dict[str, Any]:
    floor = outlook.floor
    royals = [royal.amount_cents for royal in played.royals]
    return {
        "seed": seed,
        "days": played.days,
        "wagers_per_day": floor.wagers_per_day,
        "parameters": {name: getattr(outlook.parameters, name) for name in Parameters.__dataclass_fields__},
        "expected": {
            "return_to_player": float(outlook.return_to_player),
            "return_by_odds": float(outlook.return_by_odds),
            "return_by_increment": float(outlook.return_by_increment),
            "return_by_resets": float(outlook.return_by_resets),
            "royal_flush_cents": round(outlook.royal_cents),
            "days_between_royal_flushes": float(outlook.days_between(Rank.ROYAL_FLUSH)),
            "days_between_straight_flushes": float(outlook.days_between(Rank.STRAIGHT_FLUSH)),
            "reserve_bp_needed": float(outlook.reserve_bp_needed),
            "break_even_cents": {str(times): round(outlook.break_even_cents(times)) for times in range(1, 6)},
        },
        "played": {
            "wagers": played.wagers,
            "wagered_micros": played.wagered_micros,
            "awarded_cents": played.awarded_cents,
            "return_to_player": played.return_to_player,
            "royal_flushes": len(royals),
            "royal_flush_cents": percentiles(royals),
            "wagers_between_royal_flushes": percentiles([royal.wagers for royal in played.royals]),
            "straight_flushes": played.straight_flushes,
            "straight_flush_cents": played.straight_flush_cents,
            "fixed": {rank.value: {"hands": n, "amount_cents": paid} for rank, (n, paid) in played.by_odds.items()},
            "pool_micros": played.pool_micros,
            "reserve_micros": played.reserve_micros,
            "house_micros": played.house_micros,
            "resets_from_reserve_micros": played.from_reserve_micros,
            "resets_from_house_micros": played.from_house_micros,
            "meter_cents": percentiles(played.meter_cents),
        },
    }


def _show(outlook: Outlook, played: Played, console: Console) -> None:
    currency = outlook.parameters.currency
    floor = outlook.floor
    console.print(
        f"{floor.wagers_per_day:,} wagers a day of {amount(round(outlook.stake_cents))} {currency} on average, "
        f"{played.days:,} days",
        highlight=False,
    )
    console.print(_figures(outlook, played))
    console.print(_spread(outlook, played))
    console.print(_break_even(outlook))
    _plot(played, console)


def _plot(played: Played, console: Console) -> None:
    console.print(f"\n[bold]The meter over {played.days:,} days[/bold]", highlight=False)
    rows = area(played.meter_cents, width=PLOT_WIDTH, height=PLOT_HEIGHT)
    for number, row in enumerate(rows):
        label = (
            _whole(highest_mean(played.meter_cents, PLOT_WIDTH))
            if number == 0
            else "0"
            if number == PLOT_HEIGHT - 1
            else ""
        )
        console.print(f"{label:>12} [cyan]{row}[/cyan]", highlight=False)
    console.print("\n[bold]How often the meter stands where[/bold]", highlight=False)
    bins = histogram(played.meter_cents, BINS)
    most = max(count for _, _, count in bins)
    for low, high, count in bins:
        share = f"{100 * count / len(played.meter_cents):5.1f} %"
        bars = bar(count, most, BAR_WIDTH)
        console.print(f"{_whole(low):>12} to {_whole(high):>12} {share}  [cyan]{bars}[/cyan]", highlight=False)


def _figures(outlook: Outlook, played: Played) -> Table:
    table = Table("", "expected", "played", title="Long run", title_justify="left", title_style="bold")
    for column in table.columns[1:]:
        column.justify = "right"
    wagered = played.wagered_micros
    days_per_wager = 1 / outlook.floor.wagers_per_day
    royals = played.royals
    by_odds = sum(paid for _, paid in played.by_odds.values()) * 10_000 / wagered
    rows = [
        ("Return to player", _percent(outlook.return_to_player), _percent(played.return_to_player)),
        ("  by odds for 1", _percent(outlook.return_by_odds), _percent(by_odds)),
        ("  by the increment", _percent(outlook.return_by_increment), ""),
        ("  by resets", _percent(outlook.return_by_resets), ""),
        ("Royal Flushes", "", f"{len(royals):,}"),
        (
            "  days between",
            f"{float(outlook.days_between(Rank.ROYAL_FLUSH)):,.1f}",
            f"{fmean(royal.wagers for royal in royals) * days_per_wager:,.1f}" if royals else "none came",
        ),
        (
            "  amount on average",
            amount(round(outlook.royal_cents)),
            amount(round(fmean(royal.amount_cents for royal in royals))) if royals else "",
        ),
        ("Straight Flushes", "", f"{played.straight_flushes:,}"),
        (
            "  days between",
            f"{float(outlook.days_between(Rank.STRAIGHT_FLUSH)):,.1f}",
            f"{played.days / played.straight_flushes:,.1f}" if played.straight_flushes else "none came",
        ),
        ("Reserve rate that pays for the resets", f"{float(outlook.reserve_bp_needed):,.1f} bp", ""),
        ("Reserve at the end", "", grouped(played.reserve_micros)),
        ("Resets from the reserve", "", grouped(played.from_reserve_micros)),
        ("Resets from the house", "", grouped(played.from_house_micros)),
        ("House at the end", "", grouped(played.house_micros)),
    ]
    for row in rows:
        table.add_row(*row)
    return table


def _spread(outlook: Outlook, played: Played) -> Table:
    columns = ("", *(f"{percent} %" for percent in SHOWN_PERCENTILES))
    table = Table(*columns, title="Of all cases, so many lie below", title_justify="left", title_style="bold")
    for column in table.columns[1:]:
        column.justify = "right"
    per_day = outlook.floor.wagers_per_day
    between = percentiles([royal.wagers for royal in played.royals])
    rows = (
        ("Meter", [_whole(value) for value in percentiles(played.meter_cents).values()]),
        ("Royal Flush", [_whole(v) for v in percentiles([royal.amount_cents for royal in played.royals]).values()]),
        ("Days between Royals", [f"{wagers / per_day:,.1f}" for wagers in between.values()]),
    )
    for name, values in rows:
        table.add_row(name, *values)
    return table


def _break_even(outlook: Outlook) -> Table:
    """Above it, such a wager wins on average."""
    columns = ("", *(f"{multiplier}x" for multiplier in range(1, 6)))
    table = Table(*columns, title="Meter at which a wager breaks even", title_justify="left", title_style="bold")
    table.add_row("Meter", *(_whole(round(outlook.break_even_cents(multiplier))) for multiplier in range(1, 6)))
    return table


def _whole(cents: int) -> str:
    return f"{cents // 100:,}"


def _percent(share: Any) -> str:
    return f"{100 * float(share):.3f} %"
