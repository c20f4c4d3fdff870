"""Servers and a daemon of the bench's own, in a directory that is gone afterwards."""

import asyncio
import json
import shutil
import signal
import socket
import sys
import tempfile
import urllib.request
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass
from pathlib import Path

from jackpot.embedded import EmbeddedBroker, EmbeddedPostgres
from jackpot.errors import UserError
from jackpot.mqtt.client import Broker

MOSQUITTO = "/usr/sbin/mosquitto"
MOSQUITTO_CONF = """
listener {port} 127.0.0.1
allow_anonymous true
persistence false
max_queued_messages 1000000
max_inflight_messages 1000
set_tcp_nodelay true
log_type none
"""
READY_WITHIN_S = 60.0


@dataclass(frozen=True, slots=True)
class Ground:
    folder: Path
    database_url: str
    mqtt_url: str
    broker_name: str

    @property
    def broker(self) -> Broker:
        return Broker.from_url(self.mqtt_url)


@asynccontextmanager
async def ground() -> AsyncIterator[Ground]:
    """A real PostgreSQL and, where it is installed, mosquitto; else the embedded broker."""
    folder = _make_folder()
    try:
        async with AsyncExitStack() as stack:
            database_url = await stack.enter_async_context(EmbeddedPostgres(folder))
            if shutil.which(MOSQUITTO):
                mqtt_url = await stack.enter_async_context(_mosquitto(folder))
                name = "mosquitto"
            else:
                mqtt_url = await stack.enter_async_context(EmbeddedBroker(folder))
                name = "nats-server"
            yield Ground(folder, database_url, mqtt_url, name)
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def _make_folder() -> Path:
    """Open for the account that PostgreSQL runs as, should we be root."""
    folder = Path(tempfile.mkdtemp(prefix="jackpot-bench-"))
    folder.chmod(0o755)
    return folder


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


@asynccontextmanager
async def _mosquitto(folder: Path) -> AsyncIterator[str]:
    port = free_port()
    conf = folder / "mosquitto.conf"
    conf.write_text(MOSQUITTO_CONF.format(port=port))
    conf.chmod(0o644)
    async with _process(folder / "mosquitto.log", MOSQUITTO, "-c", str(conf)):
        for _ in range(100):
            try:
                _, writer = await asyncio.open_connection("127.0.0.1", port)
            except OSError:
                await asyncio.sleep(0.05)
                continue
            writer.close()
            break
        yield f"mqtt://127.0.0.1:{port}"


@asynccontextmanager
async def _process(log: Path, *arguments: str) -> AsyncIterator[asyncio.subprocess.Process]:
    with log.open("ab") as output:
        process = await asyncio.create_subprocess_exec(*arguments, stdout=output, stderr=output)
    try:
        yield process
    finally:
        if process.returncode is None:
            process.send_signal(signal.SIGTERM)
            await process.wait()


def configuration(at: Ground, links: int, tables: int, port: int) -> str:
    parts = [
        f'[database]\nurl = "{at.database_url}"\n',
        f'[mqtt]\nurl = "{at.mqtt_url}"\n',
        f'[http]\nlisten = "127.0.0.1:{port}"\n',
        f'[embedded]\ndata_dir = "{at.folder}"\n',
        '[gaming_day]\ntimezone = "UTC"\nstarts_at = "00:00"\n',
    ]
    parts += [
        f'[[links]]\nid = "{link_name(number)}"\nincrement_bp = 2500\nreserve_bp = 310\nreset_cents = 10_000_000\n'
        for number in range(links)
    ]
    parts += [
        f'[[tables]]\nid = "{table_name(number)}"\nlink = "{link_name(number % links)}"\n'
        'game = "ultimate-texas-holdem"\n'
        for number in range(tables)
    ]
    return "".join(parts)


def cpu_seconds(pid: int) -> float:
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / 100


def link_name(number: int) -> str:
    return f"link-{number:02d}"


def table_name(number: int) -> str:
    return f"T-{number:04d}"


@dataclass(frozen=True, slots=True)
class Daemon:
    process: asyncio.subprocess.Process
    port: int
    log: Path

    @property
    def pid(self) -> int:
        return self.process.pid

    async def ready(self) -> None:
        """Waits until it leads its links; a standby may have to wait for long."""
        deadline = asyncio.get_running_loop().time() + READY_WITHIN_S
        while asyncio.get_running_loop().time() < deadline and self.process.returncode is None:
            if await asyncio.to_thread(_asks_ready, self.port):
                return
            await asyncio.sleep(0.02)
        last = (await asyncio.to_thread(self.log.read_text)).strip().rpartition("\n")[2]
        raise UserError(f"the daemon did not become ready: {last}")

    def cpu_seconds(self) -> float:
        return cpu_seconds(self.pid)

    async def batches(self) -> float:
        """How many it has committed, over all its links."""
        series = (await asyncio.to_thread(_get, self.port, "/metrics")).decode()
        counted = [line for line in series.splitlines() if line.startswith("jackpot_batch_events_count{")]
        return sum(float(line.rpartition(" ")[2]) for line in counted)

    def memory_mib(self) -> float:
        status = Path(f"/proc/{self.pid}/status").read_text()
        return int(status.partition("VmRSS:")[2].split()[0]) / 1024


@asynccontextmanager
async def starting(
    at: Ground, links: int, tables: int, more: str = "", profile: Path | None = None
) -> AsyncIterator[Daemon]:
    """`jackpot serve` as its own process, just started; `more` is added to its configuration."""
    port = free_port()
    config = at.folder / f"daemon-{links}-{tables}-{port}.toml"
    config.write_text(configuration(at, links, tables, port) + more)
    log = at.folder / "daemon.log"
    jackpot: tuple[str, ...] = (sys.executable, "-m", "jackpot.cli")
    async with _process(log, *jackpot, "migrate", "--config", str(config)) as migrate:
        await migrate.wait()
    if profile is not None:
        jackpot = (sys.executable, "-m", "jackpot.bench.profiled", str(profile))
    async with _process(log, *jackpot, "serve", "--config", str(config)) as process:
        yield Daemon(process, port, log)


@asynccontextmanager
async def daemon(
    at: Ground, links: int, tables: int, more: str = "", profile: Path | None = None
) -> AsyncIterator[Daemon]:
    """The same, ready."""
    async with starting(at, links, tables, more, profile) as started:
        await started.ready()
        yield started


def _asks_ready(port: int) -> bool:
    try:
        return bool(json.loads(_get(port, "/readyz"))["ready"])
    except OSError:
        return False


def _get(port: int, path: str) -> bytes:
    with urllib.request.urlopen(f"http://127.0.0.1:{port}{path}", timeout=10) as answer:
        found: bytes = answer.read()
        return found
