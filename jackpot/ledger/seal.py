"""Seals: who people are and what they order is written with a key that the database does not have.

Whoever can write there and nothing else, with the console's own role or as the owner, makes accounts, sessions and
orders that nobody obeys: without the seal they are forged, and that is counted. An engine carries the seal of those who
write and read with it. Without a key (a demonstration) nothing is sealed, and nothing is asked for a seal.
"""

import hashlib
import hmac
import json
from dataclasses import dataclass, field
from typing import Any, Final

import structlog
from sqlalchemy.ext.asyncio import AsyncConnection, AsyncEngine

from jackpot import metrics

_OPTION: Final = "jackpot_seal"

log = structlog.get_logger()


@dataclass(frozen=True, slots=True)
class Seal:
    key: bytes | None = field(default=None, repr=False)

    def of(self, table: str, *words: Any) -> bytes | None:
        """Over the words of a row, in their order; `table` keeps one kind of row from being taken for another."""
        if self.key is None:
            return None
        written = json.dumps([table, *words], sort_keys=True, separators=(",", ":"), default=bytes.hex)
        return hmac.digest(self.key, written.encode(), hashlib.sha256)

    def fits(self, found: bytes | None, table: str, *words: Any) -> bool:
        """Whether these are the words that were sealed. If not, somebody else wrote them, and that is loud."""
        expected = self.of(table, *words)
        if expected is None or (found is not None and hmac.compare_digest(found, expected)):
            return True
        metrics.forged.labels(table).inc()
        log.error("forged", table=table, row=words[0] if isinstance(words[0], str) else None)
        return False

    @property
    def on_engine(self) -> dict[str, Any]:
        return {_OPTION: self}


UNSEALED: Final = Seal()

for _table in ("people", "sessions", "tokens", "proposals", "requests"):
    metrics.forged.labels(_table)  # from 0 on: an alert sees a counter grow, but not one that is not there


def seal_of(source: AsyncEngine | AsyncConnection) -> Seal:
    engine = source.engine if isinstance(source, AsyncConnection) else source
    found = engine.get_execution_options().get(_OPTION, UNSEALED)
    return found if isinstance(found, Seal) else UNSEALED
