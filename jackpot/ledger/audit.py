"""A quick look whether a link's ledger agrees with itself, at a cost that does not grow with it."""

from jackpot.ledger.connection import AnyConnection
from jackpot.ledger.errors import translated
from jackpot.ledger.schema import ACCOUNTS


async def self_audit(connection: AnyConnection, link: str) -> str | None:
    """What is wrong, or None: the head must be the last event's chain and the last journal's balances."""
    with translated():
        async with connection.transaction(isolation="repeatable_read", readonly=True):
            head = await connection.fetchrow("SELECT * FROM links WHERE link = $1", link)
            if head is None:
                return "the link is gone from the ledger"
            event = await connection.fetchrow(
                "SELECT n, chain FROM events WHERE link = $1 ORDER BY n DESC LIMIT 1", link
            )
            journal = await connection.fetchrow(
                "SELECT * FROM journals WHERE link = $1 ORDER BY journal DESC LIMIT 1", link
            )
    if event is not None and (event["n"], event["chain"]) != (head["n"], head["chain"]):
        return f"the head is at event {head['n']}, the events end at {event['n']} or with another chain"
    if journal is not None:
        if journal["journal"] != head["journal"]:
            return f"the head is at journal {head['journal']}, the journals end at {journal['journal']}"
        for account in ACCOUNTS:
            if journal[f"{account}_after"] != head[account]:
                return f"{account} is {head[account]} at the head but {journal[f'{account}_after']} by the journals"
    return None
