"""A clock that the test sets, for one program alone: libfaketime, told by a file that it reads again and again.

Its monotonic clock goes on as it is, as that of a machine does when its clock is set.
"""

import datetime as dt
from pathlib import Path

import pytest

LIBRARIES = sorted(Path("/usr/lib").glob("*/faketime/libfaketime.so.1"))


class FakedClock:
    def __init__(self, file: Path) -> None:
        if not LIBRARIES:
            pytest.skip("libfaketime is not installed: run `make setup`")
        self._file = file
        self.jump(dt.timedelta())
        self._file.chmod(0o644)

    def jump(self, away: dt.timedelta) -> None:
        """So far from the true time, from now on."""
        # Written at once, so that it is never found empty.
        new = self._file.with_suffix(".new")
        new.write_text(f"{away.total_seconds():+.0f}\n")
        new.chmod(0o644)
        new.replace(self._file)

    @property
    def environment(self) -> dict[str, str]:
        return {
            "LD_PRELOAD": str(LIBRARIES[-1]),
            "FAKETIME_TIMESTAMP_FILE": str(self._file),
            "FAKETIME_NO_CACHE": "1",
            "FAKETIME_DONT_FAKE_MONOTONIC": "1",
        }
