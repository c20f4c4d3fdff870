"""The heart: takes all that waits, decides it in order, commits it once, answers, acknowledges.

One desk a link. It never waits for a timer to fill a batch: while one commit is under way the next batch gathers. The
link's state is kept between batches and trusted only while the ledger's head is where we left it; any error throws it
away, and it is read again. A crash before the commit means that tables send again; after it, the outbox answers.
"""

import asyncio
import datetime as dt
from collections import deque
from collections.abc import Callable, Collection, Iterable, Mapping
from time import perf_counter
from typing import Any, Protocol

import structlog

from jackpot import metrics
from jackpot.contract import codec
from jackpot.contract import events as ev
from jackpot.contract.codec import UnreadableEvent
from jackpot.contract.gaming_day import GamingDay
from jackpot.contract.refusals import Code, Refused
from jackpot.daemon.batch_attempt import BatchAttempt, BatchOutcome, IncomingEvent, PendingCommand
from jackpot.ledger.errors import (
    ConstraintViolatedError,
    DeposedError,
    DuplicateRecordError,
    LedgerError,
    TransactionConflictError,
)
from jackpot.ledger.load import RecordedEvent, rfc3339
from jackpot.ledger.post import Batch
from jackpot.ledger.record import Head
from jackpot.link.awards import Award
from jackpot.link.commands import AnyCommand, LinkSuspended
from jackpot.link.state import ClosedHistory, LinkState, RoundKey, Table

BATCH_MAX = 1000
ATTEMPTS_MAX = 8
ATTEMPT_PAUSE_S = 0.05

log = structlog.get_logger()


class UndecidableBatchError(Exception):
    """A bug of ours that shows on a suspended link too: something in the batch cannot even be refused."""


class Store(Protocol):
    """What the desk needs of a ledger."""

    async def load(self) -> tuple[Head, LinkState, int]: ...
    async def kept(self, ids: Collection[str]) -> dict[str, RecordedEvent]: ...
    async def past(self, rounds: Collection[RoundKey], awards: Collection[str]) -> ClosedHistory: ...
    async def next_seqs(self, tables: Collection[str]) -> dict[str, int]: ...
    async def commit(self, batch: Batch, state: LinkState, *, sent: int) -> None: ...


class Publisher(Protocol):
    """Where answers go. None of it waits, none of it fails: what does not arrive is sent again later."""

    @property
    def sent(self) -> int: ...
    def reply(self, table: str, payload: bytes) -> None: ...
    def award(self, award: Award) -> None: ...
    def paid(self, award: Award) -> None: ...
    def committed(self, state: LinkState, n: int, tables: Iterable[str]) -> None: ...
    def acknowledge(self, tokens: Iterable[Any]) -> None: ...
    def quarantine(self, table: str, payload: bytes, refused: Refused) -> None: ...


class BatchProcessor:
    def __init__(
        self,
        link: str,
        store: Store,
        outlet: Publisher,
        *,
        directory: Mapping[str, str | None],
        tables: Mapping[str, Table] | None = None,
        gaming_day: GamingDay,
        clock: Callable[[], dt.datetime],
        read: Callable[[str, bytes], ev.TableEvent | UnreadableEvent] = lambda _, payload: codec.decode(payload),
        at_point: Callable[[str], None] = lambda _: None,
    ) -> None:
        self.link = link
        self._store = store
        self._outlet = outlet
        self._directory = directory
        self._tables = tables
        self._gaming_day = gaming_day
        self._clock = clock
        self._read = read
        self._at_point = at_point
        self._waiting: deque[IncomingEvent | PendingCommand] = deque()
        self._awake = asyncio.Event()
        self._closing = False
        self._pausing = False
        self._head = Head()
        self._commit_seconds = metrics.commit_seconds.labels(link)
        self._batch_events = metrics.batch_events.labels(link)
        self.state: LinkState | None = None
        """None while it must be read again."""

    @property
    def head(self) -> Head:
        """Where the link's ledger stands, as this desk committed it."""
        return self._head

    @property
    def n(self) -> int:
        """How many events the link's ledger holds."""
        return self._head.n

    def __len__(self) -> int:
        return len(self._waiting)

    def receive(self, arrival: IncomingEvent | PendingCommand) -> None:
        if not self._closing:
            self._waiting.append(arrival)
            self._awake.set()

    def order(self, command: AnyCommand) -> asyncio.Future[dict[str, Any]]:
        answer: asyncio.Future[dict[str, Any]] = asyncio.get_running_loop().create_future()
        self.receive(PendingCommand(command, answer))
        return answer

    async def carry_out(self, command: AnyCommand) -> dict[str, Any]:
        """At once, while the desk does not run."""
        order = PendingCommand(command, asyncio.get_running_loop().create_future())
        await self.serve([order])
        return order.answer.result()

    async def open(self) -> tuple[Head, LinkState, int]:
        """Read where the link stands, and up to which event its answers were sent."""
        self._head, self.state, sent = await self._store.load()
        return self._head, self.state, sent

    async def _read_again(self) -> LinkState:
        """Only under the epoch that we opened it with: another leader's is not ours to write with."""
        head, state, _ = await self._store.load()
        if head.epoch != self._head.epoch:
            raise DeposedError(f"link {self.link} is at epoch {head.epoch}, not {self._head.epoch}")
        self._head, self.state = head, state
        return state

    def close(self) -> None:
        """Take nothing new; `run` returns when what waits is served."""
        self._closing = True
        self._awake.set()

    def pause(self) -> None:
        """`run` returns after the batch under way; what waits then is served when it runs again."""
        self._pausing = True
        self._awake.set()

    def forget(self) -> None:
        """What waits is no longer ours to serve: it was not acknowledged, and whoever leads the link gets it."""
        self._waiting.clear()

    async def run(self) -> None:
        """Serve until closed, paused, cancelled, deposed, or the ledger fails for good."""
        self._pausing = False
        while not self._pausing and (self._waiting or not self._closing):
            await self._awake.wait()
            taken = self._next_batch()
            if not self._waiting and not self._closing:
                self._awake.clear()
            if not taken:
                continue
            try:
                await self.serve(taken)
            except BaseException:
                # Not lost: nothing of it was acknowledged, and if we go on it is the first to be served.
                self._waiting.extendleft(reversed(taken))
                self._awake.set()
                raise

    def _next_batch(self) -> list[IncomingEvent | PendingCommand]:
        """All that waits, but for orders that nobody waits for any more.

        They are in the database: whoever leads then may have answered them, and must not be contradicted later.
        """
        taken = [self._waiting.popleft() for _ in range(min(BATCH_MAX, len(self._waiting)))]
        return [item for item in taken if isinstance(item, IncomingEvent) or not item.answer.cancelled()]

    async def serve(self, taken: list[IncomingEvent | PendingCommand]) -> None:
        self._at_point("received")
        try:
            outcome = await self._commit(taken)
        except UndecidableBatchError as error:
            if len(taken) > 1:
                for item in taken:
                    await self.serve([item])
                return
            outcome = await self._put_aside(taken[0], str(error))
        self._at_point("committed")
        self._tell(outcome)
        self._at_point("replied")
        self._outlet.acknowledge([arrival.token for arrival in taken if isinstance(arrival, IncomingEvent)])
        self._at_point("acknowledged")

    def _tell(self, outcome: BatchOutcome) -> None:
        outlet = self._outlet
        for table, payload in outcome.replies:
            outlet.reply(table, payload)
        for award in outcome.awards:
            outlet.award(award)
        for award in outcome.paid:
            outlet.paid(award)
        if self.state is not None:
            outlet.committed(self.state, self._head.n, outcome.tables)
        for order, answer in outcome.orders:
            if not order.answer.done():
                order.answer.set_result(answer)
        for award in outcome.awards:
            about = {"link": self.link, "award": award.id, "table": award.table}
            log.info("award_made", **about, amount_cents=award.amount_cents)
        for command in outcome.carried_out:
            about = {"link": self.link, "type": command.type, "by": command.by}
            log.info("command_carried_out", **about, reason=command.reason)
        for (type_, became), count in outcome.judged.items():
            metrics.events.labels(self.link, type_, became).inc(count)

    async def _put_aside(self, item: IncomingEvent | PendingCommand, why: str) -> BatchOutcome:
        """One event must not hold up a link for ever: it is kept for people to look at, and not answered."""
        await self._read_again()
        if isinstance(item, IncomingEvent):
            self._outlet.quarantine(item.table, item.payload, Refused(Code.LINK_SUSPENDED, why))
            return BatchOutcome()
        return BatchOutcome(orders=[(item, {"status": "refused", "message": why})])

    async def _commit(self, taken: list[IncomingEvent | PendingCommand]) -> BatchOutcome:
        careful = broken = False
        for _ in range(ATTEMPTS_MAX):
            try:
                return await self._attempt(taken, careful=careful)
            except DuplicateRecordError as error:
                # Something that was taken for new is in the ledger: look everything up, then decide again.
                careful = True
                self._start_again("already_there", error)
            except TransactionConflictError as error:
                self._start_again("try_again", error)
                await asyncio.sleep(ATTEMPT_PAUSE_S)
            except Exception as error:
                self.state = None
                if isinstance(error, (LedgerError, OSError)) and not isinstance(error, ConstraintViolatedError):
                    raise
                # A broken invariant of ours: nothing was written. Stop play on this link alone, and say so.
                log.exception("invariant_broken", link=self.link)
                metrics.invariants_broken.labels(self.link).inc()
                why = f"controller: {type(error).__name__}: {error}"
                if broken:
                    raise UndecidableBatchError(why) from error
                broken = True
                await self._suspend(why)
        raise LedgerError(
            f"link {self.link}: a batch of {len(taken)} could not be committed in {ATTEMPTS_MAX} attempts"
        )

    def _start_again(self, why: str, error: Exception) -> None:
        self.state = None
        metrics.commit_retries.labels(self.link, why).inc()
        log.info("commit_retried", link=self.link, why=why, error=str(error))

    async def _suspend(self, reason: str) -> None:
        state = await self._read_again()
        if state.suspended is not None:
            return
        printable = "".join(character if character.isprintable() else " " for character in reason)[:200]
        order = PendingCommand(
            LinkSuspended(id=f"suspend-{self._head.chain.hex()[:32]}", by="controller", reason=printable),
            asyncio.get_running_loop().create_future(),
        )
        self._tell(await self._attempt([order], careful=False))

    async def _attempt(self, taken: list[IncomingEvent | PendingCommand], *, careful: bool) -> BatchOutcome:
        state = self.state or await self._read_again()
        read = [self._read(item.table, item.payload) if isinstance(item, IncomingEvent) else item for item in taken]
        seen, past, new = await self._look_up(state, taken, read, careful=careful)
        at = max(self._now(), self._head.at)
        day = max(self._gaming_day.day(at), self._head.day)
        batch = Batch(self._head, state, at, day)
        attempt = BatchAttempt(state, self._directory, self._tables, seen, past, new, batch, rfc3339(at))
        for item, event in zip(taken, read, strict=True):
            if isinstance(item, PendingCommand):
                attempt.carry_out(item)
            elif isinstance(event, UnreadableEvent):
                self._outlet.quarantine(item.table, item.payload, event.refused)
                if event.unproved:
                    metrics.unproved.labels(self.link, item.table).inc()
                attempt.outcome.replies.append((item.table, codec.encode(codec.unreadable_reply(event))))
            elif not isinstance(event, PendingCommand):
                attempt.judge(item, event)
        if batch.records:
            self._at_point("begun")
            started = perf_counter()
            await self._store.commit(batch, state, sent=self._outlet.sent)
            self._commit_seconds.observe(perf_counter() - started)
            self._batch_events.observe(len(batch.records))
            self._head = batch.head
        return attempt.outcome

    def _now(self) -> dt.datetime:
        """To the millisecond, as the contract writes it, so that what is read back is what was said."""
        now = self._clock()
        return now.replace(microsecond=now.microsecond // 1000 * 1000)

    async def _look_up(
        self, state: LinkState, taken: list[IncomingEvent | PendingCommand], read: list[Any], *, careful: bool
    ) -> tuple[dict[str, RecordedEvent], ClosedHistory, set[str]]:
        """Ask the ledger only about what cannot be new; the ids it was not asked about come last.

        An event with its table's next seq is taken for new, and so is a round that is opened: if either was there
        before, a unique index refuses the batch, and it is decided again with everything looked up.
        """
        next_seq = dict(state.next_seq)
        ids: set[str] = set()
        rounds: set[RoundKey] = set()
        awards: set[str] = set()
        opened: set[RoundKey] = set()
        ahead: set[str] = set()
        new: set[str] = set()
        for item, event in zip(taken, read, strict=True):
            if isinstance(item, PendingCommand):
                # Always: one that was carried out, and its answer lost, is perhaps no longer possible.
                ids.add(item.command.id)
                continue
            if not isinstance(event, ev.Event):
                continue
            expected = next_seq.get(item.table, 1)
            if careful or event.seq != expected or state.suspended is not None:
                ids.add(event.id)
            else:
                new.add(event.id)
                next_seq[item.table] = expected + 1
            if careful or event.seq > expected:
                # It may have spoken on another link meanwhile, where it finishes or begins.
                ahead.add(item.table)
            if isinstance(event, ev.AwardPaid):
                if event.award not in state.unpaid:
                    awards.add(event.award)
            elif isinstance(event, ev.RoundEvent):
                key = (item.table, event.round)
                if isinstance(event, ev.RoundOpened) and event.id in new:
                    opened.add(key)
                elif key not in opened and state.find(key) is None:
                    rounds.add(key)
        seen = await self._store.kept(ids) if ids else {}
        past = await self._store.past(rounds, awards) if rounds or awards else ClosedHistory()
        if ahead:
            state.next_seq.update(await self._store.next_seqs(ahead))
        return seen, past, new
