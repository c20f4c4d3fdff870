"""`jackpot broker-log`: follows mosquitto's log, passes on what people need, and counts whom it refused."""

import sys
import time
from pathlib import Path
from typing import Annotated

import typer

from jackpot import metrics
from jackpot.cli.serving import ListenOption, tell_prometheus
from jackpot.config import systemd_settings
from jackpot.daemon.service_manager import ServiceManager
from jackpot.mqtt.broker_log import BrokerFiles, BrokerLog, Refusal
from jackpot.mqtt.log_queue import LogQueue

LOOK_EVERY_S = 0.2
SHOWN_A_SECOND_MAX = 100


def command(
    config: Annotated[Path, typer.Option("--config", help="The broker's configuration: its doors, and its log.")] = (
        Path("/etc/mosquitto/mosquitto.conf")
    ),
    listen: ListenOption = None,
) -> None:
    """Follow the broker's log, pass on what people need, and count what was refused. The broker never waits for it."""
    files = BrokerFiles.load(config)
    for kind in Refusal:
        metrics.broker_refused.labels(kind)
    tell_prometheus(listen)
    log, queue, manager = BrokerLog(files.doors), LogQueue(files.log), ServiceManager(*systemd_settings())
    manager.tell("READY=1")
    passed_on = PassedOn()
    while True:
        lines = queue.lines()
        for line in lines:
            needed, refusal = log.read(line)
            if refusal is not None:
                metrics.broker_refused.labels(refusal).inc()
            if needed:
                passed_on.add(line)
        queue.taken()
        manager.tell("WATCHDOG=1")
        if not lines:
            time.sleep(LOOK_EVERY_S)


class PassedOn:
    """The log that people read: whoever is refused ten thousand times a second must not drown it."""

    def __init__(self) -> None:
        self._second = 0.0
        self._shown = self._hidden = 0

    def add(self, line: str) -> None:
        now = time.monotonic()
        if now >= self._second + 1:
            if self._hidden:
                sys.stdout.write(f"broker-log: {self._hidden} more lines were counted and are not shown\n")
            self._second, self._shown, self._hidden = now, 0, 0
        if self._shown < SHOWN_A_SECOND_MAX:
            sys.stdout.write(f"{line}\n")
            sys.stdout.flush()
            self._shown += 1
        else:
            self._hidden += 1
