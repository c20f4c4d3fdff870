"""Whom the broker refuses is counted and named: by the real broker, started as its unit starts it."""

import asyncio
import re
import urllib.request
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import pytest

from jackpot.pki import Kind
from jackpot.wire import topics
from jackpot.wire.broker_log import BrokerLog, Refusal
from tests import brokers
from tests.acceptance import processes
from tests.acceptance.processes import patience_s
from tests.deploy import installed
from tests.deploy.installed import Mosquitto, Pki
from tests.deploy.test_broker import ALL_EVENTS, LINK, connected, refused


class Counted:
    """A broker and what is counted of it."""

    def __init__(self, broker: Mosquitto, at: str) -> None:
        self.broker, self._at = broker, at

    def counts(self) -> dict[str, int]:
        """Nothing as long as nobody answers: the program starts beside the broker."""
        with suppress(OSError), urllib.request.urlopen(f"http://{self._at}/metrics", timeout=5) as answer:
            found = re.findall(r'jackpot_broker_refused_total\{what="(\w+)"\} (\d+)', answer.read().decode())
            return {what: int(count) for what, count in found}
        return {}

    async def come_to(self, **wanted: int) -> None:
        expected = dict.fromkeys(Refusal, 0) | wanted
        async with asyncio.timeout(patience_s(20)):
            while self.counts() != expected:
                await asyncio.sleep(0.05)

    async def gone(self) -> None:
        """The counting program ends a little after its broker; systemd waits for both before it starts them again."""
        async with asyncio.timeout(patience_s(20)):
            while self.counts():
                await asyncio.sleep(0.05)


@pytest.fixture
def counted(tmp_path: Path) -> Iterator[Counted]:
    broker = Mosquitto(tmp_path / "etc", installed.make_pki(tmp_path / "pki"))
    at = f"127.0.0.1:{brokers.free_port()}"
    broker.start(counted_at=at)
    try:
        yield Counted(broker, at)
    finally:
        broker.stop()


async def test_each_refusal_is_counted_and_the_log_names_who_it_was(counted: Counted) -> None:
    pki: Pki = counted.broker.pki
    own = [(topics.replies(LINK, "UTH-01"), 1), (topics.state("+", "UTH-01"), 1)]
    async with (
        connected(pki.broker(Kind.CONTROLLER, "control-1"), "jackpot-megalink", ALL_EVENTS) as (_, heard),
        connected(pki.broker(Kind.BOARD, "pit-2"), "boards", [(topics.meter("+"), 1), (topics.status("+"), 1)]),
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
    await refused(pki.broker(Kind.TABLE, None))
    await counted.come_to(publish=2, subscribe=2, handshake=1)
    log = counted.broker.log()
    assert re.search(r"Denied PUBLISH from UTH-01 \(.*, 'jackpot/v1/megalink/tables/UTH-02/events', ", log)
    assert "UTH-02 1 jackpot/v1/megalink/tables/UTH-01/replies" in log
    assert not re.search(r": (Received|Sending) |\t", log), "every packet is no log"


async def test_a_revoked_certificate_is_counted(counted: Counted) -> None:
    pki, broker = counted.broker.pki, counted.broker
    stolen = pki.broker(Kind.TABLE, "UTH-02")
    pki.site.revoke(Kind.TABLE, "UTH-02", installed.now())
    await counted.come_to()  # one that was still starting would take the place of the next
    broker.stop()
    await counted.gone()
    broker.start(counted_at=counted._at)
    await counted.come_to()
    await refused(stolen)
    await counted.come_to(handshake=1)
    assert "certificate verify failed" in broker.log()


@pytest.mark.parametrize(
    ("said", "refusal"),
    [
        ("OpenSSL Error[0]: error:0A000086:SSL routines::certificate verify failed", Refusal.HANDSHAKE),
        (
            "Client connection from 127.0.0.1 failed: error:0A000086:SSL routines::certificate verify failed.",
            Refusal.HANDSHAKE,
        ),
        ("Client connection from 127.0.0.1 failed: error:0A000126:SSL routines::unexpected eof while reading.", None),
    ],
)
def test_either_form_in_which_mosquitto_tells_of_a_bad_certificate_is_counted(
    said: str, refusal: Refusal | None
) -> None:
    assert BrokerLog().read(f"1794855633: {said}\n") == (True, refusal)


@pytest.mark.parametrize("listen", ["nonsense", "127.0.0.1:http", "127.0.0.1:99999", ":9884", "127.0.0.1:²"])
def test_an_address_that_is_none_is_refused_in_words(listen: str) -> None:
    refused = processes.run("broker-log", "--listen", listen)
    assert (refused.returncode, refused.stderr.count("\n")) == (2, 1)
    assert "is not an address such as 127.0.0.1:9884" in refused.stderr
