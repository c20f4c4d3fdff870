"""The demonstration's floor, and where everything of it lies: below one directory, and nothing outside it."""

import shutil
import sys
import tomllib
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from jackpot.config import Config, read

BOARD: Final = "pit-1"
BOARD_WIDTH: Final = 13
"""Characters: 78 lamps across, which with its frame fills a terminal of 80 columns."""
BY_HAND: Final = "UTH-09"
"""Nobody deals at this table: it is left to whoever wants to play by hand."""

_FLOOR: Final = """\
# Written by `jackpot demo` at every start. All it needs is below this directory.
[embedded]
data_dir = {data_dir}

[http]
listen = "127.0.0.1:{port}"

[gaming_day]
timezone = "Asia/Singapore"
starts_at = "06:00"

[[links]]
id = "megalink"
currency = "SGD"
unit_cents = 500
increment_bp = 2500
reserve_bp = 310
reset_cents = 10_000_000

[[links]]
id = "grandlink"
currency = "USD"
unit_cents = 100
increment_bp = 3000
reserve_bp = 500
reset_cents = 2_000_000
shared_straight_flush = "reset_amount"

[[signs]]
id = "{board}"
link = "megalink"
protocol = "alpha"
port = {board_port}
width = {board_width}
"""

_TABLES: Final = (
    ("BE-01", "megalink", "bullseye", 6),
    ("BE-02", "megalink", "bullseye", 6),
    ("TCX-01", "megalink", "three-card-poker-xtreme", 7),
    ("UTH-01", "megalink", "ultimate-texas-holdem", 7),
    ("UTH-02", "megalink", "ultimate-texas-holdem", 7),
    (BY_HAND, "megalink", "ultimate-texas-holdem", 7),
    ("BE-11", "grandlink", "bullseye", 6),
    ("TCX-11", "grandlink", "three-card-poker-xtreme", 7),
    ("UTH-11", "grandlink", "ultimate-texas-holdem", 7),
)


@dataclass(frozen=True, slots=True)
class Place:
    data_dir: Path

    @property
    def config(self) -> Path:
        return self.data_dir / "jackpot.toml"

    @property
    def board_port(self) -> Path:
        return self.data_dir / "board"

    @property
    def daemon_pid(self) -> Path:
        return self.data_dir / "daemon.pid"

    @property
    def demo_pid(self) -> Path:
        return self.data_dir / "demo.pid"

    @property
    def daemon_log(self) -> Path:
        return self.data_dir / "daemon.log"

    @property
    def demo_log(self) -> Path:
        return self.data_dir / "demo.log"

    @property
    def password(self) -> Path:
        return self.data_dir / "password"

    def counters(self, table: str) -> Path:
        return self.data_dir / "tables" / f"{table}.json"

    def write_config(self, port: int) -> Config:
        text = _FLOOR.format(
            data_dir=_quoted(self.data_dir),
            port=port,
            board=BOARD,
            board_port=_quoted(self.board_port),
            board_width=BOARD_WIDTH,
        )
        for table, link, game, positions in _TABLES:
            text += f'\n[[tables]]\nid = "{table}"\nlink = "{link}"\ngame = "{game}"\npositions = {positions}\n'
        self.config.write_text(text, "utf-8")
        # Variables that lead a daemon elsewhere are not for this one.
        return read(tomllib.loads(text), str(self.config), environment={})


def _quoted(path: Path) -> str:
    """As a TOML basic string."""
    return '"' + str(path).replace("\\", "\\\\").replace('"', '\\"') + '"'


def program() -> str:
    """`jackpot` as it can be typed here."""
    script = Path(sys.executable).with_name("jackpot")
    if not script.exists():
        return f"{sys.executable} -m jackpot.cli"
    found = shutil.which("jackpot")
    if found is not None and Path(found).resolve() == script.resolve():
        return "jackpot"
    here = Path.cwd()
    return str(script.relative_to(here) if script.is_relative_to(here) else script)


def command(*arguments: str | Path, death_signal: str = "TERM") -> list[str]:
    """A `jackpot` command as a process of its own, which ends with this one and heeds none of our variables."""
    unset = [part for name in ("DATABASE_URL", "MQTT_URL", "HTTP_LISTEN") for part in ("-u", f"JACKPOT_{name}")]
    argv = [sys.executable, "-m", "jackpot.cli", *map(str, arguments)]
    return ["setpriv", "--pdeathsig", death_signal, "--", "env", *unset, *argv]
