"""What a person asks of a link: left in the ledger for the desk that leads it, whose answer is awaited.

Nothing here changes money. The desk decides, and the deed is in the trail before the desk has seen it.
"""

import asyncio
import uuid
from dataclasses import dataclass
from typing import Any, Final, Literal

import msgspec
from sqlalchemy import insert, select
from sqlalchemy.ext.asyncio import AsyncConnection, AsyncEngine

from jackpot.ledger.schema import requests
from jackpot.ledger.seal import seal_of
from jackpot.link.commands import PersonCommand
from jackpot.people.audit import Actor, note

PATIENCE_S: Final = 6.0
ASK_EVERY_S: Final = 0.1


@dataclass(frozen=True, slots=True)
class Answer:
    status: Literal["accepted", "refused", "waiting"]
    """`waiting`: no daemon leads the link now; the order stands and is carried out when one does."""
    message: str | None
    request: str


def command_from(actor: Actor, **fields: Any) -> PersonCommand:
    """A command in the name of this person. Raises msgspec.ValidationError if it cannot be one."""
    command: PersonCommand = msgspec.convert({"id": str(uuid.uuid4()), "by": actor.name, **fields}, PersonCommand)
    return command


async def order(engine: AsyncEngine, actor: Actor, link: str, command: PersonCommand) -> Answer:
    async with engine.begin() as connection:
        await leave(connection, link, command)
        await note(connection, actor, command.type, link, **msgspec.to_builtins(command))
    return await answer_to(engine, command.id)


async def leave(connection: AsyncConnection, link: str, command: PersonCommand) -> None:
    document = msgspec.to_builtins(command)
    sealed = seal_of(connection).of("requests", command.id, link, document)
    await connection.execute(insert(requests).values(id=command.id, link=link, command=document, seal=sealed))


async def answer_to(engine: AsyncEngine, request: str) -> Answer:
    deadline = asyncio.get_running_loop().time() + PATIENCE_S
    query = select(requests.c.answer).where(requests.c.id == request)
    while asyncio.get_running_loop().time() < deadline:
        async with engine.connect() as connection:
            found = (await connection.execute(query)).scalar()
        if found is not None:
            return Answer(found["status"], found.get("message"), request)
        await asyncio.sleep(ASK_EVERY_S)
    return Answer(
        "waiting", "No daemon leads this link now. The order stands and is carried out when one does.", request
    )
