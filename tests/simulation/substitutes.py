"""Puts the product on the stage: everything of it is real but the clock, the network's bytes and PostgreSQL.

What is replaced is listed here and nowhere else: the ledger's functions that speak SQL, `time` and `uuid` where they
are read, and the loggers. Every wait of the product is as long as it is.
"""

import datetime as dt
import random
import uuid
from collections.abc import Callable, Collection
from types import SimpleNamespace
from typing import Any, TypeVar

import pytest

from drivers import line
from jackpot.daemon import (
    background_tasks,
    batch_attempt,
    batch_processor,
    lease_balancer,
    link_channel,
    link_runner,
    startup_commands,
)
from jackpot.floor import table
from jackpot.ledger import audit, commands, lease, load, post, store
from jackpot.link.state import LinkState
from jackpot.mqtt import session
from jackpot.people import approvals
from jackpot.signs import agent, board_task
from tests.simulation.boards import Boards
from tests.simulation.database import Connection, Database
from tests.simulation.ledger import written
from tests.simulation.loop import PROCESS, VirtualLoop
from tests.simulation.trace import Trace

T = TypeVar("T")


def set_stage(patch: pytest.MonkeyPatch, loop: VirtualLoop, database: Database, trace: Trace, seed: int) -> None:
    replace_postgresql(patch, database)
    chance = random.Random(f"{seed} ids")
    for module in (background_tasks, startup_commands, table):
        patch.setattr(module, "uuid", SimpleNamespace(uuid4=lambda: uuid.UUID(int=chance.getrandbits(128), version=4)))
    patch.setattr(link_runner, "time", SimpleNamespace(monotonic=loop.time))
    for module in (
        background_tasks,
        batch_processor,
        link_runner,
        startup_commands,
        lease_balancer,
        batch_attempt,
        link_channel,
        session,
    ):
        patch.setattr(module, "log", Scribe(trace))
    # A set's order differs from one Python process to the next, and with it the order of what is published.
    publish_states = link_channel.LinkChannel._publish_states
    patch.setattr(
        link_channel.LinkChannel, "_publish_states", lambda self, tables: publish_states(self, sorted(tables))
    )


def hang_boards(patch: pytest.MonkeyPatch, boards: Boards, now: Callable[[], dt.datetime], trace: Trace) -> None:
    """Their lines lead to emulated boards; everything between the feed and the bytes on the line is real."""
    patch.setattr(line, "_open_socket", boards.open_line)
    for module in (agent, board_task):
        patch.setattr(module, "datetime", SimpleNamespace(now=lambda _: now()))
        patch.setattr(module, "log", Scribe(trace))


def replace_postgresql(patch: pytest.MonkeyPatch, database: Database) -> None:
    async def connect_writer(*_: object) -> Connection:
        return database.connect(PROCESS.get())

    async def commit(connection: Connection, batch: post.Batch, state: LinkState, *, sent: int) -> None:
        await connection.write(written(batch, state, sent))

    async def kept(connection: Connection, ids: Collection[str]) -> dict[str, load.RecordedEvent]:
        return await connection.ask(lambda: {id_: database.ids[id_] for id_ in ids if id_ in database.ids})

    async def give_up(connection: Connection, link: str, holder: str, epoch: int, *, sent: int) -> None:
        await connection.ask(lambda: database.give_up_lease(link, holder, epoch, sent))

    async def hand_over(
        connection: Connection, link: str, holder: str, epoch: int, seconds: float, *, sent: int
    ) -> None:
        await connection.ask(lambda: database.hand_over_lease(link, holder, epoch, seconds, sent))

    async def answers_between(
        connection: Connection, link: str, sent: int, upto: int, most: int
    ) -> list[tuple[int, str, bytes]]:
        return await connection.ask(lambda: database.answers_between(link, sent, upto)[:most])

    async def agreed(connection: Connection, *_: object) -> None:
        await connection.ask(lambda: None)  # two people stand behind every order of money here

    def asking(question: Callable[..., T]) -> Callable[..., Any]:
        async def ask(connection: Connection, *args: Any) -> T:
            return await connection.ask(lambda: question(*args))

        return ask

    patch.setattr(store, "connect_writer", connect_writer)
    patch.setattr(post, "commit", commit)
    patch.setattr(load, "load", asking(database.load))
    patch.setattr(load, "kept", kept)
    patch.setattr(load, "past", asking(database.past))
    patch.setattr(load, "next_seqs", asking(database.next_seqs))
    patch.setattr(load, "answers_between", answers_between)
    patch.setattr(lease, "take", asking(database.take_lease))
    patch.setattr(lease, "renew", asking(database.renew_lease))
    patch.setattr(lease, "give_up", give_up)
    patch.setattr(lease, "survey", asking(database.survey_leases))
    patch.setattr(lease, "ask", asking(database.ask_for_lease))
    patch.setattr(lease, "hand_over", hand_over)
    patch.setattr(commands, "waiting", asking(database.requests_of))
    patch.setattr(commands, "answer", asking(database.answer_request))
    patch.setattr(commands, "leave", asking(database.leave_request))
    patch.setattr(approvals, "problem", agreed)
    patch.setattr(audit, "self_audit", asking(database.self_audit))


class Scribe:
    """Takes the product's log down into the trace."""

    def __init__(self, trace: Trace) -> None:
        self._trace = trace

    def info(self, event: str, **fields: Any) -> None:
        process = PROCESS.get(None)
        self._trace.note("?" if process is None else process.name, f"{event} {fields}")

    debug = warning = error = exception = info
