"""The daemon as others meet it: a process of its own with a configuration file, stopped and killed from outside."""

import http.client
import json
import os
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any, Protocol

from tests.brokers import free_port
from tests.waiting import patience_s

JACKPOT = Path(sys.executable).with_name("jackpot")
START_WITHIN_S = 30.0
BACK_WITHIN_S = 20.0
EXIT_WITHIN_S = 20.0
ANSWER_WITHIN_S = 10.0

GAMES = {
    "BE": ("bullseye", 6),
    "UTH": ("ultimate-texas-holdem", 7),
    "TCX": ("three-card-poker-xtreme", 7),
    "FAR": ("fast-action-roulette", 7),
    "P3P": ("prosperity-3-pictures", 7),
}


def environment() -> dict[str, str]:
    """Programs start several times in a test run: their byte code is kept, apart from the source."""
    found = {key: value for key, value in os.environ.items() if key != "PYTHONDONTWRITEBYTECODE"}
    room = Path(tempfile.gettempdir())
    return found | {
        "PYTHONPYCACHEPREFIX": str(room / "jackpot-tests-pycache"),
        "XDG_DATA_HOME": str(room / "jackpot-tests-data"),
    }


Finished = subprocess.CompletedProcess[str]


def run(*arguments: str | Path, within_s: float = 60.0) -> Finished:
    """One `jackpot` command, as typed at a terminal."""
    most_s = patience_s(within_s)
    return subprocess.run(
        [JACKPOT, *arguments], env=environment(), capture_output=True, text=True, timeout=most_s, check=False
    )


def link(id_: str, **changed: Any) -> str:
    """A link as the contract's example has it."""
    fields: dict[str, Any] = {
        "id": id_,
        "currency": "SGD",
        "unit_cents": 500,
        "increment_bp": 2500,
        "reserve_bp": 310,
        "reset_cents": 10_000_000,
        **changed,
    }
    return "[[links]]\n" + "".join(f"{key} = {json.dumps(value)}\n" for key, value in fields.items())


def table(id_: str, link_id: str | None) -> str:
    """A table named after its sheet, such as UTH-01."""
    game, positions = GAMES[id_.partition("-")[0]]
    linked = "" if link_id is None else f'link = "{link_id}"\n'
    return f'[[tables]]\nid = "{id_}"\n{linked}game = "{game}"\npositions = {positions}\n'


def configuration(database_url: str, mqtt_url: str, floor: Iterable[str], listen: str | None = None) -> str:
    listen = listen or f"127.0.0.1:{free_port()}"
    servers = f'[database]\nurl = "{database_url}"\n[mqtt]\nurl = "{mqtt_url}"\n[http]\nlisten = "{listen}"\n'
    return servers + "".join(floor)


class Process(Protocol):
    """A child of ours, as `subprocess.Popen` has it."""

    @property
    def pid(self) -> int: ...
    @property
    def returncode(self) -> int | Any: ...
    def poll(self) -> int | None: ...
    def wait(self, timeout: float | None = None) -> int: ...
    def send_signal(self, sig: int, /) -> None: ...


class Daemon:
    """`jackpot serve` with this configuration. The same configuration may be started again and again."""

    def __init__(
        self, directory: Path, configuration: str, *, name: str = "daemon", command: Sequence[str | Path] = ()
    ) -> None:
        self.config = directory / f"{name}.toml"
        self.config.write_text(configuration)
        self._log = directory / f"{name}.log"
        self._command = command or (JACKPOT, "serve", "--config", self.config)
        self.listen = configuration.partition('listen = "')[2].partition('"')[0]
        self._process: Process | None = None

    @property
    def process(self) -> Process:
        assert self._process is not None, "it was not started"
        return self._process

    @property
    def runs(self) -> bool:
        return self._process is not None and self._process.poll() is None

    def start(self, **more_environment: str) -> None:
        with self._log.open("ab") as output:
            self._process = subprocess.Popen(
                self._command, env=environment() | more_environment, stdout=output, stderr=output
            )

    def kill(self) -> None:
        """kill -9."""
        self.signal(signal.SIGKILL)
        self.process.wait()

    def terminate(self) -> int:
        """SIGTERM; returns its exit code."""
        self.signal(signal.SIGTERM)
        return self.process.wait(patience_s(EXIT_WITHIN_S))

    def signal(self, number: signal.Signals) -> None:
        self.process.send_signal(number)

    def end(self) -> None:
        """Whatever state it is in: after a test."""
        if self.runs:
            self.kill()

    def get(self, path: str) -> tuple[int, str]:
        """Status and body; 0 if nobody answers."""
        connection = http.client.HTTPConnection(self.listen, timeout=ANSWER_WITHIN_S)
        try:
            connection.request("GET", path)
            answer = connection.getresponse()
            return answer.status, answer.read().decode()
        except (OSError, http.client.HTTPException):
            return 0, ""
        finally:
            connection.close()

    def wait_ready(self, within_s: float = START_WITHIN_S) -> None:
        """Until `/readyz` answers 200; fails if it does not, or if the daemon ends."""
        self._wait_for("/readyz", within_s)

    def wait_alive(self, within_s: float = START_WITHIN_S) -> None:
        """Until `/healthz` answers, whoever leads."""
        self._wait_for("/healthz", within_s)

    def _wait_for(self, path: str, within_s: float) -> None:
        deadline = time.monotonic() + patience_s(within_s)
        while time.monotonic() < deadline:
            if self.get(path)[0] == 200:
                return
            if not self.runs:
                raise AssertionError(f"the daemon ended by itself:\n{self.log()}")
            time.sleep(0.05)
        raise AssertionError(f"{path} within {within_s} s: {self.get(path)}\n{self.log()}")

    def wait_not_ready(self, within_s: float = BACK_WITHIN_S) -> None:
        deadline = time.monotonic() + patience_s(within_s)
        while self.get("/readyz")[0] == 200:
            assert time.monotonic() < deadline, "it still says that it is ready"
            time.sleep(0.05)

    def log(self) -> str:
        return self._log.read_text(errors="replace")[-20_000:]
