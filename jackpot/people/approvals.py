"""Whether two people have agreed on a change of money: asked by who carries it out, and by who verifies it later.

The console and the database have asked before. This asks again, of the rows themselves.
"""

from typing import Any, Final

import msgspec

from jackpot.ledger.connection import AnyConnection
from jackpot.ledger.errors import translated
from jackpot.link.commands import BalanceAdjusted, MoneyCommand, ParametersChanged
from jackpot.people.accounts import Person
from jackpot.people.roles import Permission, Role

NEEDED: Final = {
    BalanceAdjusted: (Permission.PROPOSE_ADJUSTMENTS, Permission.APPROVE_ADJUSTMENTS),
    ParametersChanged: (Permission.PROPOSE_PARAMETERS, Permission.APPROVE_PARAMETERS),
}


async def problem(connection: AnyConnection, link: str, command: MoneyCommand) -> str | None:
    """Why it must not be carried out, or None. What the ledger holds already is not asked about again."""
    with translated():
        if await connection.fetchval("SELECT EXISTS (SELECT FROM events WHERE id = $1)", command.id):
            return None
        proposal = await connection.fetchrow(
            "SELECT command, approved_by FROM proposals WHERE request = $1 AND link = $2", command.id, link
        )
        rows = await connection.fetch(
            "SELECT name, role, confirmed_by FROM people WHERE name = ANY($1::text[]) AND disabled_at IS NULL",
            [command.by, command.approved_by],
        )
    if not _is_agreed(proposal, msgspec.to_builtins(command)):
        return "no two people have agreed on this in the console"
    people = {row["name"]: Person(row["name"], Role(row["role"]), row["confirmed_by"] is not None) for row in rows}
    for name, permission in zip((command.by, command.approved_by), NEEDED[type(command)], strict=True):
        if name not in people or not people[name].may(permission):
            return f"{name} may not {permission.value.replace('_', ' ')}"
    return None


async def unapproved(connection: AnyConnection, link: str) -> list[int]:
    """The numbers of those changes of money in the ledger that no two people have agreed on."""
    with translated():
        rows = await connection.fetch(
            "SELECT events.n, events.payload, proposals.command, proposals.approved_by FROM events "
            "LEFT JOIN proposals ON proposals.request = events.id AND proposals.link = events.link "
            "WHERE events.table_id IS NULL AND events.link = $1 "
            "AND events.type IN ('balance.adjusted', 'parameters.changed') ORDER BY events.n",
            link,
        )
    return [row["n"] for row in rows if not _is_agreed(row, msgspec.json.decode(row["payload"]))]


def _is_agreed(proposal: Any, command: dict[str, Any]) -> bool:
    if proposal is None or proposal["command"] is None or proposal["approved_by"] in (None, command["by"]):
        return False
    agreed: dict[str, Any] = msgspec.json.decode(proposal["command"])
    return {**agreed, "approved_by": proposal["approved_by"]} == command
