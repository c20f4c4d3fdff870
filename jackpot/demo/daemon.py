"""The real daemon, as a process of its own: it can be killed, and is started again."""

import asyncio
import os
import signal
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

from jackpot.config import Config
from jackpot.daemon import probe
from jackpot.demo.place import Place, command
from jackpot.errors import UserError

READY_SECONDS_MAX = 60
READY_POLL_S = 0.1
STOP_SECONDS_MAX = 15
AGAIN_AFTER_S = 0.5
LOG_BYTES_MAX = 10_000_000


class Daemon:
    def __init__(self, place: Place, config: Config, tell: Callable[[str], None]) -> None:
        self._place = place
        self._http = config.http
        self._tell = tell
        self._process: asyncio.subprocess.Process | None = None
        self._stopping = False
        self.ready = False

    @property
    def pid(self) -> int | None:
        return self._process.pid if self._process is not None and self._process.returncode is None else None

    async def start(self) -> None:
        """Start it and wait until it is ready."""
        await self._start()
        await self._until_ready()

    async def keep_running(self) -> None:
        """Whoever kills it sees it come back."""
        while self._process is not None:
            code = await self._process.wait()
            if self._stopping:
                return
            self.ready = False
            died = time.monotonic()
            how = f"by {signal.Signals(-code).name}" if code < 0 else f"with exit code {code}"
            self._tell(f"the daemon ended {how}; tables send again what is not answered")
            await asyncio.sleep(AGAIN_AFTER_S)
            await self.start()
            self._tell(f"the daemon is back after {time.monotonic() - died:.1f} s, as process {self.pid}")

    def kill(self) -> None:
        """As `kill -9` does."""
        if self.pid is not None:
            os.kill(self.pid, signal.SIGKILL)

    async def stop(self) -> None:
        self._stopping = True
        process = self._process
        if process is None:
            return
        for number in (signal.SIGTERM, signal.SIGKILL):
            with suppress(ProcessLookupError, TimeoutError):
                process.send_signal(number)
                async with asyncio.timeout(STOP_SECONDS_MAX):
                    await process.wait()
                    break
        self._place.daemon_pid.unlink(missing_ok=True)

    async def _start(self) -> None:
        log = self._place.daemon_log
        if log.exists() and log.stat().st_size > LOG_BYTES_MAX:
            log.replace(log.with_suffix(".log.1"))
        with log.open("ab") as output:
            self._process = await asyncio.create_subprocess_exec(
                *command("serve", "--config", self._place.config),
                stdin=asyncio.subprocess.DEVNULL,
                stdout=output,
                stderr=output,
                cwd=self._place.data_dir,
                start_new_session=True,  # Ctrl-C is for the demonstration, which stops the daemon in its turn.
            )
        self._place.daemon_pid.write_text(f"{self._process.pid}\n")

    async def _until_ready(self) -> None:
        with suppress(TimeoutError):
            async with asyncio.timeout(READY_SECONDS_MAX):
                while self.pid is not None:
                    found = await asyncio.to_thread(probe.readiness, self._http.host, self._http.port)
                    if found.ready:
                        self.ready = True
                        return
                    await asyncio.sleep(READY_POLL_S)
        raise UserError(f"the daemon did not start: {_last_line(self._place.daemon_log)}; see {self._place.daemon_log}")


def _last_line(log: Path) -> str:
    lines = log.read_text("utf-8", errors="replace").strip().splitlines()
    return lines[-1] if lines else "it said nothing"
