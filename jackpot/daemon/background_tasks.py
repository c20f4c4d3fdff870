"""What goes on beside the desk while a daemon leads a link: requests, answers sent again, figures, heads, audits."""

import asyncio
import datetime as dt
import uuid
from collections.abc import Awaitable, Callable
from typing import Any

import asyncpg
import structlog

from jackpot import metrics
from jackpot.contract.gaming_day import GamingDay
from jackpot.daemon.batch_processor import BatchProcessor
from jackpot.daemon.link_channel import LinkChannel
from jackpot.daemon.startup_commands import CONTROLLER
from jackpot.ledger import audit, commands, load
from jackpot.ledger.commands import Request
from jackpot.ledger.heads import keeping
from jackpot.ledger.heads.file import HeadsFile
from jackpot.ledger.record import Head
from jackpot.ledger.seal import Seal
from jackpot.link.commands import AnyCommand, LinkResumed, LinkSuspended, MoneyCommand
from jackpot.people import approvals

OUTBOX_PAGE = 500

CarryOut = Callable[[AnyCommand], Awaitable[dict[str, Any]]]

log = structlog.get_logger()


class BackgroundTasks:
    def __init__(
        self,
        link: str,
        pool: asyncpg.Pool,
        processor: BatchProcessor,
        channel: LinkChannel,
        *,
        seal: Seal,
        heads: HeadsFile | None,
    ) -> None:
        self.link = link
        self._pool = pool
        self._seal = seal
        self._heads = heads
        self._processor = processor
        self._channel = channel
        self._outbox = asyncio.Event()

    def tell_status(self) -> None:
        state = self._processor.state
        if state is None:
            return  # it is about to be read again
        if state.suspended is not None:
            self._channel.say("suspended", reason=state.suspended)
        else:
            self._channel.say("running")

    def measure(self) -> None:
        state, link = self._processor.state, self.link
        metrics.waiting_events.labels(link).set(len(self._processor))
        if state is not None:
            metrics.displayed_cents.labels(link).set(state.displayed_cents())
            metrics.claims_waiting.labels(link).set(len(state.claims))
            metrics.awards_unpaid.labels(link).set(len(state.unpaid))
            metrics.suspended.labels(link).set(state.suspended is not None)
            for account in ("wagered", "recoverable", "pool", "reserve", "house", "awarded"):
                metrics.balance_micros.labels(link, account).set(getattr(state.balances, account))

    async def take_requests(self, every_s: float) -> None:
        while True:
            await asyncio.sleep(every_s)
            await self._take_waiting(self._carry_out)

    async def take_standing(self) -> None:
        """What was ordered while nobody led the link comes before all play: a suspension, above all."""
        await self._take_waiting(self._processor.carry_out)

    async def _take_waiting(self, carry_out: CarryOut) -> None:
        async with self._pool.acquire() as connection:
            found = await commands.waiting(connection, self.link, self._seal)
        for request in found:
            answer = await self._answer(request, carry_out)
            epoch = self._processor.head.epoch
            async with self._pool.acquire() as connection:
                await commands.answer(connection, self.link, epoch, request.id, answer)

    async def _answer(self, request: Request, carry_out: CarryOut) -> dict[str, Any]:
        """Only what people may ask for, what our own programs have left, and what two have agreed on if it is money."""
        command = request.command
        if not request.sealed:
            return _refused("No program of ours has left this order: somebody else writes in the database.")
        if command is None:
            return _refused("This order cannot be read; was it left by another version?")
        if isinstance(command, LinkResumed) and (problem := await self._self_audit() or await self.doubt()) is not None:
            return _refused(f"Play cannot go on before this is mended: {problem}.")
        if not isinstance(command, MoneyCommand):
            return await carry_out(command)
        async with self._pool.acquire() as connection:
            problem = await approvals.problem(connection, self.link, command)
        if problem is not None:
            log.error("money_order_refused", link=self.link, command=command.id, by=command.by, problem=problem)
            metrics.forged.labels("proposals").inc()
            return _refused(f"It was not carried out: {problem}.")
        answer = await carry_out(command)
        if answer["status"] == "accepted":
            metrics.money_orders.labels(self.link).inc()
            about = {"type": command.type, "by": command.by, "approved_by": command.approved_by}
            log.warning("money_ordered", link=self.link, command=command.id, **about)
        return answer

    async def _carry_out(self, command: AnyCommand) -> dict[str, Any]:
        answer = await self._processor.order(command)
        self.tell_status()
        return answer

    def send_again(self) -> None:
        self._outbox.set()

    async def send_outbox(self) -> None:
        """Answers that were committed but perhaps never sent go out again, after every connection."""
        while True:
            await self._outbox.wait()
            self._outbox.clear()
            self._channel.resending = True
            sent, upto = self._channel.sent, self._processor.n
            while self._channel.session.connection is not None and sent < upto:
                async with self._pool.acquire() as connection:
                    page = await load.answers_between(connection, self.link, sent, upto, OUTBOX_PAGE)
                for _, table, answer in page:
                    self._channel.reply(table, answer)
                sent = page[-1][0] if page else upto
            self._channel.resending = False
            self._channel.awards_again()

    async def sign_heads(self, file: HeadsFile, gaming_day: GamingDay, clock: Callable[[], dt.datetime]) -> None:
        async def last_on(day: dt.date) -> Head:
            async with self._pool.acquire() as connection:
                return await keeping.last_on(connection, self.link, day)

        async def doubted() -> bool:
            if (doubt := await self.doubt()) is not None:
                await self._suspend(doubt)
            return doubt is not None

        await keeping.keep_heads(
            file,
            self.link,
            head=lambda: self._processor.head,
            last_on=last_on,
            doubted=doubted,
            gaming_day=gaming_day,
            clock=clock,
            publish=self._channel.head,
        )

    async def doubt(self) -> str | None:
        """What the ledger lacks of what this daemon has signed: it was set back, or rewritten."""
        last = None if self._heads is None else await asyncio.to_thread(self._heads.last, self.link)
        if last is not None:
            async with self._pool.acquire() as connection:
                if await keeping.holds(connection, last):
                    last = None
        metrics.head_contradicted.labels(self.link).set(last is not None)
        if last is None:
            return None
        doubt = keeping.contradiction(last)
        log.error("head_contradicted", link=self.link, problem=doubt)
        return doubt

    async def audit(self, every_s: float) -> None:
        """Does the ledger still agree with itself? If not, nobody plays on it until a person has looked."""
        while True:
            await asyncio.sleep(every_s)
            if (problem := await self._self_audit()) is not None:
                log.error("self_audit_failed", link=self.link, problem=problem)
                await self._suspend(f"self-audit: {problem}")

    async def _self_audit(self) -> str | None:
        async with self._pool.acquire() as connection:
            return await audit.self_audit(connection, self.link)

    async def _suspend(self, reason: str) -> None:
        if self._processor.state is not None and self._processor.state.suspended is None:
            await self._carry_out(suspension(reason))


def suspension(reason: str) -> LinkSuspended:
    return LinkSuspended(id=str(uuid.uuid4()), by=CONTROLLER, reason=reason[:200])


def _refused(message: str) -> dict[str, Any]:
    return {"status": "refused", "message": message}
