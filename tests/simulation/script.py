"""A script of calls on a ledger, drawn from a seed: the real one and the simulated one must answer each alike.

Two daemons with a desk for each of two links take leases, lose them, serve what tables say and people ask, and read all
that can be read; tables play, repeat themselves, and use ids and numbers twice.
"""

import asyncio
import datetime as dt
import json
import random
from collections.abc import Awaitable, Callable
from typing import Any, Literal

from jackpot.contract.gaming_day import GamingDay
from jackpot.contract.refusals import NOT_RECORDED
from jackpot.daemon.batch_attempt import IncomingEvent, PendingCommand
from jackpot.daemon.batch_processor import BatchProcessor
from jackpot.ledger import audit, commands, lease, load
from jackpot.ledger.errors import LedgerError
from jackpot.ledger.record import Head
from jackpot.ledger.store import Store
from jackpot.link.commands import (
    AnyCommand,
    BalanceAdjusted,
    LinkOpened,
    LinkResumed,
    LinkSuspended,
    ParametersChanged,
    RoundConcluded,
    TablesConfigured,
    parameters_document,
)
from jackpot.link.parameters import Parameters
from jackpot.link.rounds import to_document
from jackpot.link.state import ClosedHistory, LinkState
from tests.ledger.processors import Said
from tests.simulation.cards import deal
from tests.simulation.plan import START

HOLDERS = ("A", "B")
TABLES = {
    "BE-01": ("one", "bullseye"),
    "UTH-01": ("one", "ultimate-texas-holdem"),
    "TCX-01": ("two", "three-card-poker-xtreme"),
}
LINKS = ("one", "two")
LEASES_S = (-5.0, 100.0, 1000.0, 1000.0)
"""Over before it began, short, and so long that it is cut by whoever wants a short one."""
Step = tuple[str, Any]


class Script:
    def __init__(self, seed: int, connection: Any, url: str = "") -> None:
        """`connection` is to the ledger; `url` is where the desks find it."""
        self._chance = random.Random(seed)
        self._connection = connection
        self._now = START
        day = GamingDay.of("Asia/Singapore", "06:00")
        self._said = Said()
        self._stores = {(holder, link): Store(url, link) for holder in HOLDERS for link in LINKS}
        directory: dict[str, str | None] = {table: link for table, (link, _) in TABLES.items()}
        self._desks = {
            (holder, link): BatchProcessor(
                link, store, self._said, directory=directory, gaming_day=day, clock=lambda: self._now
            )
            for (holder, link), store in self._stores.items()
        }
        self._epochs = dict.fromkeys(LINKS, 0)
        self._leaders = dict.fromkeys(LINKS, "A")
        self._recorded = dict.fromkeys(TABLES, 0)
        self._rounds = dict.fromkeys(TABLES, 0)
        self._to_say: dict[str, list[dict[str, Any]]] = {table: [] for table in TABLES}
        self._payloads: list[tuple[str, bytes]] = []
        self._ids: list[str] = []
        self._made: list[dict[str, Any]] = []
        """Awards that the tables were told of."""
        self._orders = 0

    async def play(self, steps: int) -> list[Step]:
        """What was called, and what came of it."""
        calls: list[tuple[Callable[[], Awaitable[Any]], int]] = [
            (self._take, 4),
            (self._serve, 30),
            (self._ask_people, 4),
            (self._renew, 3),
            (self._give_up, 1),
            (self._ask, 2),
            (self._hand_over, 2),
            (self._survey, 3),
            (self._load, 3),
            (self._look_up, 6),
            (self._requests, 4),
            (self._audit, 1),
        ]
        told: list[Step] = []
        for _ in range(steps):
            self._now += dt.timedelta(seconds=self._chance.choice([0, 1, 1, 1, 40_000]))
            ((call, _),) = self._chance.choices(calls, [weight for _, weight in calls])
            told.append((call.__name__, await self._outcome(call())))
        for store in self._stores.values():
            await store.close()
        return told

    async def _outcome(self, call: Awaitable[Any]) -> Any:
        try:
            return await call
        except (LedgerError, LookupError) as error:
            return "LookupError" if isinstance(error, LookupError) else type(error).__name__

    # Leases.

    def _link(self) -> str:
        return self._chance.choice(LINKS)

    def _holder(self) -> str:
        return self._chance.choice(HOLDERS)

    def _epoch(self, link: str) -> int:
        return self._epochs[link] - (self._chance.random() < 0.2)

    async def _take(self) -> Any:
        link, holder, seconds = self._link(), self._holder(), self._chance.choice(LEASES_S)
        epoch = await lease.take(self._connection, link, holder, seconds)
        if epoch is None:
            return None
        self._epochs[link], self._leaders[link] = epoch, holder
        processor = self._desks[holder, link]
        head, state, sent = await processor.open()
        if state.parameters_version == 0:
            about = {"by": "controller", "reason": "new"}
            tables = [{"id": name, "game": game, "positions": 6} for name, (at, game) in TABLES.items() if at == link]
            parameters = parameters_document(Parameters(reset_cents=10_007, unit_cents=3))
            await self._order(processor, LinkOpened(id=f"{link}-opened", parameters=parameters, **about))
            await self._order(processor, TablesConfigured(id=f"{link}-tables", tables=tables, **about))
            head, state, sent = await processor.open()
        return described(head, state, sent)

    async def _renew(self) -> Any:
        link = self._link()
        return await lease.renew(
            self._connection, link, self._holder(), self._epoch(link), self._chance.choice(LEASES_S)
        )

    async def _give_up(self) -> None:
        link = self._link()
        sent = self._chance.randint(0, 3)
        await lease.give_up(self._connection, link, self._holder(), self._epoch(link), sent=sent)

    async def _ask(self) -> bool:
        known = await lease.survey(self._connection)
        wanted = self._chance.choice(known) if known else lease.Lease("one", "A", 1, None, 0.0)
        return await lease.ask(self._connection, wanted, self._holder())

    async def _hand_over(self) -> None:
        link = self._link()
        sent = self._chance.randint(0, 3)
        await lease.hand_over(self._connection, link, self._holder(), self._epoch(link), 500.0, sent=sent)

    async def _survey(self) -> Any:
        found = await lease.survey(self._connection)
        return [
            (it.link, it.holder, it.epoch, it.asked_by, round(it.left_s / 50) if it.valid else None) for it in found
        ]

    # What is written.

    async def _serve(self) -> Any:
        link = self._link()
        if not self._epochs[link]:
            return None
        processor, known = self._desks[self._who_serves(link), link], len(self._said.replies)
        ahead = dict.fromkeys(TABLES, 0)
        batch = [self._arrival(link, ahead) for _ in range(self._chance.randint(1, 8))]
        await processor.serve([*batch])
        replies = self._said.replies[known:]
        for reply, arrival in zip(replies, batch, strict=True):
            if reply["seq"] == self._recorded[arrival.table] + 1 and reply.get("code") not in NOT_RECORDED:
                self._recorded[arrival.table] += 1
                self._ids.append(reply["reply_to"])
                self._made += reply.get("result", {}).get("awards", [])
                self._to_say[arrival.table].pop(0)
        return replies, processor.head

    def _who_serves(self, link: str) -> str:
        """Sometimes one that does not lead any more."""
        return self._holder() if self._chance.random() < 0.4 else self._leaders[link]

    async def _ask_people(self) -> Any:
        link = self._link()
        if not self._epochs[link]:
            return None
        return await self._order(self._desks[self._who_serves(link), link], self._command(link))

    async def _order(self, processor: BatchProcessor, command: AnyCommand) -> Any:
        answer: asyncio.Future[dict[str, Any]] = asyncio.get_running_loop().create_future()
        await processor.serve([PendingCommand(command, answer)])
        return answer.result(), processor.head

    def _command(self, link: str) -> AnyCommand:
        chance = self._chance
        self._orders += chance.random() < 0.9
        about = {"id": f"order-{self._orders}", "by": "ann", "reason": "it had to be"}
        table = chance.choice([name for name, (at, _) in TABLES.items() if at == link])
        outcome: Literal["settled", "void"] = chance.choice(["settled", "void"])
        reset = chance.choice([0, 999])
        commands: list[AnyCommand] = [
            LinkSuspended(**about),
            *(LinkResumed(**about) for _ in range(3)),
            BalanceAdjusted(**about, approved_by="bob", account="reserve", amount_cents=chance.choice([-7, 7])),
            RoundConcluded(**about, table=table, round=f"r{self._rounds[table]}", outcome=outcome),
            ParametersChanged(
                **about,
                approved_by="bob",
                effective=chance.choice(["at_once", "next_win"]),
                parameters=parameters_document(Parameters(reset_cents=reset, unit_cents=3)),
            ),
        ]
        return chance.choice(commands)

    def _arrival(self, link: str, ahead: dict[str, int]) -> IncomingEvent:
        """`ahead` is how many events of each table are in the batch already."""
        chance = self._chance
        if self._payloads and chance.random() < 0.15:
            return IncomingEvent(*chance.choice(self._payloads))
        table = chance.choice([name for name, (at, _) in TABLES.items() if at == link or chance.random() < 0.05])
        event = self._next(table, ahead[table])
        ahead[table] += 1
        if self._ids and chance.random() < 0.1:
            event["id"] = chance.choice(self._ids)
        if chance.random() < 0.05:
            event["seq"] += chance.choice([-3, 2])
        payload = json.dumps({**event, "at": "2026-11-16T22:00:00.000Z"}).encode()
        self._payloads.append((table, payload))
        return IncomingEvent(table, payload)

    def _next(self, table: str, ahead: int) -> dict[str, Any]:
        """What a table says next of its rounds: what was not recorded is said again."""
        while len(self._to_say[table]) <= ahead:
            self._rounds[table] += 1
            self._to_say[table] += self._round(table)
        seq = self._recorded[table] + 1 + ahead
        return {"id": f"{table}-{seq}-{self._rounds[table]}", "seq": seq, **self._to_say[table][ahead]}

    def _round(self, table: str) -> list[dict[str, Any]]:
        chance, (_, game) = self._chance, TABLES[table]
        seated = chance.sample(range(1, 7), 2)
        hands, community = deal(chance, game, seated, stacked=1.0)
        made = [award for award in self._made if award["table"] == table or chance.random() < 0.1]
        paid = [{"type": "award.paid", "award": award["award"], "round": award["round"]} for award in made[-3:]]
        shown = [
            {"type": "hand.entered", "position": position, "cards": hands[position], "community": community}
            for position in seated
        ]
        said: list[dict[str, Any]] = [
            {"type": "round.opened"},
            *({"type": "wager.placed", "position": position} for position in seated),
            {"type": "round.closed"},
            *shown,
            chance.choice([{"type": "round.settled"}] * 4 + [{"type": "round.voided", "reason": "5.1"}]),
            *paid,
        ]
        return [{"round": f"r{self._rounds[table]}", **event} for event in said]

    # What is read.

    async def _load(self) -> Any:
        return described(*await load.load(self._connection, self._link()))

    async def _look_up(self) -> Any:
        chance, link = self._chance, self._link()
        ids = [*chance.choices([*self._ids, "order-1"], k=4), "nonsense"]
        rounds = [(table, f"r{chance.randint(1, 9)}") for table in TABLES]
        awards = [f"{link}-{chance.randint(1, 9):06}", "nonsense", f"{link}-7"]
        sent, upto, most = chance.randint(0, 20), chance.randint(0, 60), chance.randint(1, 9)
        past: ClosedHistory = await load.past(self._connection, link, rounds, awards)
        return (
            await load.kept(self._connection, ids),
            (sorted(past.rounds), sorted(past.awards.items())),
            await load.next_seqs(self._connection, [*TABLES, "nobody"]),
            await load.answers_between(self._connection, link, sent, upto, most),
        )

    async def _requests(self) -> Any:
        link = self._link()
        self._orders += 1
        await commands.leave(self._connection, link, LinkResumed(id=f"left-{self._orders}", by="ann", reason="please"))
        found = await commands.waiting(self._connection, link)
        one = self._chance.choice(found)
        await commands.answer(self._connection, link, self._epoch(link), one.id, {"status": "accepted"})
        return found, await commands.waiting(self._connection, link)

    async def _audit(self) -> Any:
        return await audit.self_audit(self._connection, self._link())


def described(head: Head, state: LinkState, sent: int) -> Any:
    """All that is read of a link, as it can be compared."""
    rounds = [
        (round_.table, round_.id, round_.phase, to_document(round_))
        for _, round_ in (*sorted(state.current.items()), *sorted(state.waiting.items()))
    ]
    return (
        (head, sent, state.tables, state.parameters, state.parameters_version, state.parameters_next, state.balances),
        (state.entry, state.award, state.suspended, state.next_seq, list(state.unpaid.values())),
        (rounds, sorted(state.claims.items())),
    )
