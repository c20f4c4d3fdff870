"""A signed head is one line of JSON. Its last member is the signature, over every byte of the line before the comma."""

import datetime as dt
import hashlib
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import msgspec
from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey, Ed25519PublicKey

from jackpot.errors import UserError

_SIGNATURE = re.compile(rb',"signature":"([0-9a-f]{128})"\}\Z')


class Acceptance(msgspec.Struct, frozen=True):
    """The ledger does not hold what was signed: it was set back, and somebody has agreed to go on from there."""

    since: int
    """The last event that both have. Earlier heads of later events are given up."""
    by: str
    reason: str


class SignedHead(msgspec.Struct, frozen=True, omit_defaults=True):
    """A link's head as it is signed."""

    link: str
    n: int
    chain: str
    at: dt.datetime
    signed_at: dt.datetime
    key: str
    """Which key signed it: the beginning of its fingerprint."""
    series: str
    """One file's heads, from its beginning on, through all its rotations."""
    number: int
    """The link's own count within the series, without holes."""
    closes: dt.date | None = None
    """The gaming day whose last event this is."""
    accepts: Acceptance | None = None


class HeadMismatchError(Exception):
    """A line that no known key has signed, or one that is missing, or that another contradicts. Says which."""


def fingerprint(key: Ed25519PublicKey) -> str:
    return hashlib.sha256(key.public_bytes_raw()).hexdigest()[:16]


def sign(key: Ed25519PrivateKey, head: SignedHead) -> bytes:
    told = msgspec.json.encode(head).removesuffix(b"}")
    return told + b',"signature":"' + key.sign(told).hex().encode() + b'"}'


def signature_of(line: bytes) -> str:
    found = _SIGNATURE.search(line)
    return "" if found is None else found[1].decode()


def check(keys: dict[str, Ed25519PublicKey], line: bytes) -> SignedHead:
    found = _SIGNATURE.search(line)
    if found is None:
        raise HeadMismatchError("it has no signature")
    told = line[: found.start()]
    try:
        head = msgspec.json.decode(told + b"}", type=SignedHead)
        keys[head.key].verify(bytes.fromhex(found[1].decode()), told)
    except KeyError as error:
        raise HeadMismatchError(f"it is signed by key {error}, which was not named") from error
    except (msgspec.DecodeError, UnicodeDecodeError, InvalidSignature) as error:
        raise HeadMismatchError("its signature is not of these words") from error
    return head


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
