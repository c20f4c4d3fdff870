"""One link's life in this daemon: stand by, take the lease, lead, and let go when another must.

While the ledger cannot be reached the link is suspended: its status and states say so, nothing is answered, and events
wait with the broker. When it can be reached again, and nobody else has taken the lease, play goes on by itself.

A leader that has lost the broker lets its lease lapse, so that a standby which reaches it takes over.
"""

import asyncio
import datetime as dt
import json
import time
import uuid
from collections.abc import Callable, Coroutine, Mapping, Sequence
from types import MappingProxyType
from typing import Any

import asyncpg
import structlog

from jackpot import metrics
from jackpot.config import Config, Link
from jackpot.desk import Desk
from jackpot.ledger import audit, lease, load, requests
from jackpot.ledger.errors import DRIVER_ERRORS, Deposed, LedgerError
from jackpot.ledger.heads import HeadsFile, keep_heads
from jackpot.ledger.load import rfc3339
from jackpot.ledger.quarantine import Quarantine
from jackpot.ledger.record import Head
from jackpot.ledger.store import Store
from jackpot.link.commands import AnyCommand, LinkOpened, LinkSuspended, TablesConfigured, parameters_document
from jackpot.link.gaming_day import GamingDay
from jackpot.link.state import LinkState
from jackpot.sitting import Arrival, Order
from jackpot.wire.channel import Channel
from jackpot.wire.mqtt import Broker, Message
from jackpot.wire.proof import Reader

LEASE_S = 4.0
RENEW_EVERY_S = 1.0
STANDBY_EVERY_S = 0.5
BROKER_PATIENCE_S = 5.0
"""So long without the broker, and a leader lets others try."""
BROKERLESS_S = 10.0
"""So long without it, and a standby takes a free lease all the same: others seem to lack it too, and orders wait."""
LOOK_EVERY_S = 0.05
REQUESTS_EVERY_S = 0.25
AUDIT_EVERY_S = 60.0
OUTBOX_PAGE = 500

CONTROLLER = "controller"

log = structlog.get_logger()

TROUBLE = (LedgerError, *DRIVER_ERRORS)


def utc_now() -> dt.datetime:
    return dt.datetime.now(dt.UTC)


class Leader:
    def __init__(
        self,
        link: Link,
        config: Config,
        *,
        database_url: str,
        password: str | None,
        broker: Broker,
        pool: asyncpg.Pool,
        quarantine: Quarantine,
        holder: str,
        reaches_broker: Callable[[], bool] = lambda: True,
        keys: Mapping[str, bytes] = MappingProxyType({}),
        heads: HeadsFile | None = None,
        clock: Callable[[], dt.datetime] = utc_now,
        at_point: Callable[[str], None] = lambda _: None,
        beside: Sequence[Callable[[], Coroutine[Any, Any, None]]] = (),
    ) -> None:
        """`keys` are of tables that prove their events; `beside` runs while this daemon leads the link."""
        metrics.expect(link.id)
        self.link = link
        self._beside = beside
        self._config = config
        self._pool = pool
        self._holder = holder
        self._reaches_broker = reaches_broker
        self._broker_seen = time.monotonic()
        self._epoch = 0
        self._renewed = float("-inf")
        self._closing = False
        self._store = Store(database_url, link.id, password)
        self._channel = Channel(
            link.id,
            broker,
            now=lambda: rfc3339(clock()),
            on_event=self._on_event,
            waiting=lambda: len(self._desk),
            may_connect=self._may_connect,
            vouches=self.vouches,
            on_connect=self._on_connect,
            on_unreadable=quarantine.keep,
        )
        self._clock = clock
        self._heads = heads
        self._gaming_day = GamingDay.of(config.gaming_day.timezone, config.gaming_day.starts_at)
        self._desk = Desk(
            link.id,
            self._store,
            self._channel,
            directory={table.id: table.link for table in config.tables},
            gaming_day=self._gaming_day,
            clock=clock,
            read=Reader(link.id, {table.id: keys[table.id] for table in config.tables_of(link.id) if table.id in keys}),
            at_point=at_point,
        )
        self._outbox = asyncio.Event()

    # -- what others ask ----------------------------------------------------------------------------------------

    @property
    def leading(self) -> bool:
        return self._epoch > 0

    @property
    def connected(self) -> bool:
        return self._channel.session.connection is not None

    def vouches(self) -> bool:
        """Whether we can be sure that nobody else writes this link now."""
        return self.leading and time.monotonic() - self._renewed < LEASE_S

    def close(self) -> None:
        """Finish the batch, answer, say `stopped`; `run` then returns."""
        self._closing = True
        self._desk.close()

    # -- the life -----------------------------------------------------------------------------------------------

    async def run(self) -> None:
        try:
            while not self._closing:
                await self._stand_by()
                if self.leading:
                    await self._lead()
        except Exception:
            log.exception("leader_failed", link=self.link.id)
            raise
        finally:
            await self._store.close()

    def _without_broker_s(self) -> float:
        now = time.monotonic()
        if self._reaches_broker() or self.connected:
            self._broker_seen = now
        return now - self._broker_seen

    async def _stand_by(self) -> None:
        self._broker_seen = min(self._broker_seen, time.monotonic())
        while not self._closing:
            if 0 < self._without_broker_s() < BROKERLESS_S:
                await asyncio.sleep(LOOK_EVERY_S)
                continue
            try:
                if await self._take():
                    if self._without_broker_s() > 0:
                        self._broker_seen = float("inf")  # nobody has it: hold on to the lease until it comes
                    return
            except TROUBLE as error:
                log.warning("ledger_unreachable", link=self.link.id, error=str(error))
            await asyncio.sleep(STANDBY_EVERY_S)

    async def _take(self) -> bool:
        before = time.monotonic()
        async with self._pool.acquire(timeout=LEASE_S) as connection:
            epoch = await lease.take(connection, self.link.id, self._holder, LEASE_S)
        if epoch is None:
            return False
        _, state, _ = await self._open(epoch)
        for command in self._first_commands(state):
            await self._desk.serve([Order(command, asyncio.get_running_loop().create_future())])
        head, state, sent = await self._open(epoch)
        self._channel.lead(state, head.n, sent)
        # Not before: who vouches may connect, and would say what was true when we led last.
        self._epoch, self._renewed = epoch, before
        self._tell_status()
        self._outbox.set()
        metrics.leading.labels(self.link.id).set(1)
        log.info("leading", link=self.link.id, epoch=epoch, n=head.n)
        return True

    async def _open(self, epoch: int) -> tuple[Head, LinkState, int]:
        head, state, sent = await self._desk.open()
        if head.epoch != epoch:
            raise Deposed(f"link {self.link.id} is at epoch {head.epoch}, not {epoch}")
        return head, state, sent

    def _first_commands(self, state: LinkState) -> list[AnyCommand]:
        """A link seen for the first time is opened; its tables are recorded whenever they change."""
        found: list[AnyCommand] = []
        if state.parameters_version == 0:
            reason = "seen for the first time in the configuration"
            parameters = parameters_document(self.link.parameters)
            found.append(LinkOpened(id=str(uuid.uuid4()), by=CONTROLLER, reason=reason, parameters=parameters))
        elif state.parameters != self.link.parameters:
            log.warning(
                "parameters_differ",
                link=self.link.id,
                in_force=parameters_document(state.parameters),
                configured=parameters_document(self.link.parameters),
                hint="the file changes nothing on a link that exists; propose the change in the console",
            )
        tables = [
            {"id": table.id, "game": table.game, "positions": table.positions}
            for table in self._config.tables_of(self.link.id)
        ]
        if tables != state.tables_document():
            reason = "tables of the configuration"
            found.append(TablesConfigured(id=str(uuid.uuid4()), by=CONTROLLER, reason=reason, tables=tables))
        return found

    async def _lead(self) -> None:
        """From having the lease to having lost it, or to being closed."""
        async with asyncio.TaskGroup() as tasks:
            beside = [
                tasks.create_task(self._channel.session.run(), name=f"{self.link.id} session"),
                tasks.create_task(self._channel.announce(), name=f"{self.link.id} announce"),
                tasks.create_task(self._channel.remind(), name=f"{self.link.id} remind"),
                *(tasks.create_task(task()) for task in self._beside),
                tasks.create_task(self._keep_heads(), name=f"{self.link.id} heads"),
            ]
            while not await self._serve() and await self._regain():
                pass
            if self._closing:
                await self._channel.stop()
            for task in beside:
                task.cancel()
        metrics.leading.labels(self.link.id).set(0)
        if self._closing:
            await self._give_up()
        else:
            log.warning("deposed", link=self.link.id, epoch=self._epoch)
        self._epoch = 0

    async def _serve(self) -> bool:
        """Serve until closed (True) or until the ledger or the lease is in doubt (False)."""
        served = False
        try:
            async with asyncio.TaskGroup() as tasks:
                beside = [
                    tasks.create_task(self._renew(), name=f"{self.link.id} renew"),
                    tasks.create_task(self._take_requests(), name=f"{self.link.id} requests"),
                    tasks.create_task(self._send_outbox(), name=f"{self.link.id} outbox"),
                    tasks.create_task(self._audit(), name=f"{self.link.id} audit"),
                ]
                await self._desk.run()
                served = True
                for task in beside:
                    task.cancel()
        except* TROUBLE as group:
            log.warning("ledger_in_doubt", link=self.link.id, errors=[str(error) for error in group.exceptions])
            self._desk.state = None
            self._store.drop()
        return served

    async def _regain(self) -> bool:
        """The ledger failed us. True when we lead again, False when another does or we are closing."""
        self._channel.say("suspended", reason="the ledger cannot be reached")
        while not self._closing:
            try:
                return await self._take()
            except TROUBLE as error:
                log.warning("ledger_unreachable", link=self.link.id, error=str(error))
                self._store.drop()
            await asyncio.sleep(STANDBY_EVERY_S)
        return False

    async def _give_up(self) -> None:
        try:
            async with self._pool.acquire(timeout=LEASE_S) as connection:
                await lease.give_up(connection, self.link.id, self._holder, self._epoch, sent=self._channel.sent)
        except TROUBLE as error:
            log.warning("lease_not_given_up", link=self.link.id, error=str(error))

    # -- the wire's side ----------------------------------------------------------------------------------------

    def _on_event(self, table: str, message: Message) -> None:
        self._desk.receive(Arrival(table, message.payload, message))

    def _on_connect(self) -> None:
        self._outbox.set()

    async def _may_connect(self) -> bool:
        """Not before we are sure again that the client id is ours to use."""
        while self.leading and not self.vouches():  # noqa: ASYNC110 whether we vouch is a matter of time alone
            await asyncio.sleep(RENEW_EVERY_S / 4)
        return self.leading

    def _tell_status(self) -> None:
        state = self._desk.state
        if state is None:
            return  # it is about to be read again
        if state.suspended is not None:
            self._channel.say("suspended", reason=state.suspended)
        else:
            self._channel.say("running")

    # -- the tasks beside the desk ------------------------------------------------------------------------------

    async def _renew(self) -> None:
        while True:
            await asyncio.sleep(RENEW_EVERY_S)
            # Without the broker we hold the lease for nobody: another may have it, and until then we are the leader.
            held = self._without_broker_s() <= BROKER_PATIENCE_S
            renewed = time.monotonic() if held else float("-inf")
            self._renewed = min(self._renewed, renewed)
            async with asyncio.timeout(LEASE_S), self._pool.acquire() as connection:
                seconds = LEASE_S if held else 0.0
                await lease.renew(connection, self.link.id, self._holder, self._epoch, seconds)
            self._renewed = renewed
            self._tell_status()
            self._measure()

    def _measure(self) -> None:
        state, link = self._desk.state, self.link.id
        metrics.waiting_events.labels(link).set(len(self._desk))
        if state is not None:
            metrics.displayed_cents.labels(link).set(state.displayed_cents())
            metrics.claims_waiting.labels(link).set(len(state.claims))
            metrics.awards_unpaid.labels(link).set(len(state.unpaid))
            metrics.suspended.labels(link).set(state.suspended is not None)
            for account in ("wagered", "recoverable", "pool", "reserve", "house", "awarded"):
                metrics.balance_micros.labels(link, account).set(getattr(state.balances, account))

    async def _take_requests(self) -> None:
        while True:
            await asyncio.sleep(REQUESTS_EVERY_S)
            async with self._pool.acquire() as connection:
                found = await requests.waiting(connection, self.link.id)
            for request in found:
                answer = await self._carry_out(request.command)
                async with self._pool.acquire() as connection:
                    await requests.answer(connection, request.id, answer)

    async def _carry_out(self, command: AnyCommand | None) -> dict[str, Any]:
        if command is None:
            return {"status": "refused", "message": "This order cannot be read; was it left by another version?"}
        async with self._pool.acquire() as connection:
            kept = (await load.kept(connection, [command.id])).get(command.id)
        if kept is not None:  # carried out just before a crash, and only the answer is missing
            return dict(json.loads(kept.answer))
        answer = await self._desk.order(command)
        self._tell_status()
        return answer

    async def _send_outbox(self) -> None:
        """Answers that were committed but perhaps never sent go out again, after every connection."""
        while True:
            await self._outbox.wait()
            self._outbox.clear()
            self._channel.resending = True
            sent, upto = self._channel.sent, self._desk.n
            while self.connected and sent < upto:
                async with self._pool.acquire() as connection:
                    page = await load.answers_between(connection, self.link.id, sent, upto, OUTBOX_PAGE)
                for _, table, answer in page:
                    self._channel.reply(table, answer)
                sent = page[-1][0] if page else upto
            self._channel.resending = False
            self._channel.awards_again()

    async def _keep_heads(self) -> None:
        if self._heads is not None:
            await keep_heads(
                self._heads,
                self.link.id,
                head=lambda: self._desk.head,
                gaming_day=self._gaming_day,
                clock=self._clock,
                publish=self._channel.head,
            )

    async def _audit(self) -> None:
        """Does the ledger still agree with itself? If not, nobody plays on it until a person has looked."""
        while True:
            await asyncio.sleep(AUDIT_EVERY_S)
            async with self._pool.acquire() as connection:
                problem = await audit.self_audit(connection, self.link.id)
            if problem is not None:
                log.error("self_audit_failed", link=self.link.id, problem=problem)
                reason = f"self-audit: {problem}"[:200]
                await self._carry_out(LinkSuspended(id=str(uuid.uuid4()), by=CONTROLLER, reason=reason))
