"""Signed heads: where each link's chain stands leaves the database every minute, signed by a key it cannot read.

Whoever owns the database can rewrite all of history with its chain, but not what was signed and carried away before.
A head is one line of JSON. Its last member is the signature, over every byte of the line before the comma.
"""

import asyncio
import datetime as dt
import errno
import hashlib
import json
import os
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import msgspec
import structlog
from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey, Ed25519PublicKey

from jackpot import metrics
from jackpot.errors import UserError
from jackpot.ledger.record import Head
from jackpot.link.gaming_day import GamingDay

HEADS_EVERY_S = 60.0

_SIGNATURE = re.compile(rb',"signature":"([0-9a-f]{128})"\}\Z')

log = structlog.get_logger()


class SignedHead(msgspec.Struct, frozen=True, omit_defaults=True):
    """A link's head as it is signed."""

    link: str
    n: int
    chain: str
    at: dt.datetime
    signed_at: dt.datetime
    key: str
    """Which key signed it: the beginning of its fingerprint."""
    closes: dt.date | None = None
    """The gaming day that ended since the last head."""


class HeadNotTrue(Exception):
    """A line that no known key has signed. Says which."""


def fingerprint(key: Ed25519PublicKey) -> str:
    return hashlib.sha256(key.public_bytes_raw()).hexdigest()[:16]


def sign(key: Ed25519PrivateKey, head: SignedHead) -> bytes:
    told = msgspec.json.encode(head).removesuffix(b"}")
    return told + b',"signature":"' + key.sign(told).hex().encode() + b'"}'


def check(keys: dict[str, Ed25519PublicKey], line: bytes) -> SignedHead:
    found = _SIGNATURE.search(line)
    if found is None:
        raise HeadNotTrue("it has no signature")
    told = line[: found.start()]
    try:
        head = msgspec.json.decode(told + b"}", type=SignedHead)
        keys[head.key].verify(bytes.fromhex(found[1].decode()), told)
    except KeyError as error:
        raise HeadNotTrue(f"it is signed by key {error}, which was not named") from error
    except (msgspec.DecodeError, UnicodeDecodeError, InvalidSignature) as error:
        raise HeadNotTrue("its signature is not of these words") from error
    return head


def read(path: Path, keys: dict[str, Ed25519PublicKey]) -> Iterator[SignedHead]:
    """Every head of a file, in its order. A line cut short is the trace of a crash or a full disk, and is left out."""
    try:
        lines = path.read_bytes().split(b"\n")
    except OSError as error:
        raise UserError(f"cannot read {path}: {error.strerror}") from error
    for number, line in enumerate(lines, 1):
        if _cut_short(line):
            continue
        try:
            yield check(keys, line)
        except HeadNotTrue as error:
            raise HeadNotTrue(f"{path}, line {number}: {error}") from error


def _cut_short(line: bytes) -> bool:
    """A part of an object is never one. Who could leave it there could as well have taken the whole line away."""
    try:
        msgspec.json.decode(line)
    except (msgspec.DecodeError, UnicodeDecodeError):
        return True
    return False


def new_key() -> tuple[bytes, bytes]:
    """Private and public, as PEM."""
    key = Ed25519PrivateKey.generate()
    pem, raw = serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8
    return (
        key.private_bytes(pem, raw, serialization.NoEncryption()),
        key.public_key().public_bytes(pem, serialization.PublicFormat.SubjectPublicKeyInfo),
    )


def load_key(path: Path) -> Ed25519PrivateKey:
    key = _load(path, lambda pem: serialization.load_pem_private_key(pem, password=None))
    if not isinstance(key, Ed25519PrivateKey):
        raise UserError(f"{path} is not an Ed25519 private key; make one with: jackpot heads new-key")
    return key


def load_public_key(path: Path) -> Ed25519PublicKey:
    key = _load(path, serialization.load_pem_public_key)
    if not isinstance(key, Ed25519PublicKey):
        raise UserError(f"{path} is not an Ed25519 public key")
    return key


def _load(path: Path, parse: Callable[[bytes], Any]) -> Any:
    try:
        return parse(path.read_bytes())
    except OSError as error:
        raise UserError(f"cannot read {path}: {error.strerror}") from error
    except (ValueError, TypeError) as error:
        raise UserError(f"{path} is no key: {error}") from error


@dataclass(frozen=True, slots=True)
class HeadsFile:
    """Where this daemon's signed heads go: appended, and on the disk before they are announced."""

    path: Path
    key: Ed25519PrivateKey

    def keep(self, link: str, head: Head, now: dt.datetime, closes: dt.date | None) -> bytes:
        kept = SignedHead(link, head.n, head.chain.hex(), head.at, now, fingerprint(self.key.public_key()), closes)
        line = sign(self.key, kept)
        self.path.parent.mkdir(parents=True, exist_ok=True)
        descriptor = os.open(self.path, os.O_RDWR | os.O_APPEND | os.O_CREAT, 0o640)
        try:
            size = os.fstat(descriptor).st_size
            begun = size > 0 and os.pread(descriptor, 1, size - 1) != b"\n"  # the last line was cut short: end it
            whole = (b"\n" if begun else b"") + line + b"\n"
            if os.write(descriptor, whole) != len(whole):
                raise OSError(errno.ENOSPC, f"only a part of the head went into {self.path}")
            os.fsync(descriptor)
        finally:
            os.close(descriptor)
        return line


async def keep_heads(
    file: HeadsFile,
    link: str,
    *,
    head: Callable[[], Head],
    gaming_day: GamingDay,
    clock: Callable[[], dt.datetime],
    publish: Callable[[bytes], None],
) -> None:
    """Sign a link's head at once, then every minute that it has moved, and when a gaming day has ended."""
    signed, day = -1, max(gaming_day.day(head().at), head().day)
    while True:
        now, current = clock(), head()
        today = gaming_day.day(now)
        if current.n != signed or today > day:
            try:
                line = await asyncio.to_thread(file.keep, link, current, now, day if today > day else None)
            except OSError as error:
                # Money is not stopped for it: the alert is, that no head was signed for a while.
                log.warning("head_not_signed", link=link, error=str(error))
            else:
                signed, day = current.n, today
                publish(line)
                log.info("head_signed", link=link, head=json.loads(line))
        if current.n == signed:
            metrics.head_signed.labels(link).set(now.timestamp())
        await asyncio.sleep(HEADS_EVERY_S)
