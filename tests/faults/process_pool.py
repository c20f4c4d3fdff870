"""A program that has imported the daemon, and forks one whenever it is asked: a life begins in a moment.

The imports take most of a daemon's start, and a thousand kills want a thousand starts. What is forked has run nothing
yet: it is a process of its own, with servers, sockets and a death of its own.

Run as a module, each line of standard input asks for a life and is answered with its pid; each life's end is told, too.
"""

import gc
import json
import os
import random
import signal
import subprocess
import sys
import time
import traceback
from collections.abc import Mapping
from pathlib import Path
from typing import Any, NoReturn

from tests.acceptance.processes import environment
from tests.faults import launcher

ROOT = Path(__file__).parent.parent.parent


class Life:
    """A forked daemon; what `subprocess.Popen` is to one that was started the long way."""

    def __init__(self, nursery: "ProcessPool", pid: int) -> None:
        self._nursery = nursery
        self.pid = pid

    @property
    def returncode(self) -> int | None:
        return self._nursery.ended.get(self.pid)

    def poll(self) -> int | None:
        self._nursery.listen()
        return self.returncode

    def wait(self, timeout: float | None = None) -> int:
        deadline = None if timeout is None else time.monotonic() + timeout
        while (code := self.poll()) is None:
            if deadline is not None and time.monotonic() > deadline:
                raise subprocess.TimeoutExpired(f"daemon {self.pid}", timeout or 0)
            time.sleep(0.005)
        return code

    def send_signal(self, number: int) -> None:
        if self.poll() is None:
            os.kill(self.pid, number)


class ProcessPool:
    def __init__(self) -> None:
        self.ended: dict[int, int] = {}
        self._begun: list[int] = []
        self._heard = b""
        self._program = subprocess.Popen(
            [sys.executable, "-m", "tests.faults.process_pool"],
            cwd=ROOT,
            env=environment(),
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
        )
        assert self._program.stdout is not None
        os.set_blocking(self._program.stdout.fileno(), False)

    def fork(self, config: Path, log: Path, wishes: Mapping[str, str]) -> Life:
        assert self._program.stdin is not None
        request = {"config": str(config), "log": str(log), "environment": dict(wishes)}
        self._program.stdin.write(json.dumps(request).encode() + b"\n")
        self._program.stdin.flush()
        while not self._begun:
            assert self._program.poll() is None, "the nursery has ended"
            self.listen()
            time.sleep(0.001)
        return Life(self, self._begun.pop())

    def listen(self) -> None:
        assert self._program.stdout is not None
        self._heard += self._program.stdout.read() or b""
        *lines, self._heard = self._heard.split(b"\n")
        for line in lines:
            told = json.loads(line)
            if "code" in told:
                self.ended[told["pid"]] = told["code"]
            else:
                self._begun.append(told["pid"])

    def close(self) -> None:
        """And with it, every life that it began."""
        assert self._program.stdin is not None
        self._program.stdin.close()
        self._program.wait()


def say(**told: int) -> None:
    os.write(1, json.dumps(told).encode() + b"\n")


def reap(*_: Any) -> None:
    while living:
        pid, status = os.waitpid(-1, os.WNOHANG)
        if pid == 0:
            return
        living.discard(pid)
        say(pid=pid, code=os.waitstatus_to_exitcode(status))


living: set[int] = set()


def live(request: dict[str, Any]) -> NoReturn:
    code = 1
    try:
        signal.signal(signal.SIGCHLD, signal.SIG_DFL)
        signal.pthread_sigmask(signal.SIG_UNBLOCK, [signal.SIGCHLD])
        output = os.open(request["log"], os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o644)
        for number in (1, 2):
            os.dup2(output, number)
        os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
        random.seed()
        os.environ.update(request["environment"])
        launcher.live(Path(request["config"]))
        code = 0
    except BaseException:
        traceback.print_exc()
    finally:
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(code)


def main() -> None:
    gc.freeze()
    signal.signal(signal.SIGCHLD, reap)
    for line in sys.stdin:
        # An end is told only after the beginning.
        signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGCHLD])
        if (pid := os.fork()) == 0:
            live(json.loads(line))
        living.add(pid)
        say(pid=pid)
        signal.pthread_sigmask(signal.SIG_UNBLOCK, [signal.SIGCHLD])
    for pid in list(living):
        os.kill(pid, signal.SIGKILL)


if __name__ == "__main__":
    main()
