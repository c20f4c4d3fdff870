"""Emulated boards in a process of their own: `python -m jackpot.bench.ptys FOLDER COUNT STUCK`.

Each is an Alpha board on a pty `FOLDER/board-NN`. The first STUCK of them read nothing, and their lines are kept full,
as hours of unread figures would leave them.
"""

import asyncio
import os
import sys
from contextlib import AsyncExitStack, suppress
from pathlib import Path

from drivers.emulator import EmulatedPort, emulate

REFILL_S = 0.2
FILLING = b"\x00" * 64


def board_path(folder: Path, number: int) -> Path:
    return folder / f"board-{number:02d}"


async def stand(folder: Path, count: int, stuck: int) -> None:
    async with AsyncExitStack() as stack:
        ports = [EmulatedPort([emulate("alpha", "01", 16)], board_path(folder, number)) for number in range(count)]
        for port in ports:
            await stack.enter_async_context(port)
        for port in ports[:stuck]:
            port.stick()
        lines = [os.open(port.path, os.O_WRONLY | os.O_NOCTTY | os.O_NONBLOCK) for port in ports[:stuck]]
        _fill(lines)
        print("ready", flush=True)  # noqa: T201
        while True:
            _fill(lines)
            await asyncio.sleep(REFILL_S)


def _fill(lines: list[int]) -> None:
    for line in lines:
        with suppress(BlockingIOError):
            while True:
                os.write(line, FILLING)


if __name__ == "__main__":
    with suppress(KeyboardInterrupt):
        asyncio.run(stand(Path(sys.argv[1]), int(sys.argv[2]), int(sys.argv[3])))
