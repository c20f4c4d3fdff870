"""The demo's screen: it fits the terminal, shows what is there, and heeds its keys."""

import os
import pty
import random
import select
import struct
import subprocess
import termios
import time
from collections.abc import AsyncIterator
from fcntl import ioctl
from pathlib import Path

import pytest

from drivers.emulator import EmulatedPort, emulate
from jackpot.demo.books import BookReader, Books
from jackpot.demo.by_hand import HandBookkeeper
from jackpot.demo.daemon import Daemon
from jackpot.demo.draw import help_pages, picture
from jackpot.demo.floor import Floor, tally_of
from jackpot.demo.news import News
from jackpot.demo.place import BOARD_WIDTH, BY_HAND, Place
from jackpot.demo.stage import Board, Stage
from jackpot.demo.words import wrapped
from jackpot.floor.dealer import Sight
from jackpot.mqtt.broker import Broker
from jackpot.rules.megalink import Rank
from jackpot.signs.feed import Feed
from tests.acceptance import processes
from tests.brokers import free_port
from tests.waiting import patience_s

SIZES = [(80, 24), (100, 30), (80, 50), (140, 40), (200, 60), (60, 20), (30, 8)]

AWARD = {
    "award": "megalink-000001", "link": "megalink", "table": "UTH-01", "round": "r1", "position": 3,
    "rank": "straight_flush", "kind": "percentage", "amount_cents": 4_800_000, "shared_by": 1, "multiplier": 5,
    "rules": ["UTH 4.2"],
}  # fmt: skip


@pytest.fixture
async def stage(tmp_path: Path) -> AsyncIterator[Stage]:
    """Everything a screen looks at, with nothing running behind it."""
    place = Place(tmp_path)
    config = place.write_config(8080)
    broker = Broker("127.0.0.1", 1883)
    news = News()
    async with EmulatedPort([emulate("alpha", "01", BOARD_WIDTH)], place.board_port) as port:
        yield Stage(
            place=place,
            config=config,
            password="b1d2-c3e4-f5a6",
            broker=broker,
            daemon=Daemon(place, config, news.tell),
            floor=Floor(place, config, broker, random.Random(1)),
            by_hand=HandBookkeeper(broker, "megalink", BY_HAND, tally_of(BY_HAND, place, config)),
            feed=Feed(broker, "test"),
            books=BookReader("postgresql://nobody"),
            news=news,
            board=Board(port, news),
        )


def lines(stage: Stage, columns: int = 80, rows: int = 24) -> list[str]:
    return picture(stage, columns, rows, 75.0).plain.split("\n")


def fill(stage: Stage) -> None:
    """A busy moment."""
    for link, cents in (("megalink", 48_000_000), ("grandlink", 2_000_000)):
        stage.feed.latest["status", link] = {"state": "running"}
        meter = {"displayed_cents": cents, "entry": 812, "pending": []}
        stage.feed.latest["meter", link] = meter
    stage.books.links = {name: Books(90_211, 812, 61_250_000, 61_250_000) for name in ("megalink", "grandlink")}
    for dealer in stage.floor.dealers:
        hands = dict.fromkeys((1, 2, 5), ("Ah", "Kh", "2c", "3d", "4s")[: dealer.game.cards])
        community = ("Qh", "Jh", "Th")[: dealer.game.community]
        dealer.sight = Sight("r1", "closed", {1: 5, 2: 1, 5: 3}, community, hands, {1: Rank.ROYAL_FLUSH})
    for number in range(40):
        stage.news.hear("award", "megalink", {**AWARD, "award": f"megalink-{number:06d}"}, True)


@pytest.mark.parametrize(("columns", "rows"), SIZES)
async def test_it_fits_the_terminal(stage: Stage, columns: int, rows: int) -> None:
    for _ in ("at the start", "at a busy moment"):
        drawn = picture(stage, columns, rows, 75.0)
        found = drawn.split("\n", allow_blank=True)
        assert len(found) == rows
        assert max(line.cell_len for line in found) <= columns
        fill(stage)


async def test_80_by_24_shows_meters_board_tables_awards_books_and_keys(stage: Stage) -> None:
    fill(stage)
    shown = "\n".join(lines(stage))
    assert "SGD 480,000.00" in shown
    assert "USD 20,000.00" in shown
    assert shown.count("│") == 14, "seven rows of lamps in a frame"
    assert all(dealer.table.id in shown for dealer in stage.floor.dealers)
    assert "Straight Flush" in shown
    assert "SGD 48,000.00" in shown
    assert "megalink 61.25 = 61.25" in shown
    assert "events/s" in shown
    assert "quit" in lines(stage)[-1]


async def test_books_that_do_not_balance_are_seen(stage: Stage) -> None:
    fill(stage)
    stage.books.links = {"megalink": Books(1, 1, 1_000_000, 999_999)}
    assert "megalink 1.00 ≠ 0.999999" in "\n".join(lines(stage))


async def test_a_pending_royal_is_shown_with_its_table(stage: Stage) -> None:
    fill(stage)
    stage.feed.latest["meter", "megalink"]["pending"] = [{"table": "BE-02", "rank": "royal_flush"}]
    assert "held: BE-02 Royal Flush" in lines(stage)[1]


async def test_an_unplugged_board_is_dark_and_said_to_be(stage: Stage) -> None:
    stage.board.toggle()
    assert not stage.place.board_port.exists()
    assert any("unplugged" in line for line in lines(stage))
    stage.board.toggle()
    assert stage.place.board_port.exists()


@pytest.mark.parametrize(("columns", "rows"), SIZES)
async def test_help_fits_on_its_pages_and_leaves_nothing_out(stage: Stage, columns: int, rows: int) -> None:
    pages = help_pages(stage, columns, rows)
    for page in pages:
        assert len(page.plain.split("\n")) == rows
    text = "\n".join(page.plain for page in pages)
    if columns >= 60 and rows >= 20:
        for command in ("table", "status", "check", "verify", "kill -9", "kill -USR1"):
            assert command in text


def test_a_command_over_several_lines_is_still_that_command() -> None:
    line = """printf '%s|' --cards 'Ah Kh Qh Jh Th' --config /a/long/path/to/jackpot.toml "$(echo two words)" end"""
    pasted = "\n".join(wrapped(line, 30))
    assert pasted.count("\\\n") >= 3
    whole, parts = (subprocess.run(["sh", "-c", text], capture_output=True, check=True) for text in (line, pasted))
    assert parts.stdout == whole.stdout


def test_keys_steer_it_and_the_terminal_is_given_back(used_dir: Path) -> None:
    main, other = pty.openpty()
    ioctl(other, termios.TIOCSWINSZ, struct.pack("HHHH", 24, 80, 0, 0))
    before = termios.tcgetattr(other)
    argv = [str(processes.JACKPOT), "demo", "--data-dir", str(used_dir), "--port", str(free_port())]
    environment = processes.environment() | {"TERM": "xterm-256color"}
    with subprocess.Popen(argv, stdin=other, stdout=other, stderr=other, env=environment) as demo:
        try:
            screen = Terminal(main)
            screen.until("debits = credits")
            screen.press("l")
            screen.until("is stacked")
            screen.press("?")
            screen.until("What runs where")
            screen.press("q")
            screen.until("reconcile --day")
            screen.until("stopped")
            assert demo.wait(30) == 0
        finally:
            demo.kill()
    assert termios.tcgetattr(other) == before
    assert b"\x1b[?1049l" in screen.seen, "the screen that was there before is shown again"
    os.close(main)
    os.close(other)


class Terminal:
    def __init__(self, main: int) -> None:
        self._main = main
        self.seen = b""

    def press(self, key: str) -> None:
        os.write(self._main, key.encode())

    def until(self, text: str, within_s: float = 60.0) -> None:
        """Until the text has come since the last thing that was waited for."""
        start, deadline = len(self.seen), time.monotonic() + patience_s(within_s)
        while text.encode() not in self.seen[start:]:
            assert time.monotonic() < deadline, self.seen[-3000:].decode(errors="replace")
            if select.select([self._main], [], [], 1.0)[0]:
                self.seen += os.read(self._main, 65536)
