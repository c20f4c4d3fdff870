"""The accounts one can sign in with. Their password is made once and kept beside the data, for its owner alone."""

import os
import secrets
from pathlib import Path
from typing import Final

from jackpot.ledger.connection import create_engine
from jackpot.people import accounts
from jackpot.people.audit import TERMINAL, Actor
from jackpot.people.roles import Role

LOGINS: Final = {
    "manager": Role.PIT_MANAGER,
    "finance": Role.FINANCE,
    "auditor": Role.AUDITOR,
    "engineer": Role.ENGINEER,
}
"""Two of them are needed to change money: one proposes, another approves."""

_DEMO: Final = Actor("demo (terminal)", TERMINAL)


def kept_password(path: Path) -> tuple[str, bool]:
    """The password of all of them, and whether it was made just now."""
    if path.exists():
        return path.read_text("utf-8").strip(), False
    password = "-".join(secrets.token_hex(2) for _ in range(3))
    with os.fdopen(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "w") as file:
        file.write(f"{password}\n")
    return password, True


async def open_accounts(database_url: str, password: str, *, new: bool) -> None:
    engine = create_engine(database_url)
    try:
        there = {account.name for account in await accounts.listed(engine)}
        for name, role in LOGINS.items():
            if name not in there:
                await accounts.add(engine, _DEMO, name, role, password, must_change=False, vouching=engine)
            elif new:
                await accounts.set_password(engine, Actor(name, _DEMO.address), name, password)
    finally:
        await engine.dispose()
