"""Keeps a connection to the broker: a new one whenever the last is lost, for ever, with patience in between.

Of a cluster, each attempt takes the next node.
"""

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, field

import structlog

from jackpot.mqtt.client import Broker, Connection, Message, MqttError, Will

BACKOFF_S = (0.1, 0.2, 0.5, 1.0, 2.0)

log = structlog.get_logger()


async def always() -> bool:
    return True


@dataclass(slots=True, kw_only=True)
class Session:
    """One client id's place at the broker. `connection` is the connection of now, None while there is none."""

    broker: Broker
    client_id: str
    on_message: Callable[[Message], None]
    on_connect: Callable[[Connection], None] = lambda _: None
    """Called on every new connection, with its subscriptions in place."""
    on_lost: Callable[[], None] = lambda: None
    subscriptions: Sequence[tuple[str, int]] = ()
    will: Will | None = None
    clean_session: bool = True
    may_connect: Callable[[], Awaitable[bool]] = always
    """Asked before each attempt, and may take its time: connecting under a client id that is no longer ours would cut
    its owner off. False ends the session."""
    connection: Connection | None = field(default=None, init=False)

    async def run(self) -> None:
        failures = 0
        while await self.may_connect():
            try:
                connection = await Connection.open(
                    self.broker,
                    self.client_id,
                    on_message=self.on_message,
                    subscriptions=self.subscriptions,
                    clean_session=self.clean_session,
                    will=self.will,
                )
            except MqttError as error:
                pause_s = BACKOFF_S[min(failures, len(BACKOFF_S) - 1)]
                log.warning("broker_unreachable", client=self.client_id, error=str(error), again_in_s=pause_s)
                failures += 1
                self.broker = self.broker.next
                await asyncio.sleep(pause_s)
                continue
            failures = 0
            await self._use(connection)

    async def _use(self, connection: Connection) -> None:
        self.connection = connection
        try:
            self.on_connect(connection)
            why = await connection.wait_closed()
            if why is not None:
                log.warning("broker_lost", client=self.client_id, error=str(why))
        except MqttError as error:
            log.warning("broker_lost", client=self.client_id, error=str(error))
        finally:
            self.connection = None
            self.on_lost()
            connection.abort()
            self.broker = self.broker.next
        # A client id that two hold makes the broker cut each off in turn: do not race.
        await asyncio.sleep(BACKOFF_S[0])
