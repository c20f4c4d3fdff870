"""Several daemons share the links: each leads about as many as any other, without anybody who tells them.

A free link is taken at once by who leads fewest, and by the others only a little later. Who leads at least two fewer
than another asks that one for a link; it is handed over between two batches. A daemon is asked for one link at a time,
and what is asked for counts as the asker's already, so that nothing goes to and fro.
"""

import asyncio
import zlib
from collections import Counter
from collections.abc import Callable, Iterable, Sequence

import asyncpg
import structlog

from jackpot.ledger import lease
from jackpot.ledger.errors import DATABASE_ERRORS
from jackpot.ledger.lease import Lease

LOOK_EVERY_S = 0.5
LOOK_AGAIN_S = 0.05
"""While a link is free, or on its way to us. For each link that one leads more than another it waits so much longer."""
REGAIN_WITHIN_S = 1.0
"""When the database comes back, who led a link has this long to go on with it."""
ACQUIRE_WITHIN_S = 4.0

log = structlog.get_logger()


def loads(leases: Iterable[Lease]) -> Counter[str]:
    """How many links each daemon leads, once what was asked for is handed over."""
    return Counter(one.asked_by or one.holder for one in leases if one.valid)


def worth_asking_for(leases: Sequence[Lease], links: Iterable[str], me: str, mine: int) -> Lease | None:
    """The lease to ask for, so that daemons differ by one link at most; None if they do, or if an answer is due."""
    asked = [one for one in leases if one.valid and one.asked_by is not None]
    if any(one.asked_by == me for one in asked):
        return None
    load, spared = loads(leases), {me, *(one.holder for one in asked)}
    found = [
        one
        for one in leases
        if one.valid and one.link in links and one.holder not in spared and load[one.holder] >= mine + 2
    ]
    return max(found, key=lambda one: load[one.holder], default=None)


class LeaseBalancer:
    """One daemon's part in it. Its leaders wait here for their turn to take a lease."""

    def __init__(
        self, links: Sequence[str], me: str, pool: asyncpg.Pool, *, is_well: Callable[[], bool] = lambda: True
    ) -> None:
        """`is_well`: whether a link that is handed to this daemon would be served."""
        self._me = me
        self._pool = pool
        self._is_well = is_well
        # Each daemon has its own favourites: two that start together do not run after the same link.
        self._links = sorted(links, key=lambda link: zlib.crc32(f"{me} {link}".encode()))
        self._turns = {link: asyncio.Event() for link in links}
        self._standing_by: set[str] = set()
        self._free_since: dict[str, float] = {}
        self._took_at = 0.0
        self._calm_at = 0.0
        self._closing = False
        self._leases: dict[str, tuple[str, float]] = {}

    def leader_of(self, link: str) -> str | None:
        """Who holds a valid lease of it, as far as we know."""
        holder, until = self._leases.get(link, (None, 0.0))
        return holder if _now() < until else None

    async def turn(self, link: str) -> bool:
        """Whether it is this daemon's turn to take the link's lease; waits for it a while."""
        self._turns[link].clear()
        self._standing_by.add(link)
        try:
            async with asyncio.timeout(LOOK_EVERY_S):
                await self._turns[link].wait()
        except TimeoutError:
            return False
        return True

    def close(self) -> None:
        """The daemon lets go of its links, and must not be handed others."""
        self._closing = True

    async def run(self) -> None:
        while not self._closing:
            under_way = False
            try:
                under_way = await self._look()
            except DATABASE_ERRORS as error:
                self._calm_at = _now() + REGAIN_WITHIN_S
                log.warning("leases_unreachable", error=str(error))
            await asyncio.sleep(LOOK_AGAIN_S if under_way else LOOK_EVERY_S)

    async def _look(self) -> bool:
        """Take what is ours to take, or else ask for what we lack. True if we should soon look again."""
        before = _now()
        async with self._pool.acquire(timeout=ACQUIRE_WITHIN_S) as connection:
            leases = await lease.survey(connection)
            self._leases = {one.link: (one.holder, before + one.left_s) for one in leases}
            valid = {one.link: one for one in leases if one.valid}
            standing_by = [link for link in self._links if link in self._standing_by]
            for link in standing_by:
                if link in valid and valid[link].holder == self._me:
                    self._give_turn(link)
            free = [link for link in standing_by if link not in valid]
            load = loads(leases)
            # Leaders that do not stand by are about to take their lease, or to regain it.
            mine = load[self._me] + sum(link not in self._standing_by and link not in valid for link in self._links)
            self._take_one(free, mine, load)
            if free:
                return True
            able = self._is_well() and not self._closing
            wanted = worth_asking_for(leases, self._links, self._me, mine) if able else None
            if wanted is not None and await lease.ask(connection, wanted, self._me):
                log.info("link_asked_for", link=wanted.link, holder=wanted.holder)
            return wanted is not None or any(one.asked_by == self._me for one in valid.values())

    def _take_one(self, free: list[str], mine: int, load: Counter[str]) -> None:
        now = _now()
        self._free_since = {link: self._free_since.get(link, now) for link in free}
        ahead = mine - min((count for daemon, count in load.items() if daemon != self._me), default=mine)
        patience_s = min(LOOK_AGAIN_S * max(0, ahead), LOOK_EVERY_S)
        for link in free:
            if now >= max(max(self._free_since[link], self._took_at) + patience_s, self._calm_at):
                self._took_at = now
                self._give_turn(link)
                return

    def _give_turn(self, link: str) -> None:
        self._standing_by.discard(link)
        self._turns[link].set()


def _now() -> float:
    return asyncio.get_running_loop().time()
