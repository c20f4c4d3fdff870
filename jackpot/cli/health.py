"""What operations look at first: is the daemon well, where do the links stand, and is anything wrong."""

import asyncio
import datetime as dt
from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass
from typing import Any, Final

from sqlalchemy import select
from sqlalchemy.ext.asyncio import AsyncEngine

from jackpot.config import Http
from jackpot.daemon import probe
from jackpot.ledger.read import reading
from jackpot.ledger.read.floor import LinkNow, read_floor
from jackpot.ledger.schema import links

ALARMING: Final = {
    "jackpot_invariants_broken_total": "batches rolled back by a broken invariant: see the daemon's log",
    "jackpot_ids_reused_total": "event ids that came again with another content: look at the table's controller",
    "jackpot_unproved_total": "events without their table's proof: look at the table's key, and at who sends them",
}


@dataclass(frozen=True, slots=True)
class LinkHealth:
    now: LinkNow
    debits_micros: int
    credits_micros: int
    has: Mapping[str, bool | str | None] | None
    """Which of lease, database and broker the daemon has for it, or which other leads it; None if it does not say."""

    @property
    def state(self) -> str:
        if self.now.suspended is not None:
            return "suspended"
        return "in play" if self.now.holder is not None else "no daemon"

    @property
    def balanced(self) -> bool:
        return self.debits_micros == self.credits_micros


@dataclass(frozen=True, slots=True)
class Health:
    at: dt.datetime
    listen: str
    ready: bool
    links: tuple[LinkHealth, ...]
    alarms: tuple[str, ...]
    """Empty: all is well."""

    def document(self) -> dict[str, Any]:
        return {
            "at": self.at,
            "daemon": {"listen": self.listen, "ready": self.ready},
            "links": [
                {
                    "state": link.state,
                    **asdict(link.now),
                    "debits_micros": link.debits_micros,
                    "credits_micros": link.credits_micros,
                    "balanced": link.balanced,
                    "daemon_has": link.has,
                }
                for link in self.links
            ],
            "alarms": self.alarms,
        }


async def look(engine: AsyncEngine, http: Http) -> Health:
    found = await asyncio.to_thread(probe.readiness, http.host, http.port)
    counted = await asyncio.to_thread(probe.metrics, http.host, http.port)
    async with reading(engine) as connection:
        floor = await read_floor(connection)
        heads = {row.link: row for row in await connection.execute(select(links))}
    seen = []
    for now in floor:
        head = heads[now.link]
        debits, credits_ = head.wagered + head.recoverable, head.pool + head.reserve + head.house + head.awarded
        seen.append(LinkHealth(now, debits, credits_, (found.links or {}).get(now.link)))
    alarms = [*_of_daemon(found, http), *_counted(counted), *(alarm for link in seen for alarm in _of_link(link))]
    return Health(dt.datetime.now(dt.UTC), http.listen, found.ready, tuple(seen), tuple(alarms))


def _of_daemon(found: probe.Readiness, http: Http) -> Iterator[str]:
    if not found.answers:
        yield f"no daemon answers at {http.listen}: start it with jackpot serve"
    for link, parts in (found.links or {}).items():
        if missing := [part for part, there in parts.items() if not there]:
            yield f"{link}: the daemon has no {' and no '.join(missing)}"


def _counted(samples: Mapping[tuple[str, probe.Labels], float]) -> Iterator[str]:
    for (name, labels), value in samples.items():
        if value and name in ALARMING:
            yield f"{dict(labels)['link']}: {value:.0f} {ALARMING[name]}"


def _of_link(link: LinkHealth) -> Iterator[str]:
    name = link.now.link
    if link.now.suspended is not None:
        yield f"{name} is suspended: {link.now.suspended}; when it is mended: jackpot resume"
    elif link.now.holder is None:
        yield f"{name} is led by no daemon"
    if not link.balanced:
        yield f"{name}: debits {link.debits_micros} are not credits {link.credits_micros}: run jackpot verify"
    for claim in link.now.claims:
        if claim.holds_up:
            yield f"{name}: {claim.table} {claim.round} is not settled and holds up {', '.join(claim.holds_up)}"
