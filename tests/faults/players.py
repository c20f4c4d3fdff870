"""Tables that play through everything, and remember every word they were told: the auditor's own truth."""

import asyncio
import itertools
import json
import math
import random
import time
from collections import defaultdict
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any

from jackpot.floor.table import TableController
from jackpot.wire.mqtt import Broker
from tests.acceptance.processes import patience_s

UNIT_CENTS = 500
PATIENCE_S = 90.0
ORDINARY = ["2c 4d 6h 8s Tc", "3c 5d 7h 9s Jc", "2d 4h 6s 8c Th", "Ah Ad Ac As 2s", "2h 4s 6c 8d Kc"]
STRAIGHT_FLUSH = "9d Td Jd Qd Kd"


@dataclass(slots=True)
class Truth:
    """What a table must be able to say of the money, from its own notes alone."""

    wagered_cents: int = 0
    sent: dict[str, set[bytes]] = field(default_factory=lambda: defaultdict(set))
    """Every form in which each event was sent: its number may change until it is recorded."""
    awards: dict[str, dict[str, Any]] = field(default_factory=dict)
    replies: dict[str, list[dict[str, Any]]] = field(default_factory=lambda: defaultdict(list))
    """Every reply that was heard to each event."""
    answers: dict[str, dict[str, Any]] = field(default_factory=dict)
    """The one that the table took for its answer."""
    accepted_at: list[float] = field(default_factory=list)
    """When, by the monotonic clock."""


class Listening(TableController):
    """Writes down what it says and hears, before it does so."""

    def __init__(self, *arguments: Any, truth: Truth, **more: Any) -> None:
        super().__init__(*arguments, **more)
        self._truth = truth

    def _send(self, seq: int, payload: bytes) -> None:
        self._truth.sent[json.loads(payload)["id"]].add(payload)
        super()._send(seq, payload)

    def _on_reply(self, reply: dict[str, Any]) -> None:
        self._truth.replies[reply["reply_to"]].append(reply)
        if reply.get("status") == "accepted":
            self._truth.accepted_at.append(time.monotonic())
        super()._on_reply(reply)


class Player:
    """One Bullseye table. It plays by the rules, so that every refusal is somebody else's mistake."""

    def __init__(
        self, broker: Broker, link: str, table: str, seed: int, *, straight_flushes: float, pause_s: float
    ) -> None:
        self.link, self.table = link, table
        self._straight_flushes = straight_flushes
        self._pause_s = pause_s
        self.truth = Truth()
        self.playing = True
        self.moved = asyncio.Event()
        self._controller = Listening(broker, link, table, truth=self.truth, on_award=self._on_award)
        self._chance = random.Random(seed)
        self._rounds = itertools.count(1)
        self._due: asyncio.Queue[dict[str, Any]] = asyncio.Queue()
        self._expected: set[tuple[str, int]] = set()

    def _on_award(self, award: dict[str, Any]) -> None:
        assert award["award"] not in self.truth.awards
        self.truth.awards[award["award"]] = award
        self._due.put_nowait(award)
        self.moved.set()

    async def run(self) -> None:
        async with self._controller:
            while self.playing:
                await self._play_round(f"r{next(self._rounds):05d}")
                await self._pay()
                await asyncio.sleep(self._pause_s)
            async with asyncio.timeout(patience_s(PATIENCE_S)):
                while not self._expected <= {(a["round"], a["position"]) for a in self.truth.awards.values()}:
                    self.moved.clear()
                    await self.moved.wait()
            await self._pay()

    async def _play_round(self, name: str) -> None:
        wagers = self._chance.sample(range(1, 7), self._chance.randint(1, 5))
        cancelled = wagers.pop() if len(wagers) > 1 and self._chance.random() < 0.2 else None
        placed = [*wagers, cancelled] if cancelled else wagers
        await self._all(
            ("round.opened", name, {}),
            *(("wager.placed", name, {"position": position, "amount_cents": UNIT_CENTS}) for position in placed),
            *([("wager.cancelled", name, {"position": cancelled})] if cancelled else []),
            ("round.closed", name, {}),
        )
        self.truth.wagered_cents += UNIT_CENTS * len(wagers)
        if self._chance.random() < 0.1:
            (answer,) = await self._all(("round.voided", name, {"reason": "5.1"}))
            assert answer["result"]["returned_cents"] == UNIT_CENTS * len(wagers), answer
            self.truth.wagered_cents -= UNIT_CENTS * len(wagers)
            return
        if len(wagers) > 1 and self._chance.random() < 0.2:
            position = wagers.pop()
            (answer,) = await self._all(("wager.returned", name, {"position": position, "reason": "5.9"}))
            assert answer["result"]["returned_cents"] == UNIT_CENTS, answer
            self.truth.wagered_cents -= UNIT_CENTS
        hands = self._chance.sample(ORDINARY, len(wagers))
        if self._chance.random() < self._straight_flushes:
            hands[0] = STRAIGHT_FLUSH
        *_, settled = await self._all(
            *(
                ("hand.entered", name, {"position": position, "cards": hand.split(), "community": []})
                for position, hand in zip(wagers, hands, strict=True)
            ),
            ("round.settled", name, {}),
        )
        won = [award["position"] for award in settled["result"]["awards"]] + settled["result"]["pending"]
        self._expected |= {(name, position) for position in won}

    async def _pay(self) -> None:
        while not self._due.empty():
            award = self._due.get_nowait()
            await self._all(("award.paid", award["round"], {"award": award["award"]}))

    async def _all(self, *events: tuple[str, str, dict[str, Any]]) -> list[dict[str, Any]]:
        """Say all of these at once, and wait for every answer."""
        async with asyncio.timeout(patience_s(PATIENCE_S)):
            said = [self._controller.post(type_, round_, **fields) for type_, round_, fields in events]
            answers = list(await asyncio.gather(*said))
        for answer in answers:
            assert answer["status"] == "accepted", answer
            self.truth.answers[answer["reply_to"]] = answer
        self.moved.set()
        return answers


class Floor:
    def __init__(self, players: Sequence[Player]) -> None:
        self.players = players
        self._hits: list[float] = []
        self._played_until = math.inf
        self._tasks = [asyncio.create_task(player.run()) for player in players]

    @property
    def answered(self) -> int:
        return sum(len(player.truth.answers) for player in self.players)

    @property
    def finished(self) -> bool:
        return all(task.done() for task in self._tasks)

    def hit(self) -> None:
        """Something is done to the servers at this moment: how long will the tables hear nothing?"""
        self._hits.append(time.monotonic())

    def silences_s(self) -> list[float]:
        """After each hit, and before the next, the longest time in which no event of any table was accepted.

        The very next reply is no measure: it may have been on its way already.
        """
        replies = sorted(at for player in self.players for at in player.truth.accepted_at)
        found = []
        for hit, until in itertools.pairwise([*self._hits, self._played_until]):
            heard = [hit, *(at for at in replies if hit < at < until)]
            found.append(max((later - at for at, later in itertools.pairwise(heard)), default=0.0))
        return found

    async def goes_on(self, by: int = 20) -> None:
        """Until every table has been answered so many more events; a table that fails fails the test."""
        goals = [(player, len(player.truth.answers) + by) for player in self.players]
        async with asyncio.timeout(patience_s(PATIENCE_S)):
            while any(len(player.truth.answers) < goal for player, goal in goals):
                self._raise_failures()
                await asyncio.sleep(0.02)

    def _raise_failures(self) -> None:
        for task in self._tasks:
            if task.done():
                task.result()

    async def finish(self) -> None:
        """Play the rounds to their end, and pay."""
        self._played_until = time.monotonic()
        for player in self.players:
            player.playing = False
        async with asyncio.timeout(patience_s(2 * PATIENCE_S)):
            await asyncio.gather(*self._tasks)

    async def leave(self) -> None:
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)


@asynccontextmanager
async def playing(
    at: str | Callable[[str], Broker],
    tables: dict[str, str],
    *,
    seed: int = 1,
    straight_flushes: float = 0.3,
    pause_s: float = 0.0,
) -> AsyncIterator[Floor]:
    """Tables, each on its link, that play until `finish`; so often a round has a Straight Flush, so long is the pause after it.

    `at` is the broker's URL, or the broker as each table sees it.
    """
    seen: Callable[[str], Broker] = at if callable(at) else lambda _: Broker.from_url(at)
    floor = Floor(
        [
            Player(
                seen(table), link, table, seed * len(tables) + nth, straight_flushes=straight_flushes, pause_s=pause_s
            )
            for nth, (table, link) in enumerate(tables.items())
        ]
    )
    try:
        yield floor
    finally:
        await floor.leave()
