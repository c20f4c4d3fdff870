"""Accounts: one a person, with one role. An account is disabled, never deleted: its name stands in the ledger."""

import datetime as dt
import re
from dataclasses import dataclass
from typing import Final

from sqlalchemy import delete, func, insert, select, update
from sqlalchemy.exc import IntegrityError
from sqlalchemy.ext.asyncio import AsyncConnection, AsyncEngine

from jackpot.ledger.schema import people, sessions, tokens
from jackpot.people import passwords
from jackpot.people.audit import Doer, note
from jackpot.people.roles import May, Role, may

NAME: Final = re.compile(r"[a-z][a-z0-9._-]{1,63}")
PEOPLE_MAX: Final = 1000


class AccountRefused(Exception):
    """The account cannot be made or changed so; the text says why."""


@dataclass(frozen=True, slots=True)
class Person:
    name: str
    role: Role
    must_change: bool = False
    """Somebody else has set the password: nothing but changing it is allowed."""

    def may(self, permission: May) -> bool:
        return may(self.role, permission)


@dataclass(frozen=True, slots=True)
class Account:
    name: str
    role: Role
    created_at: dt.datetime
    created_by: str
    disabled_at: dt.datetime | None


async def add(
    engine: AsyncEngine, doer: Doer, name: str, role: Role, password: str, *, must_change: bool = True
) -> None:
    if not NAME.fullmatch(name):
        raise AccountRefused(
            "A name has 2 to 64 lower-case letters, digits, '.', '_' or '-', and starts with a letter."
        )
    _refuse_weak(name, password)
    row = {"name": name, "role": role.value, "created_by": doer.name, "must_change": must_change}
    hashed = await passwords.hashed(password)
    try:
        async with engine.begin() as connection:
            await connection.execute(insert(people).values(**row, password=hashed))
            await note(connection, doer, "person.added", name, role=role.value)
    except IntegrityError as error:
        raise AccountRefused(f"There is an account {name} already; choose another name.") from error


async def listed(engine: AsyncEngine) -> list[Account]:
    query = select(
        people.c.name, people.c.role, people.c.created_at, people.c.created_by, people.c.disabled_at
    ).order_by(people.c.disabled_at.isnot(None), people.c.name)
    async with engine.connect() as connection:
        rows = (await connection.execute(query.limit(PEOPLE_MAX))).all()
    return [Account(row.name, Role(row.role), row.created_at, row.created_by, row.disabled_at) for row in rows]


async def disable(engine: AsyncEngine, doer: Doer, name: str) -> None:
    """Ends every session and token of the account at once."""
    if doer.name == name:
        raise AccountRefused("Nobody disables his own account; ask another engineer.")
    async with engine.begin() as connection:
        await _change(connection, name, disabled_at=func.now())
        await connection.execute(delete(sessions).where(sessions.c.person == name))
        await connection.execute(
            update(tokens).where(tokens.c.person == name, tokens.c.revoked_at.is_(None)).values(revoked_at=func.now())
        )
        await note(connection, doer, "person.disabled", name)


async def set_password(engine: AsyncEngine, doer: Doer, name: str, password: str) -> None:
    """By oneself it is final; set by another it must be changed at the next login. All sessions end."""
    _refuse_weak(name, password)
    hashed = await passwords.hashed(password)
    async with engine.begin() as connection:
        await _change(connection, name, password=hashed, must_change=doer.name != name)
        await connection.execute(delete(sessions).where(sessions.c.person == name))
        await note(connection, doer, "password.set", name)


async def _change(connection: AsyncConnection, name: str, **values: object) -> None:
    changed = await connection.execute(
        update(people).where(people.c.name == name, people.c.disabled_at.is_(None)).values(**values)
    )
    if changed.rowcount != 1:
        raise AccountRefused(f"There is no account {name} in use.")


def _refuse_weak(name: str, password: str) -> None:
    if problem := passwords.problem(name, password):
        raise AccountRefused(problem)
