"""A command, and where its processor time goes: `python -m jackpot.bench.profiled FILE serve --config ...`.

Every millisecond of processor time it is looked what runs, and counted by room. What C code does for a line of Python,
such as a write to a socket, is that line's; what the event loop and asyncpg do by themselves is nobody's.
"""

import json
import runpy
import signal
import sys
from collections import Counter
from pathlib import Path
from types import FrameType
from typing import Final

EVERY_S: Final = 0.001
ROOMS: Final = {
    "jackpot/wire/codec": "reading events and writing answers as JSON",
    "jackpot/wire": "MQTT",
    "jackpot/link": "deciding",
    "jackpot/rules": "deciding",
    "jackpot/ledger": "chain and rows",
    "asyncpg": "asyncpg",
    "jackpot/desk": "desk and sitting",
    "jackpot/sitting": "desk and sitting",
    "prometheus_client": "metrics",
}
THE_REST: Final = "event loop, asyncpg's C code, kernel"


def room_of(frame: FrameType | None) -> str:
    """The innermost line that stands in one of the rooms."""
    while frame is not None:
        name = frame.f_code.co_filename.rpartition("site-packages/")[2]
        for start, room in ROOMS.items():
            if start in name:
                return room
        frame = frame.f_back
    return THE_REST


def main(found: Path, arguments: list[str]) -> None:
    counted: Counter[str] = Counter()

    def look(_: int, frame: FrameType | None) -> None:
        counted[room_of(frame)] += 1

    signal.signal(signal.SIGPROF, look)
    signal.setitimer(signal.ITIMER_PROF, EVERY_S, EVERY_S)
    sys.argv = ["jackpot", *arguments]
    try:
        runpy.run_module("jackpot.cli", run_name="__main__")
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0)
        found.write_text(json.dumps(counted))


if __name__ == "__main__":
    main(Path(sys.argv[1]), sys.argv[2:])
