"""What people ask of a link, left in the ledger for the desk that holds it, and the desk's answers."""

import asyncio
import json
from dataclasses import dataclass
from typing import Any

import msgspec

from jackpot.errors import UserError
from jackpot.ledger.connection import AnyConnection
from jackpot.ledger.errors import translated
from jackpot.ledger.seal import UNSEALED, Seal
from jackpot.link.commands import PersonCommand

POLL_S = 0.2


@dataclass(frozen=True, slots=True)
class Request:
    id: str
    command: PersonCommand | None
    """None if it cannot be read, as one of another version may be, or is none that people may ask for."""
    sealed: bool = True
    """Whether one of our programs has left it, as far as the key tells."""


async def leave(connection: AnyConnection, link: str, command: PersonCommand, seal: Seal = UNSEALED) -> None:
    encoded = msgspec.json.encode(command)
    try:
        msgspec.json.decode(encoded, type=PersonCommand)
    except msgspec.ValidationError as error:
        key = str(error).rpartition("`$.")[2].rstrip("`")
        raise UserError(f"{key} cannot be recorded: it is empty, too long, or has control characters") from error
    with translated():
        await connection.execute(
            "INSERT INTO requests (id, link, command, seal) VALUES ($1, $2, $3::jsonb, $4)",
            command.id,
            link,
            encoded.decode(),
            seal.of("requests", command.id, link, msgspec.to_builtins(command)),
        )


async def answer_to(connection: AnyConnection, request: str, patience_s: float) -> dict[str, Any] | None:
    """Wait for the desk's answer; None if it did not come in time. The request stays and will be carried out."""
    deadline = asyncio.get_running_loop().time() + patience_s
    while True:
        with translated():
            found = await connection.fetchval("SELECT answer FROM requests WHERE id = $1", request)
        if found is not None:
            return dict(json.loads(found))
        if asyncio.get_running_loop().time() > deadline:
            return None
        await asyncio.sleep(POLL_S)


async def waiting(connection: AnyConnection, link: str, seal: Seal = UNSEALED) -> list[Request]:
    """The link's requests that have no answer yet, oldest first."""
    with translated():
        rows = await connection.fetch(
            "SELECT id, command, seal FROM requests WHERE link = $1 AND answer IS NULL ORDER BY created_at LIMIT 100",
            link,
        )
    return [
        Request(
            row["id"],
            _read(row["id"], row["command"]),
            seal.fits(row["seal"], "requests", row["id"], link, json.loads(row["command"])),
        )
        for row in rows
    ]


def _read(request: str, document: str) -> PersonCommand | None:
    try:
        command: PersonCommand = msgspec.json.decode(document, type=PersonCommand)
    except msgspec.ValidationError:
        return None
    return command if command.id == request else None


async def answer(connection: AnyConnection, link: str, epoch: int, request: str, answered: dict[str, Any]) -> None:
    """By who leads the link in this epoch.

    Another says nothing, however late its word arrives: what it has refused the next leader may have carried out.
    """
    with translated():
        await connection.execute(
            "WITH led AS (SELECT link FROM links WHERE link = $1 AND epoch = $2 FOR SHARE) "
            "UPDATE requests SET answer = $4::jsonb FROM led "
            "WHERE requests.link = led.link AND requests.id = $3 AND requests.answer IS NULL",
            link,
            epoch,
            request,
            json.dumps(answered),
        )
