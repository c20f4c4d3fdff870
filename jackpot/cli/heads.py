"""`jackpot heads`: the key that signs the chain's heads, a look at what was signed, and going on after a restore."""

import datetime as dt
import getpass
import json
from pathlib import Path
from typing import Annotated, Any

import asyncpg
import typer
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey
from rich.table import Table

from jackpot.cli.common import open_ledger, run
from jackpot.cli.options import ConfigOption, LinkOption, ReasonOption
from jackpot.cli.output import Output, OutputOption, Page
from jackpot.config import Config, load
from jackpot.errors import CheckFailedError, UserError
from jackpot.finance.reconciliation.day_head import Finder
from jackpot.ledger.heads import keeping
from jackpot.ledger.heads.collection import Collection, LinkHeads, collect
from jackpot.ledger.heads.file import HeadsFile, find
from jackpot.ledger.heads.form import Acceptance, HeadMismatchError, SignedHead, fingerprint, load_public_key, new_key
from jackpot.ledger.record import Head
from jackpot.people.audit import TERMINAL, Actor, note
from jackpot.pki import files
from jackpot.pki.secrets import heads_file

command = typer.Typer(
    add_completion=False,
    no_args_is_help=True,
    help="Signed heads of the audit chain: make the key, check what was signed, go on from a ledger that was set back.",
)

HeadsOption = Annotated[
    list[str] | None,
    typer.Option(
        "--heads",
        metavar="FILE_OR_PATTERN",
        help="Signed heads that a daemon kept outside the database, packed (.gz) or not; 'heads.jsonl*' in quotes also "
        "takes what it was before. May be repeated.",
    ),
]
HeadsKeyOption = Annotated[
    list[Path] | None, typer.Option("--heads-key", help="A public key that may have signed them. May be repeated.")
]


@command.command("new-key")
def make_key(
    key: Annotated[Path, typer.Option(help="Where the private key is written; the daemon's `heads.key_file`.")],
    public: Annotated[Path, typer.Option(help="Where the public key is written; give it to the auditors.")],
) -> None:
    """Make the key that signs heads. The database's account must not be able to read it."""
    for path in (key, public):
        if path.exists():
            raise UserError(f"{path} is there already; choose another, so that no key is lost")
    private_pem, public_pem = new_key()
    files.write(key, private_pem, mode=0o600)
    files.write(public, public_pem, mode=0o644)
    typer.echo(f"key {fingerprint(load_public_key(public))}: {key}, {public}")


@command.command()
def check(
    files_: Annotated[
        list[str], typer.Argument(metavar="FILE_OR_PATTERN...", help="Files of signed heads, packed (.gz) or not.")
    ],
    key: Annotated[list[Path], typer.Option(help="A public key that may have signed them. May be repeated.")],
    output: OutputOption = Output.TABLE,
) -> None:
    """Check every signature, that none is missing and no two tell different stories; show the newest of each link."""
    try:
        found = told_by(files_, key)
    except HeadMismatchError as error:
        raise CheckFailedError(f"the signed heads are not true: {error}") from error
    if output is Output.JSON:
        typer.echo(json.dumps(document(found)))
    else:
        table = Table("link", "event", "signed", "chain", box=None)
        for link, heads in found.links.items():
            newest = heads.newest
            table.add_row(link, f"{newest.n:,}", f"{newest.signed_at:%Y-%m-%d %H:%M:%S}Z", newest.chain)
        Page().print(table)
        for line in remarks(found):
            typer.echo(line)
    if not len(found):
        raise CheckFailedError(f"there is no head in {', '.join(files_)}; nothing is proved")
    if output is Output.TABLE:
        typer.echo(f"{len(found)} heads are true")


@command.command()
def accept(config: ConfigOption, link: LinkOption, reason: ReasonOption) -> None:
    """Go on from a ledger that was set back: sign it as it stands, with who agreed and why.

    The heads of what is lost stay in the file as evidence, and are not asked of the ledger any more. On the machine
    whose daemon has signed them, as its user; then `jackpot resume`.
    """
    read = load(config)
    file = heads_file(read)
    if file is None:
        raise UserError("nothing is signed here; file and key_file in [heads] say where")
    given_up, head = run(_accept(read, file, link, reason))
    typer.echo(f"{link}: accepted as it stands, at event {head.n}; {given_up} heads of what is lost are given up")


async def _accept(config: Config, file: HeadsFile, link: str, reason: str) -> tuple[int, Head]:
    signed = list(file.of(link))
    actor = Actor(f"{getpass.getuser()} (terminal)", TERMINAL)
    async with open_ledger(config) as ledger:
        async with ledger.reader() as connection:
            if not signed or await keeping.holds(connection, signed[0]):
                raise UserError(f"the ledger holds all that was signed of {link!r} here; there is nothing to accept")
            row = await connection.fetchrow("SELECT n, chain, at FROM links WHERE link = $1 AND n > 0", link)
            if row is None:
                raise UserError(f"link {link!r} is not in the ledger; start the daemon, which opens it")
            since = await _last_shared(connection, signed)
        head = Head(n=row["n"], chain=row["chain"], at=row["at"])
        given_up = sum(one.n > since for one in signed)
        async with ledger.engine.begin() as audit_entry:
            detail = {"n": head.n, "since": since, "given_up": given_up, "reason": reason}
            await note(audit_entry, actor, "heads.accepted", link, **detail)
            file.keep(link, head, dt.datetime.now(dt.UTC), accepts=Acceptance(since, actor.name, reason))
    return given_up, head


async def _last_shared(connection: asyncpg.Connection, signed: list[SignedHead]) -> int:
    """The last signed event that the ledger still holds as it was; 0 if there is none."""
    rows = await connection.fetch(
        "SELECT n, chain FROM events WHERE link = $1 AND n = ANY($2::bigint[])",
        signed[0].link,
        list({head.n for head in signed}),
    )
    there = {(row["n"], bytes(row["chain"]).hex()) for row in rows}
    return max((head.n for head in signed if (head.n, head.chain) in there), default=0)


# -- what others ask -----------------------------------------------------------------------------------------------


def told_by(patterns: list[str], key_paths: list[Path]) -> Collection:
    """What these files tell together. Raises HeadNotTrue."""
    return collect(_named(patterns), _keys(key_paths))


def finder(patterns: list[str], key_paths: list[Path]) -> Finder:
    """Looks for single heads in these files, whenever they were written."""
    paths, keys = _named(patterns), _keys(key_paths)
    return lambda link, n, chain, _: find(paths, keys, link, n, chain)


def _keys(paths: list[Path]) -> dict[str, Ed25519PublicKey]:
    return {fingerprint(key): key for key in map(load_public_key, paths)}


def _named(patterns: list[str]) -> list[Path]:
    """Each once. A shell may have looked already; between quotes it has not."""
    paths: dict[Path, None] = {}
    for pattern in patterns:
        path = Path(pattern)
        named = [path] if path.exists() or not path.name else sorted(path.parent.glob(path.name))
        if not named:
            raise UserError(f"cannot read {pattern}: no such file")
        paths.update(dict.fromkeys(named))
    return list(paths)


def require_both(heads: list[str] | None, heads_key: list[Path] | None) -> None:
    if heads and not heads_key:
        raise UserError("name the key that signed the heads with --heads-key FILE")
    if heads_key and not heads:
        raise UserError("name the signed heads with --heads FILE; a key alone proves nothing")


def document(found: Collection) -> dict[str, Any]:
    return {
        "files": found.files,
        "heads": len(found),
        "cut_short": [str(path) for path in found.cut_short],
        "links": [_link_document(link, heads) for link, heads in found.links.items()],
    }


def _link_document(link: str, heads: LinkHeads) -> dict[str, Any]:
    newest = heads.newest
    return {
        "link": link,
        "heads": len(heads.heads),
        "compared": len(heads.standing),
        "newest": {"n": newest.n, "chain": newest.chain, "signed_at": newest.signed_at.isoformat()},
        "series": [{"series": series, "first": first, "last": last} for series, (first, last) in heads.series.items()],
        "accepted": [
            {
                "n": one.n,
                "signed_at": one.signed_at.isoformat(),
                "given_up": len(heads.given_up_by(one)),
                "since": one.accepts.since,
                "by": one.accepts.by,
                "reason": one.accepts.reason,
            }
            for one in heads.accepted
            if one.accepts is not None
        ],
    }


def remarks(found: Collection) -> list[str]:
    """What somebody who relies on them should know."""
    lines = [f"{path}: its last line is cut short, as a crash leaves it, and was left out" for path in found.cut_short]
    for link, heads in found.links.items():
        lines += [
            f"{link}: heads before number {first} of series {series} are not in these files"
            for series, (first, _) in heads.series.items()
            if first > 1
        ]
        lines += [
            f"{link}: {len(heads.given_up_by(one))} heads after event {one.accepts.since} were given up at "
            f"{one.signed_at:%Y-%m-%d %H:%M:%S}Z by {one.accepts.by}: {one.accepts.reason}"
            for one in heads.accepted
            if one.accepts is not None
        ]
    return lines
