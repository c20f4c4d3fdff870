"""What anyone may hear of the links: meters, awards and statuses, as the controller publishes them.

Boards, the console and the sign page all live on this feed, in the daemon or on another machine alike, so what they
show is what was committed and announced.
"""

from collections import defaultdict, deque
from collections.abc import Callable
from typing import Any, Final

import msgspec
import structlog

from jackpot import metrics
from jackpot.link.messages import AwardMessage, Meter, Status
from jackpot.wire import topics
from jackpot.wire.mqtt import Broker, Connection, Message
from jackpot.wire.session import Session

Listener = Callable[[str, str, dict[str, Any], bool], None]
"""Called with the kind ("meter", "award" or "status"), the link, the contract's message, and whether it is live.

A retained message is not: the broker kept it, and nobody vouches for it now. A controller publishes its meter every
other second, changed or not.
"""

REMEMBERED_STATUSES: Final = 32
SHAPES: Final[dict[str, Any]] = {"meter": Meter, "award": AwardMessage, "status": Status}

log = structlog.get_logger()


class UnreadableError(ValueError):
    """Not a message of the contract."""


def read(kind: str, payload: bytes) -> dict[str, Any]:
    """What the contract names of a message. Raises UnreadableError."""
    try:
        content: dict[str, Any] = msgspec.json.decode(payload, type=SHAPES[kind])
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        raise UnreadableError(str(error)) from error
    return content


class Feed:
    def __init__(self, broker: Broker, client_id: str) -> None:
        self._listeners: list[Listener] = []
        self.latest: dict[tuple[str, str], dict[str, Any]] = {}
        """The newest message of each kind and link; emptied while the feed is cut, so nothing stale is shown."""
        self._versions: dict[str, int] = {}
        """Of each link's newest live meter since its last new status."""
        self._said: dict[str, deque[str]] = defaultdict(lambda: deque(maxlen=REMEMBERED_STATUSES))
        """When the statuses of each link were said, the newest last."""
        self._unreadable: set[str] = set()
        """Topics whose last message could not be read: said once, however often the broker brings it."""
        self.session = Session(
            broker=broker,
            client_id=client_id,
            on_message=self._on_message,
            on_connect=self._on_connect,
            on_lost=self._on_lost,
            subscriptions=[(topics.meter("+"), 1), (topics.awards("+"), 1), (topics.status("+"), 1)],
        )

    @property
    def connected(self) -> bool:
        return self.session.connection is not None

    def listen(self, listener: Listener) -> Callable[[], None]:
        """Returns a function that ends it."""
        self._listeners.append(listener)
        return lambda: self._listeners.remove(listener)

    async def run(self) -> None:
        await self.session.run()

    def _on_connect(self, connection: Connection) -> None:
        if (ends := connection.certificate_ends) is not None:
            metrics.certificate_not_after.labels("broker").set(ends)

    def _on_lost(self) -> None:
        links = {link for _, link in self.latest}
        self.latest.clear()
        self._versions.clear()
        self._said.clear()
        for link in links:
            self._tell("status", link, {"state": "lost", "reason": "the feed is cut"}, live=True)

    def _on_message(self, message: Message) -> None:
        message.connection.ack(message)
        link, last = message.topic.split("/")[2], message.topic.rpartition("/")[2]
        kind = "award" if last == "awards" else last
        try:
            content = read(kind, message.payload)
        except UnreadableError as error:
            if message.topic not in self._unreadable:
                self._unreadable.add(message.topic)
                log.warning("message_unreadable", topic=message.topic, error=str(error))
            return
        self._unreadable.discard(message.topic)
        if kind == "status":
            if not self._take_status(link, content):
                return
        elif kind == "meter":
            if content["version"] < self._versions.get(link, 0):
                return
            if not message.retain:
                self._versions[link] = content["version"]
        self.latest[kind, link] = content
        self._tell(kind, link, content, live=not message.retain)

    def _take_status(self, link: str, status: dict[str, Any]) -> bool:
        """False for an old one that comes again: a broker delivers twice what is not acknowledged in time.

        Versions grow while a link runs. A ledger that was restored goes on below what was said before: with a new
        status, any version may follow.
        """
        said, at = self._said[link], status.get("at")
        if at in said:
            return at == said[-1]
        if at is not None:
            said.append(at)
        if status["state"] != "lost":  # the last will has no time, so nobody knows whether it is new
            self._versions.pop(link, None)
        return True

    def _tell(self, kind: str, link: str, content: dict[str, Any], *, live: bool) -> None:
        for listener in tuple(self._listeners):
            listener(kind, link, content, live)
