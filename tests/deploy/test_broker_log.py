"""Whom the broker refuses is counted and named: by the real broker, followed as its unit does."""

import asyncio
import os
import re
import signal
import socket
import ssl
import subprocess
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import pytest

from jackpot.contract import topics
from jackpot.mqtt.broker_log import BrokerFiles, BrokerLog, Door, Refusal
from jackpot.mqtt.client import Will
from jackpot.pki import Kind, doors
from tests import brokers
from tests.acceptance import processes
from tests.acceptance.processes import JACKPOT
from tests.deploy import installed
from tests.deploy.installed import DEPLOY, Mosquitto
from tests.deploy.test_broker import ALL_EVENTS, LINK, connected, refused
from tests.waiting import patience_s


class Counted:
    """A broker, and the program that follows its log."""

    def __init__(self, broker: Mosquitto) -> None:
        self.broker, self.pki = broker, broker.pki
        self._at = f"127.0.0.1:{brokers.free_port()}"
        self._said = broker.folder / "broker-log.log"
        self.program = self.follow()

    def follow(self) -> subprocess.Popen[bytes]:
        unit = (DEPLOY / "systemd/jackpot-broker-log.service").read_text()
        (start,) = re.findall(r"^ExecStart=(.*)$", unit, re.MULTILINE)
        places = {
            "/opt/jackpot/bin/jackpot": str(JACKPOT),
            "/etc/mosquitto/mosquitto.conf": str(self.broker.config),
            "127.0.0.1:9884": self._at,
        }
        with self._said.open("ab") as output:
            argv = installed.replaced(start, places).split()
            return subprocess.Popen(argv, stdout=output, stderr=output, env=processes.environment())

    def said(self) -> str:
        """What it passed on to people."""
        return self._said.read_text()

    def counts(self) -> dict[str, int]:
        """Nothing as long as nobody answers: the program starts beside the broker."""
        with suppress(OSError), urllib.request.urlopen(f"http://{self._at}/metrics", timeout=5) as answer:
            found = re.findall(r'jackpot_broker_refused_total\{what="(\w+)"\} (\d+)', answer.read().decode())
            return {what: int(count) for what, count in found}
        return {}

    async def count(self, what: str) -> int:
        """As soon as it is told: the program may be slow to answer."""
        async with asyncio.timeout(patience_s(20)):
            while (found := self.counts().get(what)) is None:
                await asyncio.sleep(0.05)
        return found

    async def all_taken(self) -> None:
        """Counted is not yet taken: whoever follows anew would count it again."""
        async with asyncio.timeout(patience_s(20)):
            while self.broker.log().strip("\0"):
                await asyncio.sleep(0.05)

    async def come_to(self, **wanted: int) -> None:
        expected = dict.fromkeys(Refusal, 0) | wanted
        async with asyncio.timeout(patience_s(20)):
            while self.counts() != expected:
                await asyncio.sleep(0.05)


@contextmanager
def followed(broker: Mosquitto) -> Iterator[Counted]:
    broker.start()
    counted = Counted(broker)
    try:
        yield counted
    finally:
        counted.program.kill()
        counted.program.wait()
        broker.stop()


@pytest.fixture
def counted(tmp_path: Path) -> Iterator[Counted]:
    with followed(Mosquitto(tmp_path / "etc", installed.make_pki(tmp_path / "pki"))) as counted:
        yield counted


async def test_each_refusal_is_counted_and_the_log_names_who_it_was(counted: Counted) -> None:
    pki = counted.pki
    own = [(topics.replies(LINK, "UTH-01"), 1), (topics.state("+", "UTH-01"), 1)]
    shown = [(topics.meter("+"), 1), (topics.status("+"), 1), (topics.awards(LINK), 1)]
    async with (
        connected(pki.broker(Kind.CONTROLLER, "control-1"), "jackpot-megalink", [*ALL_EVENTS, *shown]) as (_, heard),
        connected(pki.broker(Kind.BOARD, "pit-2"), "boards", shown),
        connected(pki.broker(Kind.TABLE, "UTH-01"), "jackpot-megalink", own) as (table, _),
    ):
        table.publish_nowait(topics.events(LINK, "UTH-01"), b"its own")
        await heard.holds(1)
        await counted.come_to()
        table.publish_nowait(topics.events(LINK, "UTH-02"), b"as another")
        table.publish_nowait(topics.status(LINK), b"as the controller")
        await counted.come_to(publish=2)
        spied = [(topics.replies(LINK, "UTH-01"), 1), ("#", 1)]
        async with connected(pki.broker(Kind.TABLE, "UTH-02"), "UTH-02", spied):
            await counted.come_to(publish=2, subscribe=2)
        async with connected(pki.broker(Kind.BOARD, "pit-2"), "boards", own):
            await counted.come_to(publish=2, subscribe=4)
    await refused(pki.broker(Kind.TABLE, None))
    await counted.come_to(publish=2, subscribe=4, handshake=1)
    said = counted.said()
    assert re.search(r"Denied PUBLISH from UTH-01 \(.*, 'jackpot/v1/megalink/tables/UTH-02/events', ", said)
    assert "UTH-02 1 jackpot/v1/megalink/tables/UTH-01/replies" in said
    assert not re.search(r": (Received|Sending) |\t", said), "every packet is no log"


@pytest.mark.parametrize(
    "wanted",
    [
        topics.meter("+"),
        topics.awards("+"),
        topics.status(LINK),
        topics.head(LINK),
        "jackpot/v1/a b/tables/UTH-01/replies",
        topics.replies(LINK, "+"),
        "$share/spies/jackpot/v1/+/tables/UTH-01/state",
        "$SYS/#",
    ],
)
def test_what_a_table_may_not_hear_is_counted(pki: installed.Pki, wanted: str) -> None:
    log = BrokerLog({8883: Door(read=("jackpot/v1/+/tables/%u/replies", "jackpot/v1/+/tables/%u/state"))})
    for said in (
        "New connection from 10.0.0.7:40000 on port 8883.",
        "New client connected from 10.0.0.7:40000 as UTH-02 (p2, c1, k60, u'UTH-02').",
        "UTH-02 1 jackpot/v1/a b/tables/UTH-02/replies",
        "UTH-02 1 $share/us/jackpot/v1/+/tables/UTH-02/state",
    ):
        assert log.read(f"1794855633: {said}") == (True, None)
    assert log.read(f"1794855633: UTH-02 1 {wanted}") == (True, Refusal.SUBSCRIBE)


async def test_a_last_will_that_the_broker_denies_is_counted(counted: Counted) -> None:
    table, forged = counted.pki.broker(Kind.TABLE, "UTH-01"), Will(topics.status(LINK), b'{"state": "lost"}')
    own = Will(topics.events(LINK, "UTH-01"), b"{}")
    async with connected(table, "UTH-01", will=own), connected(table, "UTH-01", will=forged):
        await counted.come_to(publish=1)
    assert f"\t{topics.status(LINK)}" in counted.said()


async def test_a_table_leaves_nothing_on_links_that_it_invents(counted: Counted) -> None:
    """The broker would keep a retained message for each of them, for ever."""
    async with (
        connected(counted.pki.broker(Kind.TABLE, "UTH-01"), "UTH-01") as (table, _),
        connected(counted.pki.broker(Kind.CONTROLLER, "control-1"), "jackpot-megalink", ALL_EVENTS) as (_, heard),
    ):
        for number in range(50):
            table.publish_nowait(topics.events(f"invented-{number}", "UTH-01"), b"kept for ever?", retain=True)
        table.publish_nowait(topics.events(LINK, "UTH-01"), b"its own")
        assert await heard.holds(1) == [b"its own"]
        await counted.come_to(publish=50)


def test_the_list_of_tables_is_made_from_the_configurations_links() -> None:
    made = processes.run("pki", "acl", "--config", DEPLOY / "jackpot.toml").stdout
    assert made == (DEPLOY / "mosquitto/tables.acl").read_text() == doors.tables_list(["megalink"])


async def test_a_revoked_certificate_is_counted(counted: Counted) -> None:
    pki, broker = counted.pki, counted.broker
    stolen = pki.broker(Kind.TABLE, "UTH-02")
    pki.site.revoke(Kind.TABLE, "UTH-02", installed.now())
    broker.stop()
    broker.start()
    await refused(stolen)
    await counted.come_to(handshake=1)
    assert "certificate verify failed" in counted.said()


async def test_whoever_speaks_in_the_clear_or_by_old_tls_is_counted(counted: Counted) -> None:
    await counted.come_to()
    at = ("127.0.0.1", counted.pki.ports[Kind.TABLE])
    for number, said in enumerate((b"\x10\x0e\x00\x04MQTT\x04\x02\x00\x3c\x00\x02hi", b"GET / HTTP/1.0\r\n\r\n"), 1):
        with socket.create_connection(at) as clear:
            clear.sendall(said)
            await counted.come_to(handshake=number)
    old = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    old.check_hostname, old.verify_mode = False, ssl.CERT_NONE
    old.set_ciphers("ALL:@SECLEVEL=0")
    with pytest.warns(DeprecationWarning, match="TLSv1_1"):
        old.minimum_version = old.maximum_version = ssl.TLSVersion.TLSv1_1
    with socket.create_connection(at) as plain, pytest.raises((ssl.SSLError, OSError)):
        old.wrap_socket(plain)
    await counted.come_to(handshake=3)


# -- the broker and those who read its log ---------------------------------------------------------------------------


@pytest.fixture
def small_log(tmp_path: Path) -> Iterator[Mosquitto]:
    """With a log that is soon full."""
    broker = Mosquitto(tmp_path / "etc", installed.make_pki(tmp_path / "pki"))
    mounted = subprocess.run(
        ["mount", "-t", "tmpfs", "-o", "size=64k", "tmpfs", broker.folder / "log"], capture_output=True, check=False
    )
    if mounted.returncode != 0:
        pytest.skip("nothing can be mounted here")
    try:
        yield broker
    finally:
        subprocess.run(["umount", broker.folder / "log"], check=True)


async def test_the_broker_plays_on_while_nobody_reads_its_log(small_log: Mosquitto) -> None:
    with followed(small_log) as counted:
        await counted.come_to()
        counted.program.send_signal(signal.SIGSTOP)
        pki, topic = small_log.pki, topics.events(LINK, "UTH-01")
        async with (
            connected(pki.broker(Kind.CONTROLLER, "control-1"), "jackpot-megalink", ALL_EVENTS) as (_, heard),
            connected(pki.broker(Kind.TABLE, "UTH-01"), "UTH-01") as (table, _),
        ):
            for number in range(1_000):
                table.publish_nowait(topic, b"%d" % number)
            assert len(await heard.holds(1_000)) == 1_000
            assert os.statvfs(small_log.folder / "log").f_bavail == 0, "the log is full"
            counted.program.send_signal(signal.SIGCONT)
            # What came while it was full is lost to the log; from here on all is counted again.
            async with asyncio.timeout(patience_s(20)):
                while os.statvfs(small_log.folder / "log").f_bavail == 0:
                    await asyncio.sleep(0.05)
            table.publish_nowait(topic, b"the log's first line after it was cut off in the midst of another")
            await heard.holds(1_001)
            before = await counted.count("publish")
            for _ in range(3):
                table.publish_nowait(topics.status(LINK), b"forged")
            await counted.come_to(publish=before + 3)


async def test_whoever_follows_anew_goes_on_where_the_last_one_was(counted: Counted) -> None:
    async with connected(counted.pki.broker(Kind.TABLE, "UTH-01"), "UTH-01") as (table, _):
        table.publish_nowait(topics.status(LINK), b"forged")
        await counted.come_to(publish=1)
        await counted.all_taken()
        counted.program.kill()
        counted.program.wait()
        for _ in range(2):
            table.publish_nowait(topics.status(LINK), b"forged")
        await table.settled()
        counted.program = counted.follow()
        await counted.come_to(publish=2)


def test_the_brokers_own_files_say_where_its_doors_are_and_what_is_open_there(tmp_path: Path) -> None:
    config = tmp_path / "mosquitto.conf"
    text = (DEPLOY / "mosquitto/mosquitto.conf").read_text()
    config.write_text(text.replace("/etc/mosquitto/jackpot/", f"{DEPLOY}/mosquitto/"))
    files = BrokerFiles.load(config)
    assert set(files.doors) == {8883, 8884, 8885}
    assert files.doors[8884].write == ()
    assert "jackpot/v1/+/meter" in files.doors[8885].write
    config.write_text("listener 8883\n")
    done = processes.run("broker-log", "--config", config)
    assert (done.returncode, done.stderr.count("\n")) == (2, 1)
    assert "log_dest file" in done.stderr


@pytest.mark.parametrize(
    ("said", "refusal"),
    [
        ("OpenSSL Error[0]: error:0A000086:SSL routines::certificate verify failed", Refusal.HANDSHAKE),
        (
            "Client connection from 127.0.0.1 failed: error:0A000086:SSL routines::certificate verify failed.",
            Refusal.HANDSHAKE,
        ),
        (
            "Client connection from 127.0.0.1 failed: error:0A00010B:SSL routines::wrong version number.",
            Refusal.HANDSHAKE,
        ),
        ("OpenSSL Error[0]: error:0A0000C1:SSL routines::no shared cipher", Refusal.HANDSHAKE),
        ("Client connection from 127.0.0.1 failed: error:0A000126:SSL routines::unexpected eof while reading.", None),
        ("OpenSSL Error[0]: error:0A000418:SSL routines::tlsv1 alert unknown ca", None),
    ],
)
def test_either_form_in_which_mosquitto_tells_of_a_stranger_is_counted(said: str, refusal: Refusal | None) -> None:
    assert BrokerLog({}).read(f"1794855633: {said}") == (True, refusal)


@pytest.mark.parametrize("listen", ["nonsense", "127.0.0.1:http", "127.0.0.1:99999", ":9884", "127.0.0.1:²"])
def test_an_address_that_is_none_is_refused_in_words(listen: str, broker: Mosquitto) -> None:
    refused = processes.run("broker-log", "--config", broker.config, "--listen", listen)
    assert (refused.returncode, refused.stderr.count("\n")) == (2, 1)
    assert "is not an address such as 127.0.0.1:9884" in refused.stderr
