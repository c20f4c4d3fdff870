"""A stranger on the floor's network who speaks in the tables' names: replays, reused ids, wrong seqs, nonsense.

Each lie has one right answer. He repeats it until he gets it, so a lie that is never answered rightly shows.
"""

import asyncio
import json
import random
from dataclasses import dataclass
from typing import Any

from jackpot.mqtt.client import MqttError
from jackpot.mqtt.session import Session
from tests.simulation.loop import Process, VirtualLoop
from tests.simulation.tables import BROKER

AT = "2026-11-16T02:00:00.000Z"
STRAY = "megalnik"


@dataclass
class Lie:
    place: tuple[str, str]
    payload: bytes
    reply_to: str | None
    answers: tuple[str, ...]
    """The codes that are right; "duplicate" stands for the first answer again."""


class Rogue:
    def __init__(self, loop: VirtualLoop, chance: random.Random, places: list[tuple[str, str]], every_s: float) -> None:
        """`places` are link and table of every linked table."""
        self.chance = chance
        self.places = places
        self.every_s = every_s
        self.closing = False
        self.open: list[Lie] = []
        self.told = 0
        self._recorded: dict[tuple[str, str], list[dict[str, Any]]] = {place: [] for place in places}
        self._session = Session(broker=BROKER, client_id="rogue", on_message=lambda _: None)
        self.process = Process("rogue", loop)
        self.process.start(self._live)

    async def _live(self) -> None:
        async with asyncio.TaskGroup() as tasks:
            tasks.create_task(self._session.run())
            while True:
                await asyncio.sleep(self.every_s * self.chance.uniform(0.5, 1.5))
                if not self.closing:
                    self.open.append(self._lie())
                    self.told += 1
                for lie in self.open:
                    self._send(lie)

    def _send(self, lie: Lie) -> None:
        link, table = lie.place
        if self._session.connection is not None:
            try:
                self._session.connection.publish_nowait(f"jackpot/v1/{link}/tables/{table}/events", lie.payload)
            except MqttError:
                return

    # Listening.

    def saw(self, link: str, rows: list[dict[str, Any]]) -> None:
        """Has a friend at the ledger who tells him what is recorded."""
        for row in rows:
            if row["table_id"] is not None:
                self._recorded[link, row["table_id"]].append(row)

    def overheard(self, topic: str, payload: bytes) -> None:
        """Listens to all that is answered."""
        *_, link, _, table, kind = topic.rsplit("/", 4)
        if kind != "replies" or not self.open:
            return
        reply = json.loads(payload)
        if "notice" not in reply:
            code = "duplicate" if reply["duplicate"] else reply.get("code")
            answered = ((link, table), reply["reply_to"])
            self.open = [lie for lie in self.open if (lie.place, lie.reply_to) != answered or code not in lie.answers]

    # Lying.

    def _lie(self) -> Lie:
        chance, place = self.chance, self.chance.choice(self.places)
        fresh = f"lie-{self.told}"
        event = {"id": fresh, "seq": self._next_seq(place), "type": "round.opened", "round": "lie", "at": AT}
        kinds = [self._nonsense, self._misdirected, self._wrong_seq]
        if self._recorded[place]:
            kinds += [self._replay, self._replay, self._reused_id, self._reused_id]
        return chance.choice(kinds)(place, event)

    def _next_seq(self, place: tuple[str, str]) -> int:
        recorded = self._recorded[place]
        return int(recorded[-1]["seq"]) + 1 if recorded else 1

    def _nonsense(self, place: tuple[str, str], event: dict[str, Any]) -> Lie:
        whole = json.dumps(event)
        id_: str = event["id"]
        payload, reply_to, code = self.chance.choice(
            [
                (whole[:-1], None, "malformed"),
                (json.dumps([event]), None, "malformed"),
                (whole.replace('"seq": ', '"seq": "').replace(', "type"', '", "type"'), id_, "malformed"),
                (json.dumps({**event, "type": "wager.placed", "position": True}), id_, "malformed"),
                (json.dumps({**event, "at": "yesterday"}), id_, "malformed"),
                (json.dumps({**event, "filler": "x" * 17_000}), id_, "malformed"),
                (whole[:-1] + ', "round": "lie"}', id_, "malformed"),
                (json.dumps({**event, "type": "round.shuffled"}), id_, "unknown_type"),
            ]
        )
        return Lie(place, payload.encode(), reply_to, (code,))

    def _misdirected(self, place: tuple[str, str], event: dict[str, Any]) -> Lie:
        link, table = place
        elsewhere = [other for other, _ in self.places if other != link]
        wrong, code = self.chance.choice(
            [
                ((link, "GHOST-01"), "unknown_table"),
                ((link, "FAR-01"), "not_linked"),
                ((STRAY, table), "wrong_link"),
                *(((other, table), "wrong_link") for other in elsewhere),
            ]
        )
        return Lie(wrong, json.dumps(event).encode(), event["id"], (code,))

    def _wrong_seq(self, place: tuple[str, str], event: dict[str, Any]) -> Lie:
        seq, code = self.chance.choice(
            [(0, "sequence_reused"), (-7, "sequence_reused"), (10**9, "sequence_gap"), (10**6, "sequence_gap")]
        )
        return Lie(place, json.dumps({**event, "seq": seq}).encode(), event["id"], (code, "link_suspended"))

    def _replay(self, place: tuple[str, str], event: dict[str, Any]) -> Lie:
        known = self.chance.choice(self._recorded[place])
        return Lie(place, known["payload"], known["id"], ("duplicate",))

    def _reused_id(self, place: tuple[str, str], event: dict[str, Any]) -> Lie:
        """Another content: the same at another table, with a field more, or something else altogether."""
        known = self.chance.choice(self._recorded[place])
        elsewhere = self.chance.choice(self.places)
        if elsewhere != place and self.chance.random() < 0.5:
            return Lie(elsewhere, known["payload"], known["id"], ("id_reused",))
        payload = json.dumps(
            self.chance.choice([{**event, "id": known["id"]}, {**json.loads(known["payload"]), "x": 1}])
        )
        return Lie(place, payload.encode(), known["id"], ("id_reused",))
