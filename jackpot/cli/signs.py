"""`jackpot signs`: drives the boards, tests one, tells what one showed, or stands in for one."""

import asyncio
import json
import math
import os
import signal
import socket
import sys
import tempfile
from collections.abc import Coroutine
from datetime import UTC, datetime
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.console import Group
from rich.live import Live
from rich.text import Text

from drivers.board import DriverError, Known, PortBusyError
from drivers.connect import connect
from drivers.emulator import EmulatedPort, Faults, emulate, render, save_png
from drivers.line import Lines
from drivers.wiring import ProtocolName, Wiring, is_shared
from jackpot import logs
from jackpot.cli.options import ConfigOption
from jackpot.cli.output import Output, OutputOption, Page
from jackpot.cli.serving import ListenOption, tell_prometheus
from jackpot.config import Config, load, systemd_settings
from jackpot.daemon.service_manager import ServiceManager
from jackpot.embedded import default_data_dir
from jackpot.embedded.servers import configured_broker
from jackpot.errors import CheckFailedError, UserError
from jackpot.pki import expiry
from jackpot.signs import BoardAgent, Entry, JsonLinesHistory, SignBoard
from jackpot.signs.configured import sign_board
from jackpot.signs.feed import Feed
from jackpot.signs.history import answer, boards

command = typer.Typer(
    add_completion=False,
    no_args_is_help=False,
    help="Drive sign boards, fed by MQTT alone; look at them and test them.",
)

TEST_WITHIN_S = 30.0


def _finite(value: float | None) -> float | None:
    """`nan` is below no bound, and no clock ever says `inf`."""
    if value is not None and not math.isfinite(value):
        raise typer.BadParameter(f"{value} is no such number")
    return value


StateOption = Annotated[Path | None, typer.Option("--state", help="Folder of the boards' history.")]
BoardArgument = Annotated[str, typer.Argument(metavar="BOARD", help="The board's id.")]


def history_folder(state: Path | None) -> Path:
    return state or default_data_dir() / "signs"


@command.callback(invoke_without_command=True)
def drive(
    context: typer.Context,
    config: Annotated[Path | None, typer.Option("--config", help="The configuration file (TOML).")] = None,
    state: StateOption = None,
    listen: ListenOption = None,
) -> None:
    """Drive the boards of the configuration until SIGTERM or Ctrl-C; then they show dashes."""
    if context.invoked_subcommand is not None:
        return
    if config is None:
        raise UserError("which boards? jackpot signs --config FILE, or see jackpot signs --help")
    logs.set_up()
    found = load(config)
    tell_prometheus(listen)
    expiry.measure(found)
    _run(_drive(found, history_folder(state)))


async def _drive(config: Config, folder: Path) -> None:
    if not config.signs:
        raise UserError("no signs are configured; add at least one [[signs]]")
    if config.mqtt.url is None:
        raise UserError("boards on another machine are fed by a broker; set url in [mqtt]")
    with JsonLinesHistory(folder) as history:
        agent = BoardAgent([sign_board(sign) for sign in config.signs], history)
        name = f"jackpot-signs-{socket.gethostname()}-{os.getpid()}"
        feed = Feed(configured_broker(config, config.mqtt.url), name)
        feed.listen(agent.hear)
        async with asyncio.TaskGroup() as tasks:
            tasks.create_task(agent.run(), name="boards")
            tasks.create_task(feed.run(), name="feed")
            manager = ServiceManager(*systemd_settings())
            tasks.create_task(manager.beat(), name="watchdog")
            manager.tell("READY=1")


@command.command("test")
def show_test(
    board: BoardArgument,
    config: ConfigOption,
    seconds: Annotated[float, typer.Option(min=0, callback=_finite, help="How long the pattern stays.")] = 5.0,
    state: StateOption = None,
) -> None:
    """Show a test pattern on one board, then dashes. The program that drives the board must not run."""
    sign = next((sign for sign in load(config).signs if sign.id == board), None)
    if sign is None:
        raise UserError(f"no sign {board!r} in {config}; its [[signs]] are the boards there are")
    with JsonLinesHistory(history_folder(state)) as history:
        _run(_show_test(sign_board(sign), seconds, history))


async def _show_test(sign: SignBoard, seconds: float, history: JsonLinesHistory) -> None:
    try:
        wiring = sign.wiring.resolved()
    except ValueError as error:
        raise UserError(f"signs: {sign.id}: {error}") from error
    try:
        driver = await connect(wiring, Lines(), Known())
        try:
            for show, stay in ((driver.talk.show_test, seconds), (driver.talk.blank, 0.0)):
                told = show()
                at = datetime.now(UTC)
                async with asyncio.timeout(TEST_WITHIN_S):
                    confirmed = await driver.until_sure()
                history.add(Entry(at, sign.id, "told", told.text, None, None, "test", confirmed))
                if driver.talk.fault:
                    raise DriverError(driver.talk.fault)
                said = "and says so itself" if confirmed else "and has not answered: look at it"
                typer.echo(f"{sign.id} was told {told.text!r} {said}")
                await asyncio.sleep(stay)
        finally:
            driver.close()
    except PortBusyError as error:
        raise CheckFailedError(
            f"{sign.id}: {error}; stop the program that drives it first, then start it again"
        ) from error
    except (DriverError, TimeoutError) as error:
        raise CheckFailedError(f"{sign.id}: {str(error) or 'too slow'}") from error


@command.command("history")
def tell_history(
    board: BoardArgument,
    at: Annotated[str | None, typer.Option("--at", help="A moment such as 2026-11-16T02:00:00Z; absent: now.")] = None,
    state: StateOption = None,
    output: OutputOption = Output.TABLE,
) -> None:
    """Tell what a board showed at a moment, since when, and whether it said so itself."""
    folder = history_folder(state)
    if board not in (known := boards(folder)):
        raise UserError(f"nothing is kept of {board!r} in {folder}; kept are: {', '.join(known) or 'none'}")
    moment = _moment(at, datetime.now(UTC))
    found = answer(folder, board, moment)
    parts = {"told": found.told, "answered": found.answered, "fault": found.fault, "until": found.until}
    if output is Output.JSON:
        entries = {name: entry and json.loads(entry.to_json()) for name, entry in parts.items()}
        typer.echo(json.dumps({"board": board, "at": moment.isoformat(), **entries}))
    elif found.told is not None:
        typer.echo(f"{board} at {_clock(moment)}")
        for name, entry in parts.items():
            typer.echo(f"  {name:9} {_line(name, entry)}")
    if found.told is None:
        raise CheckFailedError(f"nothing was told to {board} by {_clock(moment)}")


def _moment(text: str | None, now: datetime) -> datetime:
    if text is None:
        return now
    try:
        moment = datetime.fromisoformat(text)
    except ValueError as error:
        raise UserError(f"{text!r} is not a moment such as 2026-11-16T02:00:00Z") from error
    if moment.tzinfo is None:
        raise UserError(f"{text!r} has no time zone; add Z or an offset such as +08:00")
    try:
        moment = moment.astimezone(UTC)
    except OverflowError as error:
        raise UserError(f"{text!r} is a moment of which no calendar knows") from error
    if moment > now:
        raise UserError(f"{text!r} is yet to come; it is {_clock(now)}")
    return moment


def _line(name: str, entry: Entry | None) -> str:
    if entry is None:
        return {"answered": "not by the board itself", "fault": "none known", "until": "nothing else yet"}[name]
    version = f"meter version {entry.version}" if entry.version is not None else None
    details = [detail for detail in ("dark" if entry.text == "" else entry.text, version, entry.reason) if detail]
    return f"{_clock(entry.at)}  {', '.join(details)}"


def _clock(moment: datetime) -> str:
    return moment.astimezone(UTC).isoformat(sep=" ", timespec="milliseconds").replace("+00:00", "Z")


@command.command("emulate")
def run_emulator(
    *,
    protocol: Annotated[ProtocolName, typer.Option(help="What it speaks.")] = "alpha",
    port: Annotated[Path | None, typer.Option(help="Where the serial port appears; absent: a new place.")] = None,
    address: Annotated[str, typer.Option(help="The board's address.")] = "01",
    width: Annotated[int | None, typer.Option(help="Characters or digits.")] = None,
    drop: Annotated[float, typer.Option(min=0, max=1, callback=_finite, help="Chance that a byte is lost.")] = 0.0,
    garble: Annotated[float, typer.Option(min=0, max=1, callback=_finite, help="Chance that a byte is changed.")] = 0.0,
    slow: Annotated[
        float, typer.Option(min=0, callback=_finite, help="Seconds by which bytes are late, at most.")
    ] = 0.0,
    late: Annotated[float, typer.Option(min=0, callback=_finite, help="Seconds by which it answers late.")] = 0.0,
    mute: Annotated[bool, typer.Option("--mute", help="Wired one way: its answers do not arrive.")] = False,
    unplug: Annotated[
        float, typer.Option(min=0, callback=_finite, help="Unplug every so many seconds, for two.")
    ] = 0.0,
    png: Annotated[Path | None, typer.Option(help="Draw the board's last face here at the end.")] = None,
    seconds: Annotated[
        float | None, typer.Option(min=0, callback=_finite, help="How long; absent: until Ctrl-C.")
    ] = None,
) -> None:
    """Stand in for a board: a serial port that a driver can open, and the board drawn here."""
    try:
        wiring = Wiring(protocol, "emulated", address=address, width=width).resolved()
    except ValueError as error:
        raise UserError(str(error)) from error
    if protocol == "alpha" and is_shared(address):
        raise UserError(f"no board has the address {address!r}, by it many are spoken to; give it one of its own")
    if png is not None and (png.suffix.lower() != ".png" or not png.parent.is_dir()):
        raise UserError(f"--png {png}: name a file that ends in .png, in a folder that is there")
    board = emulate(wiring.protocol, wiring.address, wiring.width)
    faults = Faults(drop=drop, garble=garble, slow_seconds=slow, late_seconds=late, mute=mute)

    async def run(path: Path) -> None:
        try:
            async with asyncio.timeout(seconds), EmulatedPort([board], path, faults=faults) as opened:
                await _watch(opened, unplug)
        except TimeoutError:
            pass
        except OSError as error:
            raise UserError(f"no port can be opened at {path}: {error.strerror}; choose another --port") from error

    with tempfile.TemporaryDirectory(prefix="jackpot-board-") as folder:
        _run(run(port or Path(folder) / protocol))
    if png is not None:
        try:
            save_png(board.state(), png)
        except OSError as error:
            raise UserError(f"cannot write {png}: {error.strerror}") from error


async def _watch(port: EmulatedPort, unplug_seconds: float) -> None:
    loop = asyncio.get_running_loop()
    console = Page()
    if not console.is_terminal:
        typer.echo(f"open at {port.path}")
    plugged_at = loop.time()
    with Live(console=console, refresh_per_second=20, transient=not console.is_terminal) as live:
        while True:
            now = loop.time()
            away = unplug_seconds and (now - plugged_at) % (unplug_seconds + 2) >= unplug_seconds
            port.unplug() if away else port.replug()
            state = "unplugged" if away else f"open at {port.path}"
            live.update(Group(render(port.boards[0].state(), console.width, now), Text(state, "dim")))
            await asyncio.sleep(0.05)


def _run(work: Coroutine[Any, Any, None]) -> None:
    """Until it ends, or SIGTERM or Ctrl-C: both are a proper end."""

    async def until_told() -> None:
        task = asyncio.current_task()
        if task is not None:
            asyncio.get_running_loop().add_signal_handler(signal.SIGTERM, task.cancel)
        await work

    try:
        asyncio.run(until_told())
    except (KeyboardInterrupt, asyncio.CancelledError):
        sys.stderr.write("stopped\n")
