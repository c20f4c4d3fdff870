"""Money takes two people: what the console leaves in the ledger once they have agreed, left by the database's owner."""

import json

import asyncpg
import msgspec

from jackpot.link.commands import BalanceAdjusted, MoneyCommand, ParametersChanged

KINDS = {BalanceAdjusted: "adjustment", ParametersChanged: "parameters"}
APPROVERS = {BalanceAdjusted: "finance", ParametersChanged: "pit_manager"}


async def hire(connection: asyncpg.Connection, name: str, role: str) -> None:
    """Confirmed, as at the terminal."""
    await connection.execute(
        "INSERT INTO people (name, role, password, must_change, created_by, confirmed_by) "
        "VALUES ($1, $2, '-', false, 'test', 'test (terminal)') ON CONFLICT DO NOTHING",
        name,
        role,
    )


async def propose(connection: asyncpg.Connection, link: str, command: MoneyCommand) -> None:
    proposed = msgspec.to_builtins(command)
    del proposed["approved_by"]
    await connection.execute(
        "INSERT INTO proposals (kind, link, command, by) VALUES ($1, $2, $3::jsonb, $4)",
        KINDS[type(command)],
        link,
        json.dumps(proposed),
        command.by,
    )


async def leave(connection: asyncpg.Connection, link: str, command: MoneyCommand) -> None:
    await connection.execute(
        "INSERT INTO requests (id, link, command) VALUES ($1, $2, $3::jsonb)",
        command.id,
        link,
        msgspec.json.encode(command).decode(),
    )


async def approve(connection: asyncpg.Connection, command: MoneyCommand) -> None:
    await connection.execute(
        "UPDATE proposals SET approved_by = $2, request = $1, decided_at = now() WHERE command ->> 'id' = $1",
        command.id,
        command.approved_by,
    )


async def agree(connection: asyncpg.Connection, link: str, command: MoneyCommand) -> None:
    """From two people who are hired for it to the order that waits for the desk."""
    await hire(connection, command.by, "finance")
    await hire(connection, command.approved_by, APPROVERS[type(command)])
    async with connection.transaction():
        await propose(connection, link, command)
        await leave(connection, link, command)
        await approve(connection, command)


async def agree_on_all(connection: asyncpg.Connection) -> None:
    """With every change of money that a scribe has written straight into the ledger, answered as it was."""
    rows = await connection.fetch(
        "SELECT link, payload FROM events WHERE type IN ('balance.adjusted', 'parameters.changed') ORDER BY n"
    )
    for row in rows:
        await agree(connection, row["link"], msgspec.json.decode(row["payload"], type=MoneyCommand))
    await connection.execute("UPDATE requests SET answer = '{}' WHERE answer IS NULL")
