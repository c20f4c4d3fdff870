"""When certificates end: those that the configuration names, and the one that the broker shows."""

import datetime as dt
from collections.abc import Iterator
from typing import Final

from jackpot.cli.checks.finding import Finding, bad, good, odd
from jackpot.config import Config
from jackpot.errors import UserError
from jackpot.pki import expiry

SOON: Final = dt.timedelta(days=30)
RENEW: Final = "issue it again with jackpot pki issue, put it in place, restart: runbooks/renew-certificates.md"


def examine(config: Config) -> Iterator[Finding]:
    for path, key in expiry.named(config).items():
        try:
            yield term(f"{key}: {path}", expiry.ends(path, key))
        except UserError as error:
            yield bad("pki", f"{key}: {error}", "put the file there, where the daemon's user can read it")


def term(what: str, ends: dt.datetime) -> Finding:
    left = ends - dt.datetime.now(dt.UTC)
    if left < dt.timedelta():
        return bad("pki", f"{what} ended on {ends:%Y-%m-%d %H:%M}Z", RENEW)
    if left < SOON:
        return odd("pki", f"{what} ends in {left.days} days, on {ends:%Y-%m-%d %H:%M}Z", RENEW)
    return good("pki", f"{what} lasts until {ends:%Y-%m-%d}")
