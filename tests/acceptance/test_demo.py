"""`jackpot demo` as a real process: the whole floor comes up, plays, proves itself, and leaves nothing behind."""

import json
import os
import pwd
import re
import shutil
import signal
import socket
import subprocess
import sys
import sysconfig
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Self

import pytest

from tests.acceptance import processes
from tests.brokers import free_port
from tests.servers import ROOT, open_directory
from tests.waiting import patience_s

ENDS_WITHIN_S = 90.0
VANISHES_WITHIN_S = 30.0


@dataclass(frozen=True)
class Someone:
    """Who runs the demo, and how this user calls `jackpot`."""

    name: str
    jackpot: list[str]
    environment: dict[str, str] = field(default_factory=dict)

    def command(self, *arguments: str | Path) -> list[str]:
        return [*self.jackpot, *map(str, arguments)]


@pytest.fixture
def ourselves() -> Someone:
    return Someone("ourselves", [str(processes.JACKPOT)], processes.environment())


@pytest.fixture(params=["root", "an ordinary user"])
def someone(request: pytest.FixtureRequest, ourselves: Someone) -> Iterator[Someone]:
    is_root = os.geteuid() == 0
    if request.param == "root":
        if not is_root:
            pytest.skip("the tests do not run as root")
        yield ourselves
    elif not is_root:
        yield ourselves
    else:
        with _temporary_user() as user:
            yield user


@contextmanager
def _temporary_user() -> Iterator[Someone]:
    name = f"jackpot-{os.getpid()}"
    if shutil.which("useradd") is None:
        pytest.skip("without useradd no ordinary user can be made")
    subprocess.run(["useradd", "--no-create-home", "--shell", "/usr/sbin/nologin", name], check=True)
    try:
        entry = pwd.getpwnam(name)
        # By way of env: setpriv itself still has root's rights when it starts a program.
        switch = ["setpriv", f"--reuid={entry.pw_uid}", f"--regid={entry.pw_gid}", "--clear-groups", "--", "env"]
        python = _python_for(switch)
        packages = os.pathsep.join([str(ROOT), sysconfig.get_path("purelib")])
        environment = processes.environment() | {"PYTHONPATH": packages, "HOME": "/nonexistent"}
        yield Someone(name, [*switch, python, "-m", "jackpot.cli"], environment)
    finally:
        subprocess.run(["userdel", name], check=True)


def _python_for(switch: list[str]) -> str:
    """An interpreter of our version that the user can reach: ours may lie in root's home."""
    ours = f"python{sys.version_info.major}.{sys.version_info.minor}"
    for python in (sys.executable, shutil.which(ours, path="/usr/bin:/usr/local/bin")):
        if python and subprocess.run([*switch, python, "-c", ""], capture_output=True, check=False).returncode == 0:
            return python
    pytest.skip(f"an ordinary user can reach no {ours}")


@pytest.fixture
def place(someone: Someone) -> Iterator[Path]:
    """An empty data directory that this user can write."""
    with open_directory(in_memory=True) as directory:
        if someone.name != "ourselves":
            shutil.chown(directory, someone.name, someone.name)
        yield directory / "demo"


class Demo:
    """`jackpot demo --headless` in a directory."""

    def __init__(self, someone: Someone, place: Path, *arguments: str) -> None:
        self.place = place
        self.port = free_port()
        self._said: list[str] = []
        self._process = subprocess.Popen(
            someone.command("demo", "--headless", "--data-dir", place, "--port", str(self.port), *arguments),
            env=someone.environment,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            start_new_session=True,
        )

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._process.kill()
        self._process.wait()

    @property
    def said(self) -> str:
        return "\n".join(self._said)

    def wait_for(self, text: str) -> str:
        """The first line with this text; fails if the demo ends before."""
        assert self._process.stdout is not None
        for line in self._process.stdout:
            self._said.append(line.rstrip("\n"))
            if text in line:
                return self._said[-1]
        raise AssertionError(f"it never said {text!r}:\n{self.said}")

    def signal(self, number: signal.Signals) -> None:
        self._process.send_signal(number)

    def end(self) -> int:
        assert self._process.stdout is not None
        self._said += self._process.stdout.read().splitlines()
        return self._process.wait(patience_s(ENDS_WITHIN_S))

    def rounds(self) -> int:
        return max(int(found.replace(",", "")) for found in re.findall(r"([\d,]+) rounds", self.said))


def processes_of(place: Path) -> list[str]:
    """What still runs with this directory in its arguments or as its place of work."""
    found = []
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit() and int(entry.name) != os.getpid():
            try:
                line = (entry / "cmdline").read_text().replace("\0", " ")
                if str(place) in line or (entry / "cwd").readlink().is_relative_to(place):
                    found.append(line)
            except OSError:
                continue
    return found


def assert_nothing_is_left(demo: Demo) -> None:
    assert processes_of(demo.place) == []
    for port in (demo.port, int((demo.place / "broker" / "port").read_text())):
        with socket.socket() as probe:
            assert probe.connect_ex(("127.0.0.1", port)) != 0, f"port {port} is still open"
    assert not (demo.place / "board").is_symlink()
    assert not list(demo.place.glob("*.pid"))


def reconciliation(someone: Someone, place: Path, day: str) -> dict[str, object]:
    config = place / "jackpot.toml"
    done = subprocess.run(
        someone.command("reconcile", "--config", config, "--day", day, "-o", "json"),
        env=someone.environment,
        capture_output=True,
        text=True,
        check=False,
        timeout=patience_s(60),
    )
    assert done.returncode == 0, done.stderr
    document: dict[str, object] = json.loads(done.stdout)
    return document


def test_it_plays_proves_itself_and_leaves_nothing_behind(someone: Someone, place: Path) -> None:
    for _ in ("an empty directory", "a used one"):
        with Demo(someone, place, "--seconds", "2", "--lucky") as demo:
            day = demo.wait_for("reconcile --day").partition("--day ")[2].partition(":")[0]
            assert demo.end() == 0, demo.said
        assert demo.rounds() > 0
        assert f"reconcile --day {day}: balanced" in demo.said
        assert re.search(r"verify: [\d,]+ events, each decided and chained again, come to the same", demo.said)
        assert_nothing_is_left(demo)
    books = reconciliation(someone, place, day)
    assert books["balanced"]
    tables = books["tables"]
    assert isinstance(tables, list)
    assert sum(table["wagers"] for table in tables) > 0
    assert all(table["reported"] for table in tables if table["wagers"])


def test_what_is_printed_to_try_works_and_nothing_is_lost_whatever_is_killed(ourselves: Someone) -> None:
    with open_directory(in_memory=True) as directory:
        place = directory / "demo"
        with Demo(ourselves, place) as killed:
            killed.wait_for("events/s")
        _wait_until_gone(place)
        with Demo(ourselves, place) as demo:
            demo.wait_for("stop: Ctrl-C")
            tries = {name: line for line, name in re.findall(r"try: (.*?)   # (.*)", demo.said)}
            demo.wait_for("events/s")
            assert '"rank": "royal_flush"' in _pasted(tries["a Royal Flush by hand"])
            assert "accepted" in _pasted(tries["one event at a time"])
            assert "nothing is wrong" in _pasted(tries["what operations see"].replace(" --watch", ""))
            assert "none failed" in _pasted(tries["is all as it should be"])
            with Demo(ourselves, place) as second:
                assert second.end() == 2
                assert "already" in second.said
            for happens in ("the board is unplugged", "plugged in again"):
                _pasted(tries["pull the board's cable"])
                demo.wait_for(happens)
            _pasted(tries["kill the daemon"])
            demo.wait_for("the daemon ended by SIGKILL")
            demo.wait_for("the daemon is back")
            demo.signal(signal.SIGINT)
            assert demo.end() == 0, demo.said
        assert ": balanced;" in demo.said
        assert_nothing_is_left(demo)


def _pasted(line: str) -> str:
    done = subprocess.run(
        line,
        shell=True,
        cwd=ROOT,
        env=processes.environment(),
        capture_output=True,
        text=True,
        check=False,
        timeout=patience_s(60),
    )
    assert done.returncode == 0, f"{line}: {done.stdout}{done.stderr}"
    return done.stdout


def _wait_until_gone(place: Path) -> None:
    deadline = time.monotonic() + patience_s(VANISHES_WITHIN_S)
    while processes_of(place):
        assert time.monotonic() < deadline, processes_of(place)
        time.sleep(0.1)


def test_a_taken_port_is_named(ourselves: Someone, open_dir: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        argv = ourselves.command("demo", "--headless", "--data-dir", open_dir, "--port", str(port))
        done = subprocess.run(
            argv, env=ourselves.environment, capture_output=True, text=True, check=False, timeout=patience_s(30)
        )
    assert done.returncode == 2
    assert done.stderr == f"jackpot: port {port} of 127.0.0.1 cannot be used; choose another with --port\n"
