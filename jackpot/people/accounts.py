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
from jackpot.people.roles import OF_THE_CONFIRMED, May, Role, may, must_be_confirmed

NAME: Final = re.compile(r"[a-z][a-z0-9._-]{1,63}")
PEOPLE_MAX: Final = 1000
TO_BE_CONFIRMED: Final = (
    "Your account is new, or somebody has set its password. One of finance or a pit manager confirms it on the page "
    "People; until then it changes no money."
)


class AccountRefused(Exception):
    """The account cannot be made or changed so; the text says why."""


@dataclass(frozen=True, slots=True)
class Person:
    name: str
    role: Role
    confirmed: bool
    must_change: bool = False
    """Somebody else has set the password: nothing but changing it is allowed."""

    @property
    def waits(self) -> bool:
        """To be confirmed, before it may do all that its role may."""
        return must_be_confirmed(self.role) and not self.confirmed

    def may(self, permission: May) -> bool:
        return may(self.role, permission) and (self.confirmed or permission not in OF_THE_CONFIRMED)


@dataclass(frozen=True, slots=True)
class Account:
    name: str
    role: Role
    created_at: dt.datetime
    created_by: str
    disabled_at: dt.datetime | None
    confirmed_by: str | None

    @property
    def waits(self) -> bool:
        return must_be_confirmed(self.role) and self.confirmed_by is None and self.disabled_at is None


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
            await connection.execute(insert(people).values(**row, password=hashed, confirmed_by=_confirmation(doer)))
            await note(connection, doer, "person.added", name, role=role.value)
    except IntegrityError as error:
        raise AccountRefused(f"There is an account {name} already; choose another name.") from error


async def listed(engine: AsyncEngine) -> list[Account]:
    query = select(
        people.c.name,
        people.c.role,
        people.c.created_at,
        people.c.created_by,
        people.c.disabled_at,
        people.c.confirmed_by,
    ).order_by(people.c.disabled_at.isnot(None), people.c.name)
    async with engine.connect() as connection:
        rows = (await connection.execute(query.limit(PEOPLE_MAX))).all()
    return [Account(name, Role(role), *rest) for name, role, *rest in rows]


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
    """By oneself it is final; set by another it must be changed at the next login, and the account be confirmed.

    All sessions end.
    """
    _refuse_weak(name, password)
    hashed = await passwords.hashed(password)
    async with engine.begin() as connection:
        by_another = {} if doer.name == name else {"must_change": True, "confirmed_by": _confirmation(doer)}
        await _change(connection, name, **{"password": hashed, "must_change": False, **by_another})
        await connection.execute(delete(sessions).where(sessions.c.person == name))
        await note(connection, doer, "password.set", name)


async def confirm(engine: AsyncEngine, doer: Doer, name: str) -> None:
    """That it is the person's own. Who may is in `roles.py`; that it is not its maker follows from there."""
    waiting = (people.c.name == name) & people.c.disabled_at.is_(None) & people.c.confirmed_by.is_(None)
    query = select(people.c.role, people.c.must_change).where(waiting).with_for_update()
    async with engine.begin() as connection:
        row = (await connection.execute(query)).first()
        if row is None or not must_be_confirmed(Role(row.role)):
            raise AccountRefused(f"There is no account {name} that waits to be confirmed.")
        if row.must_change:
            raise AccountRefused(f"{name} has not chosen a password yet: let the person log in first.")
        await _change(connection, name, confirmed_by=doer.name)
        await note(connection, doer, "person.confirmed", name)


def _confirmation(doer: Doer) -> str | None:
    return doer.name if doer.at_terminal else None


async def _change(connection: AsyncConnection, name: str, **values: object) -> None:
    changed = await connection.execute(
        update(people).where(people.c.name == name, people.c.disabled_at.is_(None)).values(**values)
    )
    if changed.rowcount != 1:
        raise AccountRefused(f"There is no account {name} in use.")


def _refuse_weak(name: str, password: str) -> None:
    if problem := passwords.problem(name, password):
        raise AccountRefused(problem)
