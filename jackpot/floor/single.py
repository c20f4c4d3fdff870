"""Speaks for a table one event at a time: what `jackpot table` does for integrators.

It keeps nothing: where the table stands it reads from the link's own word, as any table that comes back does. It has a
client id of its own, so the table's controller, if one is there, is not cut off.
"""

import asyncio
import datetime as dt
import json
import os
import uuid
from collections.abc import Callable, Mapping
from typing import Any, Final, Self

from jackpot.contract import topics
from jackpot.contract.proofs import sealed
from jackpot.mqtt.broker import Broker
from jackpot.mqtt.client import Connection, Message

STATE_WITHIN_S: Final = 2.0
OUT_OF_STEP: Final = frozenset({"sequence_reused", "sequence_gap"})


class NoAnswerError(Exception):
    """Nobody answered in time; the text says what is known of the link."""


class EventSender:
    def __init__(self, broker: Broker, link: str, table: str, *, key: bytes | None = None, patience_s: float) -> None:
        self.link, self.table = link, table
        self._broker = broker
        self._key = key
        self._patience_s = patience_s
        self._connection: Connection | None = None
        self._heard = asyncio.Event()
        self._status: dict[str, Any] = {}
        self.state: dict[str, Any] | None = None
        """The link's last word about the table; None if it has none."""
        self.replies: list[dict[str, Any]] = []
        self.awards: dict[str, dict[str, Any]] = {}
        """Announced since we came."""

    async def __aenter__(self) -> Self:
        wanted = (topics.replies(self.link, self.table), topics.state(self.link, self.table), topics.status(self.link))
        self._connection = await Connection.open(
            self._broker,
            f"jackpot-table-{os.getpid()}",
            on_message=self._on_message,
            subscriptions=[(topic, 1) for topic in wanted],
            clean_session=True,
        )
        await self.until(lambda: self.state is not None, STATE_WITHIN_S)
        return self

    async def __aexit__(self, *_: object) -> None:
        if self._connection is not None:
            await self._connection.close()

    @property
    def round(self) -> str | None:
        """The round under way."""
        return None if self.state is None or self.state["round"] is None else str(self.state["round"]["id"])

    async def ask(self, event: Mapping[str, Any]) -> tuple[dict[str, Any], dict[str, Any]]:
        """Send an event, with `id`, `seq` and `at` added where they are missing. Returns it as sent, and its answer."""
        seq = 1 if self.state is None else self.state["next_seq"]
        whole = {"id": str(uuid.uuid4()), "seq": seq, "at": _now(), **event}
        answer = await self.send(self._written(whole), lambda reply: bool(reply["reply_to"] == whole["id"]))
        if "seq" not in event and answer.get("code") in OUT_OF_STEP:
            # The table has spoken since: an event that was not recorded may be sent again with another seq.
            whole["seq"] = answer["next_seq"]
            answer = await self.send(
                self._written(whole), lambda reply: bool(reply["reply_to"] == whole["id"] and reply != answer)
            )
        if self.state is not None and answer["status"] == "accepted":
            self.state["next_seq"] = whole["seq"] + 1
        return whole, answer

    async def send(self, payload: bytes, is_answer: Callable[[dict[str, Any]], bool]) -> dict[str, Any]:
        """Publish bytes as they are, and wait for their answer."""
        if self._connection is None:
            raise NoAnswerError("not connected")
        await self._connection.publish(topics.events(self.link, self.table), payload)

        def found() -> dict[str, Any] | None:
            return next((reply for reply in self.replies if is_answer(reply)), None)

        if not await self.until(lambda: found() is not None, self._patience_s):
            state = self._status.get("state")
            known = f"the status of link {self.link} is {state!r}" if state else f"link {self.link} has no status"
            raise NoAnswerError(f"no answer within {self._patience_s:g} s; {known}: does its daemon run?")
        return found() or {}

    async def until(self, condition: Callable[[], bool], seconds: float) -> bool:
        try:
            async with asyncio.timeout(seconds):
                while not condition():
                    self._heard.clear()
                    await self._heard.wait()
        except TimeoutError:
            return False
        return True

    def _written(self, event: Mapping[str, Any]) -> bytes:
        payload = json.dumps(event).encode()
        return payload if self._key is None else sealed(self._key, topics.events(self.link, self.table), payload)

    def _on_message(self, message: Message) -> None:
        message.connection.ack(message)
        content = json.loads(message.payload)
        match message.topic.rpartition("/")[2]:
            case "state":
                self.state = content
            case "status":
                self._status = content
            case _ if content.get("notice") == "award":
                self.awards[content["award"]["award"]] = content["award"]
            case _:
                self.replies.append(content)
        self._heard.set()


def _now() -> str:
    return dt.datetime.now(dt.UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")
