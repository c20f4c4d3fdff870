"""Daemons, database and broker on hosts of their own, between which packets vanish without a word.

The first daemon leads and is cut off, one way or both, from the database, the broker, or everything; the second stands by
with everything in reach. Then the network heals, and the first must still be of use.
"""

import asyncio
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from tests import brokers
from tests.acceptance import processes
from tests.acceptance.processes import Daemon
from tests.faults.conftest import LEASE_S, TABLES, EndsWell, NewDaemon
from tests.faults.network import Network
from tests.faults.players import playing
from tests.faults.test_takeovers import leads
from tests.servers import PostgresProgram

MQTT_PORT, HTTP_PORT = 1883, 8080

BOTH_WAYS_DATABASE = (("first", "database"), ("database", "first"))
BOTH_WAYS_BROKER = (("first", "broker"), ("broker", "first"))
CUTS = {
    "from the database's answers": [("database", "first")],
    "from the broker": BOTH_WAYS_BROKER,
    "from both": BOTH_WAYS_DATABASE + BOTH_WAYS_BROKER,
}
MORE_CUTS = {
    "from the database": BOTH_WAYS_DATABASE,
    "from the database's ear": [("first", "database")],
    "from the broker's messages": [("broker", "first")],
    "from the broker's ear": [("first", "broker")],
}
"""What is lost: from whom, to whom."""


@dataclass(frozen=True, slots=True)
class Site:
    network: Network
    ledger_url: str
    mqtt_url: str
    first: Daemon
    second: Daemon


@pytest.fixture
def site(used_dir: Path, tmp_path: Path, forked_daemon: NewDaemon) -> Iterator[Site]:
    with Network("database", "broker", "first", "second") as network:
        let_in_by_tcp(used_dir, network)
        postgres = PostgresProgram(used_dir, within=network.within("database"))
        postgres.start()
        url = f"postgresql://jackpot@{network.address('database')}:5432/jackpot"
        directory = tmp_path / "mosquitto"
        directory.mkdir()
        host = network.address("broker")
        with brokers.mosquitto(directory, port=MQTT_PORT, host=host, within=network.within("broker")):
            mqtt_url = f"mqtt://{host}:{MQTT_PORT}"
            first, second = (
                forked_daemon(url, mqtt_url, name, listen=f"{network.address(name)}:{HTTP_PORT}")
                for name in ("first", "second")
            )
            assert processes.run("migrate", "--config", first.config).returncode == 0
            yield Site(network, url, mqtt_url, first, second)
            for daemon in (first, second):
                daemon.end()
        postgres.kill()


def let_in_by_tcp(directory: Path, network: Network) -> None:
    """The embedded PostgreSQL listens on a Unix socket alone, which knows no network."""
    rules = directory / "network_hba.conf"
    rules.write_text(f"local all all trust\nhost all all {network.subnet} trust\n")
    rules.chmod(0o644)
    with (directory / "postgres" / "cluster" / "postgresql.auto.conf").open("a") as settings:
        settings.write(f"listen_addresses = '{network.address('database')}'\nhba_file = '{rules}'\n")


@pytest.mark.parametrize("cut", [*CUTS, *(pytest.param(cut, marks=pytest.mark.slow) for cut in MORE_CUTS)])
async def test_a_leader_that_is_cut_off_is_relieved(site: Site, ends_well: EndsWell, cut: str) -> None:
    first, second = site.first, site.second
    first.start(LEASE_S=LEASE_S, NETWORK=site.network.file("first"))
    await leads(first)
    second.start(LEASE_S=LEASE_S, NETWORK=site.network.file("second"))
    await asyncio.to_thread(second.wait_alive)
    async with playing(site.mqtt_url, TABLES) as floor:
        await floor.goes_on()
        floor.hit()
        for sender, receiver in (CUTS | MORE_CUTS)[cut]:
            site.network.cut(sender, receiver)
        await leads(second)
        await floor.goes_on()
        site.network.heal()
        await asyncio.to_thread(first.wait_not_ready)
        await floor.goes_on()
        await asyncio.to_thread(second.kill)
        await leads(first)
        await ends_well(f"a leader is cut off {cut}", floor, site.ledger_url, first)
