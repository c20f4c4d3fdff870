"""One world: a seed, some days of play, and what the auditor has to say in the end."""

import asyncio
import datetime as dt
import json
from collections import Counter

import pytest

from tests.simulation.auditor import Auditor
from tests.simulation.boards import CLIENT, Boards, Hung
from tests.simulation.broker import Broker
from tests.simulation.closing import close_audit, suspension_is_said
from tests.simulation.daemon import Daemon
from tests.simulation.database import Database, Mischief
from tests.simulation.fault_schedule import FaultSchedule
from tests.simulation.ledger import Row
from tests.simulation.loop import VirtualLoop
from tests.simulation.network import Network
from tests.simulation.observer import Observer
from tests.simulation.plan import Plan, Verdict
from tests.simulation.rogue import Rogue
from tests.simulation.sign import Sign
from tests.simulation.substitutes import hang_boards, set_stage
from tests.simulation.tables import Habits, Table
from tests.simulation.trace import Trace

PATIENCE_S = 400.0
SETTLED_AFTER_S = 20.0
"""When the weather is fine again, and all that was dead or stopped has had its time to come back."""
COMPLAINTS_MAX = 5
LOOK_EVERY_S = 0.5


class World:
    def __init__(self, plan: Plan, loop: VirtualLoop) -> None:
        self.plan = plan
        self.loop = loop
        self.trace = Trace(loop.time)
        self.complaints: list[str] = []
        self._enough = asyncio.Event()
        self._over = False
        chance = plan.chance("world")
        self.config = plan.configuration(chance)
        self.network = Network(
            loop, plan.chance("network"), chance.choice([0.002, 0.02, 0.1]), torn=chance.choice([0.0, 0.0, 0.05, 0.5])
        )
        self.broker = Broker(loop, self.trace, ack_wait_s=chance.choice([None, None, 1.0, 5.0]))
        self.network.accept = self.broker.accept
        self.network.broker_up = lambda: self.broker.up
        self.database = Database(loop, self.trace, plan.chance("database"), chance.choice([0.002, 0.02, 0.1]))
        self.auditor = Auditor(
            {
                link.id: {table.id: (table.game, table.positions) for table in self.config.tables_of(link.id)}
                for link in self.config.links
            },
            self.complain,
            loop.time,
        )
        self.broker.on_publish = self._published
        self.broker.on_deliver = self._delivered
        self.broker.on_greet = self._greeted
        self.eyes: Observer | None = None
        self.database.on_commit = self._committed
        self.database.on_intruder = self.complain
        self.daemons: list[Daemon] = []
        self.tables: list[Table] = []
        self.weather = FaultSchedule(self, plan.chance("weather"), plan.only)
        self.broker.fates = self.weather.fates
        loop.set_exception_handler(lambda _, about: self.complain(f"{about['message']}: {about.get('exception')!r}"))

    def complain(self, what: str) -> None:
        self.trace.note("auditor", what)
        if not self._over and len(self.complaints) < COMPLAINTS_MAX:
            self.complaints.append(what)
            self._enough.set()

    def _published(self, client: str, topic: str, payload: bytes) -> None:
        self.auditor.published(client, topic, payload)
        self.rogue.overheard(topic, payload)
        if topic.endswith("/awards"):
            for table in self.tables:
                table.overheard_award(json.loads(payload))

    def _delivered(self, client: str, topic: str, payload: bytes, retained: bool) -> None:
        self.auditor.delivered(client, topic, payload)
        if self.eyes is not None and client == CLIENT:
            self.eyes.delivered(topic, payload, retained=retained)

    def _greeted(self, client: str) -> None:
        if self.eyes is not None and client == CLIENT:
            self.eyes.connected()

    def _look(self, hung: Hung) -> None:
        if self.eyes is not None:
            self.eyes.look(hung)

    async def _look_around(self) -> None:
        while self.eyes is not None:
            await asyncio.sleep(LOOK_EVERY_S)
            self.eyes.look_around()

    def _committed(self, link: str, rows: list[Row]) -> None:
        self.auditor.committed(link, rows)
        self.rogue.saw(link, rows)

    def now(self) -> dt.datetime:
        return self.plan.calendar(self.loop.time())

    def open_the_house(self) -> None:
        plan = self.plan
        chance = plan.chance("floor")
        for name in "ABC" if self.plan.shared else "AB":
            daemon = Daemon(
                name,
                self.loop,
                self.network,
                self.database,
                self.config,
                now=self.now,
                restart_after_s=lambda: chance.uniform(0.5, 10),
                complain=self.complain,
            )
            self.daemons.append(daemon)
        habits = Habits(slips=chance.choice([0, 2, 10]), pace=plan.pace, trusts=plan.trusting)
        for table in self.config.tables:
            if table.link is not None:
                dealer = plan.chance(table.id)
                place = Table(
                    self.loop, dealer, self.network, self.now, link=table.link, configured=table, habits=habits
                )
                self.tables.append(place)
        self.sign = self._hang_a_sign()
        places = [(table.link, table.table) for table in self.tables]
        self.rogue = Rogue(self.loop, plan.chance("rogue"), places, plan.pace * chance.choice([5.0, 20.0, 1_000.0]))

    def _hang_a_sign(self) -> Sign | Boards:
        if not self.plan.boards:
            return Sign(self.loop, self.auditor.shown)
        links, chance = [link.id for link in self.config.links], self.plan.chance("boards")
        boards = Boards(self.loop, chance, self.network, links=links, look=self._look, hear=self.auditor.shown)
        self.eyes = Observer(self.auditor, boards, self.loop.time)
        return boards

    # The days.

    async def run(self) -> Verdict:
        beside = [self.loop.create_task(self.weather.run()), self.loop.create_task(self._look_around())]
        if not await self._complained_within(self.plan.days * self.plan.day_s):
            self._clear_up()
            await self._come_to_rest()
        self._over = True
        hash_ = self.trace.seal()
        for task in beside:
            task.cancel()
        await self.bury()
        last = self.trace.last(150) if self.complaints else []
        return Verdict(
            self.plan, self.complaints, last, hash_, self._counts(), self.loop.time(), self.broker.longest_delay_s
        )

    async def _complained_within(self, seconds: float) -> bool:
        try:
            async with asyncio.timeout(seconds):
                await self._enough.wait()
        except TimeoutError:
            return False
        return True

    def _clear_up(self) -> None:
        """The weather is fine, the house closes: whatever is due must come in the end."""
        self.trace.note("world", "closes")
        self._closed_at = self.loop.time()
        self.weather.closing = self.rogue.closing = True
        self.network.on_connect = lambda _: None
        self.database.mischief = Mischief()
        self.database.typical_s = self.database.usual_s
        for server in (self.broker, self.database):
            if not server.up:
                server.start()
        for table in self.tables:
            table.closing = True
        for daemon in self.daemons:
            daemon.die_at = None
        mortals: list[Daemon | Table | Boards] = [*self.daemons, *self.tables]
        if isinstance(self.sign, Boards):
            mortals.append(self.sign)
            self.sign.repair()
        for who in mortals:
            if who.dead:
                who.start()
        for process in (self.sign.process, *(who.process for who in mortals)):
            process.go_on()
            self.network.block(process, 0.0)
            self.database.block(process, 0.0)
        self.broker.let_go()
        self.database.release_held()
        for link in self.auditor.files:
            self.weather.resume(link)

    async def _come_to_rest(self) -> None:
        deadline = self.loop.time() + PATIENCE_S
        while self._under_way():
            if await self._complained_within(2.0):
                return
            if self.loop.time() > deadline:
                self.complain(f"this never came to its end: {self._under_way()}")
                return
        handed_over = self.database.handed_over
        if await self._rehearse_a_suspension() and not await self._complained_within(12.0):
            if self.database.handed_over != handed_over:
                self.complain("links are handed to and fro though each daemon has its share")
            close_audit(self.auditor, self.broker, self.database, calm_since=self._closed_at + SETTLED_AFTER_S)

    async def _rehearse_a_suspension(self) -> bool:
        """Everybody is told, and told when it is over. False if there is a complaint."""
        for ask in (self.weather.suspend, self.weather.resume):
            for link in self.auditor.files:
                ask(link)
            if await self._complained_within(3.0):
                return False
            for file in self.auditor.files.values() if ask == self.weather.suspend else ():
                suspension_is_said(self.auditor, self.broker, file)
        return not self.complaints

    def _under_way(self) -> list[str]:
        found = [f"{table.table} plays" for table in self.tables if not table.done]
        found += [f"{t.table} waits for {event!r}" for t in self.tables for event in t.journal.unanswered().values()]
        found += [f"the rogue waits for {lie}" for lie in self.rogue.open]
        found += [f"nobody answers {row}" for row in self.database.requests.values() if row["answer"] is None]
        found += [f"the boards do not rest: {name}" for name in (self.eyes.busy() if self.eyes else ())]
        led = self.database.led_by()
        if self.plan.shared and max(led.values(), default=0) - min(led[d.process.name] for d in self.daemons) > 1:
            found.append(f"links are not shared evenly: {led}")
        for file in self.auditor.files.values():
            model = file.model
            found += [f"{award} is not paid" for award in model.now.awards if award not in model.now.handed_over]
            found += [f"{round_} of {table} waits" for table, round_ in model.now.line()]
        return found

    async def bury(self) -> None:
        """Let every task end, so that nothing of this world reaches into the next."""
        self.network.shut()
        self.database.up = False
        self.loop.set_exception_handler(lambda *_: None)
        tasks = asyncio.all_tasks() - {asyncio.current_task()}
        for process in self.loop.processes:
            process.bury()
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)

    def _counts(self) -> Counter[str]:
        counts = Counter(
            {
                "events": self.auditor.events,
                "awards": sum(len(file.model.now.awards) for file in self.auditor.files.values()),
                "leases": sum(row.epoch for row in self.database.links.values()),
                "handed over": self.database.handed_over,
                "lies": self.rogue.told,
                "deaths": sum(daemon.lives - 1 for daemon in self.daemons),
            }
        )
        return counts + self.weather.happened


def play(plan: Plan) -> Verdict:
    """The whole of one world."""

    async def main() -> Verdict:
        loop = asyncio.get_running_loop()
        assert isinstance(loop, VirtualLoop)
        world = World(plan, loop)
        with pytest.MonkeyPatch.context() as patch:
            set_stage(patch, loop, world.database, world.trace, plan.seed)
            world.open_the_house()
            if isinstance(world.sign, Boards):
                hang_boards(patch, world.sign, world.now, world.trace)
            return await world.run()

    with asyncio.Runner(loop_factory=VirtualLoop) as runner:
        return runner.run(main())
