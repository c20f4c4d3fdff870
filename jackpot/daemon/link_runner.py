"""One link's life in this daemon: stand by, take the lease, lead, and let go when another must, or asks to.

While the ledger cannot be reached the link is suspended: its status and states say so, nothing is answered, and events
wait with the broker. When it can be reached again, and nobody else has taken the lease, play goes on by itself.

A leader that has lost the broker lets its lease lapse, so that a standby which reaches it takes over.
"""

import asyncio
import datetime as dt
import time
from collections.abc import Callable, Coroutine, Mapping, Sequence
from types import MappingProxyType
from typing import Any

import asyncpg
import structlog

from jackpot import metrics
from jackpot.config import Config, Link
from jackpot.contract.gaming_day import GamingDay
from jackpot.contract.proofs import EventReader
from jackpot.daemon.background_tasks import BackgroundTasks, suspension
from jackpot.daemon.batch_attempt import IncomingEvent
from jackpot.daemon.batch_processor import BatchProcessor
from jackpot.daemon.lease_balancer import LeaseBalancer
from jackpot.daemon.link_channel import LinkChannel
from jackpot.daemon.startup_commands import configured_tables, first_commands
from jackpot.ledger import lease
from jackpot.ledger.errors import DATABASE_ERRORS, DeposedError
from jackpot.ledger.heads.file import HeadsFile
from jackpot.ledger.load import rfc3339
from jackpot.ledger.quarantine import Quarantine
from jackpot.ledger.record import Head
from jackpot.ledger.seal import UNSEALED, Seal
from jackpot.ledger.store import Store
from jackpot.link.state import LinkState
from jackpot.mqtt.client import Broker, Message

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

log = structlog.get_logger()


def utc_now() -> dt.datetime:
    return dt.datetime.now(dt.UTC)


class LinkRunner:
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
        seal: Seal = UNSEALED,
        share: LeaseBalancer | None = None,
        clock: Callable[[], dt.datetime] = utc_now,
        at_point: Callable[[str], None] = lambda _: None,
        beside: Sequence[Callable[[], Coroutine[Any, Any, None]]] = (),
    ) -> None:
        """`keys` are of tables that prove their events; `seal` is on orders; `beside` runs while this daemon leads.

        Without a `share` every free lease is taken, and none is handed over.
        """
        metrics.expect(link.id)
        for table in config.tables_of(link.id):
            if table.id in keys:
                metrics.unproved.labels(link.id, table.id)
        self.link = link
        self._beside = beside
        self._config = config
        self._pool = pool
        self._holder = holder
        self._share = share
        self._reaches_broker = reaches_broker
        self._broker_seen = time.monotonic()
        self.reaches_ledger = False
        """Whether the ledger has answered what it was asked last."""
        self._epoch = 0
        self._renewed = float("-inf")
        self._closing = False
        self._store = Store(database_url, link.id, password)
        self._channel = LinkChannel(
            link.id,
            broker,
            tables=frozenset(table.id for table in config.tables_of(link.id)),
            now=lambda: rfc3339(clock()),
            on_event=self._on_event,
            waiting=lambda: len(self._processor),
            may_connect=self._may_connect,
            vouches=self.vouches,
            on_connect=self._on_connect,
            on_unreadable=quarantine.keep,
        )
        self._clock = clock
        self._heads = heads
        self._gaming_day = GamingDay.of(config.gaming_day.timezone, config.gaming_day.starts_at)
        self._processor = BatchProcessor(
            link.id,
            self._store,
            self._channel,
            directory={table.id: table.link for table in config.tables},
            tables={table.id: table for table in configured_tables(link, config)},
            gaming_day=self._gaming_day,
            clock=clock,
            read=EventReader(link.id, keys),
            at_point=at_point,
        )
        self._background = BackgroundTasks(link.id, pool, self._processor, self._channel, seal=seal, heads=heads)

    # -- what others ask ----------------------------------------------------------------------------------------

    @property
    def leading(self) -> bool:
        return self._epoch > 0

    @property
    def connected(self) -> bool:
        return self._channel.session.connection is not None

    @property
    def reaches_broker(self) -> bool:
        """A standby has no connection for the link, and needs none yet."""
        return self.connected if self.leading else self._reaches_broker()

    def vouches(self) -> bool:
        """Whether we can be sure that nobody else writes this link now."""
        return self.leading and time.monotonic() - self._renewed < LEASE_S

    def close(self) -> None:
        """Finish the batch, answer, say `stopped`; `run` then returns."""
        self._closing = True
        self._processor.close()

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
        self._processor.forget()
        self._broker_seen = min(self._broker_seen, time.monotonic())
        while not self._closing:
            if 0 < self._without_broker_s() < BROKERLESS_S:
                await asyncio.sleep(LOOK_EVERY_S)
                continue
            if self._share is not None and (not await self._share.turn(self.link.id) or self._closing):
                continue
            try:
                if await self._take():
                    if self._without_broker_s() > 0:
                        self._broker_seen = float("inf")  # nobody has it: hold on to the lease until it comes
                    return
            except DATABASE_ERRORS as error:
                self._miss_ledger(error)
            await asyncio.sleep(STANDBY_EVERY_S)

    def _miss_ledger(self, error: BaseException) -> None:
        self.reaches_ledger = False
        log.warning("ledger_unreachable", link=self.link.id, error=str(error))

    async def _take(self) -> bool:
        before = time.monotonic()
        async with self._pool.acquire(timeout=LEASE_S) as connection:
            epoch = await lease.take(connection, self.link.id, self._holder, LEASE_S)
        self.reaches_ledger = True
        if epoch is None:
            return False
        _, state, self._channel.sent = await self._open(epoch)
        self._channel.forget()
        commands = first_commands(self.link, self._config, state)
        if (doubt := await self._background.doubt()) is not None and state.suspended is None:
            commands.append(suspension(doubt))
        for command in commands:
            await self._processor.carry_out(command)
        await self._background.take_standing()
        head, state, sent = await self._open(epoch)
        self._channel.lead(state, head.n, sent)
        # Not before: who vouches may connect, and would say what was true when we led last.
        self._epoch, self._renewed = epoch, before
        self._background.tell_status()
        self._background.send_again()
        metrics.leading.labels(self.link.id).set(1)
        log.info("leading", link=self.link.id, epoch=epoch, n=head.n)
        return True

    async def _open(self, epoch: int) -> tuple[Head, LinkState, int]:
        head, state, sent = await self._processor.open()
        if head.epoch != epoch:
            raise DeposedError(f"link {self.link.id} is at epoch {head.epoch}, not {epoch}")
        return head, state, sent

    async def _lead(self) -> None:
        """From having the lease to having lost it or handed it over, or to being closed."""
        async with asyncio.TaskGroup() as tasks:
            beside = [
                tasks.create_task(self._channel.session.run(), name=f"{self.link.id} session"),
                tasks.create_task(self._channel.announce(), name=f"{self.link.id} announce"),
                tasks.create_task(self._channel.remind(), name=f"{self.link.id} remind"),
                *(tasks.create_task(task()) for task in self._beside),
            ]
            if self._heads is not None:
                signing = self._background.sign_heads(self._heads, self._gaming_day, self._clock)
                beside.append(tasks.create_task(signing, name=f"{self.link.id} heads"))
            while not (served := await self._serve()) and await self._regain():
                pass
            epoch = self._epoch
            if self._closing:
                await self._channel.stop()
            elif served:
                self._epoch = 0  # so that the session does not connect again
                await self._channel.leave()
            for task in beside:
                task.cancel()
        self._epoch = 0
        metrics.stand_by(self.link.id)
        if served or self._closing:
            await self._let_go(epoch)
        else:
            log.warning("deposed", link=self.link.id, epoch=epoch)

    async def _serve(self) -> bool:
        """Serve until closed or asked for the link (True), or until the ledger or the lease is in doubt (False)."""
        served = False
        try:
            async with asyncio.TaskGroup() as tasks:
                beside = [
                    tasks.create_task(self._renew(), name=f"{self.link.id} renew"),
                    tasks.create_task(
                        self._background.take_requests(REQUESTS_EVERY_S), name=f"{self.link.id} requests"
                    ),
                    tasks.create_task(self._background.send_outbox(), name=f"{self.link.id} outbox"),
                    tasks.create_task(self._background.audit(AUDIT_EVERY_S), name=f"{self.link.id} audit"),
                ]
                await self._processor.run()
                served = True
                for task in beside:
                    task.cancel()
        except* DATABASE_ERRORS as group:
            log.warning("ledger_in_doubt", link=self.link.id, errors=[str(error) for error in group.exceptions])
            self.reaches_ledger = False
            self._processor.state = None
            self._store.drop()
        if (us := asyncio.current_task()) is not None and us.cancelling():
            # A group that fails while it is cancelled tells of its errors alone (until Python 3.13).
            raise asyncio.CancelledError
        return served

    async def _renew(self) -> None:
        while True:
            await asyncio.sleep(RENEW_EVERY_S)
            # Without the broker we hold the lease for nobody: another may have it, and until then we are the leader.
            held = self._without_broker_s() <= BROKER_PATIENCE_S
            renewed = time.monotonic() if held else float("-inf")
            self._renewed = min(self._renewed, renewed)
            async with asyncio.timeout(LEASE_S), self._pool.acquire() as connection:
                seconds = LEASE_S if held else 0.0
                asked_by = await lease.renew(connection, self.link.id, self._holder, self._epoch, seconds)
            self._renewed = renewed
            self._background.tell_status()
            self._background.measure()
            if asked_by is not None and self._share is not None:
                log.info("handing_over", link=self.link.id, to=asked_by)
                self._processor.pause()

    async def _regain(self) -> bool:
        """The ledger failed us. True when we lead again, False when another does or we are closing."""
        self._channel.say("suspended", reason="the ledger cannot be reached")
        while not self._closing:
            try:
                return await self._take()
            except DATABASE_ERRORS as error:
                self._miss_ledger(error)
                self._store.drop()
            await asyncio.sleep(STANDBY_EVERY_S)
        return False

    async def _let_go(self, epoch: int) -> None:
        """Closing: to anybody. Otherwise to who has asked, and to anybody if that one is not there after all.

        Not for long: a lease that cannot be given up ends soon by itself.
        """
        link, holder, sent = self.link.id, self._holder, self._channel.sent
        try:
            async with asyncio.timeout(LEASE_S / 2), self._pool.acquire(timeout=LEASE_S / 2) as connection:
                if self._closing:
                    await lease.give_up(connection, link, holder, epoch, sent=sent)
                else:
                    await lease.hand_over(connection, link, holder, epoch, LEASE_S / 2, sent=sent)
        except DATABASE_ERRORS as error:
            log.warning("lease_not_given_up", link=link, error=str(error))

    # -- the wire's side ----------------------------------------------------------------------------------------

    def _on_event(self, table: str, message: Message) -> None:
        self._processor.receive(IncomingEvent(table, message.payload, message))

    def _on_connect(self) -> None:
        self._background.send_again()

    async def _may_connect(self) -> bool:
        """Not before we are sure again that the client id is ours to use."""
        while self.leading and not self.vouches():  # noqa: ASYNC110 whether we vouch is a matter of time alone
            await asyncio.sleep(RENEW_EVERY_S / 4)
        return self.leading
