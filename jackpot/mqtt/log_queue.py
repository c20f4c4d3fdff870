"""A log file as a queue: one program appends to it and never waits, another takes what is there, when it can.

What was taken is cut out of the file, which keeps its length: the disk has the room again, and whoever starts anew
finds the first line that nobody took. Should nobody take any, the file system's bound stops the file, not its writer.
"""

import ctypes
import os
from pathlib import Path

from jackpot.errors import UserError

TAKEN_MAX = 1 << 20
"""Bytes at a time."""
KEEP_SIZE, PUNCH_HOLE = 1, 2

_libc = ctypes.CDLL(None, use_errno=True)
_libc.fallocate.argtypes = [ctypes.c_int, ctypes.c_int, ctypes.c_int64, ctypes.c_int64]


class LogQueue:
    def __init__(self, path: Path) -> None:
        self._path = path
        self._file: int | None = None
        self._at = 0
        """Up to here everything was taken."""
        self._read = 0
        """Up to here the lines were handed out."""

    def lines(self) -> list[str]:
        """The next whole lines, not more than are dealt with at once. None while there is no file, or nothing new."""
        if self._file is None:
            self._open()
        if self._file is None:
            return []
        content = os.pread(self._file, TAKEN_MAX, self._at)
        whole, found, rest = content.rpartition(b"\n")
        if not found and len(rest) < TAKEN_MAX:
            if self._replaced(self._file):
                self.close()
            return []
        self._read = self._at + (len(whole) + 1 if found else len(rest))
        return (whole if found else rest).lstrip(b"\0").decode("utf-8", "replace").split("\n")

    def taken(self) -> None:
        """The lines that were handed out have been dealt with."""
        if self._file is None or self._read <= self._at:
            return
        self._at = self._read
        if _libc.fallocate(self._file, KEEP_SIZE | PUNCH_HOLE, 0, self._at) != 0:
            why = os.strerror(ctypes.get_errno())
            raise UserError(f"cannot make room in {self._path}: {why}; a tmpfs, ext4, xfs or btrfs can")

    def close(self) -> None:
        if self._file is not None:
            os.close(self._file)
            self._file = None

    def _open(self) -> None:
        try:
            self._file = os.open(self._path, os.O_RDWR | os.O_CLOEXEC)
        except FileNotFoundError:
            return
        except OSError as error:
            raise UserError(f"cannot follow {self._path}: {error.strerror}; run as whoever writes it") from error
        try:
            self._at = os.lseek(self._file, 0, os.SEEK_DATA)
        except OSError:  # nothing but what was taken
            self._at = os.fstat(self._file).st_size
        self._read = self._at

    def _replaced(self, file: int) -> bool:
        """Somebody has moved it away, or emptied it."""
        try:
            there = self._path.stat()
        except FileNotFoundError:
            return True
        return there.st_ino != os.fstat(file).st_ino or there.st_size < self._at
