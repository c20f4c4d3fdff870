"""`jackpot status`: what operations see, in a terminal."""

import asyncio
import sys
from typing import Annotated, Final

import msgspec
import typer
from rich.console import Console, Group, RenderableType
from rich.live import Live
from rich.table import Table
from rich.text import Text

from jackpot.cli.common import open_ledger, run
from jackpot.cli.health import Health, LinkHealth, look
from jackpot.cli.options import ConfigOption
from jackpot.cli.output import Output, OutputOption
from jackpot.config import Config, load
from jackpot.errors import CheckFailedError
from jackpot.formatting.money import cents, grouped
from jackpot.ledger.read.floor import TableNow

EVERY_S: Final = 1.0


def command(
    config: ConfigOption,
    *,
    watch: Annotated[bool, typer.Option("--watch", "-w", help="Look again every second, until Ctrl-C.")] = False,
    output: OutputOption = Output.TABLE,
) -> None:
    """Show the links, their tables and what is wrong; exit 1 if something is."""
    try:
        vitals = run(_watch(load(config), output) if watch else _once(load(config)))
    except KeyboardInterrupt:
        return
    if output is Output.JSON:
        _print_json(vitals)
    else:
        Console().print(_picture(vitals, None))
    if vitals.alarms:
        raise CheckFailedError(f"not all is well: {len(vitals.alarms)} of the above")


async def _once(config: Config) -> Health:
    async with open_ledger(config) as ledger:
        return await look(ledger.engine, config.http)


async def _watch(config: Config, output: Output) -> Health:
    """For ever; a program reads one document a line."""
    async with open_ledger(config) as ledger:
        before = await look(ledger.engine, config.http)
        with Live(console=Console(), auto_refresh=False, screen=output is Output.TABLE and sys.stdout.isatty()) as live:
            while True:
                if output is Output.JSON:
                    _print_json(before)
                await asyncio.sleep(EVERY_S)
                vitals = await look(ledger.engine, config.http)
                if output is Output.TABLE:
                    live.update(_picture(vitals, before), refresh=True)
                before = vitals


def _print_json(vitals: Health) -> None:
    sys.stdout.write(msgspec.json.encode(vitals.document()).decode() + "\n")
    sys.stdout.flush()


# -- for people -----------------------------------------------------------------------------------------------------


def _picture(vitals: Health, before: Health | None) -> RenderableType:
    daemon = Text.assemble(
        ("● ready" if vitals.ready else "○ not ready", "green" if vitals.ready else "bold red"),
        f"  daemon {vitals.listen}  {vitals.at:%Y-%m-%d %H:%M:%S}Z",
    )
    links = [part for link in vitals.links for part in (Text(), _link(link, vitals, before), _tables(link, vitals))]
    alarms = [Text(f"! {alarm}", "bold red") for alarm in vitals.alarms] or [Text("nothing is wrong", "green")]
    return Group(daemon, *links, Text(), *alarms)


def _link(link: LinkHealth, vitals: Health, before: Health | None) -> Text:
    now = link.now
    books = (
        f"debits {grouped(link.debits_micros)} {'=' if link.balanced else '≠'} credits {grouped(link.credits_micros)}"
    )
    return Text.assemble(
        (f"{now.link} ", "bold"),
        (link.state, "green" if link.state == "in play" else "bold red"),
        f"  led by {now.holder or 'nobody'}",
        (f"  {now.currency} {cents(now.displayed_cents)}", "bold yellow"),
        f"  {now.n:,} events{_rate(link, vitals, before)}  {now.awards:,} awards, {now.awards_unpaid} unpaid\n",
        (books, "green" if link.balanced else "bold red"),
    )


def _rate(link: LinkHealth, vitals: Health, before: Health | None) -> str:
    if before is None:
        return ""
    earlier = next((other.now.n for other in before.links if other.now.link == link.now.link), link.now.n)
    return f", {(link.now.n - earlier) / (vitals.at - before.at).total_seconds():.0f}/s"


def _tables(link: LinkHealth, vitals: Health) -> Table:
    grid = Table("table", "phase", "wagers", "hands", "round", "last heard", box=None, padding=(0, 2, 0, 0))
    for table in link.now.tables:
        grid.add_row(table.id, *_round(table), _heard(table, vitals))
    return grid


def _round(table: TableNow) -> tuple[str, str, str, str]:
    if table.round is None:
        return (f"{len(table.waiting)} to pay" if table.waiting else "", "", "", "")
    return (table.round.phase, str(table.round.wagers), str(table.round.hands), table.round.id)


def _heard(table: TableNow, vitals: Health) -> str:
    if table.last_event is None:
        return "never"
    seconds = max(0.0, (vitals.at - table.last_event.at).total_seconds())
    return f"{table.last_event.type} {f'{seconds:.0f} s' if seconds < 120 else f'{seconds / 60:.0f} min'}"
