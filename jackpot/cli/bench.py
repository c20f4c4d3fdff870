import asyncio
import json
import logging
import signal
from collections.abc import Coroutine
from typing import Annotated, Any

import structlog
import typer
import uvloop

from jackpot.bench.boards import measure_board
from jackpot.bench.ground import ground
from jackpot.bench.growth import measure_growth
from jackpot.bench.many_boards import measure_many_boards
from jackpot.bench.profile import measure_profile
from jackpot.bench.run import Say, measure
from jackpot.bench.soak import measure_soak
from jackpot.bench.verdict import judged
from jackpot.cli.output import Output, OutputOption
from jackpot.errors import UserError

SECONDS_MIN, SECONDS_MAX = 0.1, 3600.0
STOPPED = 128 + signal.SIGTERM


def command(
    *,
    output: OutputOption = Output.TABLE,
    seconds: Annotated[float, typer.Option(help="How long each measurement takes.")] = 5.0,
    growth: Annotated[
        bool, typer.Option("--growth", help="Measure what grows instead: tables, links, history, open rounds.")
    ] = False,
    history: Annotated[int, typer.Option(min=1, help="Events of history for --growth.")] = 5_000_000,
    open_rounds: Annotated[int, typer.Option(min=1, help="Open rounds at a start for --growth.")] = 10_000,
    boards: Annotated[
        bool, typer.Option("--boards", help="Measure what boards cost instead: none, fifty, some of them stuck.")
    ] = False,
    soak: Annotated[int, typer.Option(min=0, help="Minutes of play at 1,000 events/s instead: is memory flat?")] = 0,
) -> None:
    """Measure the data path and the limits beside it, on servers of its own, in one run.

    Exit 1 if a figure is not what it must be beside its limits.
    """
    if not SECONDS_MIN <= seconds <= SECONDS_MAX:  # so that nan is refused too
        raise UserError(f"--seconds {seconds:g} is not between {SECONDS_MIN:g} and {SECONDS_MAX:g}")
    structlog.configure(wrapper_class=structlog.make_filtering_bound_logger(logging.WARNING))

    def say(line: str) -> None:
        typer.echo(line, err=True)

    if growth:
        counts = {"tables": [1, 10, 100, 1000], "links": [1, 8, 64]}
        measuring = measure_growth(say, seconds, **counts, history=history, open_rounds=open_rounds)
    elif boards:
        measuring = _boards(say, seconds)
    elif soak:
        measuring = _soak(say, soak)
    else:
        measuring = _measure_all(say, seconds)
    with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
        try:
            found = runner.run(_until_told_to_stop(measuring))
        except asyncio.CancelledError:
            raise typer.Exit(STOPPED) from None
    verdict = found.get("verdict", [])
    if output is Output.JSON:
        typer.echo(json.dumps(found, indent=2))
    else:
        for one in verdict:
            holds = "holds" if one["holds"] else "FAILS"
            typer.echo(f"{holds}  {one['found']:>6.2f}  {one['what']}: {one['required']}")
    if not all(one["holds"] for one in verdict):
        raise typer.Exit(1)


async def _until_told_to_stop(measuring: Coroutine[Any, Any, dict[str, Any]]) -> dict[str, Any]:
    """SIGTERM ends it in good order: its servers are stopped and their folder is gone."""
    task = asyncio.ensure_future(measuring)
    asyncio.get_running_loop().add_signal_handler(signal.SIGTERM, task.cancel)
    return await task


async def _soak(say: Say, minutes: int) -> dict[str, Any]:
    async with ground() as at:
        return await measure_soak(at, say, minutes)


async def _measure_all(say: Say, seconds: float) -> dict[str, Any]:
    async with ground() as at:
        found = await measure(at, say, seconds)
        found["profile"] = await measure_profile(at, say, seconds)
        found["board"] = await measure_board(at, say, changes=max(3, round(4 * seconds)))
        latest_s = max(board["max_ms"] - board["wire_ms"] for board in found["board"].values()) / 1000
        return {**found, "verdict": judged({**found["ratios"], "board_after_commit_s": latest_s})}


async def _boards(say: Say, seconds: float) -> dict[str, Any]:
    async with ground() as at:
        return {"boards": await measure_many_boards(at, say, seconds)}
