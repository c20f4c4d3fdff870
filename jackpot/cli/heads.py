"""`jackpot heads`: the key that signs the chain's heads, and a look at what was signed, without the database."""

import json
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console
from rich.table import Table

from jackpot.cli.output import Output, OutputOption
from jackpot.errors import CheckFailed, UserError
from jackpot.ledger.heads import HeadNotTrue, SignedHead, fingerprint, load_public_key, new_key, read
from jackpot.pki import files

command = typer.Typer(
    add_completion=False,
    no_args_is_help=True,
    help="Signed heads of the audit chain: make the key, check what was signed.",
)


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
    files_: Annotated[list[Path], typer.Argument(metavar="FILE...", help="Files of signed heads.")],
    key: Annotated[list[Path], typer.Option(help="A public key that may have signed them. May be repeated.")],
    output: OutputOption = Output.TABLE,
) -> None:
    """Check every signature, and that no two heads tell different stories; show the newest head of each link."""
    newest: dict[str, SignedHead] = {}
    count = 0
    for head in signed_heads(files_, key):
        count += 1
        if head.link not in newest or newest[head.link].n <= head.n:
            newest[head.link] = head
    if output is Output.JSON:
        heads = [{"link": head.link, "n": head.n, "chain": head.chain} for head in newest.values()]
        typer.echo(json.dumps({"heads": count, "newest": heads}))
        return
    table = Table("link", "event", "signed", "chain", box=None)
    for head in newest.values():
        table.add_row(head.link, f"{head.n:,}", f"{head.signed_at:%Y-%m-%d %H:%M:%S}Z", head.chain)
    Console().print(table)
    typer.echo(f"{count} heads are true")


def signed_heads(paths: list[Path], key_paths: list[Path]) -> list[SignedHead]:
    """Every head of these files. Raises CheckFailed at one that is not true, or that another contradicts."""
    keys = {fingerprint(key): key for key in map(load_public_key, key_paths)}
    found: dict[tuple[str, int], SignedHead] = {}
    heads: list[SignedHead] = []
    try:
        for path in paths:
            for head in read(path, keys):
                other = found.setdefault((head.link, head.n), head)
                if other.chain != head.chain:
                    raise CheckFailed(
                        f"link {head.link}, event {head.n}: one head was signed at {other.signed_at}, another at "
                        f"{head.signed_at}; what lies before it was rewritten between"
                    )
                heads.append(head)
    except HeadNotTrue as error:
        raise CheckFailed(f"a signed head is not true: {error}") from error
    return heads
