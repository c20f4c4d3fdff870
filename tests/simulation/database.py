"""A database server: the ledger, and what can go wrong on the way to it and back.

What is lost on the way may have been applied, may not, or may still be.
"""

import asyncio
import random
from collections.abc import Callable
from contextvars import copy_context
from dataclasses import dataclass
from typing import Any, TypeVar

from jackpot.ledger.errors import CommitUncertainError, LedgerError, TransactionConflictError
from tests.simulation.ledger import Ledger, Written
from tests.simulation.loop import Process, VirtualLoop
from tests.simulation.trace import Trace

COMMAND_TIMEOUT_S = 10.0
T = TypeVar("T")


@dataclass(slots=True)
class Mischief:
    """What goes wrong with a batch on its way, in a thousand."""

    conflict: int = 0
    lost_before: int = 0
    lost_after: int = 0
    applied_late: int = 0


class Database(Ledger):
    def __init__(self, loop: VirtualLoop, trace: Trace, chance: random.Random, typical_s: float) -> None:
        """`typical_s` is how long one way takes."""
        super().__init__(loop.time, trace)
        self.loop = loop
        self.context = copy_context()  # nobody's: the server runs whoever is stopped
        self.up = True
        self.typical_s = self.usual_s = typical_s
        self.mischief = Mischief()
        self.held_writer = ""
        """Whose batches are held on their way until another leads."""
        self._held: list[Callable[[], None]] = []
        self._chance = chance
        self._blocked_until: dict[str, float] = {}
        self._connections: list[Connection] = []

    # What happens to it.

    def crash(self) -> None:
        self.trace.note("database", "crashes")
        self.up = False
        for connection in self._connections:
            connection.lose("the server went away")
        self._connections.clear()

    def start(self) -> None:
        self.trace.note("database", "starts")
        self.up = True

    def block(self, process: Process, seconds: float) -> None:
        self._blocked_until[process.name] = self.loop.time() + seconds

    def cut(self, process: Process, *, silently: bool = False) -> None:
        """The process is gone; if its machine is too, so is what had not left it."""
        for connection in self._connections:
            if connection.process is process:
                connection.closed = True
                connection.lost = silently and self._chance.random() < 0.5

    # The way there and back.

    def connect(self, process: Process) -> "Connection":
        if not self.up:
            raise ConnectionRefusedError("the database is down")
        self._connections = [known for known in self._connections if not known.closed]
        self._connections.append(connection := Connection(self, process))
        return connection

    def arrival(self, process: Process) -> float:
        takes_s = self._chance.expovariate(1 / self.typical_s)
        return max(self.loop.time() + takes_s, self._blocked_until.get(process.name, 0.0))

    def fate(self) -> str:
        drawn, mischief = self._chance.randrange(1000), self.mischief
        for name in ("conflict", "lost_before", "lost_after", "applied_late"):
            drawn -= getattr(mischief, name)
            if drawn < 0:
                return name
        return "well"

    def late(self) -> float:
        return self._chance.uniform(0, 3.0)

    # A batch that is held on its way until another leads.

    def take_lease(self, link: str, holder: str, seconds: float) -> int | None:
        epoch = super().take_lease(link, holder, seconds)
        if epoch is not None:
            self.release_held()
        return epoch

    def release_held(self) -> None:
        self.held_writer = ""
        for arrive in self._held:
            self.loop.call_soon(arrive)
        self._held.clear()

    def hold(self, writer: str, arrive: Callable[[], None]) -> bool:
        if writer == self.held_writer:
            self._held.append(arrive)
        return writer == self.held_writer


class Connection:
    """One process' connection: the functions of the ledger are called with it."""

    def __init__(self, database: Database, process: Process) -> None:
        self.database = database
        self.process = process
        self.closed = False
        self.lost = False
        """With all that was on its way."""
        self._waiting: list[asyncio.Future[Any]] = []

    def is_closed(self) -> bool:
        return self.closed

    def terminate(self) -> None:
        self.closed = True

    async def close(self, *, timeout: float) -> None:
        self.closed = True

    def lose(self, why: str) -> None:
        self.closed = True
        for answer in self._waiting:
            _fail(answer, CommitUncertainError(why))
        self._waiting.clear()

    async def ask(self, question: Callable[[], T]) -> T:
        return await self._call(question, "well")

    async def write(self, batch: Written) -> None:
        database = self.database
        await self._call(lambda: database.post(batch, self.process.name), database.fate(), writes=True)

    async def _call(self, question: Callable[[], T], fate: str, *, writes: bool = False) -> T:
        if self.closed:
            raise CommitUncertainError("the connection is closed")
        answer: asyncio.Future[T] = self.database.loop.create_future()
        self._waiting = [known for known in self._waiting if not known.done()]
        self._waiting.append(answer)
        at = self.database.arrival(self.process)
        if fate == "applied_late":
            self._at(at, lambda: self.lose("the connection broke"))
            at += self.database.late()

        def arrive() -> None:
            if not (writes and self.database.hold(self.process.name, arrive)):
                self._arrive(question, answer, fate)

        self._at(at, arrive)
        try:
            async with asyncio.timeout(COMMAND_TIMEOUT_S):
                return await answer
        except TimeoutError as error:
            self.closed = True
            raise CommitUncertainError("the database does not answer") from error

    def _arrive(self, question: Callable[[], T], answer: "asyncio.Future[T]", fate: str) -> None:
        database = self.database
        if self.lost:
            return None
        if not database.up:
            return _fail(answer, CommitUncertainError("the server is gone"))
        if fate == "lost_before":
            return self.lose("the connection broke")
        try:
            if fate == "conflict":
                raise TransactionConflictError("40001: could not serialize access")
            result = question()
        except (LedgerError, LookupError) as error:
            problem = error
            self._at(database.arrival(self.process), lambda: _fail(answer, problem))
            return None
        if fate == "lost_after":
            return self.lose("the connection broke")
        self._at(database.arrival(self.process), lambda: _succeed(answer, result))
        return None

    def _at(self, when: float, callback: Callable[[], object]) -> None:
        self.database.loop.call_at(when, callback, context=self.database.context)


def _fail(answer: "asyncio.Future[Any]", error: Exception) -> None:
    if not answer.done():
        answer.set_exception(error)
        answer.exception()  # looked at: whoever asked may be gone


def _succeed(answer: "asyncio.Future[T]", result: T) -> None:
    if not answer.done():
        answer.set_result(result)


class Pool:
    """As asyncpg's: lends connections."""

    def __init__(self, database: Database, process: Process) -> None:
        self._database = database
        self._process = process

    def acquire(self, *, timeout: float | None = None) -> "Lent":
        return Lent(self._database, self._process)


class Lent:
    def __init__(self, database: Database, process: Process) -> None:
        self._database = database
        self._process = process
        self._connection: Connection | None = None

    async def __aenter__(self) -> Connection:
        self._connection = self._database.connect(self._process)
        return self._connection

    async def __aexit__(self, *_: object) -> None:
        if self._connection is not None:
            self._connection.terminate()
            self._connection = None
