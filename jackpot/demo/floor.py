"""The tables that play, and what can be seen of them together."""

import asyncio
import itertools
import random
from collections import deque
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

from jackpot.config import Config
from jackpot.contract.gaming_day import GamingDay
from jackpot.demo.place import BY_HAND, Place
from jackpot.floor.dealer import Dealer
from jackpot.floor.tally import Tally
from jackpot.mqtt.broker import Broker
from jackpot.rules.megalink import Rank

WINDOW_S: Final = 10.0
LUCKY_EVERY_S: Final = 6.0
WISHES: Final = (Rank.STRAIGHT_FLUSH, Rank.ROYAL_FLUSH, Rank.STRAIGHT_FLUSH, Rank.FOUR_OF_A_KIND)
"""What luck brings, one after the other."""


@dataclass(frozen=True, slots=True)
class Speed:
    """Of the last seconds: answers that came, and how long they took, from the table and back."""

    per_second: float = 0.0
    median_ms: float = 0.0
    p99_ms: float = 0.0


def tally_of(table: str, place: Place, config: Config) -> Tally:
    link = next(link for link in config.links for known in config.tables_of(link.id) if known.id == table)
    day = GamingDay.of(config.gaming_day.timezone, config.gaming_day.starts_at)
    return Tally(link.unit_cents, day, path=place.counters(table))


class Floor:
    def __init__(self, place: Place, config: Config, broker: Broker, chance: random.Random) -> None:
        place.counters(BY_HAND).parent.mkdir(exist_ok=True)
        self._chance = chance
        self._wishes = itertools.cycle(WISHES)
        self._loop = asyncio.get_running_loop()
        self._answers: deque[tuple[float, float]] = deque()
        self._started = self._loop.time()
        self.answered = 0
        self.dealers = [
            Dealer(broker, table, tally_of(table.id, place, config), chance=chance, on_answer=self._note_answer)
            for table in config.tables
            if table.id != BY_HAND
        ]

    @property
    def rounds(self) -> int:
        return sum(dealer.rounds for dealer in self.dealers)

    @property
    def refusals(self) -> list[str]:
        return [refusal for dealer in self.dealers for refusal in dealer.refusals]

    def speed(self) -> Speed:
        now = self._loop.time()
        while self._answers and self._answers[0][0] < now - WINDOW_S:
            self._answers.popleft()
        if not self._answers:
            return Speed()
        took_ms = sorted(seconds * 1000 for _, seconds in self._answers)
        window_s = min(WINDOW_S, max(1.0, now - self._started))
        return Speed(len(took_ms) / window_s, took_ms[len(took_ms) // 2], took_ms[len(took_ms) * 99 // 100])

    def hand_of(self, award: Mapping[str, Any]) -> tuple[str, ...]:
        """The cards behind an award, while they lie on the table."""
        for dealer in self.dealers:
            sight = dealer.sight
            if (dealer.table.id, sight.round) == (award["table"], award["round"]):
                return (*sight.hands.get(award["position"], ()), *sight.community)
        return ()

    def luck(self) -> str:
        """The next round somewhere is dealt from a stacked deck. Says where, and what comes."""
        dealer, wish = self._chance.choice(self.dealers), next(self._wishes)
        dealer.wish(wish)
        return f"the next deck of {dealer.table.id} is stacked: {wish.replace('_', ' ')}"

    async def run(self, *, lucky: bool) -> None:
        """Play until `finish`; then all is settled, paid and reported."""
        async with asyncio.TaskGroup() as tasks:
            luck = tasks.create_task(self._always_lucky(), name="luck") if lucky else None
            async with asyncio.TaskGroup() as playing:
                for dealer in self.dealers:
                    playing.create_task(dealer.run(), name=dealer.table.id)
            if luck is not None:
                luck.cancel()

    def finish(self) -> None:
        for dealer in self.dealers:
            dealer.finish()

    async def _always_lucky(self) -> None:
        while True:
            self.luck()
            await asyncio.sleep(LUCKY_EVERY_S)

    def _note_answer(self, seconds: float) -> None:
        self.answered += 1
        self._answers.append((self._loop.time(), seconds))
