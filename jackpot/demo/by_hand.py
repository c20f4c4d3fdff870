"""Keeps the counters of the table that is played by hand, whatever it is played with, and reports them at the end."""

import asyncio
import json
from typing import Any

import msgspec

from jackpot.contract import topics
from jackpot.floor.table import TableController
from jackpot.floor.tally import Tally
from jackpot.mqtt.broker import Broker
from jackpot.mqtt.client import Message
from jackpot.mqtt.session import Session

REPORT_SECONDS_MAX = 5


class HandBookkeeper:
    """Hears what the table says and what it is answered. The broker keeps for it what comes while it is away."""

    def __init__(self, broker: Broker, link: str, table: str, tally: Tally) -> None:
        self._broker, self._link, self._table = broker, link, table
        self._tally = tally
        self._said: dict[str, dict[str, Any]] = {}
        self._counted: set[str] = set()
        self.session = Session(
            broker=broker,
            client_id=f"demo-bookkeeper-{table}",
            on_message=self._on_message,
            # One subscription for both, so that an event comes before its answer.
            subscriptions=[(f"{topics.ROOT}/{link}/tables/{table}/+", 1)],
            clean_session=False,
        )

    async def report(self) -> None:
        """Say for the table what it has counted; nothing if it was not played."""
        days = self._tally.unreported()
        if not days:
            return
        async with TableController(self._broker, self._link, self._table) as controller:
            async with asyncio.timeout(REPORT_SECONDS_MAX):
                for day, counters in days.items():
                    fields = msgspec.to_builtins(counters)
                    await controller.say("meters.reported", day=day, **fields)
                    self._tally.accepted({"type": "meters.reported", "day": day, **fields})

    def _on_message(self, message: Message) -> None:
        try:
            content = json.loads(message.payload)
        except ValueError:
            content = None
        match message.topic.rpartition("/")[2], content:
            case "events", {"id": str(id_)}:
                self._said[id_] = content
            case "replies", {"notice": "award", "award": award}:
                self._tally.award(award)
            case "replies", {"reply_to": str(id_), "status": status}:
                self._on_reply(id_, status)
        message.connection.ack(message)

    def _on_reply(self, id_: str, status: str) -> None:
        """An answer counts once, also if it is given again or the event was sent again."""
        event = self._said.pop(id_, None)
        if event is not None and status == "accepted" and id_ not in self._counted:
            self._counted.add(id_)
            self._tally.accepted(event)
