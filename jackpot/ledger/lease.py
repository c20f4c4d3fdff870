"""Who may write a link: a lease with an epoch. Time decides when another may take it, the epoch who can write.

A daemon that stalls past its lease and comes back finds the epoch moved on, and its next commit writes nothing.
The time is the database's alone. Should its clock jump, a lease ends at once or is counted anew: that can hold play up
for as long as a lease lasts, and never lets two write.
"""

from jackpot.ledger.connection import AnyConnection
from jackpot.ledger.errors import Deposed, certain, translated


async def take(connection: AnyConnection, link: str, holder: str, seconds: float) -> int | None:
    """Take the lease if it is free, or ours from before. Returns the new epoch, or None while another holds it.

    With the new epoch, all that can be read of the link is as durable as this commit, and stays as it is.
    """
    with translated(), certain(connection):
        async with connection.transaction(isolation="read_committed"):
            await connection.execute("INSERT INTO links (link) VALUES ($1) ON CONFLICT DO NOTHING", link)
            # The database's clock was set back: a dead leader's lease must not last until it has caught up.
            await connection.execute(
                "UPDATE leases SET expires_at = clock_timestamp() + make_interval(secs => $2) "
                "WHERE link = $1 AND expires_at > clock_timestamp() + make_interval(secs => $2)",
                link,
                seconds,
            )
            taken = await connection.fetchval(
                "INSERT INTO leases (link, holder, epoch, expires_at) "
                "VALUES ($1, $2, 0, clock_timestamp() + make_interval(secs => $3)) "
                "ON CONFLICT (link) DO UPDATE SET holder = excluded.holder, expires_at = excluded.expires_at "
                "WHERE leases.expires_at < clock_timestamp() OR leases.holder = excluded.holder RETURNING link",
                link,
                holder,
                seconds,
            )
            if taken is None:
                return None
            epoch = await connection.fetchval(
                "UPDATE links SET epoch = epoch + 1 WHERE link = $1 RETURNING epoch", link
            )
            await connection.execute("UPDATE leases SET epoch = $2 WHERE link = $1", link, epoch)
            return int(epoch)


async def renew(connection: AnyConnection, link: str, holder: str, epoch: int, seconds: float) -> None:
    """One statement, which needs nobody to commit it: whoever stalls in the middle must not keep the row locked."""
    with translated():
        renewed = await connection.fetchval(
            "UPDATE leases SET expires_at = clock_timestamp() + make_interval(secs => $4) "
            "WHERE link = $1 AND holder = $2 AND epoch = $3 RETURNING link",
            link,
            holder,
            epoch,
            seconds,
        )
    if renewed is None:
        raise Deposed(f"the lease of link {link} is no longer held by {holder}")


async def give_up(connection: AnyConnection, link: str, holder: str, epoch: int, *, sent: int) -> None:
    """Let a standby take over at once; it need not send what was sent."""
    with translated():
        async with connection.transaction(isolation="read_committed"):
            await connection.execute("UPDATE links SET sent = $3 WHERE link = $1 AND epoch = $2", link, epoch, sent)
            await connection.execute(
                "UPDATE leases SET expires_at = 'epoch' WHERE link = $1 AND holder = $2 AND epoch = $3",
                link,
                holder,
                epoch,
            )
