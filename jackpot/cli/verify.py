"""`jackpot verify`: the ledger walked from its first record, or one award worked out again from its slip."""

import json
import time
from functools import partial
from pathlib import Path
from typing import Annotated, Any

import asyncpg
import msgspec
import typer
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TaskID, TextColumn, TimeRemainingColumn
from rich.table import Table

from jackpot.cli.common import open_ledger, run
from jackpot.cli.heads import signed_heads
from jackpot.cli.output import Output, OutputOption
from jackpot.cli.slip import slip_from_ledger
from jackpot.config import Config, load
from jackpot.errors import CheckFailed, UserError
from jackpot.finance.slip import Slip, arithmetic, problems
from jackpot.ledger.replay import Language
from jackpot.ledger.verify import BreakError, Verified, links_in, verify
from jackpot.link.changes import Decision
from jackpot.link.events import Event, TableEvent
from jackpot.link.gaming_day import GamingDay
from jackpot.people import approvals
from jackpot.wire import codec


def _read(payload: bytes) -> TableEvent | None:
    event = codec.decode(payload)
    return None if isinstance(event, codec.Unreadable) else event


def _answer(event: Event, decision: Decision) -> bytes:
    return codec.encode(codec.answer(event, decision))


LANGUAGE = Language(_read, _answer)


def command(
    *,
    config: Annotated[Path | None, typer.Option("--config", help="The configuration file (TOML).")] = None,
    link: Annotated[str | None, typer.Option("--link", help="This link alone.")] = None,
    kept_head: Annotated[
        list[str] | None,
        typer.Option(metavar="LINK:N:CHAIN", help="A head that an earlier run printed. May be repeated."),
    ] = None,
    heads: Annotated[
        list[Path] | None, typer.Option(help="Signed heads that the daemon kept outside the database. May be repeated.")
    ] = None,
    heads_key: Annotated[
        list[Path] | None, typer.Option(help="A public key that may have signed them. May be repeated.")
    ] = None,
    award: Annotated[
        str | None,
        typer.Option(metavar="FILE_OR_ID", help="Work one award out again: from its slip (JSON), or by its name."),
    ] = None,
    output: OutputOption = Output.TABLE,
) -> None:
    if award is not None:
        _check_award(award, config, output)
        return
    if config is None:
        raise UserError("name the ledger's configuration with --config FILE")
    if heads and not heads_key:
        raise UserError("name the key that signed the heads with --heads-key FILE")
    if heads_key and not heads:
        raise UserError("name the signed heads with --heads FILE; a key alone proves nothing")
    kept = _kept_heads(kept_head or [])
    for head in signed_heads(heads or [], heads_key or []):
        if link in (None, head.link):
            kept.setdefault(head.link, {})[head.n] = bytes.fromhex(head.chain)
    started = time.monotonic()
    done, broken = run(_walk(load(config), link, kept))
    seconds = time.monotonic() - started
    if output is Output.JSON:
        typer.echo(json.dumps(_document(done, broken, seconds)))
    else:
        _show(done, seconds)
    if broken is not None:
        raise CheckFailed(f"the ledger is broken: {broken}")


def _check_award(award: str, config: Path | None, output: Output) -> None:
    if Path(award).is_file():
        slip = _slip_from(Path(award))
    elif config is None:
        raise UserError(f"{award} is no file; to look an award up in the ledger add --config FILE")
    else:
        slip = run(slip_from_ledger(load(config), award))
    name, found = slip.award.get("award"), problems(slip)
    if output is Output.JSON:
        typer.echo(json.dumps({"award": name, "verified": not found, "problems": found}))
    elif not found:
        typer.echo("\n".join([f"award {name} is right:", *(f"  {text}" for text in arithmetic(slip))]))
    if found:
        raise CheckFailed(f"award {name} does not work out: {'; '.join(found)}")


def _slip_from(path: Path) -> Slip:
    try:
        return msgspec.json.decode(path.read_bytes(), type=Slip)
    except OSError as error:
        raise UserError(f"cannot read {path}: {error.strerror}") from error
    except msgspec.DecodeError as error:
        raise UserError(f"{path} is no award slip as `jackpot slip -o json` writes it: {error}") from error


async def _walk(
    config: Config, link: str | None, kept: dict[str, dict[int, bytes]]
) -> tuple[list[Verified], BreakError | None]:
    """The links verified before the first break, and that break."""
    done: list[Verified] = []
    gaming_day = GamingDay.of(config.gaming_day.timezone, config.gaming_day.starts_at)
    async with open_ledger(config) as ledger, ledger.reader() as connection:
        there = await links_in(connection)
        for name in [*kept, *([link] if link else [])]:
            if name not in there:
                raise UserError(f"link {name!r} is not in the ledger; the links are {', '.join(there) or 'none yet'}")
        with _progress() as bar:
            for name in [link] if link else there:
                total = await connection.fetchval("SELECT n FROM links WHERE link = $1", name)
                advance = partial(_advance, bar, bar.add_task(name, total=total))
                try:
                    heads = kept.get(name)
                    verified = await verify(
                        connection, name, LANGUAGE, kept_heads=heads, gaming_day=gaming_day, progress=advance
                    )
                    await _require_approval(connection, name)
                except BreakError as broken:
                    return done, broken
                done.append(verified)
    return done, None


async def _require_approval(connection: asyncpg.Connection, link: str) -> None:
    for n in await approvals.unapproved(connection, link):
        raise BreakError(link, n, "it changes money, and no two people have agreed on it")


def _kept_heads(texts: list[str]) -> dict[str, dict[int, bytes]]:
    kept: dict[str, dict[int, bytes]] = {}
    for text in texts:
        try:
            link, n, chain = text.rsplit(":", 2)
            kept.setdefault(link, {})[int(n)] = bytes.fromhex(chain)
        except ValueError as error:
            raise UserError(f"{text!r} is no head; it is written LINK:N:CHAIN as `jackpot verify` prints it") from error
    return kept


def _progress() -> Progress:
    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn())
    console = Console(stderr=True)
    return Progress(*columns, console=console, transient=True, disable=not console.is_terminal)


def _advance(bar: Progress, task: TaskID, n: int) -> None:
    bar.update(task, completed=n)


def _document(done: list[Verified], broken: BreakError | None, seconds: float) -> dict[str, Any]:
    return {
        "verified": broken is None,
        "break": None if broken is None else {"link": broken.link, "n": broken.n, "what": broken.what},
        "links": [
            {
                "link": one.link,
                "events": one.n,
                **one.counts,
                "other_days": one.other_days,
                "head": f"{one.link}:{one.n}:{one.chain.hex()}",
            }
            for one in done
        ],
        "seconds": round(seconds, 3),
    }


def _show(done: list[Verified], seconds: float) -> None:
    table = Table(
        "link", "events", "journals", "entries", "awards", "last event", title="Verified", title_justify="left"
    )
    for one in done:
        counts = [one.n, *(one.counts.get(kind, 0) for kind in ("journals", "entries", "awards"))]
        table.add_row(one.link, *(f"{count:,}" for count in counts), f"{one.at:%Y-%m-%d %H:%M:%S}Z" if one.n else "")
    console = Console()
    if done:
        console.print(table)
    for one in done:
        # One line, whatever the width of the terminal: it is to be copied and kept elsewhere.
        console.print(f"head {one.link}:{one.n}:{one.chain.hex()}", soft_wrap=True, highlight=False)
        if one.other_days:
            text = f"{one.link}: {one.other_days:,} events lie in another gaming day than the configuration gives"
            console.print(f"{text}; was gaming_day changed?", style="yellow", highlight=False)
    events = sum(one.n for one in done)
    console.print(f"{events:,} events in {seconds:.1f} s", highlight=False)
