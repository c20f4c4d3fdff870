"""Files of signed heads: the daemon's own, which it writes and looks back into, and any that somebody has kept."""

import datetime as dt
import errno
import fcntl
import gzip
import os
import secrets
import threading
import zlib
from collections.abc import Iterable, Iterator
from pathlib import Path

import msgspec
import structlog
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey, Ed25519PublicKey

from jackpot.errors import UserError
from jackpot.ledger.heads.form import Acceptance, HeadMismatchError, SignedHead, check, fingerprint, sign, signature_of
from jackpot.ledger.record import Head

TURNED_MAX = 12
"""A daemon looks back a year: it signs a head of each link that it leads at least once a day."""

log = structlog.get_logger()


def read(path: Path, keys: dict[str, Ed25519PublicKey]) -> tuple[list[SignedHead], bool]:
    """Every head of a file, in its order, and whether its last line is cut short, as a crash or a full disk leaves it.

    Any other line that is no head is an alarm: nobody but the daemon writes here.
    """
    heads: list[SignedHead] = []
    try:
        *lines, rest = _content(path).split(b"\n")
    except OSError as error:
        raise UserError(f"cannot read {path}: {error.strerror or error}") from error
    if rest and not _is_cut_short(rest):
        lines, rest = [*lines, rest], b""
    for number, line in enumerate(lines, 1):
        try:
            heads.append(check(keys, line))
        except HeadMismatchError as error:
            raise HeadMismatchError(f"{path}, line {number}: {error}") from error
    return heads, bool(rest)


def _content(path: Path) -> bytes:
    content = path.read_bytes()
    if path.suffix != ".gz":
        return content
    try:
        return gzip.decompress(content)
    except (OSError, EOFError, zlib.error) as error:
        raise HeadMismatchError(f"{path} cannot be unpacked: {error}") from error


def _is_cut_short(line: bytes) -> bool:
    """A part of an object is never one."""
    try:
        msgspec.json.decode(line)
    except (msgspec.DecodeError, UnicodeDecodeError):
        return True
    return False


class HeadsFile:
    """Where this daemon's signed heads go: appended, and on the disk before they are announced.

    It may be turned at any time: the file under its new name, or packed, stays beside it and is looked into too.
    """

    def __init__(self, path: Path, key: Ed25519PrivateKey) -> None:
        self.path = path
        self.key = key
        self._keys = {fingerprint(key.public_key()): key.public_key()}
        self._alone = threading.RLock()
        self._last: dict[str, SignedHead | None] = {}
        """The newest of each link, for as long as nobody else has written: the file is as we left it."""
        self._left: tuple[int, int] | None = None

    def keep(
        self,
        link: str,
        head: Head,
        now: dt.datetime,
        closes: dt.date | None = None,
        accepts: Acceptance | None = None,
    ) -> bytes:
        self.path.parent.mkdir(parents=True, exist_ok=True)
        descriptor = os.open(self.path, os.O_RDWR | os.O_APPEND | os.O_CREAT, 0o640)
        try:
            with self._alone:
                fcntl.flock(descriptor, fcntl.LOCK_EX)  # `jackpot heads accept` is another process
                _mend(descriptor)
                last = self.last(link)
                series, number = (secrets.token_hex(4), 1) if last is None else (last.series, last.number + 1)
                told = (link, head.n, head.chain.hex(), head.at, now, fingerprint(self.key.public_key()))
                signed = SignedHead(*told, series, number, closes, accepts)
                line = sign(self.key, signed)
                if os.write(descriptor, line + b"\n") != len(line) + 1:
                    raise OSError(errno.ENOSPC, f"only a part of the head went into {self.path}")
                os.fsync(descriptor)
                self._last[link], self._left = signed, _place(os.fstat(descriptor))
        finally:
            os.close(descriptor)
        return line

    def last(self, link: str) -> SignedHead | None:
        """The newest head of the link that this key has signed; None if there is none to be read."""
        with self._alone:
            try:
                place = _place(self.path.stat())
            except OSError:
                place = None
            if place is None or place != self._left:
                self._last, self._left = {}, place
            if link not in self._last:
                self._last[link] = next(self.of(link), None)
            return self._last[link]

    def of(self, link: str) -> Iterator[SignedHead]:
        """Every head of the link, the newest first. Of lines that are not true `jackpot heads check` tells."""
        told = False
        for line in _lines(self._paths(), b'{"link":' + msgspec.json.encode(link) + b","):
            try:
                yield check(self._keys, line)
            except HeadMismatchError as error:
                if not told:
                    log.warning("head_not_true", file=str(self.path), link=link, error=str(error))
                told = True

    def find(self, link: str, n: int, chain: str, at: dt.datetime) -> tuple[SignedHead, str] | None:
        """As `find` below, of an event of this time: in the file that it was in then, or the next."""
        then = [path for path in self._paths() if _written(path) >= at.timestamp()]
        return find(then[:-3:-1], self._keys, link, n, chain)

    def _paths(self) -> list[Path]:
        """This file, and those it was before, the latest first; no more than are read in a moment."""
        turned = sorted(self.path.parent.glob(f"{self.path.name}?*"), key=_written, reverse=True)
        return [self.path, *turned[:TURNED_MAX]]


def find(
    paths: Iterable[Path], keys: dict[str, Ed25519PublicKey], link: str, n: int, chain: str
) -> tuple[SignedHead, str] | None:
    """A head of exactly this, with its signature; one that closes a gaming day goes first."""
    begins = msgspec.json.encode({"link": link, "n": n, "chain": chain}).removesuffix(b"}") + b","
    for path in paths:
        for line in sorted(_lines([path], begins), key=lambda line: b'"closes":' not in line):
            try:
                return check(keys, line), signature_of(line)
            except HeadMismatchError:
                continue
    return None


def _lines(paths: Iterable[Path], begins: bytes) -> Iterator[bytes]:
    """Those of each file that begin so, the last first."""
    for path in paths:
        try:
            lines = _content(path).split(b"\n")
        except FileNotFoundError:
            continue
        except (OSError, HeadMismatchError) as error:
            log.warning("heads_unreadable", file=str(path), error=str(error))
            continue
        for line in reversed(lines):
            if line.startswith(begins):
                yield line


def _place(found: os.stat_result) -> tuple[int, int]:
    return found.st_ino, found.st_size


def _written(path: Path) -> float:
    try:
        return path.stat().st_mtime
    except OSError:
        return 0.0


def _mend(descriptor: int) -> None:
    """A last line that was cut short was never announced: it goes. One that lacks only its end gets it."""
    size = os.fstat(descriptor).st_size
    begin, tail = size, b""
    while begin > 0 and b"\n" not in tail:
        begin = max(0, begin - 4096)
        tail = os.pread(descriptor, size - begin, begin)
    rest = tail.rpartition(b"\n")[2]
    if not rest:
        return
    if _is_cut_short(rest):
        log.warning("head_cut_short", bytes=len(rest))
        os.ftruncate(descriptor, size - len(rest))
    else:
        os.write(descriptor, b"\n")
