"""Signing in: a limited number of attempts, then a session kept on the server that ends by itself."""

import datetime as dt
import hashlib
import hmac
import secrets
from dataclasses import dataclass, field
from typing import Any, Final

from sqlalchemy import delete, func, insert, select, update
from sqlalchemy.ext.asyncio import AsyncConnection, AsyncEngine

from jackpot.ledger.schema import audit, login_attempts, people, sessions
from jackpot.ledger.seal import seal_of
from jackpot.people import passwords
from jackpot.people.accounts import NAME, SEALED, Person, is_ours
from jackpot.people.audit import Actor, note
from jackpot.people.roles import Role, only_watches

IDLE: Final = dt.timedelta(minutes=30)
WHOLE: Final = dt.timedelta(hours=12)
SEEN_EVERY: Final = dt.timedelta(minutes=1)
"""How exactly the last use is known: not every page needs a write."""

ATTEMPTS_WITHIN: Final = dt.timedelta(minutes=15)
ATTEMPTS_PER_NAME: Final = 10
ATTEMPTS_PER_ADDRESS: Final = 30
UNREADABLE_NAME: Final = "?"
"""Stands for whatever was typed that no account can be called, and for many names at once."""


@dataclass(frozen=True, slots=True)
class Session:
    person: Person
    secret: str = field(repr=False)
    note: dict[str, Any] | None = None

    @property
    def csrf(self) -> str:
        """Proves that a form came from a page of this session; tells nothing about the session's secret."""
        return hmac.new(self.secret.encode(), b"csrf", hashlib.sha256).hexdigest()

    def accepts(self, csrf: str | None) -> bool:
        return csrf is not None and hmac.compare_digest(csrf.encode(), self.csrf.encode())


class LoginRefusedError(Exception):
    """Wrong name or password; which of them is not said."""


class TooManyAttemptsError(LoginRefusedError):
    """Neither name nor password were looked at."""


async def log_in(engine: AsyncEngine, name: str, password: str, address: str) -> str:
    """Returns the session's secret, for the browser alone."""
    await check_password(engine, name, password, address)
    secret = secrets.token_urlsafe(32)
    async with engine.begin() as connection:
        await connection.execute(
            delete(sessions).where(sessions.c.person == name, sessions.c.created_at < func.now() - WHOLE)
        )
        sealed = seal_of(engine).of("sessions", name, _hash(secret))
        await connection.execute(insert(sessions).values(hash=_hash(secret), person=name, seal=sealed))
        await note(connection, Actor(name, address), "login.accepted", name)
    return secret


async def check_password(engine: AsyncEngine, name: str, password: str, address: str) -> None:
    actor = Actor(name if NAME.fullmatch(name) else UNREADABLE_NAME, address)
    attempt = await _attempt(engine, actor)
    async with engine.connect() as connection:
        query = select(*SEALED, people.c.seal).where(people.c.name == actor.name, people.c.disabled_at.is_(None))
        row = (await connection.execute(query)).first()
    ours = row is not None and is_ours(seal_of(engine), row)
    fits = await passwords.fits(password, row.password if row is not None and ours else None)
    async with engine.begin() as connection:
        if fits:
            await connection.execute(delete(login_attempts).where(login_attempts.c.id == attempt))
        else:
            await _note_once(connection, actor, "login.refused", actor.name)
    if not fits:
        raise LoginRefusedError("The name or the password is wrong.")


async def _attempt(engine: AsyncEngine, actor: Actor) -> int:
    """Counted before the password is looked at, so that many at once are no way around the limit."""
    recent = login_attempts.c.at > func.now() - ATTEMPTS_WITHIN
    of_name, of_address = login_attempts.c.name == actor.name, login_attempts.c.address == actor.address
    async with engine.begin() as connection:
        oldest = select(login_attempts.c.id).order_by(login_attempts.c.id).limit(100).scalar_subquery()
        await connection.execute(delete(login_attempts).where(login_attempts.c.id.in_(oldest), ~recent))
        added = await connection.execute(
            insert(login_attempts).values(name=actor.name, address=actor.address).returning(login_attempts.c.id)
        )
        attempt = int(added.scalar_one())
    async with engine.begin() as connection:
        for counted, most in ((of_name, ATTEMPTS_PER_NAME), (of_address, ATTEMPTS_PER_ADDRESS)):
            found = select(login_attempts.c.id).where(counted, recent).limit(most + 1).subquery()
            if (await connection.execute(select(func.count()).select_from(found))).scalar_one() > most:
                # The refused one does not count: whoever waits gets in, however long others go on trying.
                await connection.execute(delete(login_attempts).where(login_attempts.c.id == attempt))
                if counted is of_name:
                    await _note_once(connection, actor, "login.limited", actor.name)
                else:
                    await _note_once(connection, Actor(UNREADABLE_NAME, actor.address), "login.limited", actor.address)
                break
        else:
            return attempt
    minutes = ATTEMPTS_WITHIN // dt.timedelta(minutes=1)
    raise TooManyAttemptsError(f"Too many attempts. Wait up to {minutes} minutes, then try again.")


async def _note_once(connection: AsyncConnection, actor: Actor, action: str, subject: str) -> None:
    """A line in so many minutes, with how many attempts there were in them.

    Anybody can fail without end, and nothing is ever taken out of the trail.
    """
    recent = audit.c.at > func.now() - ATTEMPTS_WITHIN
    same = (audit.c.address == actor.address) & (audit.c.by == actor.name) & (audit.c.action == action)
    if (await connection.execute(select(audit.c.id).where(same, recent).limit(1))).first() is None:
        counted = (login_attempts.c.address == actor.address) & (login_attempts.c.at > func.now() - ATTEMPTS_WITHIN)
        attempts = (await connection.execute(select(func.count()).where(counted))).scalar_one()
        await note(connection, actor, action, subject, attempts_from_there=attempts)


async def find(engine: AsyncEngine, secret: str, *, used: bool = True) -> Session | None:
    """The session, unless it has ended. `used` keeps it from ending by idleness."""
    query = (
        select(
            sessions.c.note,
            (func.now() - sessions.c.created_at).label("age"),
            (func.now() - sessions.c.seen_at).label("idle"),
            sessions.c.seal.label("session_seal"),
            *SEALED,
            people.c.seal,
        )
        .join(people)
        .where(sessions.c.hash == _hash(secret), people.c.disabled_at.is_(None))
    )
    async with engine.connect() as connection:
        row = (await connection.execute(query)).first()
    if row is None:
        return None
    seal = seal_of(engine)
    if not seal.fits(row.session_seal, "sessions", row.name, _hash(secret)) or not is_ours(seal, row):
        return None
    role = Role(row.role)
    if row.age > WHOLE or row.idle > (WHOLE if only_watches(role) else IDLE):
        await end(engine, secret)
        return None
    if used and row.idle > SEEN_EVERY:
        async with engine.begin() as connection:
            await _update(connection, secret, seen_at=func.now())
    return Session(Person(row.name, role, row.confirmed_by is not None, row.must_change), secret, row.note)


async def end(engine: AsyncEngine, secret: str) -> None:
    async with engine.begin() as connection:
        await connection.execute(delete(sessions).where(sessions.c.hash == _hash(secret)))


async def leave_note(engine: AsyncEngine, secret: str, message: dict[str, Any] | None) -> None:
    """What the next page of this session says first, once."""
    async with engine.begin() as connection:
        await _update(connection, secret, note=message)


async def _update(connection: AsyncConnection, secret: str, **values: Any) -> None:
    await connection.execute(update(sessions).where(sessions.c.hash == _hash(secret)).values(**values))


def _hash(secret: str) -> bytes:
    return hashlib.sha256(secret.encode()).digest()
