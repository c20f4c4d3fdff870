"""What happened, in order: a hash of all of it, and the last of it to read when something is wrong."""

import hashlib
from collections import deque
from collections.abc import Callable

KEPT = 400


class Trace:
    def __init__(self, now: Callable[[], float]) -> None:
        self._now = now
        self._hash = hashlib.sha256()
        self._last: deque[str] = deque(maxlen=KEPT)
        self._sealed = False
        self.lines = 0

    def note(self, who: str, what: str) -> None:
        if self._sealed:
            return
        line = f"{self._now():.6f} {who}: {what}"
        self._hash.update(line.encode("utf-8", "backslashreplace"))
        self._last.append(line)
        self.lines += 1

    def seal(self) -> str:
        """Nothing that comes later counts. Returns the hash."""
        self._sealed = True
        return self._hash.hexdigest()

    def last(self, count: int) -> list[str]:
        return list(self._last)[-count:]
