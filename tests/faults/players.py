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
from jackpot.mqtt.client import Broker
from tests.acceptance.processes import GAMES
from tests.simulation.cards import MULTIPLIER_MAX, deal
from tests.waiting import patience_s

UNIT_CENTS = 500
PATIENCE_S = 90.0

Said = tuple[str, str, dict[str, Any]]
"""Type, round and fields of an event."""


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
    """One table, of the game that its name tells. It plays by the rules, so that every refusal is somebody else's mistake.

    `stacked` of its decks are: Straight Flushes and Royals come alone and together, at this table and at others.
    """

    def __init__(self, broker: Broker, link: str, table: str, seed: int, *, stacked: float, pause_s: float) -> None:
        self.link, self.table = link, table
        self._game, _ = GAMES[table.partition("-")[0]]
        self._stacked = stacked
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
        chance, most = self._chance, MULTIPLIER_MAX[self._game]
        stakes = {position: chance.randint(1, most) for position in chance.sample(range(1, 7), chance.randint(1, 5))}
        placed: list[Said] = [("wager.placed", name, _wager(*wager)) for wager in stakes.items()]
        if len(stakes) > 1 and chance.random() < 0.2:
            position, _ = stakes.popitem()
            placed.append(("wager.cancelled", name, {"position": position}))
        await self._all(("round.opened", name, {}), *placed, ("round.closed", name, {}))
        self.truth.wagered_cents += UNIT_CENTS * sum(stakes.values())
        if chance.random() < 0.1:
            await self._give_back("round.voided", name, sum(stakes.values()), reason="5.1")
            return
        if len(stakes) > 1 and chance.random() < 0.2:
            position, multiplier = stakes.popitem()
            await self._give_back("wager.returned", name, multiplier, position=position, reason="5.9")
        *_, settled = await self._all(*self._hands(name, [*stakes]), ("round.settled", name, {}))
        won = [award["position"] for award in settled["result"]["awards"]] + settled["result"]["pending"]
        self._expected |= {(name, position) for position in won}

    async def _give_back(self, type_: str, name: str, units: int, **fields: Any) -> None:
        (answer,) = await self._all((type_, name, fields))
        assert answer["result"]["returned_cents"] == UNIT_CENTS * units, answer
        self.truth.wagered_cents -= UNIT_CENTS * units

    def _hands(self, name: str, seated: list[int]) -> list[Said]:
        chance, said = self._chance, list[Said]()
        hands, community = deal(chance, self._game, seated, stacked=self._stacked)
        for position in seated:
            shown: Said = (
                "hand.entered",
                name,
                {"position": position, "cards": hands[position], "community": community},
            )
            what = chance.random()
            if what < 0.05:
                said.append(("hand.declined", name, {"position": position}))
            elif what < 0.1:
                said += [shown, ("hand.withdrawn", name, {"position": position, "reason": "entered in error"}), shown]
            else:
                said.append(shown)
        return said

    async def _pay(self) -> None:
        while not self._due.empty():
            award = self._due.get_nowait()
            await self._all(("award.paid", award["round"], {"award": award["award"]}))

    async def _all(self, *events: Said) -> list[dict[str, Any]]:
        """Say all of these at once, and wait for every answer."""
        async with asyncio.timeout(patience_s(PATIENCE_S)):
            said = [self._controller.post(type_, round_, **fields) for type_, round_, fields in events]
            answers = list(await asyncio.gather(*said))
        for answer in answers:
            assert answer["status"] == "accepted", answer
            self.truth.answers[answer["reply_to"]] = answer
        self.moved.set()
        return answers


def _wager(position: int, multiplier: int) -> dict[str, int]:
    fields = {"position": position, "amount_cents": UNIT_CENTS * multiplier}
    return fields if multiplier == 1 else {**fields, "multiplier": multiplier}


class Floor:
    def __init__(self, players: Sequence[Player]) -> None:
        self.players = players
        self._hits: list[float] = []
        self._played_until = math.inf
        self._tasks = [asyncio.create_task(player.run()) for player in players]

    @property
    def answered(self) -> int:
        return sum(len(player.truth.answers) for player in self.players)

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

    async def end(self) -> None:
        """Play goes on, and comes to its end."""
        if not all(task.done() for task in self._tasks):
            await self.goes_on()
            await self.finish()

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
    stacked: float = 0.35,
    pause_s: float = 0.0,
) -> AsyncIterator[Floor]:
    """Tables, each on its link, that play until `finish`; so long is the pause after a round.

    `at` is the broker's URL, or the broker as each table sees it.
    """
    seen: Callable[[str], Broker] = at if callable(at) else lambda _: Broker.from_url(at)
    floor = Floor(
        [
            Player(seen(table), link, table, seed * len(tables) + nth, stacked=stacked, pause_s=pause_s)
            for nth, (table, link) in enumerate(tables.items())
        ]
    )
    try:
        yield floor
    finally:
        await floor.leave()
