"""A dealer plays rounds at one table: bets, cards from a shuffled deck, hands entered, awards paid, the day reported.

He says what the contract lets a table say, one thing after the other, and waits for each answer as long as it takes.
"""

import asyncio
import datetime as dt
import itertools
import random
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, Final

import msgspec

from jackpot.config import Table
from jackpot.floor.deck import deal
from jackpot.floor.table import TableController
from jackpot.floor.tally import Tally
from jackpot.mqtt.broker import Broker
from jackpot.rules.megalink import GAMES, Rank

MULTIPLIERS: Final = (1, 1, 1, 2, 2, 3, 5)
CONCLUSIONS: Final = ("round.settled", "round.voided")
NOTICES_WITHIN_S: Final = 11.0
"""An award is announced every ten seconds until it is paid."""


@dataclass(frozen=True, slots=True)
class Pace:
    """Seconds between two things a dealer does; each pause is up to half shorter or longer."""

    step: float = 0.15
    between_rounds: float = 1.0
    paying: float = 2.0


@dataclass(frozen=True, slots=True)
class Habits:
    """How often things happen that need not, in a thousand."""

    wager_placed: int = 700
    wager_cancelled: int = 15
    wager_returned: int = 5
    hand_declined: int = 15
    round_voided: int = 5


UNDISTURBED: Final = Habits(wager_placed=800, wager_cancelled=0, wager_returned=0, hand_declined=0, round_voided=0)
"""A round with a stacked deck comes to its end."""


@dataclass(slots=True)
class Sight:
    """What one sees of the round on the table."""

    round: str = ""
    phase: str = ""
    """As the dealer calls it: open, closed, settled, void, or nothing before the first round."""
    wagers: dict[int, int] = field(default_factory=dict)
    """The multiplier of each position's wager."""
    community: tuple[str, ...] = ()
    hands: dict[int, tuple[str, ...]] = field(default_factory=dict)
    ranks: dict[int, Rank] = field(default_factory=dict)


class RoundLostError(Exception):
    """The link refused what the table takes for right, as when a person has ended the round from the console."""


class Dealer:
    def __init__(
        self,
        broker: Broker,
        table: Table,
        tally: Tally,
        *,
        chance: random.Random,
        pace: Pace | None = None,
        habits: Habits | None = None,
        on_answer: Callable[[float], None] = lambda _: None,
    ) -> None:
        """`on_answer` hears how many seconds each answer took."""
        if table.link is None:
            raise ValueError(f"table {table.id} is not linked: it has nothing to say to a link")
        self.table = table
        self.game = GAMES[table.game]
        self.controller = TableController(broker, table.link, table.id, on_award=self._take_award)
        self.tally = tally
        self.sight = Sight()
        self.rounds = 0
        self.refusals: list[str] = []
        self._chance = chance
        self._pace = pace or Pace()
        self._habits = habits or Habits()
        self._on_answer = on_answer
        self._wish: Rank | None = None
        self._came = f"{dt.datetime.now(dt.UTC):%Y%m%d-%H%M%S%f}"[:-3]
        self._opened = 0
        self._hurry = asyncio.Event()
        self._questions = itertools.count()
        self._asked: dict[int, float] = {}
        self._taken: set[tuple[str, int]] = set()
        self._listens_until = 0.0
        self._announced = asyncio.Event()
        self._due: asyncio.Queue[dict[str, Any]] = asyncio.Queue()

    def wish(self, rank: Rank) -> None:
        """Stack the deck of the next round."""
        self._wish = rank

    def finish(self) -> None:
        """Play the round to its end without pauses; then `run` pays, reports and returns."""
        self._hurry.set()

    def waited_s(self) -> float:
        """How long he has waited for the oldest answer that is still due."""
        return asyncio.get_running_loop().time() - min(self._asked.values()) if self._asked else 0.0

    # -- his day ------------------------------------------------------------------------------------------------

    async def run(self) -> None:
        async with self.controller:
            await self._come_back()
            async with asyncio.TaskGroup() as tasks:
                paying = tasks.create_task(self._pay_as_they_come())
                while not self._hurry.is_set():
                    await self._play_round()
                    await self._pause(self._pace.between_rounds)
                await self._pay_the_last()
                paying.cancel()
            await self._report()

    async def _come_back(self) -> None:
        """A round that was under way when the table stopped is void (5.1), unless it had been settled."""
        state = await self.controller.known()
        left = {self.tally.round, state["round"] and state["round"]["id"]} - {None}
        for round_ in sorted(left):
            answer = await self._ask("round.voided", round_, reason="the table had stopped")
            if answer["status"] == "refused" and round_ == self.tally.round and self.tally.already_concluded():
                # It may have won something that we have not heard of.
                self._listens_until = asyncio.get_running_loop().time() + NOTICES_WITHIN_S

    async def _play_round(self) -> None:
        wish, self._wish = self._wish, None
        self._opened += 1
        self.sight = Sight(round=f"{self._came}-{self._opened:04d}")
        try:
            await self._play(self.sight, self._habits if wish is None else UNDISTURBED, wish)
        except RoundLostError as lost:
            self.refusals.append(str(lost))
            self.sight.phase = "void"
            answer = await self._ask("round.voided", self.sight.round, reason="the table has lost the round")
            if answer["status"] == "refused" and self.tally.round is not None:
                # A person has ended it. At a real table he would say how; nearly always it is void.
                self.tally.accepted({"type": "round.voided"})
        else:
            self.rounds += 1

    async def _report(self) -> None:
        for day, counters in self.tally.unreported().items():
            await self._ask("meters.reported", day=day, **msgspec.to_builtins(counters))

    def _take_award(self, award: dict[str, Any]) -> None:
        self.tally.award(award)
        self._taken.add((award["round"], award["position"]))
        self._due.put_nowait(award)
        self._announced.set()

    async def _pay_as_they_come(self) -> None:
        while True:
            award = await self._due.get()
            await self._pause(self._pace.paying)
            await self._ask("award.paid", award["round"], award=award["award"])
            self._due.task_done()

    async def _pay_the_last(self) -> None:
        """Also those that wait for an earlier-entered round at another table (D6)."""
        await asyncio.sleep(self._listens_until - asyncio.get_running_loop().time())
        while self.tally.expects_awards:
            self._announced.clear()
            await self._announced.wait()
        await self._due.join()

    # -- the parts of a round -----------------------------------------------------------------------------------

    async def _play(self, sight: Sight, habits: Habits, wish: Rank | None) -> None:
        await self._say("round.opened", sight)
        sight.phase = "open"
        await self._take_wagers(sight, habits)
        await self._say("round.closed", sight)
        sight.phase = "closed"
        if self._happens(habits.round_voided):
            await self._say("round.voided", sight, reason="cards dealt wrongly (5.1)")
            sight.phase = "void"
            return
        for position in [position for position in sight.wagers if self._happens(habits.wager_returned)]:
            await self._say("wager.returned", sight, position=position, reason="5.12.2")
            del sight.wagers[position]
        await self._enter_hands(sight, habits, wish)
        await self._pause(self._pace.step * 4)
        settled = (await self._say("round.settled", sight))["result"]
        winners = [award["position"] for award in settled["awards"]] + settled["pending"]
        self.tally.expect({(sight.round, position) for position in winners} - self._taken)
        sight.phase = "settled"

    async def _take_wagers(self, sight: Sight, habits: Habits) -> None:
        wagering = [place for place in range(1, self.table.positions + 1) if self._happens(habits.wager_placed)]
        for position in self._chance.sample(wagering, len(wagering)) or [1]:
            await self._pause(self._pace.step)
            multiplier = min(self._chance.choice(MULTIPLIERS), self.game.multiplier_max)
            await self._say("wager.placed", sight, position=position, multiplier=multiplier)
            sight.wagers[position] = multiplier
        for position in [position for position in sight.wagers if self._happens(habits.wager_cancelled)]:
            await self._say("wager.cancelled", sight, position=position)
            del sight.wagers[position]
        await self._pause(self._pace.step * 2)

    async def _enter_hands(self, sight: Sight, habits: Habits, wish: Rank | None) -> None:
        """Hands of positions without a jackpot wager are none of the link's business."""
        if not sight.wagers:
            return
        dealt = deal(self.game, sorted(sight.wagers), self._chance, wish)
        sight.community = dealt.community
        for position in sorted(sight.wagers):
            await self._pause(self._pace.step)
            if self._happens(habits.hand_declined):
                await self._say("hand.declined", sight, position=position)
                continue
            cards = sight.hands[position] = dealt.hands[position]
            answer = await self._say("hand.entered", sight, position=position, cards=cards, community=dealt.community)
            sight.ranks[position] = Rank(answer["result"]["rank"])

    # -- speaking -----------------------------------------------------------------------------------------------

    async def _say(self, type_: str, sight: Sight, **fields: Any) -> dict[str, Any]:
        answer = await self._ask(type_, sight.round, **fields)
        if answer["status"] != "accepted":
            raise RoundLostError(f"{self.table.id}: {type_}: {answer['code']}: {answer['message']}")
        return answer

    async def _ask(self, type_: str, round_: str | None = None, **fields: Any) -> dict[str, Any]:
        now = asyncio.get_running_loop().time
        if type_ in CONCLUSIONS:
            self.tally.concluding(type_)
        question = next(self._questions)
        self._asked[question] = now()
        answer = await self.controller.say(type_, round_, **fields)
        self._on_answer(now() - self._asked.pop(question))
        if answer["status"] == "accepted":
            self.tally.accepted({"type": type_, "round": round_, **fields})
        return answer

    def _happens(self, in_a_thousand: int) -> bool:
        return self._chance.randrange(1000) < in_a_thousand

    async def _pause(self, seconds: float) -> None:
        try:
            async with asyncio.timeout(seconds * self._chance.uniform(0.5, 1.5)):
                await self._hurry.wait()
        except TimeoutError:
            return
