"""The demonstration in a terminal: drawn ten times a second, and steered by a few keys."""

import asyncio
import os
import sys
import termios
import tty
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from functools import partial
from typing import Final

from rich.console import Console
from rich.live import Live

from jackpot.demo import words
from jackpot.demo.draw import help_pages, picture
from jackpot.demo.stage import Stage

FRAME_S: Final = 0.1

Deeds = Mapping[str, Callable[[], object]]


class Screen:
    def __init__(self) -> None:
        self._console = Console(highlight=False)
        self._page: int | None = None
        """Of the help; None while the floor is shown."""

    def say(self, text: str) -> None:
        self._console.print(text, markup=False, soft_wrap=True)

    def introduce(self, stage: Stage) -> None:
        for name, value in words.where(stage):
            self.say(f"{name:10} {value}")
        self.say("\nThings to try, in another terminal:")
        for name, line in words.to_try(stage):
            self.say(f"{line}   # {name}")

    async def run(self, stage: Stage, stop: asyncio.Event) -> None:
        now = asyncio.get_running_loop().time
        started = now()
        audit_entries = {
            "q": stop.set,
            "l": lambda: stage.news.tell(stage.floor.luck()),
            "b": stage.board.toggle,
            "k": stage.daemon.kill,
        }
        with (
            _keys(partial(self._on_key, audit_entries)),
            Live(console=self._console, screen=True, auto_refresh=False) as live,
        ):
            while True:
                columns, rows = self._console.size
                pages = [] if self._page is None else help_pages(stage, columns, rows)[self._page :]
                if not pages:
                    self._page = None
                live.update(pages[0] if pages else picture(stage, columns, rows, now() - started), refresh=True)
                await asyncio.sleep(FRAME_S)

    def _on_key(self, audit_entries: Deeds, key: str) -> None:
        if key == "?":
            self._page = 0 if self._page is None else self._page + 1
        else:
            self._page = None
            audit_entries.get(key, lambda: None)()


@contextmanager
def _keys(on_key: Callable[[str], None]) -> Iterator[None]:
    """Keys one by one, without Enter and without being shown; Ctrl-C stays what it is."""
    stdin = sys.stdin.fileno()
    loop = asyncio.get_running_loop()

    def read() -> None:
        for key in os.read(stdin, 64).decode(errors="replace"):
            on_key(key)

    before = termios.tcgetattr(stdin)
    tty.setcbreak(stdin)
    loop.add_reader(stdin, read)
    try:
        yield
    finally:
        loop.remove_reader(stdin)
        termios.tcsetattr(stdin, termios.TCSADRAIN, before)
