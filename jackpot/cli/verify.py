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
from jackpot.cli.heads import HeadsKeyOption, HeadsOption, require_both, told_by
from jackpot.cli.heads import document as heads_document
from jackpot.cli.heads import remarks as heads_remarks
from jackpot.cli.output import Output, OutputOption, Page
from jackpot.cli.slip import slip_from_ledger
from jackpot.config import Config, load
from jackpot.contract import codec
from jackpot.contract.events import Event, TableEvent
from jackpot.contract.gaming_day import GamingDay
from jackpot.errors import CheckFailedError, UserError
from jackpot.finance.slips.data import Slip, arithmetic, problems
from jackpot.ledger.heads.collection import Collection, LinkHeads
from jackpot.ledger.heads.form import HeadMismatchError
from jackpot.ledger.replay import Language
from jackpot.ledger.verify import BreakError, Verified, links_in, verify
from jackpot.link.changes import Decision, reply
from jackpot.people import approvals


def _read(payload: bytes) -> TableEvent | None:
    event = codec.decode(payload)
    return None if isinstance(event, codec.UnreadableEvent) else event


def _answer(event: Event, decision: Decision) -> bytes:
    return reply(event, decision)


LANGUAGE = Language(_read, _answer)


def command(
    *,
    config: Annotated[Path | None, typer.Option("--config", help="The configuration file (TOML).")] = None,
    link: Annotated[str | None, typer.Option("--link", help="This link alone.")] = None,
    kept_head: Annotated[
        list[str] | None,
        typer.Option(metavar="LINK:N:CHAIN", help="A head that an earlier run printed. May be repeated."),
    ] = None,
    heads: HeadsOption = None,
    heads_key: HeadsKeyOption = None,
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
    require_both(heads, heads_key)
    kept = _kept_heads(kept_head or [])
    signed: Collection | None = None
    started = time.monotonic()
    done: list[Verified] = []
    broken: BreakError | HeadMismatchError | None = None
    try:
        signed = told_by(heads, heads_key or []) if heads else None
        if signed is not None:
            _add(kept, signed)
        done, broken = run(_walk(load(config), link, kept, signed))
    except HeadMismatchError as error:
        broken = error
    seconds = time.monotonic() - started
    if output is Output.JSON:
        typer.echo(json.dumps(_document(done, broken, signed, seconds)))
    else:
        _show(done, signed, seconds)
    if broken is not None:
        what = "the ledger is broken" if isinstance(broken, BreakError) else "the signed heads are not true"
        raise CheckFailedError(f"{what}: {broken}")


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
        raise CheckFailedError(f"award {name} does not work out: {'; '.join(found)}")


def _slip_from(path: Path) -> Slip:
    try:
        return msgspec.json.decode(path.read_bytes(), type=Slip)
    except OSError as error:
        raise UserError(f"cannot read {path}: {error.strerror}") from error
    except msgspec.DecodeError as error:
        raise UserError(f"{path} is no award slip as `jackpot slip -o json` writes it: {error}") from error


async def _walk(
    config: Config, link: str | None, kept: dict[str, dict[int, bytes]], signed: Collection | None
) -> tuple[list[Verified], BreakError | None]:
    """The links verified before the first break, and that break."""
    done: list[Verified] = []
    gaming_day = GamingDay.of(config.gaming_day.timezone, config.gaming_day.starts_at)
    async with open_ledger(config) as ledger, ledger.reader() as connection:
        there = await links_in(connection)
        if link is not None and link not in (*there, *kept):
            raise UserError(f"link {link!r} is not in the ledger; the links are {', '.join(there) or 'none yet'}")
        with _progress() as bar:
            for name in [link] if link else sorted({*there, *kept}):
                total = await connection.fetchval("SELECT n FROM links WHERE link = $1", name)
                advance = partial(_advance, bar, bar.add_task(name, total=total))
                heads = kept.get(name, {})
                try:
                    _require_heads(name, heads, gone=name not in there, asked_for=bool(signed is not None and total))
                    verified = await verify(
                        connection, name, LANGUAGE, kept_heads=heads, gaming_day=gaming_day, progress=advance
                    )
                    await _require_approval(connection, name)
                except BreakError as broken:
                    return done, broken
                done.append(verified)
    return done, None


def _require_heads(link: str, heads: dict[int, bytes], *, gone: bool, asked_for: bool) -> None:
    """What was kept of a link that is gone is no slip of the pen; nor is a link that nothing was kept of."""
    if gone:
        raise BreakError(link, max(heads), "it was kept outside the database, but the link is not there")
    if asked_for and not heads:
        raise BreakError(link, None, "no head of it is in the files of signed heads: nothing proves it")


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


def _add(kept: dict[str, dict[int, bytes]], signed: Collection) -> None:
    for head in signed.standing():
        chain = bytes.fromhex(head.chain)
        if kept.setdefault(head.link, {}).setdefault(head.n, chain) != chain:
            raise HeadMismatchError(f"link {head.link}, event {head.n}: the head that you kept is another")


def _progress() -> Progress:
    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn())
    console = Console(stderr=True)
    return Progress(*columns, console=console, transient=True, disable=not console.is_terminal)


def _advance(bar: Progress, task: TaskID, n: int) -> None:
    bar.update(task, completed=n)


def _document(
    done: list[Verified], broken: BreakError | HeadMismatchError | None, signed: Collection | None, seconds: float
) -> dict[str, Any]:
    link, n, what = (
        (broken.link, broken.n, broken.what) if isinstance(broken, BreakError) else (None, None, str(broken))
    )
    return {
        "verified": broken is None,
        "break": None if broken is None else {"link": link, "n": n, "what": what},
        "heads": None if signed is None else heads_document(signed),
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


def _show(done: list[Verified], signed: Collection | None, seconds: float) -> None:
    table = Table(
        "link", "events", "journals", "entries", "awards", "last event", title="Verified", title_justify="left"
    )
    for one in done:
        counts = [one.n, *(one.counts.get(kind, 0) for kind in ("journals", "entries", "awards"))]
        table.add_row(one.link, *(f"{count:,}" for count in counts), f"{one.at:%Y-%m-%d %H:%M:%S}Z" if one.n else "")
    console = Page()
    if done:
        console.print(table)
    for one in done:
        # One line, whatever the width of the terminal: it is to be copied and kept elsewhere.
        console.print(f"head {one.link}:{one.n}:{one.chain.hex()}", soft_wrap=True, highlight=False)
        if one.other_days:
            text = f"{one.link}: {one.other_days:,} events lie in another gaming day than the configuration gives"
            console.print(f"{text}; was gaming_day changed?", style="yellow", highlight=False)
        if signed is not None and one.link in signed.links:
            console.print(_proved(one, signed.links[one.link]), soft_wrap=True, highlight=False)
    for remark in heads_remarks(signed) if signed is not None else ():
        console.print(remark, style="yellow", soft_wrap=True, highlight=False, markup=False)
    events = sum(one.n for one in done)
    console.print(f"{events:,} events in {seconds:.1f} s", highlight=False)


def _proved(one: Verified, heads: LinkHeads) -> str:
    newest = max(heads.standing, key=lambda head: head.n)
    return (
        f"{one.link}: {len(heads.standing):,} signed heads hold, the newest of event {newest.n:,}, signed at "
        f"{newest.signed_at:%Y-%m-%d %H:%M:%S}Z; {one.n - newest.n:,} events came after it"
    )
