"""One link's place on the wire: its events in; replies, notices, meter, states and status out.

Retained messages are published when they change, the newest of each at most a few times a second; the rest at once.
"""

import asyncio
from collections import deque
from collections.abc import Awaitable, Callable, Container, Iterable
from typing import TYPE_CHECKING, Any

import structlog

from jackpot import metrics
from jackpot.contract import codec, topics
from jackpot.contract.refusals import Refused
from jackpot.link.awards import Award
from jackpot.link.state import LinkState, meter, table_state
from jackpot.mqtt.client import Broker, Connection, Message, MqttError, Will
from jackpot.mqtt.session import Session

if TYPE_CHECKING:
    from jackpot.contract.messages import Meter, TableStateMessage

METER_EVERY_S = 0.1
METER_AT_LEAST_EVERY_S = 2.0
STATES_EVERY_TURNS = 5
FEW_TABLES = 10
"""So many may be told of at every turn; the states of a busy floor are told every fifth, twice a second."""
NOTICES_EVERY_S = 10.0
HELD_MAX, HELD_LOW = 8_000, 2_000

log = structlog.get_logger()


class LinkChannel:
    def __init__(
        self,
        link: str,
        broker: Broker,
        *,
        tables: Container[str],
        now: Callable[[], str],
        on_event: Callable[[str, Message], None],
        waiting: Callable[[], int],
        may_connect: Callable[[], Awaitable[bool]],
        vouches: Callable[[], bool],
        on_connect: Callable[[], None] = lambda: None,
        on_unreadable: Callable[[str, bytes, Refused], None] = lambda *_: None,
    ) -> None:
        """`tables` are those that may begin a round here; one that left may finish what it began."""
        self.link = link
        self._tables = tables
        self._now = now
        self._on_event = on_event
        self._waiting = waiting
        self._vouches = vouches
        self._on_connect = on_connect
        self._on_unreadable = on_unreadable
        # What was committed last: never what a batch under way is about to make of it.
        self._meter: Meter | None = None
        self._states: dict[str, TableStateMessage] = {}
        self._unpaid: dict[str, Award] = {}
        self._signed_head: bytes | None = None
        self._status: dict[str, Any] = {"state": "running"}
        self._status_at = now()
        self._changed = asyncio.Event()
        self._tables_changed: set[str] = set()
        self._published = 0
        self._marks: deque[tuple[int, int]] = deque()
        self._paused: Connection | None = None
        """The connection that we do not read from for now: also one that is still being opened."""
        self._opening: Connection | None = None
        """The one that brings events, and has not said yet that we are subscribed."""
        self.sent = 0
        """Up to this event every answer has reached the broker."""
        self.resending = False
        """While older answers are still being sent, newer ones do not count as the last."""
        self.session = Session(
            broker=broker,
            client_id=f"jackpot-{link}",
            on_message=self._receive,
            on_connect=self._connected,
            on_lost=self._lost,
            subscriptions=[(topics.events(link, "+"), 1)],
            will=Will(topics.status(link), codec.encode({"state": "lost"})),
            clean_session=False,
            may_connect=may_connect,
        )

    # -- what comes in ------------------------------------------------------------------------------------------

    def _receive(self, message: Message) -> None:
        if self.session.connection is None:
            self._opening = message.connection
        self._on_event(topics.table_of(message.topic)[1], message)
        if self._waiting() >= HELD_MAX:
            # Bounded memory: the broker keeps what we do not read.
            self._paused = message.connection
            self._paused.pause_reading()

    def acknowledge(self, messages: Iterable[Message]) -> None:
        for message in messages:
            message.connection.ack(message)
        if self._paused is not None and self._waiting() <= HELD_LOW:
            self._paused.resume_reading()
            self._paused = None

    def quarantine(self, table: str, payload: bytes, refused: Refused) -> None:
        metrics.unreadable.labels(self.link, refused.code.value).inc()
        self._on_unreadable(topics.events(self.link, table), payload, refused)

    # -- what goes out ------------------------------------------------------------------------------------------

    def _publish(self, topic: str, payload: bytes, *, retain: bool = False, on: Connection | None = None) -> None:
        connection = self.session.connection or on
        if connection is None:
            return
        try:
            connection.publish_nowait(topic, payload, retain=retain)
            self._published += 1
        except (MqttError, ValueError) as error:  # lost meanwhile; or a table's name that leaves no room for an answer
            log.debug("not_published", link=self.link, topic=topic[:100], error=str(error))

    def reply(self, table: str, payload: bytes) -> None:
        """Also on a connection that is still being opened: what came on it is acknowledged there."""
        self._publish(topics.replies(self.link, table), payload, on=self._opening)

    def award(self, award: Award) -> None:
        self._unpaid[award.id] = award
        self._announce(award)

    def awards_again(self) -> None:
        """After every connection, behind the answers that were due: a crash may have kept them from being said."""
        for award in self._unpaid.values():
            self._announce(award)

    def _announce(self, award: Award) -> None:
        self._notice(award)
        self._publish(topics.awards(self.link), codec.encode(award.document()))

    def head(self, signed: bytes) -> None:
        self._signed_head = signed
        self._publish(topics.head(self.link), signed, retain=True)

    def paid(self, award: Award) -> None:
        self._unpaid.pop(award.id, None)

    def _notice(self, award: Award) -> None:
        notice = codec.encode({"notice": "award", "award": award.document()})
        self._publish(topics.replies(self.link, award.table), notice)

    def committed(self, state: LinkState, n: int, tables: Iterable[str]) -> None:
        """The answers up to event `n` have been published, and this is what the link has come to."""
        if self.session.connection is not None:
            self._marks.append((self._published, n))
        self._note(state, n, tables)
        self._changed.set()
        self._count_confirmed()

    def _note(self, state: LinkState, n: int, tables: Iterable[str]) -> None:
        at = self._now()
        self._meter = meter(state, version=n, at=at)
        for table in tables:
            self._states[table] = table_state(state, table, at=at)
            self._tables_changed.add(table)

    def _count_confirmed(self) -> None:
        """Brokers confirm in order, so the answers of a batch are there once as many are confirmed."""
        connection = self.session.connection
        if connection is None or self.resending:
            return
        confirmed = self._published - connection.unsettled
        while self._marks and self._marks[0][0] <= confirmed:
            self.sent = self._marks.popleft()[1]

    def forget(self) -> None:
        """What the tables' states were when this daemon led last is not ours to say any more."""
        self._states.clear()
        self._tables_changed.clear()

    def lead(self, state: LinkState, n: int, sent: int) -> None:
        """This daemon speaks for the link from now on, starting from this state."""
        self.sent = sent
        self._unpaid = dict(state.unpaid)
        self._note(state, n, {*state.tables, *(award.table for award in self._unpaid.values())})
        self._status_at = self._now()
        self._changed.set()

    def say(self, state: str, **more: Any) -> None:
        """Set and publish the link's status; the tables' states say with it whether they may play."""
        status = {"state": state, **more}
        if status != self._status:
            was_running, self._status = self._running, status
            self._status_at = self._now()
            if self._running != was_running:
                for told in self._states.values():
                    told["at"] = self._status_at
            self._publish_status()
            self._publish_states(self._states)

    @property
    def _running(self) -> bool:
        return bool(self._status["state"] == "running")

    def _publish_status(self) -> None:
        """As it was said first: whoever hears it again knows that nothing is new."""
        status = {**self._status, "link": self.link, "at": self._status_at}
        self._publish(topics.status(self.link), codec.encode(status), retain=True)

    def _publish_meter(self) -> None:
        if self._meter is not None and self._vouches():
            self._meter["at"] = self._now()
            self._publish(topics.meter(self.link), codec.encode(self._meter), retain=True)

    def _publish_states(self, tables: Iterable[str]) -> None:
        for table in tables:
            state = self._states[table]
            message = {**state, "accepts_play": state["accepts_play"] and self._running and table in self._tables}
            self._publish(topics.state(self.link, table), codec.encode(message), retain=True)

    def _connected(self, connection: Connection) -> None:
        """Speak only if we vouch for the link now that we are here.

        The broker has one connection for a client id: a later leader's ends ours, so what we say on this one comes
        before all that it says.
        """
        self._opening = None
        if not self._vouches():
            # We stalled on our way here: what we know may be of the past, and its leader says all again.
            connection.abort()
            return
        self._published = 0
        self._marks.clear()
        metrics.broker_connected.labels(self.link).set(1)
        log.info("broker_connected", link=self.link)
        self._publish_status()
        self._publish_states(self._states)
        self._publish_meter()
        if self._signed_head is not None:
            self.head(self._signed_head)
        self._on_connect()

    def _lost(self) -> None:
        metrics.broker_connected.labels(self.link).set(0)
        self._marks.clear()

    # -- the tasks ----------------------------------------------------------------------------------------------

    async def announce(self) -> None:
        """Publish what changed, the newest of it, and the meter every other second in any case: it vouches."""
        turn = 0
        while True:
            try:
                async with asyncio.timeout(METER_AT_LEAST_EVERY_S):
                    await self._changed.wait()
            except TimeoutError:
                pass
            self._changed.clear()
            self._publish_meter()
            turn += 1
            if turn % STATES_EVERY_TURNS == 0 or len(self._tables_changed) < FEW_TABLES:
                changed, self._tables_changed = self._tables_changed, set()
                self._publish_states(changed)
            elif self._tables_changed:
                self._changed.set()
            self._count_confirmed()
            await asyncio.sleep(METER_EVERY_S)

    async def remind(self) -> None:
        """An award is announced to its table until it is paid.

        The status is said again too: should a broker deliver an old one late, the true one follows.
        """
        while True:
            await asyncio.sleep(NOTICES_EVERY_S)
            if self._vouches():
                self._publish_status()
            for award in self._unpaid.values():
                self._notice(award)

    async def stop(self) -> None:
        """Say the last figures and `stopped`, and leave."""
        self._publish_meter()
        self.say("stopped")
        await self.leave()

    async def leave(self) -> None:
        """In good order, so that there is no will: what was said last stands until the next leader speaks."""
        self._signed_head = None
        connection = self.session.connection
        if connection is None:
            return
        try:
            async with asyncio.timeout(3.0):
                await connection.settled()
            self._count_confirmed()
            await connection.close()
        except (MqttError, TimeoutError) as error:
            log.warning("left_without_goodbye", link=self.link, error=str(error))
