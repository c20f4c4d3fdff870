"""Who may write a link: a lease with an epoch. Time decides when another may take it, the epoch who can write.

A daemon that stalls past its lease and comes back finds the epoch moved on, and its next commit writes nothing.
The time is the database's alone. Should its clock jump, a lease ends at once or is counted anew: that can hold play up
for as long as a lease lasts, and never lets two write.
"""

from dataclasses import dataclass

from jackpot.ledger.connection import AnyConnection
from jackpot.ledger.errors import DeposedError, certain, translated


@dataclass(frozen=True, slots=True)
class Lease:
    """As it stands in the database."""

    link: str
    holder: str
    epoch: int
    asked_by: str | None
    """Who would like to lead the link in the holder's place."""
    left_s: float
    """How long it is still valid."""

    @property
    def valid(self) -> bool:
        return self.left_s > 0


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
                "ON CONFLICT (link) DO UPDATE "
                "SET holder = excluded.holder, expires_at = excluded.expires_at, asked_by = NULL "
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


async def renew(connection: AnyConnection, link: str, holder: str, epoch: int, seconds: float) -> str | None:
    """Returns who asks for the link, if anybody does.

    One statement, which needs nobody to commit it: whoever stalls in the middle must not keep the row locked.
    """
    with translated():
        renewed = await connection.fetchrow(
            "UPDATE leases SET expires_at = clock_timestamp() + make_interval(secs => $4) "
            "WHERE link = $1 AND holder = $2 AND epoch = $3 RETURNING asked_by",
            link,
            holder,
            epoch,
            seconds,
        )
    if renewed is None:
        raise DeposedError(f"the lease of link {link} is no longer held by {holder}")
    asked_by: str | None = renewed["asked_by"]
    return asked_by


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


# -- leases that several daemons share ----------------------------------------------------------------------------


async def survey(connection: AnyConnection) -> list[Lease]:
    """All of them."""
    with translated():
        rows = await connection.fetch(
            "SELECT link, holder, epoch, asked_by, "
            "extract(epoch FROM expires_at - clock_timestamp())::float8 AS left_s FROM leases ORDER BY link"
        )
    return [Lease(**row) for row in rows]


async def ask(connection: AnyConnection, wanted: Lease, holder: str) -> bool:
    """Leave word that `holder` would like to lead the link; False if it has changed hands, or another asks already."""
    with translated():
        asked = await connection.fetchval(
            "UPDATE leases SET asked_by = $4 WHERE link = $1 AND holder = $2 AND epoch = $3 "
            "AND asked_by IS NULL AND expires_at > clock_timestamp() RETURNING link",
            wanted.link,
            wanted.holder,
            wanted.epoch,
            holder,
        )
    return asked is not None


async def hand_over(
    connection: AnyConnection, link: str, holder: str, epoch: int, seconds: float, *, sent: int
) -> None:
    """Give the lease to who has asked for it. If that one does not take it up within `seconds`, anybody may."""
    with translated():
        async with connection.transaction(isolation="read_committed"):
            await connection.execute("UPDATE links SET sent = $3 WHERE link = $1 AND epoch = $2", link, epoch, sent)
            await connection.execute(
                "UPDATE leases SET holder = asked_by, asked_by = NULL, "
                "expires_at = clock_timestamp() + make_interval(secs => $4) "
                "WHERE link = $1 AND holder = $2 AND epoch = $3 AND asked_by IS NOT NULL",
                link,
                holder,
                epoch,
                seconds,
            )
