"""A table controller's integrator: knows the contract and an MQTT client of another make, and nothing of the daemon's inside."""

import asyncio
import json
import uuid
from collections import defaultdict
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import Any, TypeVar
from urllib.parse import urlsplit

import aiomqtt

from tests.waiting import patience_s

ROOT = "jackpot/v1"
CONTROLLER_TOPICS = ("+/tables/+/replies", "+/tables/+/state", "+/meter", "+/awards", "+/status")
PATIENCE_S = 30.0
AT = "2026-11-16T02:00:00.000Z"

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Heard:
    content: dict[str, Any]
    retained: bool
    """The broker had kept it; it was not said just now."""


def event(type_: str, seq: int, **fields: Any) -> dict[str, Any]:
    """An event of the contract with an id of its own; None leaves a field out."""
    content = {"id": str(uuid.uuid4()), "seq": seq, "type": type_, "at": AT, **fields}
    return {key: value for key, value in content.items() if value is not None}


def encoded(content: dict[str, Any]) -> bytes:
    return json.dumps(content).encode()


class Integrator:
    """Hears everything the controller says, and speaks for any table."""

    def __init__(self, client: aiomqtt.Client) -> None:
        self.client = client
        self.published: list[tuple[str, str, bytes]] = []
        """Link, table and payload of all that was said for tables."""
        self._heard: dict[str, list[Heard]] = defaultdict(list)
        self._moved = asyncio.Event()

    async def listen(self) -> None:
        async for message in self.client.messages:
            assert isinstance(message.payload, bytes)
            heard = Heard(json.loads(message.payload), bool(message.retain))
            self._heard[str(message.topic).removeprefix(f"{ROOT}/")].append(heard)
            self._moved.set()

    async def until(self, found: Callable[[], T], within_s: float = PATIENCE_S) -> T:
        """What `found` finds once it finds something, looked for again after every message."""
        try:
            async with asyncio.timeout(patience_s(within_s)):
                while not (what := found()):
                    self._moved.clear()
                    await self._moved.wait()
                return what
        except TimeoutError as error:
            last = "\n".join(f"{topic}: {heard[-1].content}" for topic, heard in self._heard.items() if heard)
            raise AssertionError(f"not heard within {within_s} s; the last was\n{last[:5000]}") from error

    # -- what was heard -----------------------------------------------------------------------------------------

    def on(self, topic: str, *, live: bool = False) -> list[dict[str, Any]]:
        """All that was heard on a topic below the root; with `live`, without what the broker had kept."""
        return [heard.content for heard in self._heard[topic] if not (live and heard.retained)]

    def last(self, topic: str) -> dict[str, Any]:
        found = self.on(topic)
        return found[-1] if found else {}

    def replies(self, link: str, table: str, to: str | None = None) -> list[dict[str, Any]]:
        found = [said for said in self.on(f"{link}/tables/{table}/replies") if "notice" not in said]
        return [reply for reply in found if to is None or reply["reply_to"] == to]

    def notices(self, link: str, table: str) -> list[dict[str, Any]]:
        found = self.on(f"{link}/tables/{table}/replies")
        return [said["award"] for said in found if said.get("notice") == "award"]

    async def state(self, link: str, table: str, **expected: Any) -> dict[str, Any]:
        """The table's state once it says this."""
        topic = f"{link}/tables/{table}/state"
        await self.until(lambda: self.last(topic) and expected.items() <= self.last(topic).items())
        return self.last(topic)

    async def status(self, link: str, state: str) -> dict[str, Any]:
        await self.until(lambda: self.last(f"{link}/status").get("state") == state)
        return self.last(f"{link}/status")

    async def meter(self, link: str, **expected: Any) -> dict[str, Any]:
        topic = f"{link}/meter"
        await self.until(lambda: self.last(topic) and expected.items() <= self.last(topic).items())
        return self.last(topic)

    # -- what a table says --------------------------------------------------------------------------------------

    async def publish(self, link: str, table: str, payload: bytes, *, retain: bool = False) -> None:
        self.published.append((link, table, payload))
        await self.client.publish(f"{ROOT}/{link}/tables/{table}/events", payload, qos=1, retain=retain)

    async def clear_retained(self, link: str, table: str) -> None:
        await self.publish(link, table, b"", retain=True)

    async def answer_to(self, link: str, table: str, payload: bytes, *, retain: bool = False) -> dict[str, Any]:
        """Publish these bytes and wait for the next reply to this table, whatever it is."""
        before = len(self.replies(link, table))
        await self.publish(link, table, payload, retain=retain)
        return (await self.until(lambda: self.replies(link, table)[before:]))[0]

    async def send(self, link: str, table: str, content: dict[str, Any]) -> dict[str, Any]:
        """Publish this event and wait for an answer to it that was not there before."""
        before = len(self.replies(link, table, content["id"]))
        await self.publish(link, table, encoded(content))
        return (await self.until(lambda: self.replies(link, table, content["id"])[before:]))[0]

    def table(self, link: str, name: str) -> "Table":
        return Table(self, link, name)


RECORDED_NOT = frozenset(
    [
        "malformed",
        "unknown_type",
        "unknown_table",
        "not_linked",
        "wrong_link",
        "id_reused",
        "sequence_gap",
        "sequence_reused",
        "link_suspended",
    ]
)


class Table:
    """One table, counting its own events. Verbs that should be accepted fail the test if they are refused."""

    def __init__(self, integrator: Integrator, link: str, name: str, next_seq: int = 1) -> None:
        self.pit = integrator
        self.link, self.name = link, name
        self.seq = next_seq
        self.round = ""
        self._rounds = 0

    async def say(self, type_: str, **fields: Any) -> dict[str, Any]:
        """One event with the next seq; the round is the current one unless given."""
        if type_ != "meters.reported":
            fields.setdefault("round", self.round)
        content = event(type_, self.seq, **fields)
        reply = await self.pit.send(self.link, self.name, content)
        assert (reply["reply_to"], reply["seq"]) == (content["id"], content["seq"]), reply
        if reply.get("code") not in RECORDED_NOT:
            self.seq += 1
        return reply

    async def accepted(self, type_: str, **fields: Any) -> dict[str, Any]:
        reply = await self.say(type_, **fields)
        assert reply["status"] == "accepted", reply
        assert reply["duplicate"] is False, reply
        result: dict[str, Any] = reply["result"]
        return result

    async def refused(self, code: str, type_: str, **fields: Any) -> dict[str, Any]:
        reply = await self.say(type_, **fields)
        assert (reply["status"], reply.get("code")) == ("refused", code), reply
        assert reply["message"], reply
        assert reply["duplicate"] is False, reply
        assert "rule" in reply, reply
        return reply

    async def open(self, name: str | None = None) -> str:
        self._rounds += 1
        self.round = name or f"20261116-{self._rounds:04d}"
        assert await self.accepted("round.opened") == {}
        return self.round

    async def wager(self, position: int, multiplier: int | None = None) -> None:
        assert await self.accepted("wager.placed", position=position, multiplier=multiplier) == {}

    async def close(self) -> dict[str, Any]:
        return await self.accepted("round.closed")

    async def deal(self, wagers: dict[int, int] | None = None) -> dict[str, Any]:
        """From "Place your bets" to "No more bets"; `wagers` is position to multiplier."""
        await self.open()
        for position, multiplier in (wagers or {1: 1}).items():
            await self.wager(position, multiplier)
        return await self.close()

    async def enter(self, position: int, cards: str, community: str = "") -> dict[str, Any]:
        return await self.accepted("hand.entered", position=position, cards=cards.split(), community=community.split())

    async def settle(self) -> dict[str, Any]:
        return await self.accepted("round.settled")

    async def void(self, reason: str = "5.1") -> dict[str, Any]:
        return await self.accepted("round.voided", reason=reason)

    async def pay(self, award: dict[str, Any]) -> None:
        assert await self.accepted("award.paid", award=award["award"], round=award["round"]) == {}

    async def notice(self, award: str, times: int = 1) -> dict[str, Any]:
        """The notice of this award, once it was heard so many times."""

        def found() -> list[dict[str, Any]]:
            return [notice for notice in self.pit.notices(self.link, self.name) if notice["award"] == award]

        await self.pit.until(lambda: len(found()) >= times)
        return found()[-1]


@asynccontextmanager
async def connected(
    mqtt_url: str, *, protocol: aiomqtt.ProtocolVersion = aiomqtt.ProtocolVersion.V311
) -> AsyncIterator[Integrator]:
    where = urlsplit(mqtt_url)
    client = aiomqtt.Client(
        where.hostname or "",
        where.port or 1883,
        identifier=f"integrator-{uuid.uuid4().hex[:8]}",
        protocol=protocol,
        max_inflight_messages=1000,
        max_queued_outgoing_messages=None,
    )
    async with client:
        integrator = Integrator(client)
        listening = asyncio.create_task(integrator.listen())
        try:
            await client.subscribe([(f"{ROOT}/{topic}", 1) for topic in CONTROLLER_TOPICS])
            yield integrator
        finally:
            listening.cancel()
            await asyncio.gather(listening, return_exceptions=True)
