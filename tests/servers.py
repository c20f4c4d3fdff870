"""Real servers for the tests, run by programs of their own, so that a test can kill a server, its program, or both.

Run as a module, this file is such a program: it holds one embedded server until its standard input ends.
"""

import asyncio
import json
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import AsyncIterator, Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, ExitStack, asynccontextmanager, contextmanager, suppress
from dataclasses import replace
from itertools import count
from pathlib import Path
from types import MappingProxyType

import asyncpg

from jackpot.embedded import EmbeddedBroker, EmbeddedPostgres
from jackpot.embedded.server import Launch
from jackpot.errors import UserError
from tests.waiting import patience_s

ROOT = Path(__file__).parent.parent
MEMORY = Path("/dev/shm")
MEMORY_BYTES_MIN = 4 * 2**30

_numbers = count(1)


@contextmanager
def open_directory(*, in_memory: bool = False) -> Iterator[Path]:
    """A directory that the account of an embedded server can reach when the tests run as root; tmp_path it cannot.

    In memory, where there is plenty, a database is made and dropped in a sixth of the time.
    """
    room = os.statvfs(MEMORY) if in_memory and MEMORY.is_dir() else None
    fits = room and room.f_bavail * room.f_frsize >= MEMORY_BYTES_MIN and not room.f_flag & os.ST_NOEXEC
    directory = Path(tempfile.mkdtemp(prefix="jackpot-test-", dir=MEMORY if fits else None))
    directory.chmod(0o755)
    try:
        yield directory
    finally:
        shutil.rmtree(directory)


class ServerProgram:
    """A program that holds an embedded server: `kind` is `postgres` or `broker`; `within` is a command that runs it."""

    def __init__(self, kind: str, data_dir: Path, *options: str, within: Sequence[str] = ()) -> None:
        self.kind = kind
        self.data_dir = data_dir
        self._options = options
        self._within = within
        self.url = ""
        self._program: subprocess.Popen[str] | None = None

    def start(self) -> str:
        argv = [*self._within, sys.executable, "-m", "tests.servers", self.kind, str(self.data_dir), *self._options]
        self._program = subprocess.Popen(argv, cwd=ROOT, text=True, stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        assert self._program.stdout is not None
        self.url = json.loads(self._program.stdout.readline())["url"]
        return self.url

    def stop(self) -> None:
        """Ends the program in good order, and with it the server."""
        assert self._program is not None
        self._program.communicate()
        assert self._program.returncode == 0

    def kill_program(self) -> None:
        """kill -9; the server then ends by itself."""
        assert self._program is not None
        self._program.kill()
        self._program.communicate()

    def kill_server(self) -> None:
        """kill -9; the program then starts it again."""
        os.kill(self.server_pid, signal.SIGKILL)

    def kill(self) -> None:
        """kill -9 of both, the program first: nothing runs until `start`."""
        pid = self.server_pid
        self.kill_program()
        with suppress(ProcessLookupError):  # its death signal was faster
            os.kill(pid, signal.SIGKILL)

    @contextmanager
    def standing_still(self) -> Iterator[None]:
        """The server and all its processes are stopped: they neither answer nor close what is open."""
        stopped = [self.server_pid]
        for pid in stopped:
            os.kill(pid, signal.SIGSTOP)  # the parent first, so that no child is new
            stopped += _children(pid)
        try:
            yield
        finally:
            for pid in stopped:
                os.kill(pid, signal.SIGCONT)

    @property
    def server_pid(self) -> int:
        """Waits for it: after a kill, what is left of PostgreSQL may serve on for a while before it is started again."""
        assert self._program is not None
        deadline = time.monotonic() + patience_s(60)
        while time.monotonic() < deadline:
            if children := _children(self._program.pid):
                return children[0]
            time.sleep(0.05)
        raise AssertionError(f"{self.kind} was not started again")


def _children(pid: int) -> list[int]:
    return [int(child) for child in Path(f"/proc/{pid}/task/{pid}/children").read_text().split()]


class PostgresProgram(ServerProgram):
    """PostgreSQL with databases that are made for one test."""

    def __init__(
        self,
        data_dir: Path,
        *,
        within: Sequence[str] = (),
        environment: Mapping[str, str] = MappingProxyType({}),
    ) -> None:
        """`environment` is added to what the server gets."""
        super().__init__("postgres", data_dir, json.dumps(dict(environment)), within=within)

    def url_of(self, role: str, database: str) -> str:
        return EmbeddedPostgres(self.data_dir).url_of(role, database)

    @asynccontextmanager
    async def database(self, template: str = "template1") -> AsyncIterator[str]:
        """The URL of a new database, empty or like `template`, that the role `jackpot` owns."""
        name = f"test_{next(_numbers)}"
        await self.as_superuser(f"CREATE DATABASE {name} OWNER jackpot TEMPLATE {template}")
        try:
            yield self.url_of("jackpot", name)
        finally:
            await self.as_superuser(f"DROP DATABASE {name} WITH (FORCE)")

    async def as_superuser(self, statement: str) -> None:
        connection = await asyncpg.connect(self.url_of("postgres", "postgres"))
        try:
            await connection.execute(statement)
        finally:
            await connection.close()


class RestartableBroker:
    """A broker of `tests.brokers` that keeps its port and its data when it is killed and started again."""

    def __init__(self, broker: Callable[..., AbstractContextManager[int]], directory: Path) -> None:
        self._broker = broker
        self._directory = directory
        self._port: int | None = None
        self._running = ExitStack()
        self.name = broker.__name__

    def start(self) -> str:
        self._port = self._running.enter_context(self._broker(self._directory, port=self._port))
        return self.url

    def kill(self) -> None:
        """kill -9."""
        self._running.close()

    def wipe(self) -> None:
        """What it knew is gone: sessions, queues, retained messages."""
        shutil.rmtree(self._directory)
        self._directory.mkdir()

    @property
    def url(self) -> str:
        return f"mqtt://127.0.0.1:{self._port}"


class Postgres(EmbeddedPostgres):
    """With an environment that the server alone gets, and none of the programs that prepare its start."""

    def __init__(self, data_dir: Path, environment: Mapping[str, str]) -> None:
        super().__init__(data_dir)
        self._assignments = [f"{name}={value}" for name, value in environment.items()]

    def prepare(self) -> Launch:
        launch = super().prepare()
        arguments = (*self._assignments, str(launch.program), *launch.arguments)
        return replace(launch, program=Path("/usr/bin/env"), arguments=arguments)


async def _hold(kind: str, data_dir: Path, environment: dict[str, str]) -> None:
    server = Postgres(data_dir, environment) if kind == "postgres" else EmbeddedBroker(data_dir)
    async with server as url:
        print(json.dumps({"url": url}), flush=True)
        await asyncio.to_thread(sys.stdin.read)


if __name__ == "__main__":
    try:
        asyncio.run(_hold(sys.argv[1], Path(sys.argv[2]), json.loads((*sys.argv[3:], "{}")[0])))
    except UserError as error:
        sys.exit(str(error))
