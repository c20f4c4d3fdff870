"""Where the database and the broker are: as configured, or embedded and started here."""

from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path

from jackpot.config import Config
from jackpot.embedded import EmbeddedBroker, EmbeddedPostgres, default_data_dir
from jackpot.mqtt.broker import Broker
from jackpot.pki.secrets import secret


@dataclass(frozen=True, slots=True)
class Servers:
    database_url: str
    mqtt_url: str
    broker: Broker
    database_password: str | None = field(default=None, repr=False)
    console_url: str | None = None
    """The same database in the console's own role, if it has one."""
    console_password: str | None = field(default=None, repr=False)
    embedded_database: bool = False


@asynccontextmanager
async def database(config: Config, *, console: bool = False) -> AsyncIterator[tuple[str, str | None]]:
    """The database's URL and password. An embedded one is joined if the daemon runs it, else started meanwhile.

    `console`: in the role that may leave requests, if it is not the same.
    """
    if console and config.database.console_url is not None:
        yield config.database.console_url, secret(config.database.console_password_file)
    elif config.database.url is not None:
        yield config.database.url, secret(config.database.password_file)
    else:
        async with EmbeddedPostgres(config.embedded.data_dir or default_data_dir()) as url:
            yield url, None


@asynccontextmanager
async def servers(config: Config) -> AsyncIterator[Servers]:
    """The configured servers; those that are not configured run embedded while this context lasts."""
    data_dir = config.embedded.data_dir or default_data_dir()
    async with AsyncExitStack() as stack:
        database_url, password = await stack.enter_async_context(database(config))
        mqtt_url = config.mqtt.url
        if mqtt_url is None:
            mqtt_url = await stack.enter_async_context(EmbeddedBroker(data_dir))
        yield Servers(
            database_url,
            mqtt_url,
            configured_broker(config, mqtt_url),
            password,
            config.database.console_url,
            secret(config.database.console_password_file),
            embedded_database=config.database.url is None,
        )


def configured_broker(config: Config, url: str) -> Broker:
    mqtt = config.mqtt
    broker = Broker.from_url(url, ca=_text(mqtt.ca), cert=_text(mqtt.cert), key=_text(mqtt.key))
    if mqtt.username is None:
        return broker
    return replace(broker, username=mqtt.username, password=secret(mqtt.password_file))


def _text(path: Path | None) -> str | None:
    return None if path is None else str(path)
