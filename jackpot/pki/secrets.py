"""Keys and passwords in files that only the controller may read."""

import stat
from pathlib import Path

from jackpot.config import Config
from jackpot.errors import UserError
from jackpot.ledger.heads.file import HeadsFile
from jackpot.ledger.heads.form import load_key
from jackpot.ledger.seal import UNSEALED, Seal

KEY_BYTES_MIN = 32


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
