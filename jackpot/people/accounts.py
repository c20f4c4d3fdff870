"""Accounts: one a person, with one role. An account is disabled, never deleted: its name stands in the ledger."""

import datetime as dt
import re
from dataclasses import dataclass
from typing import Any, Final

from sqlalchemy import Select, delete, func, insert, select, update
from sqlalchemy.exc import IntegrityError
from sqlalchemy.ext.asyncio import AsyncConnection, AsyncEngine

from jackpot.ledger.schema import people, sessions, tokens
from jackpot.ledger.seal import Seal, seal_of
from jackpot.people import passwords
from jackpot.people.audit import Actor, note
from jackpot.people.roles import OF_THE_CONFIRMED, Permission, Role, may, must_be_confirmed

NAME: Final = re.compile(r"[a-z][a-z0-9._-]{1,63}")
PEOPLE_MAX: Final = 1000
TO_BE_CONFIRMED: Final = (
    "Your account is new, or somebody has set its password. One of finance or a pit manager confirms it on the page "
    "People; until then it changes no money."
)


class AccountRefusedError(Exception):
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

    def may(self, permission: Permission) -> bool:
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


SEALED: Final = (
    people.c.name,
    people.c.role,
    people.c.created_by,
    people.c.password,
    people.c.must_change,
    people.c.confirmed_by,
)
"""What an account is, and what its seal is of."""


def is_ours(seal: Seal, row: Any) -> bool:
    """Whether a console or the terminal left the account as it is; `row` has the columns of SEALED, and `seal`."""
    return seal.fits(row.seal, "people", *_words(row))


async def add(
    engine: AsyncEngine,
    actor: Actor,
    name: str,
    role: Role,
    password: str,
    *,
    must_change: bool = True,
    vouching: AsyncEngine | None = None,
) -> None:
    """`vouching`, the daemon's own way to the database, is the terminal's: with it the account is confirmed."""
    if not NAME.fullmatch(name):
        raise AccountRefusedError(
            "A name has 2 to 64 lower-case letters, digits, '.', '_' or '-', and starts with a letter."
        )
    _refuse_weak(name, password)
    hashed = await passwords.hashed(password)
    words = (name, role.value, actor.name, hashed, must_change, None)
    row = {column.name: word for column, word in zip(SEALED, words, strict=True) if word is not None}
    try:
        async with engine.begin() as connection:
            await connection.execute(insert(people).values(**row, seal=seal_of(engine).of("people", *words)))
            await note(connection, actor, "person.added", name, role=role.value)
    except IntegrityError as error:
        raise AccountRefusedError(f"There is an account {name} already; choose another name.") from error
    if vouching is not None:
        await _vouch(engine, vouching, actor, name)


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


async def disable(engine: AsyncEngine, actor: Actor, name: str) -> None:
    """Ends every session and token of the account at once."""
    if actor.name == name:
        raise AccountRefusedError("Nobody disables his own account; ask another engineer.")
    async with engine.begin() as connection:
        await _change(connection, name, disabled_at=func.now())
        await connection.execute(delete(sessions).where(sessions.c.person == name))
        await connection.execute(
            update(tokens).where(tokens.c.person == name, tokens.c.revoked_at.is_(None)).values(revoked_at=func.now())
        )
        await note(connection, actor, "person.disabled", name)


async def set_password(
    engine: AsyncEngine, actor: Actor, name: str, password: str, *, vouching: AsyncEngine | None = None
) -> None:
    """By oneself it is final; set by another it must be changed at the next login, and the account be confirmed.

    All sessions end. `vouching` as in `add`; with it an account is mended too whose seal does not fit.
    """
    _refuse_weak(name, password)
    hashed = await passwords.hashed(password)
    async with engine.begin() as connection:
        row = await _found(connection, name)
        if vouching is None:
            _refuse_forged(seal_of(engine), row)
        by_another = {} if actor.name == name else {"must_change": True, "confirmed_by": None}
        await _become(connection, row, password=hashed, **{"must_change": False, **by_another})
        await connection.execute(delete(sessions).where(sessions.c.person == name))
        await note(connection, actor, "password.set", name)
    if vouching is not None:
        await _vouch(engine, vouching, actor, name)


async def confirm(engine: AsyncEngine, actor: Actor, name: str) -> None:
    """That it is the person's own. Who may is in `roles.py`; that it is not its maker follows from there."""
    async with engine.begin() as connection:
        row = (await connection.execute(_in_use(name).where(people.c.confirmed_by.is_(None)))).first()
        if row is None or not must_be_confirmed(Role(row.role)):
            raise AccountRefusedError(f"There is no account {name} that waits to be confirmed.")
        _refuse_forged(seal_of(engine), row)
        if row.must_change:
            raise AccountRefusedError(f"{name} has not chosen a password yet: let the person log in first.")
        await _become(connection, row, confirmed_by=actor.name)
        await note(connection, actor, "person.confirmed", name)


async def forged(engine: AsyncEngine) -> list[str]:
    """Accounts in use that none of our programs left as they are."""
    query = select(*SEALED, people.c.seal).where(people.c.disabled_at.is_(None)).order_by(people.c.name)
    async with engine.connect() as connection:
        rows = (await connection.execute(query.limit(PEOPLE_MAX))).all()
    return [row.name for row in rows if not is_ours(seal_of(engine), row)]


async def seal_all(engine: AsyncEngine, actor: Actor) -> list[str]:
    """Every account in use, as it stands: after a key was made or changed. Returns their names.

    Sessions and tokens end: their seal would not fit, and they are not to be taken for forged ones.
    """
    async with engine.begin() as connection:
        query = select(*SEALED).where(people.c.disabled_at.is_(None)).order_by(people.c.name).with_for_update()
        rows = (await connection.execute(query)).all()
        for row in rows:
            await _become(connection, row)
            await note(connection, actor, "person.sealed", row.name)
        await connection.execute(delete(sessions))
        await connection.execute(update(tokens).where(tokens.c.revoked_at.is_(None)).values(revoked_at=func.now()))
    return [row.name for row in rows]


async def _vouch(engine: AsyncEngine, vouching: AsyncEngine, actor: Actor, name: str) -> None:
    """Whoever types at the terminal has the machine and its secrets: that is all the confirmation there could be."""
    async with engine.begin() as connection:
        row = await _found(connection, name)
        _refuse_forged(seal_of(engine), row)
    sealed = seal_of(engine).of("people", *_words(row, confirmed_by=actor.name))
    async with vouching.begin() as connection:
        if not await connection.scalar(select(func.vouch_at_terminal(name, actor.name, sealed))):
            raise AccountRefusedError(f"{name} was changed by another meanwhile; set the password again.")


def _words(row: Any, **changed: object) -> list[object]:
    return [changed.get(column.name, getattr(row, column.name)) for column in SEALED]


def _in_use(name: str) -> Select[Any]:
    return select(*SEALED, people.c.seal).where(people.c.name == name, people.c.disabled_at.is_(None)).with_for_update()


async def _found(connection: AsyncConnection, name: str) -> Any:
    row = (await connection.execute(_in_use(name))).first()
    if row is None:
        raise AccountRefusedError(f"There is no account {name} in use.")
    return row


def _refuse_forged(seal: Seal, row: Any) -> None:
    if not is_ours(seal, row):
        raise AccountRefusedError(
            f"Somebody has changed the account {row.name} in the database. Tell the auditor; it is mended at the "
            f"terminal, by: jackpot user password {row.name}"
        )


async def _become(connection: AsyncConnection, row: Any, **changed: object) -> None:
    sealed = seal_of(connection).of("people", *_words(row, **changed))
    await _change(connection, row.name, **changed, seal=sealed)


async def _change(connection: AsyncConnection, name: str, **values: object) -> None:
    changed = await connection.execute(
        update(people).where(people.c.name == name, people.c.disabled_at.is_(None)).values(**values)
    )
    if changed.rowcount != 1:
        raise AccountRefusedError(f"There is no account {name} in use.")


def _refuse_weak(name: str, password: str) -> None:
    if problem := passwords.problem(name, password):
        raise AccountRefusedError(problem)
