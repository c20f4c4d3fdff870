"""What each board was told and when it answered, kept so that a dispute can be answered.

One folder a board, JSON Lines, only ever appended to; a full file is compressed. Writing happens on its own
thread: a slow disk delays no board, and no board delays the disk.

Measured at 20 closings a minute, day and night: 400 to 600 bytes a closing, so three or four files a day, compressed
to a tenth. What is kept reaches back 97 days or more (numeric meters; Alpha, which takes fewer figures, 140), in less
than 200 MiB a board.
"""

import gzip
import json
import os
import queue
import shutil
import threading
from bisect import bisect_right
from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, BinaryIO, Final, Literal, Protocol, Self, TextIO

import structlog

from jackpot import metrics
from jackpot.errors import UserError

FILE_BYTES_MAX: Final = 4 * 2**20
FILES_MAX: Final = 400
PLAIN: Final = ".jsonl"
COMPRESSED: Final = ".gz"
COMPRESSION: Final = 6
"""As small as 9 makes it, nearly, in a fifth of its time."""
COMPRESSED_AT_ONCE: Final = 2**16
WAITING_MAX: Final = 20_000
ANSWERS: Final = "answers"
"""A file of this name, beside what it was told, says that the board has answered."""

Event = Literal["connected", "told", "answered", "fault"]

log = structlog.get_logger()


@dataclass(frozen=True, slots=True)
class Entry:
    at: datetime
    board: str
    event: Event
    text: str | None = None
    """What the board was made to show, letter by letter."""
    cents: int | None = None
    version: int | None = None
    """The meter's version that the figure came from."""
    reason: str | None = None
    """Why dashes, or what the fault is."""
    confirmed: bool = False
    """The board itself said that it shows it."""

    def to_json(self) -> str:
        fields = {name: value for name, value in asdict(self).items() if value is not None and value is not False}
        return json.dumps({**fields, "at": self.at.isoformat(timespec="milliseconds")})

    @classmethod
    def from_json(cls, line: str) -> Self:
        fields: dict[str, Any] = json.loads(line)
        return cls(**{**fields, "at": datetime.fromisoformat(fields["at"])})


class History(Protocol):
    def add(self, entry: Entry) -> None:
        """Must not block and must not fail."""

    def has_answered(self, board: str) -> bool:
        """At any time since its history began."""


class JsonLinesHistory:
    def __init__(self, folder: Path, *, file_bytes_max: int = FILE_BYTES_MAX, files_max: int = FILES_MAX) -> None:
        self._folder = folder
        self._file_bytes_max = file_bytes_max
        self._files_max = files_max
        self._waiting: queue.Queue[Entry | None] = queue.Queue(WAITING_MAX)
        self._thread = threading.Thread(target=self._write_all, name="sign history", daemon=True)
        self._open: dict[str, BinaryIO] = {}
        self.lost = 0
        """Entries that could not be kept: the disk is full, gone or too slow."""

    def __enter__(self) -> Self:
        try:
            self._folder.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise UserError(f"cannot keep the boards' history in {self._folder}: {error.strerror}") from error
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        with suppress(queue.Full):
            self._waiting.put(None, timeout=5)
            self._thread.join(timeout=5)

    def add(self, entry: Entry) -> None:
        try:
            self._waiting.put_nowait(entry)
        except queue.Full:
            self._lose()

    def has_answered(self, board: str) -> bool:
        return (self._folder / board / ANSWERS).exists()

    def _lose(self) -> None:
        self.lost += 1
        metrics.sign_history_lost.inc()

    def _write_all(self) -> None:
        while (entry := self._waiting.get()) is not None:
            try:
                self._file(entry).write(entry.to_json().encode() + b"\n")
                if entry.confirmed and not self.has_answered(entry.board):
                    (self._folder / entry.board / ANSWERS).touch()
            except OSError as error:
                self._open.pop(entry.board, None)
                self._lose()
                log.error("sign_history_lost", board=entry.board, error=str(error), lost=self.lost)  # noqa: TRY400  the disk is known to be at fault, its traceback says no more

        for file in self._open.values():
            file.close()

    def _file(self, entry: Entry) -> BinaryIO:
        """The newest file, kept open, or a new one named by its first moment."""
        file = self._open.get(entry.board)
        if file is None or file.tell() >= self._file_bytes_max:
            if file is not None:
                file.close()
            file = self._open[entry.board] = self._path(entry).open("ab", buffering=0)
            if file.tell():
                # The last line may have been cut short by a crash: then this ends it.
                file.write(b"\n")
        return file

    def _path(self, entry: Entry) -> Path:
        folder = self._folder / entry.board
        folder.mkdir(exist_ok=True)
        files = _files(folder)
        if files and files[-1].suffix == PLAIN and files[-1].stat().st_size < self._file_bytes_max:
            return files[-1]
        too_many = len(files) + 1 - self._files_max
        for old in files[: max(0, too_many)]:
            old.unlink()
        for full in folder.glob(f"*{PLAIN}"):
            try:
                _compress(full)
            except OSError as error:  # it stays as it is, and is tried again with the next
                log.warning("sign_history_not_compressed", file=str(full), error=str(error))
        return folder / f"{_name(entry.at)}{PLAIN}"


@dataclass(frozen=True, slots=True)
class Answer:
    """What a board showed at a moment, as far as its record goes."""

    told: Entry | None
    """The last thing that it was told by then."""
    answered: Entry | None
    """Its last own word for it by then; if there is none, its first after."""
    fault: Entry | None
    """A fault at the moment: the board may have been dark. It ends with a new connection, or a board's own word."""
    until: Entry | None
    """What it was told next."""


def answer(folder: Path, board: str, moment: datetime) -> Answer:
    """Reads from the last file that was begun by then; from the one before it, if that says nothing yet."""
    files = _files(folder / board)
    begun = bisect_right(files, _name(moment), key=_moment_of)
    found = Answer(None, None, None, None)
    for first in range(max(0, begun - 1), -1, -1):
        found = _answer(files[first:], moment)
        if found.told is not None:
            break
    return found


def _answer(files: Sequence[Path], moment: datetime) -> Answer:
    told = answered = fault = None
    for entry in _entries(files):
        after = entry.at > moment
        match entry.event:
            case "told" if after:
                return Answer(told, answered, fault, entry)
            case "told":
                told, answered = entry, entry if entry.confirmed else None
            case "answered" if not after or answered is None:
                answered = entry
            case "fault" if not after:
                fault = entry
        if not after and (entry.confirmed or entry.event == "connected"):
            fault = None
    return Answer(told, answered, fault, None)


def boards(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir() if path.is_dir()) if folder.is_dir() else []


def _entries(files: Sequence[Path]) -> Iterator[Entry]:
    for path in files:
        with _reading(path) as file:
            for line in file:
                with suppress(ValueError):  # empty, or cut short by a crash: no entry
                    yield Entry.from_json(line)


def _reading(path: Path) -> TextIO:
    if path.suffix == PLAIN:
        with suppress(FileNotFoundError):  # it was compressed a moment ago
            return path.open(encoding="utf-8")
        path = path.with_suffix(f"{PLAIN}{COMPRESSED}")
    return gzip.open(path, "rt", encoding="utf-8")


def _compress(full: Path) -> None:
    """Whole or not at all: a crash leaves the plain file, and at worst both, of which one is read."""
    part = full.with_suffix(".part")
    with full.open("rb") as plain, part.open("wb") as file:
        with gzip.GzipFile(fileobj=file, mode="wb", filename="", compresslevel=COMPRESSION) as packed:
            shutil.copyfileobj(plain, packed, COMPRESSED_AT_ONCE)
        file.flush()
        os.fsync(file.fileno())
    part.replace(full.with_suffix(f"{PLAIN}{COMPRESSED}"))
    full.unlink()


def _files(folder: Path) -> list[Path]:
    """From the oldest to the newest."""
    found = sorted(folder.glob(f"*{PLAIN}*"))
    return list({_moment_of(path): path for path in found}.values())


def _name(moment: datetime) -> str:
    return f"{moment.astimezone(UTC):%Y%m%dT%H%M%S.%fZ}"


def _moment_of(path: Path) -> str:
    return path.name.partition(PLAIN)[0]
