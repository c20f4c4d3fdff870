"""What a table has said and not been answered yet, so that nothing is lost when the table itself stops."""

import json
from pathlib import Path
from typing import Protocol


class Journal(Protocol):
    """Events by seq, exactly as they were sent."""

    def write(self, seq: int, payload: bytes) -> None: ...
    def answered(self, seq: int) -> None: ...
    def unanswered(self) -> dict[int, bytes]: ...


class MemoryJournal:
    """For tables that live and die with the program, such as those of the demo."""

    def __init__(self) -> None:
        self._events: dict[int, bytes] = {}

    def write(self, seq: int, payload: bytes) -> None:
        self._events[seq] = payload

    def answered(self, seq: int) -> None:
        self._events.pop(seq, None)

    def unanswered(self) -> dict[int, bytes]:
        return dict(sorted(self._events.items()))


class FileJournal(MemoryJournal):
    """One line for each event written and each answer, in a file that is started anew when all is answered."""

    def __init__(self, path: Path) -> None:
        super().__init__()
        self._path = path
        if path.exists():
            for line in path.read_text("utf-8").splitlines():
                self._read(line)
        self._file = path.open("a", encoding="utf-8")

    def _read(self, line: str) -> None:
        try:
            seq, payload = json.loads(line)
        except ValueError:
            return  # the last line of a crash: it was never sent
        if payload is None:
            super().answered(seq)
        else:
            super().write(seq, payload.encode())

    def write(self, seq: int, payload: bytes) -> None:
        super().write(seq, payload)
        self._append([seq, payload.decode()])

    def answered(self, seq: int) -> None:
        super().answered(seq)
        if self._events:
            self._append([seq, None])
        else:
            self._file.truncate(0)

    def _append(self, line: list[object]) -> None:
        self._file.write(json.dumps(line) + "\n")
        self._file.flush()

    def close(self) -> None:
        self._file.close()
