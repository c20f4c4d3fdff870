"""What anyone may hear of the links: meters, awards and statuses, as the controller publishes them.

Boards, the console and the sign page all live on this feed, in the daemon or on another machine alike, so what they
show is what was committed and announced.
"""

from collections import defaultdict
from collections.abc import Callable
from typing import Any, Final

import msgspec
import structlog

from jackpot import metrics
from jackpot.contract import topics
from jackpot.contract.messages import AwardMessage, Meter, Status
from jackpot.mqtt.client import Broker, Connection, Message
from jackpot.mqtt.session import Session

Listener = Callable[[str, str, dict[str, Any], bool], None]
"""Called with the kind ("meter", "award" or "status"), the link, the contract's message, and whether it is live.

A retained message is not: the broker kept it, and nobody vouches for it now. A controller publishes its meter every
other second, changed or not.
"""

REMEMBERED: Final = 4_096
"""Messages of a kind: a meter is said ten times a second at most, and a broker delivers again after half a minute."""
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


class Heard:
    """What was heard lately, the newest last: a broker delivers again what is not acknowledged in time."""

    def __init__(self) -> None:
        self._keys: dict[object, None] = {}

    def is_new(self, key: object) -> bool:
        if key in self._keys:
            return False
        self._keys[key] = None
        if len(self._keys) > REMEMBERED:
            del self._keys[next(iter(self._keys))]
        return True

    def is_newest(self, key: object) -> bool:
        return next(reversed(self._keys), None) == key


class Feed:
    def __init__(self, broker: Broker, client_id: str) -> None:
        self._listeners: list[Listener] = []
        self.latest: dict[tuple[str, str], dict[str, Any]] = {}
        """The newest message of each kind and link; emptied while the feed is cut, so nothing stale is shown."""
        self._versions: dict[str, int] = {}
        """Of each link's newest live meter since its last new status."""
        self._heard: dict[tuple[str, str], Heard] = defaultdict(Heard)
        """By kind and link."""
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
        self._heard.clear()
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
            version = content["version"]
            if version < self._versions.get(link, 0):
                return
            if not message.retain:
                if not self._heard[kind, link].is_new((version, content["at"])):
                    return
                self._versions[link] = version
        self.latest[kind, link] = content
        self._tell(kind, link, content, live=not message.retain)

    def _take_status(self, link: str, status: dict[str, Any]) -> bool:
        """False for an old one that comes again.

        Versions grow while a link runs. A ledger that was restored goes on below what was said before: behind a new
        status, any version may follow.
        """
        at, heard = status.get("at"), self._heard["status", link]
        if at is not None and not heard.is_new(at):
            return heard.is_newest(at)
        if status["state"] != "lost":  # the last will has no time, so nobody knows whether it is new
            self._versions.pop(link, None)
        return True

    def _tell(self, kind: str, link: str, content: dict[str, Any], *, live: bool) -> None:
        for listener in tuple(self._listeners):
            listener(kind, link, content, live)
