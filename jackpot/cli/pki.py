"""`jackpot pki`: the site's authorities and the certificates of its tables, boards, controllers and servers."""

import datetime as dt
import json
import secrets
from collections.abc import Iterable
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.table import Table

from jackpot.cli.options import ConfigOption
from jackpot.cli.output import Output, OutputOption, Page
from jackpot.config import load
from jackpot.errors import CheckFailedError, UserError
from jackpot.pki import Issued, Kind, Site, doors, files, scram
from jackpot.pki.secrets import secret

command = typer.Typer(
    add_completion=False,
    no_args_is_help=True,
    help="Make the site's authorities; issue, renew, revoke and list certificates; make keys for tables' events; "
    "give the database passwords that it never sees.",
)

FolderOption = Annotated[Path, typer.Option("--folder", help="Where the authorities live. Keep it off the floor.")]
KindArgument = Annotated[Kind, typer.Argument(metavar="KIND", help="table, board, controller, server or node")]
NameArgument = Annotated[str, typer.Argument(metavar="NAME", help="A table's id; a board agent's or machine's name.")]
DaysOption = Annotated[int, typer.Option(help="How long it lasts.")]

HERE = Path("pki")
A_YEAR = 365
KEY_BYTES = 32


def _now() -> dt.datetime:
    return dt.datetime.now(dt.UTC)


@command.command()
def init(
    site: Annotated[str, typer.Option(help="The site's name, as it stands in every authority.")],
    folder: FolderOption = HERE,
) -> None:
    """Make the authorities of a site: tables, boards, controllers, servers, nodes; those that are missing."""
    Site(folder).create(site, _now())
    typer.echo(f"the authorities are in {folder}; carry .crt and .crl files to the broker, .key files nowhere")


@command.command()
def issue(
    kind: KindArgument,
    name: NameArgument,
    also: Annotated[list[str] | None, typer.Option(help="A further host name or address of a server or node.")] = None,
    days: DaysOption = A_YEAR,
    folder: FolderOption = HERE,
) -> None:
    """Issue a certificate and its key; for a name that has one, renew it (the earlier one stays good)."""
    certificate, key = Site(folder).issue(kind, name, _now(), days, also or ())
    typer.echo(f"{certificate}\n{key}")


@command.command()
def revoke(
    kind: KindArgument,
    name: NameArgument,
    *,
    earlier: Annotated[bool, typer.Option("--earlier", help="All but the current one, after a renewal.")] = False,
    folder: FolderOption = HERE,
) -> None:
    """Revoke the certificates of a name. The broker must get the new .crl and be restarted."""
    site = Site(folder)
    taken = site.revoke(kind, name, _now(), earlier_only=earlier)
    typer.echo(f"revoked {len(taken)} of {name}; now carry {site.authorities[kind].revoked_file} to the broker")


@command.command("list")
def list_issued(
    folder: FolderOption = HERE,
    expiring: Annotated[
        int | None, typer.Option(min=0, max=36_500, help="Only those in use that end within so many days; 1 if any.")
    ] = None,
    output: OutputOption = Output.TABLE,
) -> None:
    """List the certificates, or those that must be renewed."""
    found = Site(folder).issued()
    if expiring is not None:
        limit = _now() + dt.timedelta(days=expiring)
        found = [issued for issued in found if issued.current and not issued.revoked_at and issued.not_after < limit]
    if output is Output.JSON:
        typer.echo(json.dumps([_document(issued) for issued in found]))
    else:
        _show(found)
    if expiring is not None and found:
        raise CheckFailedError(f"{len(found)} certificates end within {expiring} days; issue them again")


def _document(issued: Issued) -> dict[str, Any]:
    return {
        "kind": issued.kind,
        "name": issued.name,
        "serial": f"{issued.serial:x}",
        "not_after": issued.not_after.isoformat(),
        "revoked_at": None if issued.revoked_at is None else issued.revoked_at.isoformat(),
        "current": issued.current,
    }


def _show(found: Iterable[Issued]) -> None:
    table = Table("kind", "name", "serial", "until", "state", box=None)
    for issued in found:
        state = "current" if issued.current else "earlier"
        if issued.revoked_at is not None:
            state = f"revoked {issued.revoked_at:%Y-%m-%d}"
        table.add_row(issued.kind, issued.name, f"{issued.serial:x}"[:12], f"{issued.not_after:%Y-%m-%d}", state)
    Page().print(table)


@command.command("event-key")
def event_key(file: Annotated[Path, typer.Argument(help="Where the key is written.")]) -> None:
    """Make a table's key: with it in `key_file` the daemon takes only events that carry its proof."""
    if file.exists():
        raise UserError(f"{file} is there already; choose another, so that no key is lost")
    files.write(file, secrets.token_hex(KEY_BYTES).encode() + b"\n", mode=0o600)
    typer.echo(str(file))


@command.command("acl")
def tables_acl(config: ConfigOption) -> None:
    """Print what tables may do at the broker, on the configured links: /etc/mosquitto/jackpot/tables.acl."""
    typer.echo(doors.tables_list(_links(config)), nl=False)


def _links(config: Path) -> list[str]:
    links = [link.id for link in load(config).links]
    if not links:
        raise UserError(f"no links are configured in {config}; add at least one [[links]]")
    return links


@command.command("nats")
def nats_users(config: ConfigOption, folder: FolderOption = HERE) -> None:
    """Print whom the broker of a cluster lets in, and what each may do: /etc/jackpot/cluster/floor.conf."""
    typer.echo(doors.nats_users(Site(folder), _links(config), _now()), nl=False)


@command.command("scram")
def scram_verifiers(
    passwords: Annotated[list[Path], typer.Argument(metavar="FILE...", help="Its first line is the password.")],
) -> None:
    """Print what PostgreSQL keeps of each password, for ALTER ROLE: the password itself is then in no log of it."""
    for file in passwords:
        typer.echo(scram.verifier(secret(file) or ""))
