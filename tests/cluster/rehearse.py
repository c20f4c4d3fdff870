"""The floor on engines made for more than one machine: `python -m tests.cluster.rehearse --kills N`, or `make cluster`.

Three machines, two daemons, four links whose tables play on through everything. Each kind of death comes N times, each
when all is whole again and both daemons lead two of the links. At the end the ledger of each of the three machines is audited against what tables were told.
"""

import argparse
import asyncio
import ssl
import statistics
import time
import urllib.request
from collections import Counter
from collections.abc import Awaitable, Callable
from contextlib import ExitStack
from itertools import pairwise
from pathlib import Path

import asyncpg

from jackpot import logs
from jackpot.contract import topics
from jackpot.ledger.connection import connect
from jackpot.ledger.lease import survey
from jackpot.mqtt.client import Broker, Connection, MqttError, Will
from jackpot.pki import Kind, scram
from tests.acceptance import processes
from tests.acceptance.processes import Daemon
from tests.cluster.machines import FILES, NATS, PATRONI, Machines, three_machines
from tests.deploy.installed import DEPLOY
from tests.faults.auditor import audit_at
from tests.faults.players import Floor, playing
from tests.servers import open_directory
from tests.waiting import patience_s

LINKS = ("one", "two", "three", "four")
TABLES = {f"BE-{nth:02d}": link for nth, link in enumerate(LINKS * 2, start=1)}
SHARE = "[leases]\nshare = true\n"
"""The links are spread over both daemons, and change hands as one dies and comes back."""
SHARED_WITHIN_S = 60.0

Kill = Callable[[int], Awaitable[None]]


def make_database(machines: Machines, folder: Path) -> None:
    """As `install.sh` does: roles, database, what the server keeps of passwords, schema, grants."""
    leader = machines.leader
    leader.psql((DEPLOY / "postgresql/roles.sql").read_text())
    leader.psql("CREATE DATABASE jackpot OWNER jackpot_owner")
    for role in ("migrate", "settle", "console", "audit"):
        leader.psql(f"ALTER ROLE jackpot_{role} PASSWORD '{scram.verifier(machines.secret)}'")
    config = folder / "migrate.toml"
    config.write_text(f'[database]\nurl = "{machines.database_url("jackpot_migrate")}"\n')
    migrated = processes.run("migrate", "--config", config)
    assert migrated.returncode == 0, migrated.stderr
    leader.psql(f"SET ROLE jackpot_owner;\n{(DEPLOY / 'postgresql/grants.sql').read_text()}", "jackpot")


def make_daemons(machines: Machines, folder: Path) -> list[Daemon]:
    floor = (
        SHARE,
        *(processes.link(link) for link in LINKS),
        *(processes.table(table, link) for table, link in TABLES.items()),
    )
    certificate, key = machines.site.authorities[Kind.CONTROLLER].pair("control")
    url = machines.database_url("jackpot_settle")
    console = f'\nconsole_url = "{machines.database_url("jackpot_console")}"\n[mqtt]\n'
    console += f'ca = "{machines.ca}"\ncert = "{certificate}"\nkey = "{key}"\n'
    daemons = []
    for nth, name in enumerate(("first", "second")):
        configuration = processes.configuration(url, machines.mqtt_url(nth), floor)
        daemons.append(Daemon(folder, configuration.replace("\n[mqtt]\n", console), name=name))
    return daemons


async def strangers_are_refused(machines: Machines) -> None:
    """Without a certificate, or where one's certificate has no right: at the broker, at etcd, at the database."""
    spied = topics.replies(LINKS[0], "BE-05")
    for broker, subscriptions, why in (
        (Broker.from_url(machines.mqtt_url(), ca=str(machines.ca)), [], "no certificate"),
        (machines.broker(Kind.NODE, "one"), [], "that of a node"),
        (machines.broker(Kind.TABLE, "BE-01"), [(spied, 1)], "what another table is told"),
        (machines.broker(Kind.BOARD, "pit-1"), [(topics.events("+", "+"), 1)], "events are not for boards"),
    ):
        try:
            await Connection.open(
                broker, "stranger", on_message=lambda _: None, subscriptions=subscriptions, timeout_s=10
            )
        except MqttError:
            continue
        raise AssertionError(f"let in: {why}")
    leader = machines.leader
    for url in (
        machines.database_url("jackpot_settle", leader).replace("verify-full", "disable"),
        machines.database_url("postgres", leader),
        machines.database_url("jackpot_replica", leader),
    ):
        try:
            await asyncpg.connect(url)
        except (asyncpg.InvalidAuthorizationSpecificationError, OSError):
            continue
        raise AssertionError(f"let in: {url.partition('@')[0]}")
    for context in (ssl.create_default_context(cafile=leader.folder / "nodes.crt"), None):
        try:
            urllib.request.urlopen(
                f"http{'s' if context else ''}://{leader.address}:2379/health", timeout=5, context=context
            )
        except OSError:
            continue
        raise AssertionError("etcd lets anybody in")


async def forgeries_are_not_heard(machines: Machines, floor: Floor) -> None:
    """A table's certificate says nothing for another, nor on a link that it invents, nor as the controller."""
    heard: list[str] = []
    watching = await Connection.open(
        machines.broker(Kind.CONTROLLER, "control"),
        "watching",
        on_message=lambda message: heard.append(message.topic) if message.payload == b"forged" else None,
        subscriptions=[(topics.events("+", "+"), 0), (topics.meter("+"), 0), (topics.status("+"), 0)],
    )
    will = Will(topics.status(LINKS[0]), b"forged")
    table = await Connection.open(machines.broker(Kind.TABLE, "BE-01"), "forger", on_message=lambda _: None, will=will)
    for topic in (topics.events(LINKS[0], "BE-05"), topics.events("invented", "BE-01"), topics.meter(LINKS[0])):
        table.publish_nowait(topic, b"forged", retain=True)
    await table.settled()
    table.abort()
    await floor.goes_on()
    await watching.close()
    assert heard == []


class Rehearsal:
    def __init__(self, machines: Machines, daemons: list[Daemon], floor: Floor) -> None:
        self.machines, self.daemons, self.floor = machines, daemons, floor
        self.gaps: dict[str, list[float]] = {}

    async def whole(self) -> None:
        await asyncio.to_thread(self.machines.wait_whole)
        for daemon in self.daemons:
            await asyncio.to_thread(daemon.wait_alive)
        await self.shared_evenly()

    async def shared_evenly(self) -> None:
        """Until each daemon leads its share of the links."""
        connection = await connect(self.machines.database_url("jackpot_audit"))
        try:
            async with asyncio.timeout(patience_s(SHARED_WITHIN_S)):
                while True:
                    led = Counter(lease.holder for lease in await survey(connection) if lease.valid)
                    if list(led.values()) == [len(LINKS) // len(self.daemons)] * len(self.daemons):
                        return
                    await asyncio.sleep(0.2)
        finally:
            await connection.close()

    async def repeat(self, what: str, kills: int, kill: Kill) -> None:
        for nth in range(kills):
            await self.whole()
            await self.floor.goes_on()
            start = time.monotonic()
            await kill(nth)
            await self.floor.goes_on(50)
            self.gaps.setdefault(what, []).append(self._gap_since(start))
            print(f"{what}: {self.gaps[what][-1]:.1f} s without an answer", flush=True)

    def _gap_since(self, start: float) -> float:
        """The longest that the tables of any link heard no `accepted`."""
        longest = 0.0
        for link in LINKS:
            heard = sorted(
                at
                for player in self.floor.players
                if player.link == link
                for at in player.truth.accepted_at
                if at > start
            )
            longest = max(longest, *(later - earlier for earlier, later in pairwise([start, *heard])))
        return longest

    # -- the deaths ---------------------------------------------------------------------------------------------

    async def kill_database_leader(self, _: int) -> None:
        machine = self.machines.leader
        await self._killed_until_others_play(lambda: machine.kill(PATRONI), lambda: machine.start(PATRONI))

    async def kill_broker(self, nth: int) -> None:
        machine = self.machines.all[nth % 3]
        await self._killed_until_others_play(lambda: machine.kill(NATS), lambda: machine.start(NATS))

    async def kill_machine(self, _: int) -> None:
        """The one that leads, with all that runs on it."""
        machine = self.machines.leader
        await self._killed_until_others_play(lambda: machine.kill(*FILES), lambda: machine.start(*FILES))

    async def switch_over(self, _: int) -> None:
        """Nobody dies: the leader hands over, as for an upgrade of its machine."""
        await asyncio.to_thread(self.machines.switch_over)

    async def kill_daemon(self, nth: int) -> None:
        daemon = self.daemons[nth % 2]
        await self._killed_until_others_play(daemon.kill, daemon.start)

    async def _killed_until_others_play(self, kill: Callable[[], None], start: Callable[[], None]) -> None:
        """It comes back only when the others have gone on without it."""
        await asyncio.to_thread(kill)
        await self.floor.goes_on()
        await asyncio.to_thread(start)


async def rehearse(kills: int) -> None:
    logs.set_up(level="error")  # the tables': what they lose is what this is about
    started = time.monotonic()
    with ExitStack() as stack:
        machines = stack.enter_context(three_machines(TABLES, LINKS))
        folder = stack.enter_context(open_directory())
        await asyncio.to_thread(make_database, machines, folder)
        daemons = make_daemons(machines, folder)
        for daemon in daemons:
            stack.callback(daemon.end)
            daemon.start()
        print(f"three machines and two daemons are up after {time.monotonic() - started:.0f} s", flush=True)
        async with playing(lambda table: machines.broker(Kind.TABLE, table, 2), TABLES) as floor:
            rehearsal = Rehearsal(machines, daemons, floor)
            await rehearsal.whole()
            await strangers_are_refused(machines)
            await forgeries_are_not_heard(machines, floor)
            print("strangers are refused, and forgeries not heard", flush=True)
            await rehearsal.repeat("leader of PostgreSQL killed", kills, rehearsal.kill_database_leader)
            await rehearsal.repeat("node of the broker killed", kills, rehearsal.kill_broker)
            await rehearsal.repeat("daemon killed", kills, rehearsal.kill_daemon)
            await rehearsal.repeat("whole machine of the leader killed", kills, rehearsal.kill_machine)
            await rehearsal.repeat("leader of PostgreSQL changed as planned", kills, rehearsal.switch_over)
            await rehearsal.whole()
            await floor.finish()
            await asyncio.to_thread(machines.wait_whole)
            for machine in machines.all:
                audited = await audit_at(machines.database_url("jackpot_audit", machine), floor.players)
                assert (audited.found, audited.events) == ([], floor.answered)
            verified = await asyncio.to_thread(processes.run, "verify", "--config", daemons[0].config)
            assert verified.returncode == 0, verified.stdout + verified.stderr
            await report(rehearsal, time.monotonic() - started)


async def report(rehearsal: Rehearsal, took_s: float) -> None:
    floor, machines = rehearsal.floor, rehearsal.machines
    connection = await connect(machines.database_url("jackpot_audit"))
    timeline = await connection.fetchval("SELECT timeline_id FROM pg_control_checkpoint()")
    await connection.close()
    awards = sum(len(player.truth.awards) for player in floor.players)
    print(f"\n{'gap':40}{'times':>6}{'median':>9}{'longest':>9}")
    for what, gaps in rehearsal.gaps.items():
        print(f"{what:40}{len(gaps):6}{statistics.median(gaps):7.1f} s{max(gaps):7.1f} s")
    print(
        f"\n{floor.answered} events accepted on {len(LINKS)} links, shared evenly by {len(rehearsal.daemons)} daemons before "
        f"each death, and {len(TABLES)} tables, {awards} awards, "
        f"timeline {timeline}, {took_s:.0f} s.\n"
        "The ledgers of all three machines have every one of them once, balance, and verify. Nothing is lost."
    )


if __name__ == "__main__":
    arguments = argparse.ArgumentParser()
    arguments.add_argument("--kills", type=int, default=2, help="how often each")
    asyncio.run(rehearse(arguments.parse_args().kills))
