"""What the ledger says about itself, read beside the daemon: do the debits equal the credits?"""

import asyncio
from dataclasses import dataclass
from typing import Final

import asyncpg

from jackpot.ledger.connection import CONNECT_TIMEOUT_S
from jackpot.ledger.errors import DRIVER_ERRORS

LOOK_EVERY_S: Final = 1.0

_BALANCES: Final = """
SELECT link, n, journal, wagered + recoverable AS debits, pool + reserve + house + awarded AS credits
FROM links WHERE n > 0 ORDER BY link
"""


@dataclass(frozen=True, slots=True)
class Books:
    """One link's ledger at a moment."""

    events: int
    journals: int
    debits_micros: int
    credits_micros: int

    @property
    def balanced(self) -> bool:
        return self.debits_micros == self.credits_micros


class BookReader:
    def __init__(self, database_url: str) -> None:
        self._url = database_url
        self.links: dict[str, Books] = {}

    async def run(self) -> None:
        while True:
            try:
                connection = await asyncpg.connect(
                    self._url,
                    timeout=CONNECT_TIMEOUT_S,
                    server_settings={"application_name": "jackpot-demo", "default_transaction_read_only": "on"},
                )
                try:
                    await self._look(connection)
                finally:
                    await connection.close()
            except DRIVER_ERRORS:
                self.links = {}
            await asyncio.sleep(LOOK_EVERY_S)

    async def _look(self, connection: asyncpg.Connection) -> None:
        while True:
            rows = await connection.fetch(_BALANCES)
            self.links = {row["link"]: Books(row["n"], row["journal"], row["debits"], row["credits"]) for row in rows}
            await asyncio.sleep(LOOK_EVERY_S)
