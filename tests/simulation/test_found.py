"""What the simulation has found in the product, each told as briefly as it can be."""

import asyncio
import json
import random
from collections.abc import AsyncIterator, Collection
from contextlib import asynccontextmanager
from typing import Any

import pytest

from jackpot.cli.verify import LANGUAGE
from jackpot.contract.gaming_day import GamingDay
from jackpot.daemon.background_tasks import BackgroundTasks
from jackpot.daemon.batch_attempt import IncomingEvent, PendingCommand
from jackpot.daemon.batch_processor import BatchProcessor
from jackpot.daemon.link_runner import LinkRunner
from jackpot.ledger.errors import CommitUncertainError, DeposedError, TransactionConflictError
from jackpot.ledger.load import RecordedEvent
from jackpot.ledger.post import Batch
from jackpot.ledger.record import Head
from jackpot.ledger.replay import Replay, StoredEvent
from jackpot.link.commands import AnyCommand, LinkOpened, RoundConcluded, TablesConfigured, parameters_document
from jackpot.link.parameters import Parameters
from jackpot.link.state import ClosedHistory, LinkState, RoundKey
from tests.ledger.processors import Said
from tests.simulation.daemon import Daemon
from tests.simulation.database import Database
from tests.simulation.ledger import written
from tests.simulation.loop import Process, VirtualLoop, on_virtual_time
from tests.simulation.plan import START, Plan
from tests.simulation.substitutes import set_stage
from tests.simulation.trace import Trace
from tests.simulation.world import World

LINK, TABLE = "megalink", "BE-01"
AT = "2026-11-16T02:00:00.000Z"


class Shelf:
    """A ledger at hand: the desk's store without a way to it."""

    def __init__(self, database: Database) -> None:
        self.database = database
        self.conflicts = 0

    async def load(self) -> tuple[Head, LinkState, int]:
        return self.database.load(LINK)

    async def kept(self, ids: Collection[str]) -> dict[str, RecordedEvent]:
        return {id_: self.database.ids[id_] for id_ in ids if id_ in self.database.ids}

    async def past(self, rounds: Collection[RoundKey], awards: Collection[str]) -> ClosedHistory:
        return self.database.past(LINK, rounds, awards)

    async def next_seqs(self, tables: Collection[str]) -> dict[str, int]:
        return self.database.next_seqs(tables)

    async def commit(self, batch: Batch, state: LinkState, *, sent: int) -> None:
        if self.conflicts:
            self.conflicts -= 1
            raise TransactionConflictError("40001")
        self.database.post(written(batch, state, sent), "A")


class ConsoleClient:
    """One desk with an open round r1 at its table."""

    def __init__(self, loop: VirtualLoop) -> None:
        self.database = Database(loop, Trace(loop.time), random.Random(1), 1.0)
        self.database.take_lease(LINK, "A", 1_000.0)
        self.shelf, self.counter = Shelf(self.database), Said()
        day = GamingDay.of("UTC", "06:00")
        directory: dict[str, str | None] = {TABLE: LINK}
        self.processor = BatchProcessor(
            LINK, self.shelf, self.counter, directory=directory, gaming_day=day, clock=lambda: START
        )
        self.seq = 0

    async def open(self) -> None:
        await self.processor.open()
        table = {"id": TABLE, "game": "bullseye", "positions": 6}
        parameters = parameters_document(Parameters())
        await self.order(LinkOpened(id="c1", by="controller", reason="new", parameters=parameters))
        await self.order(TablesConfigured(id="c2", by="controller", reason="new", tables=[table]))
        await self.processor.serve([self.event("round.opened")])

    def event(self, type_: str, **fields: Any) -> IncomingEvent:
        self.seq += 1
        event = {"id": f"e{self.seq}", "seq": self.seq, "type": type_, "round": "r1", "at": AT, **fields}
        return IncomingEvent(TABLE, json.dumps(event).encode())

    def ordered(self, command: AnyCommand) -> PendingCommand:
        return PendingCommand(command, asyncio.get_running_loop().create_future())

    async def order(self, command: AnyCommand) -> dict[str, Any]:
        order = self.ordered(command)
        await self.processor.serve([order])
        return order.answer.result()

    def void(self) -> RoundConcluded:
        return RoundConcluded(id="c3", by="pit", reason="left behind", table=TABLE, round="r1", outcome="void")


def test_an_event_in_the_same_batch_as_the_order_that_ended_its_round_is_told_so() -> None:
    async def story(loop: VirtualLoop) -> None:
        office = ConsoleClient(loop)
        await office.open()
        await office.processor.serve([office.ordered(office.void()), office.event("wager.placed", position=1)])
        assert office.counter.replies[-1]["code"] == "round_concluded"

    on_virtual_time(story)


def test_a_ledger_with_a_round_ended_by_order_is_verified() -> None:
    async def story(loop: VirtualLoop) -> None:
        office = ConsoleClient(loop)
        await office.open()
        await office.order(office.void())
        await office.processor.serve([office.event("wager.placed", position=1)])
        replay = Replay(LINK, LANGUAGE)
        for event in office.database.links[LINK].events:
            assert replay.take(StoredEvent(**event)).records[0].answer == event["answer"]

    on_virtual_time(story)


def test_an_order_whose_answer_was_lost_gets_it_again_though_it_is_no_longer_possible() -> None:
    async def story(loop: VirtualLoop) -> None:
        office = ConsoleClient(loop)
        await office.open()
        first = await office.order(office.void())
        assert first["status"] == "accepted"
        assert await office.order(office.void()) == first

    on_virtual_time(story)


def test_an_order_that_nobody_waits_for_any_more_is_left_to_who_leads_then() -> None:
    """Its leader lost the ledger: another may have refused it meanwhile, and said so."""

    async def story(loop: VirtualLoop) -> None:
        office = ConsoleClient(loop)
        await office.open()
        office.processor.order(office.void()).cancel()
        wager = office.event("wager.placed", position=1)
        office.processor.receive(wager)
        office.processor.close()
        await office.processor.run()
        assert office.counter.replies[-1]["status"] == "accepted"
        assert "c3" not in office.database.ids

    on_virtual_time(story)


def test_a_desk_that_must_read_again_does_not_write_under_another_leaders_epoch() -> None:
    async def story(loop: VirtualLoop) -> None:
        office = ConsoleClient(loop)
        await office.open()
        n = office.processor.n
        office.database.links[LINK].expires_at = -1.0
        office.database.take_lease(LINK, "B", 1_000.0)
        office.shelf.conflicts = 1
        with pytest.raises(DeposedError):
            await office.processor.serve([office.event("wager.placed", position=1)])
        with pytest.raises(DeposedError):
            await office.processor.serve([office.event("wager.placed", position=1)])
        assert office.database.links[LINK].n == n

    on_virtual_time(story)


class Site:
    """Daemons of a world in which nothing goes wrong by itself."""

    def __init__(self, loop: VirtualLoop, patch: pytest.MonkeyPatch) -> None:
        self.loop = loop
        self.world = World(Plan(2), loop)
        set_stage(patch, loop, self.world.database, self.world.trace, 1)
        (self.link,) = (link.id for link in self.world.config.links)
        self.world.broker.on_publish = lambda *_: None
        self.world.broker.on_deliver = lambda *_: None
        self.world.database.on_commit = lambda *_: None

    async def daemon(self, name: str) -> Daemon:
        world = self.world
        daemon = Daemon(
            name,
            self.loop,
            world.network,
            world.database,
            world.config,
            now=world.now,
            restart_after_s=lambda: 1.0,
            complain=pytest.fail,
        )
        await asyncio.sleep(0)
        return daemon

    async def leads(self, daemon: Daemon) -> LinkRunner:
        """The leader of its first link, as soon as it vouches for it."""
        leader = daemon.leaders[0]
        while not leader.vouches():
            await asyncio.sleep(0.001)
        return leader

    def speaker(self) -> Process:
        """Who has the link's connection to the broker."""
        peer = self.world.broker.sessions[f"jackpot-{self.link}"].peer
        assert peer is not None
        return peer.pipe.process

    def kept(self, topic: str) -> dict[str, Any]:
        kept: dict[str, Any] = json.loads(self.world.broker.retained[f"jackpot/v1/{self.link}/{topic}"])
        return kept


@asynccontextmanager
async def house_of(loop: VirtualLoop, patch: pytest.MonkeyPatch) -> AsyncIterator[Site]:
    house = Site(loop, patch)
    try:
        async with asyncio.timeout(600):
            yield house
    finally:
        await house.world.bury()


def test_a_leader_that_stalls_on_its_way_to_the_broker_does_not_speak_for_the_next(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """It takes the client id, but says nothing; the next leader has it back, and says all again."""

    async def story(loop: VirtualLoop) -> None:
        async with house_of(loop, monkeypatch) as house:
            first = await house.daemon("A")
            leader = await house.leads(first)
            while not leader.connected:
                await asyncio.sleep(0.01)
            second = await house.daemon("B")

            def stall(process: Process) -> None:
                """It has two connections, the link's and the lobby's, and is on its way with both."""
                connecting.extend([process] if process is first.process else [])
                if process is first.process and len(connecting) == 2:
                    process.stop()

            connecting: list[Process] = []
            house.world.network.on_connect = stall
            house.world.network.flap(first.process)
            successor = await house.leads(second)
            await asyncio.sleep(1.0)
            said: list[tuple[Process, str]] = []
            house.world.broker.on_publish = lambda _, topic, __: said.append((house.speaker(), topic))
            house.world.database.block(first.process, 5.0)  # who tells it that it leads no longer
            first.process.go_on()
            while successor.connected:
                await asyncio.sleep(0.01)
            while not successor.connected:
                await asyncio.sleep(0.01)
            await asyncio.sleep(1.0)
            assert {process for process, _ in said} == {second.process}
            below = f"jackpot/v1/{house.link}"
            assert {f"{below}/status", f"{below}/meter"} <= {topic for _, topic in said}, "it says all again"
            assert house.kept("status")["state"] == "running"

    on_virtual_time(story)


def test_a_leader_vouches_for_nothing_before_it_has_read_where_the_link_stands(monkeypatch: pytest.MonkeyPatch) -> None:
    async def story(loop: VirtualLoop) -> None:
        async with house_of(loop, monkeypatch) as house:
            leader = await house.leads(await house.daemon("A"))
            assert leader._channel._meter is not None

    on_virtual_time(story)


def test_a_leader_whose_ledger_fails_while_it_is_cancelled_ends_all_the_same(monkeypatch: pytest.MonkeyPatch) -> None:
    async def fails_at_the_end(*_: object) -> None:
        try:
            await asyncio.Event().wait()
        except asyncio.CancelledError:
            raise CommitUncertainError("the connection broke") from None

    monkeypatch.setattr(BackgroundTasks, "audit", fails_at_the_end)

    async def story(loop: VirtualLoop) -> None:
        async with house_of(loop, monkeypatch) as house:
            await house.leads(await house.daemon("A"))
            await asyncio.sleep(0.1)
            others = asyncio.all_tasks() - {asyncio.current_task()}
            for task in others:
                task.cancel()
            _, left = await asyncio.wait(others, timeout=10)
            assert left == set()

    on_virtual_time(story)
