"""Where the database and the broker are: as configured, or embedded and started here."""

import stat
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path

from jackpot.config import Config
from jackpot.embedded import EmbeddedBroker, EmbeddedPostgres, default_data_dir
from jackpot.errors import UserError
from jackpot.ledger.heads.file import HeadsFile
from jackpot.ledger.heads.form import load_key
from jackpot.ledger.seal import UNSEALED, Seal
from jackpot.mqtt.client import Broker

KEY_BYTES_MIN = 32


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


def secret(path: Path | None) -> str | None:
    """The first line of a file that only we can read."""
    if path is None:
        return None
    try:
        return path.read_text("utf-8").partition("\n")[0]
    except OSError as error:
        raise UserError(f"cannot read the secret in {path}: {error.strerror}") from error
    except UnicodeDecodeError as error:
        raise UserError(f"the secret in {path} is no text in UTF-8") from error


def secret_files(config: Config) -> dict[Path, str]:
    """Every file that only we may read, with the key that names it."""
    found = {
        "database.password_file": config.database.password_file,
        "database.console_password_file": config.database.console_password_file,
        "mqtt.key": config.mqtt.key,
        "mqtt.password_file": config.mqtt.password_file,
        "heads.key_file": config.heads.key_file,
        "people.key_file": config.people.key_file,
        **{f"tables.{table.id}.key_file": table.key_file for table in config.tables},
    }
    return {path: key for key, path in found.items() if path is not None}


def exposed(config: Config) -> dict[Path, str]:
    """Those of them that others may read, or change."""
    return {path: key for path, key in secret_files(config).items() if _is_exposed(path)}


def _is_exposed(path: Path) -> bool:
    """A group may read: it is made of who may. Files that are not there are somebody else's to miss."""
    try:
        mode = path.stat().st_mode
    except OSError:
        return False
    return bool(mode & (stat.S_IRWXO | stat.S_IWGRP))


def event_keys(config: Config) -> dict[str, bytes]:
    """The keys of the tables that prove their events: each a line of hexadecimal digits in a file of its own."""
    made_by = "jackpot pki event-key"
    return {table.id: _key(table.key_file, made_by) for table in config.tables if table.key_file is not None}


def people_seal(config: Config) -> Seal:
    """What accounts, sessions and orders are sealed with; the same for every daemon on a database."""
    path = config.people.key_file
    return UNSEALED if path is None else Seal(_key(path, "jackpot user new-key"))


def heads_file(config: Config) -> HeadsFile | None:
    """Where this daemon signs its heads, and what it has signed."""
    heads = config.heads
    return HeadsFile(heads.file, load_key(heads.key_file)) if heads.file and heads.key_file else None


def _key(path: Path, made_by: str) -> bytes:
    try:
        key = bytes.fromhex(secret(path) or "")
    except ValueError as error:
        raise UserError(f"{path} is no key in hexadecimal digits; make one with: {made_by}") from error
    if len(key) < KEY_BYTES_MIN:
        raise UserError(f"the key in {path} is shorter than {KEY_BYTES_MIN} bytes")
    return key
