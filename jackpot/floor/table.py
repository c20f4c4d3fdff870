"""A table controller that follows the contract.

What it must do, whatever stops in between: number its events 1, 2, 3, ...; keep each until it is answered; send it
again, byte for byte, after a while and after every reconnection; go on from `next_seq` when the link says so, also when
that is behind what it was answered (a ledger that was restored lacks events: people must know); count an award once,
however often it is announced.
"""

import asyncio
import datetime as dt
import json
import uuid
from collections import deque
from collections.abc import Callable
from typing import Any, Self

import structlog

from jackpot.contract import topics
from jackpot.contract.proofs import sealed
from jackpot.contract.refusals import NOT_RECORDED
from jackpot.floor.journal import Journal, MemoryJournal
from jackpot.mqtt.client import Broker, Connection, Message, MqttError
from jackpot.mqtt.session import Session

IN_FLIGHT_MAX = 64
RESEND_AFTER_S = 2.0
GO_BACK_AFTER_S = 0.2

log = structlog.get_logger()


class TableController:
    def __init__(
        self,
        broker: Broker,
        link: str,
        table: str,
        *,
        journal: Journal | None = None,
        key: bytes | None = None,
        on_award: Callable[[dict[str, Any]], None] = lambda _: None,
        on_lost: Callable[[range], None] = lambda _: None,
        now: Callable[[], dt.datetime] = lambda: dt.datetime.now(dt.UTC),
    ) -> None:
        """With a `key`, every event carries its proof. `on_lost` hears of seqs that were answered and are no more."""
        self.link, self.table = link, table
        self._key = key
        self._journal = journal or MemoryJournal()
        self._on_award = on_award
        self._on_lost = on_lost
        self._now = now
        self._answers: dict[str, asyncio.Future[dict[str, Any]]] = {}
        self._seqs: dict[str, int] = {}
        """The seq of each event that is not answered yet, by its id."""
        self._in_flight: dict[int, float] = {}
        self._waiting: deque[tuple[dict[str, Any], asyncio.Future[dict[str, Any]]]] = deque()
        self._awards_seen: set[str] = set()
        self._moved = asyncio.Event()
        self._state_known = asyncio.Event()
        self._next_seq = 1
        self._went_back = 0.0
        self._behind: tuple[int, float] | None = None
        """The `next_seq` that the link last named below everything we hold, and when it did so first."""
        self.state: dict[str, Any] = {}
        """The link's last word about this table."""
        self._session = Session(
            broker=broker,
            client_id=f"table-{link}-{table}",
            on_message=self._on_message,
            on_connect=self._on_connect,
            subscriptions=[(topics.replies(link, table), 1), (topics.state(link, table), 1)],
        )
        self._tasks: list[asyncio.Task[None]] = []

    async def __aenter__(self) -> Self:
        self._tasks = [asyncio.create_task(self._session.run()), asyncio.create_task(self._keep_sending())]
        return self

    async def __aexit__(self, *_: object) -> None:
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)

    # -- what the dealer does -----------------------------------------------------------------------------------

    async def say(self, type_: str, round_: str | None = None, **fields: Any) -> dict[str, Any]:
        """Send one event and wait for its answer, for as long as that takes."""
        return await self.post(type_, round_, **fields)

    def post(self, type_: str, round_: str | None = None, **fields: Any) -> "asyncio.Future[dict[str, Any]]":
        """Send one event without waiting; up to 64 are on their way at once, the others queue here."""
        answer: asyncio.Future[dict[str, Any]] = asyncio.get_running_loop().create_future()
        event = {"id": str(uuid.uuid4()), "type": type_}
        if round_ is not None:
            event["round"] = round_
        self._waiting.append(({**event, **fields}, answer))
        self._moved.set()
        return answer

    async def known(self) -> dict[str, Any]:
        """Wait for the link's first word about this table: where it stands, and from which seq to go on."""
        await self._state_known.wait()
        return self.state

    # -- sending ------------------------------------------------------------------------------------------------

    async def _keep_sending(self) -> None:
        await self._state_known.wait()
        while True:
            self._send_new()
            self._send_again()
            self._moved.clear()
            try:
                async with asyncio.timeout(RESEND_AFTER_S / 2):
                    await self._moved.wait()
            except TimeoutError:
                continue

    def _send_new(self) -> None:
        while self._waiting and len(self._in_flight) < IN_FLIGHT_MAX:
            event, answer = self._waiting.popleft()
            at = self._now().isoformat(timespec="milliseconds").replace("+00:00", "Z")
            payload = self._written({"id": event["id"], "seq": self._next_seq, **event, "at": at})
            self._answers[event["id"]] = answer
            self._seqs[event["id"]] = self._next_seq
            self._journal.write(self._next_seq, payload)
            self._send(self._next_seq, payload)
            self._next_seq += 1

    def _written(self, event: dict[str, Any]) -> bytes:
        payload = json.dumps({name: value for name, value in event.items() if name != "mac"}).encode()
        return payload if self._key is None else sealed(self._key, topics.events(self.link, self.table), payload)

    def _send_again(self) -> None:
        due = asyncio.get_running_loop().time() - RESEND_AFTER_S
        if any(sent < due for sent in self._in_flight.values()):
            self._resend_all()

    def _resend_all(self) -> None:
        for seq, payload in self._journal.unanswered().items():
            self._send(seq, payload)

    def _send(self, seq: int, payload: bytes) -> None:
        self._in_flight[seq] = asyncio.get_running_loop().time()
        connection = self._session.connection
        if connection is not None:
            try:
                connection.publish_nowait(topics.events(self.link, self.table), payload)
            except MqttError:
                return  # it is in the journal, and sent again on the next connection

    def _on_connect(self, _: Connection) -> None:
        if self._state_known.is_set():
            self._resend_all()

    # -- what comes back ----------------------------------------------------------------------------------------

    def _on_message(self, message: Message) -> None:
        message.connection.ack(message)
        content = json.loads(message.payload)
        if message.topic == topics.state(self.link, self.table):
            self._on_state(content)
        elif content.get("notice") == "award":
            self._on_notice(content["award"])
        else:
            self._on_reply(content)

    def _on_state(self, state: dict[str, Any]) -> None:
        if not self._state_known.is_set():
            unanswered = self._journal.unanswered()
            self._seqs = {json.loads(payload)["id"]: seq for seq, payload in unanswered.items()}
            self._next_seq = max(state["next_seq"], max(unanswered, default=0) + 1)
            self._state_known.set()
            self._resend_all()
        self.state = state

    def _on_notice(self, award: dict[str, Any]) -> None:
        if award["award"] not in self._awards_seen:
            self._awards_seen.add(award["award"])
            self._on_award(award)

    def _on_reply(self, reply: dict[str, Any]) -> None:
        seq = self._seqs.get(reply["reply_to"])
        if seq is None:
            return  # answered before, or somebody else has spoken in our name: our own event waits for its own answer
        match reply.get("code"):
            case "sequence_reused":
                self._number_again(reply["next_seq"])
            case "sequence_gap":
                self._go_back(reply["next_seq"])
            case "link_suspended":
                pass  # it is sent again in a while
            case code if code in NOT_RECORDED:
                if reply["seq"] in (seq, None):  # else it is about other words under our id, a stranger's perhaps
                    self._answered(seq, reply)
                    self._number_again(seq, after=seq)  # it was not used up, so what comes after it moves up
            case _:
                self._answered(seq, reply)

    def _answered(self, seq: int, reply: dict[str, Any]) -> None:
        self._journal.answered(seq)
        self._in_flight.pop(seq, None)
        del self._seqs[reply["reply_to"]]
        answer = self._answers.pop(reply["reply_to"], None)
        if answer is not None and not answer.done():
            answer.set_result(reply)
        self._moved.set()

    def _go_back(self, next_seq: int) -> None:
        """An event before this one did not arrive. The others on their way will be told so too: go back once.

        If we do not have it any more, the answer may be an old one that comes late, and more than once. If it is said
        again when everything has been sent again, and our state says the same, it is true: the ledger lacks what it
        has answered. Then we go on from where it stands.
        """
        now = asyncio.get_running_loop().time()
        if now - self._went_back <= GO_BACK_AFTER_S:
            return
        self._went_back = now
        oldest = min(self._journal.unanswered())
        if next_seq >= oldest:
            self._behind = None
        elif self._behind is None or self._behind[0] != next_seq:
            self._behind = (next_seq, now)
        elif now - self._behind[1] >= RESEND_AFTER_S and self.state["next_seq"] == next_seq:
            self._behind = None
            log.error("link_lacks_answered_events", table=self.table, first_seq=next_seq, last_seq=oldest - 1)
            self._on_lost(range(next_seq, oldest))
            self._number_again(next_seq)
            return
        self._resend_all()

    def _number_again(self, next_seq: int, after: int = 0) -> None:
        """Give what was never recorded new numbers, from `next_seq` on; what has one up to `after` keeps it."""
        events = [json.loads(payload) for seq, payload in self._journal.unanswered().items() if seq > after]
        for event in events:
            self._journal.answered(event["seq"])
            self._in_flight.pop(event["seq"], None)
        self._next_seq = next_seq
        for event in events:
            payload = self._written({**event, "seq": self._next_seq})
            self._seqs[event["id"]] = self._next_seq
            self._journal.write(self._next_seq, payload)
            self._send(self._next_seq, payload)
            self._next_seq += 1
