"""Real brokers for tests: each starts on a free port with its data in a directory of the caller's, and is killed at the end."""

import os
import shutil
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from tests.waiting import patience_s

START_WITHIN_S = 30.0


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
        return port


@contextmanager
def mosquitto(
    directory: Path,
    *,
    port: int | None = None,
    host: str = "127.0.0.1",
    settings: Sequence[str] = (),
    within: Sequence[str] = (),
) -> Iterator[int]:
    """Mosquitto with persistence; the same directory and port again are a restart.

    `settings` are lines of its configuration; `within` is a command that runs it, such as in a network of its own.
    """
    port = port or free_port()
    lines = [
        f"listener {port} {host}",
        "allow_anonymous true",
        "persistence true",
        f"persistence_location {directory}/",
        "max_queued_messages 1000000",
        "set_tcp_nodelay true",
        *(["user root"] if os.geteuid() == 0 else []),  # else it becomes another user, who may not read the directory
        *settings,
    ]
    config = directory / "mosquitto.conf"
    config.write_text("\n".join(lines) + "\n")
    program = shutil.which("mosquitto", path=os.environ.get("PATH", "") + ":/usr/sbin")
    if program is None:
        raise RuntimeError("mosquitto is not installed: run `make setup`")
    with _running([*within, program, "-c", str(config)], directory / "mosquitto.log", port, host):
        yield port


@contextmanager
def nats(directory: Path, *, port: int | None = None) -> Iterator[int]:
    """NATS from its wheel, speaking MQTT; the same directory and port again are a restart.

    It sends again what was not acknowledged only after `ack_wait`, also on a new connection.
    """
    port = port or free_port()
    config = directory / "nats.conf"
    config.write_text(
        f'server_name: tests\nlisten: "127.0.0.1:{free_port()}"\n'
        f'jetstream {{ store_dir: "{directory}/jetstream" }}\n'
        f'mqtt {{ listen: "127.0.0.1:{port}", ack_wait: "1s" }}\n'
    )
    program = Path(sys.executable).with_name("nats-server")
    with _running([str(program), "-c", str(config)], directory / "nats.log", port):
        yield port


@contextmanager
def _running(command: list[str], log: Path, port: int, host: str = "127.0.0.1") -> Iterator[None]:
    with log.open("ab") as output, subprocess.Popen(command, stdout=output, stderr=output) as process:
        try:
            _wait_for(process, log, port, host)
            yield
        finally:
            process.send_signal(signal.SIGKILL)


def _wait_for(process: subprocess.Popen[bytes], log: Path, port: int, host: str = "127.0.0.1") -> None:
    deadline = time.monotonic() + patience_s(START_WITHIN_S)
    while time.monotonic() < deadline and process.poll() is None:
        try:
            socket.create_connection((host, port), timeout=5).close()
        except OSError:
            time.sleep(0.02)
        else:
            return
    raise RuntimeError(f"{process.args!r} did not start:\n{log.read_text()}")
