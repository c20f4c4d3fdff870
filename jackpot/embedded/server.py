"""One embedded server: started, watched, started again when it dies, and stopped with the program.

Whoever holds the lock of the server's directory runs it. Another program that comes meanwhile (a report beside the
daemon) uses the server that runs, and takes it over should the first go away.

A server does not outlive its program. Even after kill -9 of the program the kernel sends the server its death
signal, and it stops in good order. That takes nothing from durability: what was committed is on the disk before it
is answered, and a server that is killed as well recovers it at its next start.

The kernel ties the death signal to the thread that started the server: run the event loop in the main thread.
"""

import asyncio
import os
import shutil
import signal
from abc import ABC, abstractmethod
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import ClassVar

import structlog

from jackpot.embedded.place import ENVIRONMENT, Account, Lock, make_home
from jackpot.errors import UserError

log = structlog.get_logger()

START_SECONDS_MAX = 120
"""Recovery after a crash reads all that was written since the last checkpoint."""
JOIN_SECONDS_MAX = 30
LEFTOVER_SECONDS_MAX = 20
STOP_SECONDS_MAX = 20
START_POLL_SECONDS = 0.02
JOIN_POLL_SECONDS = 0.2
RESTART_PAUSES_SECONDS = (0, 1, 2, 4, 8)
LOG_BYTES_MAX = 10_000_000


@dataclass(frozen=True, slots=True)
class Launch:
    """How a server is started, once everything is in its place."""

    program: Path
    arguments: tuple[str, ...]
    account: Account


class EmbeddedServer(ABC):
    """`async with` gives the URL of the server in `home`."""

    name: ClassVar[str]
    process_name: ClassVar[str]
    stop_signals: ClassVar[tuple[signal.Signals, ...]]
    """The first is the death signal too; each next one is sent if the last did not help."""

    def __init__(self, home: Path, data: str) -> None:
        self.home = home.resolve()
        self.data = self.home / data
        """The server's own directory, in which all its processes work: by that they are known."""
        self._lock = Lock(self.home / "lock")
        self._process: asyncio.subprocess.Process | None = None
        self._watch: asyncio.Task[None] | None = None

    @property
    @abstractmethod
    def url(self) -> str: ...

    @abstractmethod
    def prepare(self) -> Launch:
        """Puts everything in its place, when no earlier server is left. It may block."""

    @abstractmethod
    async def trouble(self) -> str | None:
        """Why a client cannot use the server at `url` now; None if it can."""

    @property
    def pid(self) -> int | None:
        """The server's process, if this program runs it."""
        return self._process.pid if self._process else None

    async def __aenter__(self) -> str:
        if not shutil.which("setpriv", path=ENVIRONMENT["PATH"]):
            raise UserError("Embedded servers need Linux and its setpriv: install util-linux.")
        make_home(self.home)
        try:
            await self._start_or_join()
        except BaseException:
            self._lock.release()
            raise
        self._watch = asyncio.create_task(self._keep_running(), name=f"watch {self.name}")
        return self.url

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._watch:
            self._watch.cancel()
            await asyncio.wait([self._watch])
        await self._stop()
        self._lock.release()

    async def _start_or_join(self) -> None:
        with suppress(TimeoutError):
            async with asyncio.timeout(JOIN_SECONDS_MAX):
                while not self._lock.take():
                    if await self.trouble() is None:
                        return
                    await asyncio.sleep(JOIN_POLL_SECONDS)
        if not self._lock.take():
            raise UserError(
                f"Another program runs {self.name} in {self.home}, but it does not answer ({await self.trouble()}): "
                "end that program, or choose another data directory."
            )
        await self._start()

    async def _start(self) -> None:
        await self._end_earlier_server()
        launch = await asyncio.to_thread(self.prepare)
        log_path = self.home / "server.log"
        if log_path.exists() and log_path.stat().st_size > LOG_BYTES_MAX:
            log_path.replace(self.home / "server.log.1")
        death_signal = self.stop_signals[0].name.removeprefix("SIG")
        with log_path.open("ab") as output:
            log_start = output.tell()
            self._process = await asyncio.create_subprocess_exec(
                *launch.account.command(launch.program, *launch.arguments, death_signal=death_signal),
                stdin=asyncio.subprocess.DEVNULL,
                stdout=output,
                stderr=output,
                cwd=self.data,
                env=ENVIRONMENT,
                start_new_session=True,  # Ctrl-C in a terminal is for the program, which stops the server last.
            )
        try:
            await self._until_it_answers(self._process, log_path, log_start)
        except BaseException:
            await self._stop()
            raise

    async def _until_it_answers(self, process: asyncio.subprocess.Process, log_path: Path, log_start: int) -> None:
        trouble: str | None = None
        try:
            async with asyncio.timeout(START_SECONDS_MAX):
                while process.returncode is None:
                    if (trouble := await self.trouble()) is None:
                        return
                    await asyncio.sleep(START_POLL_SECONDS)
        except TimeoutError:
            raise UserError(f"{self.name} does not answer ({trouble}): see {log_path}.") from None
        raise UserError(f"{self.name} did not start: {_last_complaint(log_path, log_start)} See {log_path}.")

    async def _end_earlier_server(self) -> None:
        """Lets a server end whose program, or whose main process, was killed: it has had its death signal."""
        if await self._until_gone():
            return
        for pid in self._processes():
            with suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
        if not await self._until_gone():
            raise UserError(f"An earlier {self.name} still works in {self.data}: end process {self._processes()}.")

    async def _until_gone(self) -> bool:
        for _ in range(int(LEFTOVER_SECONDS_MAX / START_POLL_SECONDS)):
            if not self._processes():
                return True
            await asyncio.sleep(START_POLL_SECONDS)
        return False

    def _processes(self) -> list[int]:
        found = []
        for entry in Path("/proc").iterdir():
            if entry.name.isdigit():
                with suppress(OSError):  # it has ended meanwhile, or it is not ours to look at
                    name = (entry / "comm").read_text().strip()
                    if name == self.process_name and (entry / "cwd").readlink() == self.data:
                        found.append(int(entry.name))
        return found

    async def _keep_running(self) -> None:
        while True:
            if self._process:
                code = await self._process.wait()
                log.warning("embedded_server_died", server=self.name, exit_code=code)
            else:
                await asyncio.sleep(JOIN_POLL_SECONDS)
                if not self._lock.take():
                    continue
                log.info("embedded_server_taken_over", server=self.name)
            if not await self._start_again():
                log.error("embedded_server_gone", server=self.name)
                return

    async def _start_again(self) -> bool:
        for pause in RESTART_PAUSES_SECONDS:
            await asyncio.sleep(pause)
            try:
                await self._start()
            except (UserError, OSError) as error:
                log.warning("embedded_server_not_started", server=self.name, why=str(error))
            else:
                return True
        return False

    async def _stop(self) -> None:
        process, self._process = self._process, None
        if not process:
            return
        for number in (*self.stop_signals, signal.SIGKILL):
            with suppress(ProcessLookupError):
                process.send_signal(number)
            with suppress(TimeoutError):
                async with asyncio.timeout(STOP_SECONDS_MAX):
                    await process.wait()
                    return


def _last_complaint(log_path: Path, start: int) -> str:
    with log_path.open("rb") as file:
        file.seek(start)
        lines = file.read().decode(errors="replace").strip().splitlines()
    complaints = [line for line in lines if any(word in line for word in ("FATAL", "PANIC", "FTL", "ERR"))]
    return (complaints or lines or ["it said nothing."])[-1]
