"""The floor network is hostile: what a table, a board or a stranger may do at the broker is its door's list."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

from jackpot.contract import topics
from jackpot.mqtt.client import Broker, Connection, MqttError, Will
from jackpot.pki import Kind
from tests.deploy import installed
from tests.deploy.installed import Mosquitto, Pki
from tests.mqtt.peers import Inbox
from tests.waiting import patience_s

LINK = "megalink"
EVERYTHING = [("#", 1)]
ALL_EVENTS = [(topics.events("+", "+"), 1)]


@asynccontextmanager
async def connected(
    broker: Broker, client_id: str, subscriptions: list[tuple[str, int]] | None = None, will: Will | None = None
) -> AsyncIterator[tuple[Connection, Inbox]]:
    inbox = Inbox()
    connection = await Connection.open(
        broker, client_id, on_message=inbox, subscriptions=subscriptions or [], clean_session=True, will=will
    )
    try:
        yield connection, inbox
    finally:
        connection.abort()


async def refused(broker: Broker, client_id: str = "somebody") -> None:
    with pytest.raises(MqttError):
        await Connection.open(broker, client_id, on_message=Inbox(), timeout_s=5)


async def test_a_table_writes_its_own_events_and_no_others(pki: Pki, broker: Mosquitto) -> None:
    async with (
        connected(pki.broker(Kind.CONTROLLER, "control-1"), "jackpot-megalink", ALL_EVENTS) as (_, heard),
        connected(pki.broker(Kind.TABLE, "UTH-01"), "table-megalink-UTH-01") as (table, _),
    ):
        for topic in (
            topics.events(LINK, "UTH-02"),
            topics.replies(LINK, "UTH-01"),
            topics.state(LINK, "UTH-01"),
            topics.meter(LINK),
            topics.status(LINK),
            topics.awards(LINK),
            topics.head(LINK),
            "anything",
        ):
            table.publish_nowait(topic, f"forged on {topic}".encode(), retain=True)
        table.publish_nowait(topics.events(LINK, "UTH-01"), b"its own")
        assert await heard.holds(1) == [b"its own"]  # the broker keeps the order: what was before it, was denied
    async with connected(pki.broker(Kind.CONTROLLER, "control-1"), "later", EVERYTHING) as (controller, kept):
        controller.publish_nowait(topics.meter(LINK), b"true")
        await kept.holds(1)
        assert [message.payload for message in kept.messages if b"forged" in message.payload] == []


async def test_a_table_reads_its_own_replies_and_state_and_nothing_else(pki: Pki, broker: Mosquitto) -> None:
    spied = [*EVERYTHING, (topics.replies(LINK, "UTH-01"), 1), (topics.replies(LINK, "+"), 1), ("$share/a/#", 1)]
    async with (
        connected(pki.broker(Kind.TABLE, "UTH-02"), "table-megalink-UTH-02", spied) as (_, heard),
        connected(pki.broker(Kind.CONTROLLER, "control-1"), "controller") as (controller, _),
    ):
        for topic in (
            topics.replies(LINK, "UTH-01"),
            topics.state(LINK, "UTH-01"),
            topics.meter(LINK),
            topics.awards(LINK),
            topics.head(LINK),
        ):
            controller.publish_nowait(topic, b"not for UTH-02")
        controller.publish_nowait(topics.replies(LINK, "UTH-02"), b"for UTH-02")
        await heard.holds(1)
        assert {(message.topic, message.payload) for message in heard.messages} == {
            (topics.replies(LINK, "UTH-02"), b"for UTH-02")
        }


async def test_a_board_agent_reads_what_signs_show_and_writes_nothing(pki: Pki, broker: Mosquitto) -> None:
    shown = [topics.meter(LINK), topics.awards(LINK), topics.status(LINK)]
    async with (
        connected(pki.broker(Kind.BOARD, "pit-2"), "jackpot-signs", EVERYTHING) as (board, heard),
        connected(pki.broker(Kind.CONTROLLER, "control-1"), "controller", EVERYTHING) as (controller, told),
    ):
        for topic in (topics.replies(LINK, "UTH-01"), topics.head(LINK), *shown):
            controller.publish_nowait(topic, topic.encode())
        assert await heard.holds(3) == [topic.encode() for topic in shown]
        for topic in (*shown, topics.events(LINK, "UTH-01")):
            board.publish_nowait(topic, b"forged")
        await board.settled()
        controller.publish_nowait(topics.meter(LINK), b"the last")
        while told.payloads[-1:] != [b"the last"]:
            await told.holds(len(told.messages) + 1)
        assert b"forged" not in told.payloads


async def test_a_controller_writes_no_events(pki: Pki, broker: Mosquitto) -> None:
    async with connected(pki.broker(Kind.CONTROLLER, "control-1"), "controller", ALL_EVENTS) as (controller, heard):
        controller.publish_nowait(topics.events(LINK, "UTH-01"), b"forged")
        await controller.settled()
        async with connected(pki.broker(Kind.TABLE, "UTH-01"), "table") as (table, _):
            table.publish_nowait(topics.events(LINK, "UTH-01"), b"true")
            assert await heard.holds(1) == [b"true"]


async def test_a_table_cannot_take_the_controllers_client_id(pki: Pki, broker: Mosquitto) -> None:
    mine = pki.broker(Kind.CONTROLLER, "control-1")
    async with (
        connected(mine, "jackpot-megalink", ALL_EVENTS) as (_, heard),
        connected(pki.broker(Kind.TABLE, "UTH-01"), "jackpot-megalink") as (thief, _),
    ):
        thief.publish_nowait(topics.events(LINK, "UTH-01"), b"still yours")
        assert await heard.holds(1) == [b"still yours"]


async def test_a_table_cannot_take_another_tables_client_id(pki: Pki, broker: Mosquitto) -> None:
    replies = [(topics.replies(LINK, "UTH-02"), 1)]
    async with (
        connected(pki.broker(Kind.TABLE, "UTH-02"), "UTH-02", replies) as (_, heard),
        connected(pki.broker(Kind.TABLE, "UTH-01"), "UTH-02"),
        connected(pki.broker(Kind.CONTROLLER, "control-1"), "controller") as (controller, _),
    ):
        controller.publish_nowait(topics.replies(LINK, "UTH-02"), b"still yours")
        assert await heard.holds(1) == [b"still yours"]


async def test_the_last_will_of_a_table_says_nothing_that_the_table_may_not(pki: Pki, broker: Mosquitto) -> None:
    watched = [(topics.status(LINK), 1), *ALL_EVENTS]
    async with connected(pki.broker(Kind.CONTROLLER, "control-1"), "controller", watched) as (_, heard):
        will = Will(topics.status(LINK), b'{"state": "lost"}')
        async with connected(pki.broker(Kind.TABLE, "UTH-01"), "table", will=will):
            pass  # cut off without a word: the broker speaks the will
        async with connected(pki.broker(Kind.TABLE, "UTH-01"), "table") as (table, _):
            table.publish_nowait(topics.events(LINK, "UTH-01"), b"after it")
            assert await heard.holds(1) == [b"after it"]


@pytest.mark.parametrize("door", [Kind.TABLE, Kind.BOARD, Kind.CONTROLLER])
async def test_nobody_comes_in_without_a_certificate(pki: Pki, broker: Mosquitto, door: Kind) -> None:
    await refused(pki.broker(door, None))


@pytest.mark.parametrize(
    ("kind", "name", "door"),
    [
        (Kind.TABLE, "UTH-01", Kind.CONTROLLER),
        (Kind.TABLE, "UTH-01", Kind.BOARD),
        (Kind.BOARD, "pit-2", Kind.TABLE),
        (Kind.BOARD, "pit-2", Kind.CONTROLLER),
        (Kind.CONTROLLER, "control-1", Kind.TABLE),
        (Kind.SERVER, "broker", Kind.CONTROLLER),
    ],
)
async def test_a_certificate_opens_its_own_door_alone(
    pki: Pki, broker: Mosquitto, kind: Kind, name: str, door: Kind
) -> None:
    await refused(pki.broker(kind, name, door=door), "jackpot-megalink")


async def test_an_authority_of_the_same_name_is_another_authority(pki: Pki, broker: Mosquitto, tmp_path: Path) -> None:
    forger = installed.make_pki(tmp_path / "pki")
    certificate, key = forger.files(Kind.TABLE, "UTH-01")
    url = f"mqtts://127.0.0.1:{pki.ports[Kind.TABLE]}"
    await refused(Broker.from_url(url, ca=pki.ca, cert=certificate, key=key))


async def test_a_password_is_no_way_around_the_certificate(pki: Pki, broker: Mosquitto) -> None:
    async with (
        connected(pki.broker(Kind.CONTROLLER, "control-1"), "controller", ALL_EVENTS) as (_, heard),
    ):
        mine = pki.broker(Kind.TABLE, "UTH-01")
        named = Broker(mine.host, mine.port, mine.tls, username="UTH-02", password="x")
        async with connected(named, "UTH-02") as (table, _):
            table.publish_nowait(topics.events(LINK, "UTH-02"), b"forged")
            table.publish_nowait(topics.events(LINK, "UTH-01"), b"as its certificate says")
            assert await heard.holds(1) == [b"as its certificate says"]


async def test_what_waits_for_a_controller_that_is_away_is_kept_over_a_restart_of_the_broker(tmp_path: Path) -> None:
    pki = installed.make_pki(tmp_path / "pki")
    mine = pki.broker(Kind.CONTROLLER, "control-1")
    with installed.mosquitto(tmp_path / "etc", pki) as broker:
        away = await Connection.open(mine, "jackpot-megalink", on_message=Inbox(), subscriptions=ALL_EVENTS)
        await away.close()
        sent = [f"event {number}".encode() for number in range(1_500)]  # more than mosquitto's own limit of 1,000
        async with connected(pki.broker(Kind.TABLE, "UTH-01"), "table") as (table, _):
            for payload in sent[:-1]:
                table.publish_nowait(topics.events(LINK, "UTH-01"), payload)
            await table.settled()
        broker.stop()
        broker.start()
        async with connected(pki.broker(Kind.TABLE, "UTH-01"), "table") as (table, _):
            table.publish_nowait(topics.events(LINK, "UTH-01"), sent[-1])
            await table.settled()
        inbox = Inbox()
        back = await Connection.open(mine, "jackpot-megalink", on_message=inbox, subscriptions=ALL_EVENTS)
        assert await inbox.holds(len(sent)) == sent
        back.abort()


async def test_a_revoked_certificate_is_refused_and_a_renewed_one_is_not(tmp_path: Path) -> None:
    pki = installed.make_pki(tmp_path / "pki")
    with installed.mosquitto(tmp_path / "etc", pki) as broker:
        stolen = pki.broker(Kind.TABLE, "UTH-02")  # its key is loaded now, and stays with the thief
        async with connected(stolen, "table"):
            pass
        pki.issue(Kind.TABLE, "UTH-02")
        pki.site.revoke(Kind.TABLE, "UTH-02", installed.now(), earlier_only=True)
        broker.stop()
        broker.start()
        await refused(stolen)
        for name in ("UTH-01", "UTH-02"):
            async with connected(pki.broker(Kind.TABLE, name), "table"):
                pass
    assert "certificate verify failed" in broker.log()


async def test_a_flood_far_over_the_limit_of_an_event_ends_the_connection_alone(pki: Pki, broker: Mosquitto) -> None:
    async with connected(pki.broker(Kind.CONTROLLER, "control-1"), "controller", ALL_EVENTS) as (_, heard):
        async with connected(pki.broker(Kind.TABLE, "UTH-01"), "table") as (table, _):
            table.publish_nowait(topics.events(LINK, "UTH-01"), b"x" * 200_000)
            async with asyncio.timeout(patience_s(20)):
                assert await table.wait_closed() is not None
        async with connected(pki.broker(Kind.TABLE, "UTH-01"), "table") as (table, _):
            # Over the contract's 16 KiB but not absurd: the controller answers that.
            table.publish_nowait(topics.events(LINK, "UTH-01"), b"x" * 20_000)
            assert [len(payload) for payload in await heard.holds(1)] == [20_000]
