"""The trail of what people did, append-only. A deed and its line are one transaction: neither is without the other."""

from dataclasses import dataclass
from typing import Any, Final

from sqlalchemy import insert
from sqlalchemy.ext.asyncio import AsyncConnection

from jackpot.ledger.schema import audit

TERMINAL: Final = "terminal"
"""Where the command line is: at the machine, with its files and its database."""


@dataclass(frozen=True, slots=True)
class Actor:
    """Who does it, and from where."""

    name: str
    address: str

    @property
    def at_terminal(self) -> bool:
        return self.address == TERMINAL


async def note(connection: AsyncConnection, actor: Actor, action: str, subject: str, **detail: Any) -> None:
    await connection.execute(
        insert(audit).values(by=actor.name, address=actor.address, action=action, subject=subject, detail=detail)
    )
