"""Tokens for programs that use the API as a person. Only their hash is kept, and every one ends some day."""

import datetime as dt
import hashlib
import secrets
from dataclasses import dataclass
from typing import Final

from sqlalchemy import func, insert, select, update
from sqlalchemy.ext.asyncio import AsyncEngine

from jackpot.ledger.schema import people, tokens
from jackpot.ledger.seal import seal_of
from jackpot.people.accounts import SEALED, AccountRefusedError, Person, is_ours
from jackpot.people.audit import Actor, note
from jackpot.people.roles import Role

PREFIX: Final = "jackpot_"
"""Lets a leaked token be recognised for what it is."""
DAYS: Final = 365
LABEL_MAX: Final = 64
LISTED_MAX: Final = 200


@dataclass(frozen=True, slots=True)
class Token:
    id: str
    person: str
    label: str
    created_at: dt.datetime
    expires_at: dt.datetime


async def issue(engine: AsyncEngine, actor: Actor, person: str, label: str, *, days: int = DAYS) -> str:
    """Returns the token; nobody can read it again."""
    if not 1 <= len(label) <= LABEL_MAX or not label.isprintable():
        raise AccountRefusedError(f"A token's label says in 1 to {LABEL_MAX} characters what it is for.")
    if not 1 <= days <= DAYS:
        raise AccountRefusedError(f"A token lasts 1 to {DAYS} days.")
    name, secret = secrets.token_hex(4), PREFIX + secrets.token_urlsafe(32)
    row = {"id": name, "hash": _hash(secret), "person": person, "label": label}
    sealed = seal_of(engine).of("tokens", person, row["hash"])
    async with engine.begin() as connection:
        query = select(people.c.name).where(people.c.name == person, people.c.disabled_at.is_(None))
        if (await connection.execute(query)).first() is None:
            raise AccountRefusedError(f"There is no account {person} in use.")
        ends = func.now() + dt.timedelta(days=days)
        await connection.execute(insert(tokens).values(**row, expires_at=ends, seal=sealed))
        await note(connection, actor, "token.issued", person, token=name, label=label)
    return secret


async def find(engine: AsyncEngine, secret: str) -> Person | None:
    query = (
        select(*SEALED, people.c.seal, tokens.c.seal.label("token_seal"))
        .join(tokens, tokens.c.person == people.c.name)
        .where(
            tokens.c.hash == _hash(secret),
            tokens.c.revoked_at.is_(None),
            tokens.c.expires_at > func.now(),
            people.c.disabled_at.is_(None),
        )
    )
    async with engine.connect() as connection:
        row = (await connection.execute(query)).first()
    if row is None:
        return None
    seal = seal_of(engine)
    if not seal.fits(row.token_seal, "tokens", row.name, _hash(secret)) or not is_ours(seal, row):
        return None
    return Person(row.name, Role(row.role), row.confirmed_by is not None)


async def listed(engine: AsyncEngine, person: str) -> list[Token]:
    """Those in use."""
    query = (
        select(tokens.c.id, tokens.c.person, tokens.c.label, tokens.c.created_at, tokens.c.expires_at)
        .where(tokens.c.person == person, tokens.c.revoked_at.is_(None), tokens.c.expires_at > func.now())
        .order_by(tokens.c.created_at.desc())
        .limit(LISTED_MAX)
    )
    async with engine.connect() as connection:
        return [Token(*row) for row in (await connection.execute(query)).all()]


async def revoke(engine: AsyncEngine, actor: Actor, name: str) -> None:
    in_use = (tokens.c.id == name) & tokens.c.revoked_at.is_(None)
    async with engine.begin() as connection:
        revoked = await connection.execute(
            update(tokens).where(in_use).values(revoked_at=func.now()).returning(tokens.c.person)
        )
        person = revoked.scalar()
        if person is None:
            raise AccountRefusedError(f"There is no token {name} in use.")
        await note(connection, actor, "token.revoked", person, token=name)


def _hash(secret: str) -> bytes:
    return hashlib.sha256(secret.encode()).digest()
