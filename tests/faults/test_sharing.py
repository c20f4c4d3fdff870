"""Two daemons share four links: each leads two, whoever comes and goes, and the tables play on."""

import asyncio
import json

from tests.acceptance import processes
from tests.acceptance.integrator import connected
from tests.acceptance.processes import START_WITHIN_S, Daemon
from tests.faults.conftest import EndsWell, NewDaemon
from tests.faults.players import playing
from tests.waiting import patience_s

TABLES = {"BE-01": "one", "UTH-01": "two", "TCX-01": "three", "BE-02": "four"}
FLOOR = (
    "[leases]\nshare = true\n",
    *(processes.link(link) for link in TABLES.values()),
    *(processes.table(table, link) for table, link in TABLES.items()),
)


def led_by(daemon: Daemon) -> list[str]:
    """The links that it leads; none if it is not ready."""
    status, body = daemon.get("/readyz")
    return [link for link, parts in json.loads(body)["links"].items() if "lease" in parts] if status == 200 else []


async def lead(count: int, *daemons: Daemon) -> None:
    """Until each of them leads so many links, and together they lead all."""
    async with asyncio.timeout(patience_s(START_WITHIN_S)):
        while True:
            found = [await asyncio.to_thread(led_by, daemon) for daemon in daemons]
            if {len(links) for links in found} == {count} and set().union(*found) == set(TABLES.values()):
                return
            await asyncio.sleep(0.05)


async def test_two_daemons_share_four_links(
    ledger_url: str, mosquitto: str, forked_daemon: NewDaemon, ends_well: EndsWell
) -> None:
    first, second = (forked_daemon(ledger_url, mosquitto, name, floor=FLOOR) for name in ("first", "second"))
    async with playing(mosquitto, TABLES, pause_s=0.1) as floor, connected(mosquitto) as pit:
        first.start()
        second.start()
        await lead(2, first, second)
        await floor.goes_on()
        status = await asyncio.to_thread(processes.run, "status", "--config", first.config, "-o", "json")
        document = json.loads(status.stdout)
        assert (len({link["holder"] for link in document["links"]}), document["alarms"]) == (2, [])

        floor.hit()
        await asyncio.to_thread(second.kill)
        await lead(4, first)
        await floor.goes_on()

        heard = {link: len(pit.on(f"{link}/status")) for link in TABLES.values()}
        second.start()
        await lead(2, first, second)
        await floor.goes_on()
        said = {link: {now["state"] for now in pit.on(f"{link}/status")[before:]} for link, before in heard.items()}
        assert set().union(*said.values()) == {"running"}, "no table is frightened by a hand-over"

        await ends_well("daemons that share links come and go", floor, ledger_url, first, second)
