"""Somebody at the daemon's machine, with its secrets: as `jackpot user` is there."""

import uuid
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass

from sqlalchemy.ext.asyncio import AsyncEngine

from jackpot.ledger.connection import create_engine
from jackpot.ledger.seal import Seal
from jackpot.people import accounts, tokens
from jackpot.people.audit import TERMINAL, Actor
from jackpot.people.roles import Role

INSTALLER = Actor("installer (terminal)", TERMINAL)
PASSWORD = "correct horse battery"


@dataclass(frozen=True, slots=True)
class Terminal:
    console: AsyncEngine
    own: AsyncEngine
    """The daemon's own way to the database."""

    async def hire(self, role: Role) -> tuple[str, str]:
        """A new person's name and token."""
        name = f"{role.value.replace('_', '-')}-{uuid.uuid4().hex[:6]}"
        await accounts.add(self.console, INSTALLER, name, role, PASSWORD, must_change=False, vouching=self.own)
        return name, await tokens.issue(self.console, INSTALLER, name, "test")


@asynccontextmanager
async def terminal(
    console_url: str, own_url: str, key: bytes, passwords: tuple[str | None, str | None] = (None, None)
) -> AsyncIterator[Terminal]:
    made = Terminal(create_engine(console_url, passwords[0], Seal(key)), create_engine(own_url, passwords[1]))
    try:
        yield made
    finally:
        await made.console.dispose()
        await made.own.dispose()
