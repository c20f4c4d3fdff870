"""What the simulation has found in the table controller, each told as briefly as it can be."""

import asyncio
import json
import random
from typing import Any

from jackpot.floor.journal import MemoryJournal
from jackpot.floor.table import TableController
from tests.simulation.broker import Broker
from tests.simulation.loop import Process, VirtualLoop, on_virtual_time
from tests.simulation.network import Network
from tests.simulation.packets import Sent
from tests.simulation.tables import BROKER
from tests.simulation.trace import Trace

LINK, TABLE = "megalink", "BE-01"
AT = "2026-11-16T02:00:00.000Z"


class ByHand:
    """A table, and what is said to it in a link's name."""

    def __init__(self, loop: VirtualLoop) -> None:
        network = Network(loop, random.Random(1), 0.01)
        self.broker = Broker(loop, Trace(loop.time))
        network.accept = self.broker.accept
        self.process = Process("table", loop)
        self.journal = MemoryJournal()
        self.lost: list[range] = []

    async def plays(self, *rounds: str) -> list[dict[str, Any]]:
        """Opens them all at once; returns the link's answers, as they come."""
        answers: list[dict[str, Any]] = []

        async def table() -> None:
            journal, on_lost = self.journal, self.lost.append
            async with TableController(BROKER, LINK, TABLE, journal=journal, on_lost=on_lost) as controller:
                for answer in asyncio.as_completed([controller.post("round.opened", round_) for round_ in rounds]):
                    answers.append(await answer)

        await self.state(next_seq=1)
        self.process.start(table)
        await asyncio.sleep(1.0)
        return answers

    async def state(self, next_seq: int) -> None:
        await self.tell("state", table=TABLE, next_seq=next_seq, round=None, pending=[], accepts_play=True, at=AT)

    async def gap(self, id_: str, seq: int, next_seq: int) -> None:
        about = {"seq": seq, "next_seq": next_seq, "duplicate": False}
        await self.tell("replies", reply_to=id_, status="refused", code="sequence_gap", **about)

    async def tell(self, topic: str, **message: Any) -> None:
        topic = f"jackpot/v1/{LINK}/tables/{TABLE}/{topic}"
        self.broker.pass_on(Sent(topic, json.dumps(message).encode(), retain=True))
        await asyncio.sleep(1.0)

    async def refuse(self, id_: str, seq: int) -> None:
        await self.tell("replies", reply_to=id_, seq=seq, status="refused", code="id_reused", duplicate=False)

    def unanswered(self) -> dict[int, str]:
        return {seq: json.loads(payload)["id"] for seq, payload in self.journal.unanswered().items()}


def test_a_table_waits_for_its_own_answer_though_a_strangers_has_its_seq_or_its_id() -> None:
    async def story(loop: VirtualLoop) -> None:
        link = ByHand(loop)
        answers = await link.plays("r1")
        (id_,) = link.unanswered().values()
        await link.refuse("a stranger's", seq=1)
        await link.refuse(id_, seq=9)
        assert link.unanswered() == {1: id_}
        await link.tell("replies", reply_to=id_, seq=1, status="accepted", duplicate=False, round="r1", result={})
        assert link.unanswered() == {}
        assert [answer["status"] for answer in answers] == ["accepted"]

    on_virtual_time(story)


def test_what_a_table_said_before_an_event_that_is_refused_keeps_its_number() -> None:
    async def story(loop: VirtualLoop) -> None:
        link = ByHand(loop)
        await link.plays("r1", "r2", "r3")
        first, second, third = link.unanswered().values()
        await link.refuse(second, seq=2)
        assert link.unanswered() == {1: first, 2: third}

    on_virtual_time(story)


def test_a_table_is_not_told_by_an_old_answer_that_the_link_lacks_what_it_answered() -> None:
    """One that comes late, and again and again, as a broker may bring it. Its state knows better."""

    async def story(loop: VirtualLoop) -> None:
        link = ByHand(loop)
        await link.plays("r1", "r2")
        first, second = link.unanswered().values()
        await link.tell("replies", reply_to=first, seq=1, status="accepted", duplicate=False, round="r1", result={})
        await link.state(next_seq=2)
        for _ in range(5):
            await link.gap(second, seq=2, next_seq=1)
        assert link.unanswered() == {2: second}
        assert link.lost == []
        await link.state(next_seq=1)
        for _ in range(5):
            await link.gap(second, seq=2, next_seq=1)
        assert link.unanswered() == {1: second}
        assert link.lost == [range(1, 2)]

    on_virtual_time(story)
