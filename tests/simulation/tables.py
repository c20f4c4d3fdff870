"""The floor: dealers at real table controllers, who play real rounds, err, and cheat in the protocol's own words.

A table that crashes loses its memory but not its journal. Percentage hands are frequent here, so that claims meet.
"""

import asyncio
import datetime as dt
import random
from collections import Counter, deque
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

from jackpot import config as configuration
from jackpot.contract.refusals import NOT_RECORDED
from jackpot.floor.journal import MemoryJournal
from jackpot.floor.table import TableController
from jackpot.mqtt.broker import Broker
from tests.simulation.cards import CARDS, MULTIPLIER_MAX, ORDERED_DECK, deal
from tests.simulation.loop import Process, VirtualLoop
from tests.simulation.network import Network

BROKER = Broker("broker", 1883)
REMINDERS, REMINDED_WITHIN_S = 3, 45.0


class Controller(TableController):
    """Tells of every notice. One that trusts its broker does not say again what the broker has: QoS 1 is a promise, too."""

    def __init__(self, *about: Any, trusts: bool, on_notice: Callable[[str], None], **more: Any) -> None:
        super().__init__(*about, **more)
        self._trusts = trusts
        self._not_recorded = False
        self._hear_notice = on_notice

    def _on_notice(self, award: dict[str, Any]) -> None:
        super()._on_notice(award)
        self._hear_notice(award["award"])

    def _on_reply(self, reply: dict[str, Any]) -> None:
        mine = reply["reply_to"] in self._seqs
        super()._on_reply(reply)
        if mine and reply.get("code") in NOT_RECORDED:
            self._not_recorded = True
        elif not self._journal.unanswered():
            self._not_recorded = False

    def _send_again(self) -> None:
        """What was answered, and not for good, must be said again by anybody."""
        if self._not_recorded or not self._trusts:
            super()._send_again()


@dataclass(frozen=True, slots=True)
class Habits:
    slips: int
    """How many of a hundred things said are wrong."""
    pace: float
    """How many seconds a dealer's second has."""
    trusts: bool
    """Whether they leave to the broker what the broker has."""


class Table:
    """A table over all its lives: what is on its disk, and who sits at it now."""

    def __init__(
        self,
        loop: VirtualLoop,
        chance: random.Random,
        network: Network,
        now: Callable[[], dt.datetime],
        *,
        link: str,
        configured: configuration.Table,
        habits: Habits,
    ) -> None:
        self.loop = loop
        self.chance = chance
        self.network = network
        self.clock_off_s = 0.0
        self._now = now
        self.link, self.table = link, configured.id
        self.game, self.positions = configured.game, configured.positions
        self.habits = habits
        self.journal = MemoryJournal()
        self.rounds = 0
        self.closing = False
        """The house closes: play the round to its end, quickly, and one more, with a Straight Flush."""
        self.done = False
        self._awards_of_others: deque[dict[str, Any]] = deque(maxlen=5)
        self.process = Process(self.table, loop)
        self.process.start(self._live)

    def start(self) -> None:
        if self.dead:
            self.process = Process(self.table, self.loop)
            self.done = False
            self.process.start(self._live)

    def kill(self) -> None:
        self.process.kill()
        self.network.cut(self.process)

    @property
    def dead(self) -> bool:
        return self.process.killed

    def overheard_award(self, award: dict[str, Any]) -> None:
        """Awards are announced to all: something to cheat with."""
        if award["table"] != self.table:
            self._awards_of_others.append(award)

    def now(self) -> dt.datetime:
        return self._now() + dt.timedelta(seconds=self.clock_off_s)

    # One life.

    async def _live(self) -> None:
        self.unpaid: asyncio.Queue[dict[str, Any]] = asyncio.Queue()
        self.notices: Counter[str] = Counter()
        self._noticed = asyncio.Event()
        self.controller = Controller(
            BROKER,
            self.link,
            self.table,
            trusts=self.habits.trusts,
            on_notice=self._hear_notice,
            journal=self.journal,
            on_award=self.unpaid.put_nowait,
            on_lost=self._nothing_is_lost,
            now=self.now,
        )
        async with self.controller:
            await self._come_back()
            paying = asyncio.create_task(self._pay())
            while not self.closing:
                await self._play()
                await self._pause(2.0)
            await self._play(last=True)
            self.done = True
            await paying

    def _hear_notice(self, award: str) -> None:
        self.notices[award] += 1
        self._noticed.set()

    def _nothing_is_lost(self, seqs: range) -> None:
        raise AssertionError(f"{self.table} was answered {seqs}, and the link does not know them")

    async def _come_back(self) -> None:
        """Whatever was under way is concluded: the dealer no longer knows who had wagered."""
        state = await self.controller.known()
        while self.journal.unanswered():
            await self._pause(1.0)
        for round_ in {name: None for name in (self._name(), (state["round"] or {}).get("id")) if name}:
            await self._say(self.chance.choice(["round.settled", "round.voided"]), round_, reason="back again")
            await self._say("round.voided", round_, reason="back again")

    async def _pay(self) -> None:
        while True:
            award = await self.unpaid.get()
            await (self._wait_for_reminders(award["award"]) if self.closing else self._pause(3.0))
            await self._say("award.paid", award["round"], award=award["award"])

    async def _wait_for_reminders(self, award: str) -> None:
        """In fine weather there is time to see that they come, and the auditor sees how often."""
        with suppress(TimeoutError):
            async with asyncio.timeout(REMINDED_WITHIN_S):
                while self.notices[award] < REMINDERS:
                    self._noticed.clear()
                    await self._noticed.wait()

    def _name(self) -> str:
        return f"r{self.rounds}" if self.rounds else ""

    # One round.

    async def _play(self, *, last: bool = False) -> None:
        self.rounds += 1
        round_ = self._name()
        opened = await self._say("round.opened", round_)
        if opened["status"] == "refused":  # it has cheated itself into another one
            left = self.controller.state["round"]
            await self._say("round.voided", left["id"] if left else round_, reason="what is this")
            return
        seated = self.chance.sample(range(1, self.positions + 1), self.chance.randint(1, min(4, self.positions)))
        for position in seated:
            self._post("wager.placed", round_, position=position, **self._multiplier())
            if self.chance.random() < 0.5:
                await self._pause(0.5)
        if self.chance.random() < 0.1:
            await self._say("wager.cancelled", round_, position=seated.pop())
        if self.chance.random() < 0.03 and not last:
            await self._say("round.voided", round_, reason="5.1 before closing")
            return
        await self._say("round.closed", round_)
        await self._pause(1.0)
        await self._show_hands(round_, seated, deal(self.chance, self.game, seated, stacked=1.0 if last else 0.35))
        # The end of a round can take its time: others who were entered later must wait.
        await self._pause(self.chance.choice([0.5, 1.0, 8.0]))
        if self.chance.random() < 0.12 and not last:
            await self._say("round.voided", round_, reason="5.1")
            return
        await self._say("round.settled", round_)
        if self.chance.random() < 0.2:
            counters = {"wagers": 1, "wagered_cents": 500, "awards": 0, "awarded_cents": 0}
            self._post("meters.reported", None, day=self.now().date().isoformat(), **counters)

    def _multiplier(self) -> dict[str, int]:
        most = MULTIPLIER_MAX[self.game]
        return {"multiplier": self.chance.randint(1, most)} if self.chance.random() < 0.8 else {}

    async def _show_hands(self, round_: str, seated: list[int], dealt: tuple[dict[int, list[str]], list[str]]) -> None:
        hands, community = dealt
        for position in seated:
            what = self.chance.random()
            if what < 0.05:
                await self._say("hand.declined", round_, position=position)
                continue
            if what < 0.1:
                await self._say("wager.returned", round_, position=position, reason="5.12.2")
                continue
            shown = {"position": position, "cards": hands[position], "community": community}
            self._post("hand.entered", round_, **shown)
            if self.chance.random() < 0.15:
                await self._say("hand.withdrawn", round_, position=position, reason="entered in error")
                if self.chance.random() < 0.8:
                    community = self.chance.sample(community, len(community))
                    await self._say("hand.entered", round_, **{**shown, "community": community})
            if self.chance.random() < 0.05:
                await self._say("wager.returned", round_, position=position, reason="5.16")
            await self._pause(0.5)

    # Speaking.

    async def _say(self, type_: str, round_: str | None, **fields: Any) -> dict[str, Any]:
        return await self._post(type_, round_, **fields)

    def _post(self, type_: str, round_: str | None, **fields: Any) -> "asyncio.Future[dict[str, Any]]":
        if self.chance.randrange(100) < self.habits.slips:
            self._cheat()
        return self.controller.post(type_, round_, **fields)

    def _cheat(self) -> None:
        """Something that its controller can say but a table should not: with its own seq, so it is recorded."""
        chance, (own, common) = self.chance, CARDS[self.game]
        round_ = chance.choice([self._name(), self._name(), f"r{max(0, self.rounds - 1)}", "never"])
        place = {"position": chance.choice([0, 1, 2, self.positions + 1])}
        few = [*ORDERED_DECK[:9], "xx"]
        award = chance.choice(self._awards_of_others or [{"award": f"{self.link}-000001", "round": "r1"}])
        said: list[tuple[str, str, dict[str, Any]]] = [
            ("wager.placed", round_, {**place, "multiplier": chance.choice([0, 1, 6])}),
            ("wager.placed", round_, {**place, "amount_cents": 7}),
            ("wager.cancelled", round_, place),
            ("wager.returned", round_, {**place, "reason": "because"}),
            ("hand.entered", round_, {**place, "cards": chance.choices(few, k=own), "community": []}),
            ("hand.entered", round_, {**place, "cards": ["As"] * own, "community": ["As"] * common}),
            ("hand.withdrawn", round_, {**place, "reason": "because"}),
            ("hand.declined", round_, place),
            ("round.opened", round_, {}),
            ("award.paid", award["round"], {"award": award["award"]}),
        ]
        type_, about, fields = chance.choice(said)
        self.controller.post(type_, about, **fields)

    async def _pause(self, seconds: float) -> None:
        hurry = 0.1 if self.closing else 1.0
        await asyncio.sleep(self.habits.pace * seconds * self.chance.uniform(0.5, 1.5) * hurry)
