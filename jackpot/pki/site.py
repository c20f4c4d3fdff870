"""All authorities of a site, in one folder that only its keeper can enter."""

import datetime as dt
import re
from collections.abc import Sequence
from pathlib import Path

from jackpot.errors import UserError
from jackpot.pki.authority import PURPOSES, Authority, Issued, Kind

NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,63}\Z")
SITE_NAME_MAX = 48
RESERVED = "jackpot-"
"""Client ids of the daemon begin so. A table of that name would cut the daemon off and take its queue."""


class Site:
    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.authorities = {kind: Authority(folder, kind) for kind in Kind}

    def create(self, name: str, now: dt.datetime) -> None:
        if not 1 <= len(name) <= SITE_NAME_MAX or not name.isprintable():
            raise UserError(f"a site's name has 1 to {SITE_NAME_MAX} characters")
        try:
            self.folder.mkdir(parents=True, exist_ok=True, mode=0o700)
            self.folder.chmod(0o700)
        except OSError as error:
            raise UserError(f"cannot make {self.folder}: {error.strerror}") from error
        # Those that are missing: an attempt that failed half-way is ended by the next.
        missing = [authority for authority in self.authorities.values() if not authority.is_made]
        for authority in missing or self.authorities.values():
            authority.create(name, now)

    def issue(self, kind: Kind, name: str, now: dt.datetime, days: int, also: Sequence[str] = ()) -> tuple[Path, Path]:
        """Also renews: an earlier certificate of the same holder stays good, so that nothing stops meanwhile."""
        if not NAME.match(name):
            raise UserError(f"{name!r} is no name: 1 to 64 letters, digits, '.', '_' or '-'")
        if also and kind not in PURPOSES:
            raise UserError("only a server or a node has further host names")
        if kind not in PURPOSES:
            self._require_free(kind, name)
        return self.authorities[kind].issue(name, now, days, also)

    def _require_free(self, kind: Kind, name: str) -> None:
        """Names are client ids, and those are one space for all doors of the broker."""
        if name.startswith(RESERVED):
            raise UserError(f"names that begin with {RESERVED!r} are the daemon's client ids; choose another")
        for other, authority in self.authorities.items():
            if other is not kind and other not in PURPOSES and authority.pair(name)[0].exists():
                raise UserError(f"{name} is a {other} already; no two holders share a name")

    def revoke(self, kind: Kind, name: str, now: dt.datetime, *, earlier_only: bool = False) -> list[Issued]:
        taken = self.authorities[kind].revoke(name, now, earlier_only=earlier_only)
        if not taken:
            raise UserError(f"{name} has no certificate of the {kind}s' authority to revoke")
        return taken

    def issued(self) -> list[Issued]:
        # A site that is older than a kind of holder has no authority for it.
        made = [authority for authority in self.authorities.values() if authority.is_made]
        return [issued for authority in made or self.authorities.values() for issued in authority.issued()]
