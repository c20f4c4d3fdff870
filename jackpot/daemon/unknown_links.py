"""Answers tables that speak on a link nobody configured, so that an integrator's typing error gets a clear word."""

from collections.abc import Callable, Collection

from jackpot import metrics
from jackpot.contract import codec, topics
from jackpot.contract.codec import UnreadableEvent
from jackpot.contract.refusals import Refused
from jackpot.daemon.batch_attempt import misdirected
from jackpot.mqtt.client import Broker, Message, MqttError
from jackpot.mqtt.session import Session

NO_LINK = "none"


class UnknownLinkResponder:
    """Hears every table, at QoS 0, and keeps silent about those on links that have a desk."""

    def __init__(
        self,
        broker: Broker,
        links: Collection[str],
        directory: dict[str, str | None],
        name: str,
        on_unreadable: Callable[[str, bytes, Refused], None],
    ) -> None:
        self._links = frozenset(links)
        self._on_unreadable = on_unreadable
        self._directory = directory
        self.session = Session(
            broker=broker,
            client_id=f"jackpot-lobby-{name}",
            on_message=self._on_message,
            subscriptions=[(topics.events("+", "+"), 0)],
        )

    async def run(self) -> None:
        await self.session.run()

    def _on_message(self, message: Message) -> None:
        link, table = topics.table_of(message.topic)
        if link in self._links:
            return
        event = codec.decode(message.payload)
        if isinstance(event, UnreadableEvent):
            answer = codec.unreadable_reply(event)
            metrics.unreadable.labels(NO_LINK, event.refused.code.value).inc()
            self._on_unreadable(message.topic, message.payload, event.refused)
        else:
            refused = misdirected(self._directory, link, table)
            if refused is None:
                return
            answer = codec.refused_reply(event, refused)
            metrics.events.labels(NO_LINK, event.type, "refused").inc()
        try:
            message.connection.publish_nowait(topics.replies(link, table), codec.encode(answer))
        except (MqttError, ValueError):  # lost meanwhile; or a table's name that leaves no room for an answer
            return
