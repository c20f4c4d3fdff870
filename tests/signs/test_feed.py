"""The feed of boards and console at a real broker: what cannot be read costs nobody anything, and the newest is shown."""

import asyncio
import json
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from typing import Any

import pytest

from jackpot.contract import topics
from jackpot.contract.messages import Meter
from jackpot.mqtt.client import Broker, Connection
from jackpot.signs import feed as feed_module
from jackpot.signs.feed import Feed
from tests.logged import logged_by
from tests.waiting import patience_s

DEEP = 100_000


def meter(link: str, version: int, displayed_cents: int = 100) -> Meter:
    return {
        "link": link, "currency": "SGD", "displayed_cents": displayed_cents, "reset_cents": 0, "entry": 0,
        "version": version, "pending": [], "at": "2026-11-16T02:00:00Z",
    }  # fmt: skip


class Controller:
    """Says what a controller says, and what none would."""

    def __init__(self, connection: Connection, link: str) -> None:
        self._connection = connection
        self.link = link

    async def meter(self, version: int, *, retain: bool = True) -> None:
        await self.says(topics.meter(self.link), json.dumps(meter(self.link, version)).encode(), retain=retain)

    async def status(self, state: str, **more: str) -> None:
        await self.says(topics.status(self.link), json.dumps({"state": state, **more}).encode())

    async def says(self, topic: str, payload: bytes, *, retain: bool = True) -> None:
        await self._connection.publish(topic, payload, retain=retain)


@pytest.fixture
async def controller(any_broker: str, name: str) -> AsyncIterator[Controller]:
    connection = await Connection.open(Broker.from_url(any_broker), f"controller-{name}", on_message=lambda _: None)
    yield Controller(connection, name)
    await connection.close()


@asynccontextmanager
async def listening(url: str, link: str) -> AsyncIterator[tuple[Feed, list[tuple[str, Any]]]]:
    """A feed and what it told of the link."""
    feed = Feed(Broker.from_url(url), f"feed-{link}")
    told: list[tuple[str, Any]] = []

    def hear(kind: str, heard_of: str, content: dict[str, Any], live: bool) -> None:
        if heard_of == link:
            told.append((kind, (content.get("version") or content.get("state"), live)))

    feed.listen(hear)
    running = asyncio.create_task(feed.run())
    try:
        await until(lambda: feed.connected)
        yield feed, told
    finally:
        running.cancel()
        await asyncio.gather(running, return_exceptions=True)


async def until(true: Callable[[], bool]) -> None:
    async with asyncio.timeout(patience_s(20)):
        while not true():
            await asyncio.sleep(0.01)


@pytest.mark.parametrize(
    "payload",
    [
        b'{"version": null}',
        b'"x"',
        b"[1]",
        b"",
        b"\xff\xfe",
        b'{"version": "7"}',
        b"[" * DEEP,
        b'{"version": ' + b"[" * DEEP,
        b'{"unknown": ' + b"[" * DEEP,
        b'{"version": ' + b"9" * 5000 + b"}",
    ],
    ids=lambda payload: repr(payload[:16]),
)
async def test_a_message_that_cannot_be_read_is_said_once_and_passed_over(
    any_broker: str, controller: Controller, payload: bytes, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Kept by the broker, it would come again at every connection: the others' boards must stay lit."""
    topic = topics.meter(f"bad-{controller.link}")
    await controller.says(topic, payload)
    await controller.status("running")
    logged = logged_by(feed_module, monkeypatch)
    async with listening(any_broker, controller.link) as (feed, told):
        connection = feed.session.connection
        for _ in range(3):
            await controller.says(topic, payload)
        await controller.meter(1)
        await until(lambda: ("meter", (1, True)) in told)
        assert feed.session.connection is connection, "the connection stands"
    await controller.says(topic, b"")
    if payload:  # an empty one is not kept
        assert [entry["event"] for entry in logged if entry.get("topic") == topic] == ["message_unreadable"]


async def test_while_a_link_runs_an_older_meter_is_ignored(any_broker: str, controller: Controller) -> None:
    async with listening(any_broker, controller.link) as (feed, told):
        await controller.status("running")
        for version in (7, 6, 8):
            await controller.meter(version)
        await until(lambda: ("meter", (8, True)) in told)
        assert [said for kind, said in told if kind == "meter"] == [(7, True), (8, True)]
        assert feed.latest["meter", controller.link]["version"] == 8


@pytest.mark.parametrize("state", ["stopped", "suspended", "lost"])
async def test_a_restored_ledger_goes_on_at_a_lower_version(
    any_broker: str, controller: Controller, state: str
) -> None:
    async with listening(any_broker, controller.link) as (_, told):
        await controller.status("running")
        await controller.meter(90)
        await controller.status(state)
        await controller.status("running")
        await controller.meter(40)
        await until(lambda: ("meter", (40, True)) in told)


async def test_a_meter_that_the_broker_kept_does_not_outdo_a_restored_ledger(
    any_broker: str, controller: Controller
) -> None:
    """The boards' program was started while the ledger was being restored."""
    await controller.meter(90)
    await controller.status("lost")
    async with listening(any_broker, controller.link) as (_, told):
        await until(lambda: ("meter", (90, False)) in told)
        await controller.status("running")
        await controller.meter(40)
        await until(lambda: ("meter", (40, True)) in told)


async def test_what_a_broker_delivers_again_brings_back_no_older_figure_and_no_older_status(
    any_broker: str, controller: Controller
) -> None:
    """As NATS does with what was not acknowledged in time: the status that the figures followed comes first."""
    first, second = "2026-11-16T02:00:01.000Z", "2026-11-16T02:00:02.000Z"
    async with listening(any_broker, controller.link) as (feed, told):

        async def said(*about: object) -> None:
            await until(lambda: [said for _, (said, _) in told] == [*about])

        await controller.status("suspended", at="2026-11-16T02:00:00.000Z", reason="fire alarm")
        await said("suspended")
        await controller.status("running", at=first)
        await said("suspended", "running")
        await controller.meter(7)
        await controller.meter(8)
        await said("suspended", "running", 7, 8)
        await controller.status("running", at=second)
        await said("suspended", "running", 7, 8, "running")
        for _ in range(2):
            await controller.status("suspended", at="2026-11-16T02:00:00.000Z", reason="fire alarm")
            await controller.status("running", at=first)
            await controller.meter(7)
            await controller.meter(8)
        await controller.status("running", at=second)
        await said("suspended", "running", 7, 8, "running", "running")
        await controller.meter(9)
        await said("suspended", "running", 7, 8, "running", "running", 9)
        assert feed.latest["status", controller.link]["state"] == "running"
