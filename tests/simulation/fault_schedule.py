"""What goes wrong on the floor, and what people do to a link. Each seed has its own weather: some faults, not others."""

import asyncio
import random
from collections import Counter
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from tests.simulation.board_faults import BOARDS, BoardFaults
from tests.simulation.daemon import Daemon
from tests.simulation.database import Mischief
from tests.simulation.loop import Process
from tests.simulation.network import DOWN, UP
from tests.simulation.people import PEOPLE, People
from tests.simulation.tables import Table

if TYPE_CHECKING:
    from tests.simulation.boards import Boards
    from tests.simulation.sign import Sign
    from tests.simulation.world import World

KINDS = (
    "kill_a_daemon",
    "kill_a_daemon_at_a_point",
    "stop_a_daemon_for_a_while",
    "stop_a_daemon_on_its_way_to_the_broker",
    "hold_a_batch_until_another_leads",
    "restart_a_daemon_in_good_order",
    "cut_a_daemon_off_the_broker",
    "cut_a_daemon_off_the_database",
    "set_a_clock",
    "break_connections",
    "crash_the_broker",
    "crash_the_database",
    "conflicts_and_lost_answers",
    "slow_database",
    "kill_a_table",
    "stop_a_table_for_a_while",
    "cut_a_table_off",
    *BOARDS,
    *PEOPLE,
)
"""The faults, by their names: each is a method of the weather."""
POINTS = ("received", "begun", "written", "committed", "replied", "acknowledged")


class FaultSchedule(BoardFaults, People):
    """Draws what happens next, until the house closes."""

    def __init__(self, world: "World", chance: random.Random, only: Sequence[str]) -> None:
        """`only`: let these faults alone happen, and often."""
        self.world = world
        self.chance = chance
        self.happened: Counter[str] = Counter()
        self.closing = False
        self.kinds: Sequence[str] = chance.sample(KINDS, chance.randint(6, len(KINDS)))
        busy_s = min(world.plan.day_s, 3_600.0)
        self.every_s = busy_s / chance.choice([5, 12, 30])
        if only:
            self.kinds = [kind for kind in KINDS if kind in only]
            self.every_s = busy_s / 30
        losses = [0, 5, 40]
        self.lost, self.doubled, self.held_back = (chance.choice(losses) for _ in range(3))
        if world.plan.trusting:
            self.lost = self.held_back = 0

    async def run(self) -> None:
        while True:
            await asyncio.sleep(self.chance.expovariate(1 / self.every_s))
            if self.closing:
                return
            happens = self.chance.choice(self.kinds)
            self.happened[happens] += 1
            self.world.trace.note("weather", happens)
            getattr(self, happens)()

    def fates(self, topic: str) -> list[float]:
        """What becomes of the copies of an event that the broker has confirmed, in a thousand."""
        if self.closing or not topic.endswith("/events"):
            return [0.0]
        drawn = self.chance.randrange(1000)
        if drawn < self.lost:
            return []
        if drawn < self.lost + self.doubled:
            return [0.0, self._delay_s()]
        if drawn < self.lost + self.doubled + self.held_back:
            return [self._delay_s()]
        return [0.0]

    def _delay_s(self) -> float:
        return self.chance.choice([self.chance.uniform(0, 1), self.chance.uniform(0, self.world.plan.day_s)])

    def _later(self, seconds: float, callback: Callable[[], None]) -> None:
        self.world.loop.call_later(self.chance.uniform(0.1, seconds), callback)

    def _daemon(self) -> Daemon:
        return self.chance.choice(self.world.daemons)

    def _table(self) -> Table:
        return self.chance.choice(self.world.tables)

    # Daemons.

    def kill_a_daemon(self) -> None:
        self._daemon().kill(silently=self.chance.random() < 0.3)

    def kill_a_daemon_at_a_point(self) -> None:
        for daemon in self.world.daemons:
            daemon.die_at = self.chance.choice(POINTS)

    def stop_a_daemon_for_a_while(self) -> None:
        self._stop(self._daemon().process)

    def _stop(self, process: Process) -> None:
        process.stop()
        self._later(self.chance.choice([2, 8, 60]), process.go_on)

    def stop_a_daemon_on_its_way_to_the_broker(self) -> None:
        """It may connect, and does so only when another leads."""
        network, unlucky = self.world.network, self._daemon().process
        connections = self.chance.randint(1, 3)

        def stop(process: Process) -> None:
            nonlocal connections
            connections -= process is unlucky
            if process is unlucky and not connections:
                network.on_connect = lambda _: None
                process.stop()
                wakes_s = self.chance.uniform(4, 9)
                self.world.loop.call_later(wakes_s, process.go_on, context=network.context)

        network.on_connect = stop
        network.flap(unlucky)

    def hold_a_batch_until_another_leads(self) -> None:
        """The leader's next batch is on its way when it stops; it arrives, and it goes on, just after a takeover."""
        database = self.world.database
        link = self.chance.choice(list(database.links.values()))
        leader = next((daemon for daemon in self.world.daemons if daemon.process.name == link.holder), None)
        if leader is None or not leader.process.running:
            return
        process = leader.process
        database.held_writer = process.name
        if self.chance.random() < 0.5:
            database.mischief = Mischief(conflict=1000)
            self._later(10, self._calm)

        def stop() -> None:
            process.stop()
            self._later(8, process.go_on)

        self._later(2, stop)
        self._later(15, database.release_held)

    def restart_a_daemon_in_good_order(self) -> None:
        daemon = self._daemon()
        process = daemon.process
        if process.running:
            daemon.close()
            self._later(60, lambda: daemon.kill() if daemon.process is process else None)

    def cut_a_daemon_off_the_broker(self) -> None:
        self.world.network.block(self._daemon().process, self.chance.uniform(0, 30), self._ways())

    def cut_a_daemon_off_the_database(self) -> None:
        self.world.database.block(self._daemon().process, self.chance.uniform(0, 30))

    def set_a_clock(self) -> None:
        clocks: list[Daemon | Table] = [*self.world.daemons, *self.world.tables]
        who = self.chance.choice(clocks)
        who.clock_off_s += self.chance.choice([-1, 1]) * self.chance.choice([0.5, 30.0, 5_000.0, 86_400.0])

    # Servers and networks.

    def break_connections(self) -> None:
        everyone: list[Daemon | Table | Sign | Boards] = [*self.world.daemons, *self.world.tables, self.world.sign]
        for who in everyone:
            if self.chance.random() < 0.4:
                self.world.network.flap(who.process)

    def crash_the_broker(self) -> None:
        if self.world.broker.up:
            forgets, wiped = self.chance.choice([0.0, 0.5, 1.0]), self.chance.random() < 0.2
            if self.world.plan.trusting:
                forgets, wiped = 0.0, False
            self.world.broker.crash(forgets=forgets, wiped=wiped)
            self._later(20, self.world.broker.start)

    def crash_the_database(self) -> None:
        if self.world.database.up:
            self.world.database.crash()
            self._later(20, self.world.database.start)

    def conflicts_and_lost_answers(self) -> None:
        self.world.database.mischief = Mischief(*(self.chance.choice([0, 60, 200]) for _ in range(4)))
        if self.chance.random() < 0.2:
            self.world.database.mischief = Mischief(conflict=950)
        self._later(60, self._calm)

    def _calm(self) -> None:
        self.world.database.mischief = Mischief()

    def slow_database(self) -> None:
        database = self.world.database
        usual_s = database.usual_s
        database.typical_s = usual_s * self.chance.choice([10, 100])
        self._later(30, lambda: setattr(database, "typical_s", usual_s))

    # Tables.

    def kill_a_table(self) -> None:
        table = self._table()
        if not table.process.killed:
            table.kill()
            self._later(self.chance.choice([5, 30, 300]), table.start)

    def stop_a_table_for_a_while(self) -> None:
        self._stop(self._table().process)

    def cut_a_table_off(self) -> None:
        seconds = self.chance.choice([self.chance.uniform(0, 30), self.chance.uniform(0, self.world.plan.day_s)])
        self.world.network.block(self._table().process, seconds, self._ways())

    def _ways(self) -> Sequence[str]:
        return self.chance.choice([(UP, DOWN), (UP,), (DOWN,)])
