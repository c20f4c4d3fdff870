"""The daemon with a death wish: `python -m tests.faults.launcher CONFIG`, as `jackpot serve`, but told by the environment.

`DIE_AT=committed:7` kills it with SIGKILL at the seventh time it reaches that point, counted from when there came
a payload with the text `ARMED_BY`, if that is set. `written` is a point of its own: the statement is under way, and the kill
comes a moment after it began. `LEASE_S`, `AUDIT_EVERY_S` and `NOTICES_EVERY_S` change the daemon's own.
`CHOKE_ON` is text in a payload that makes reading it raise, as a bug of ours would. `NETWORK` is a network namespace's file
to live in.
"""

import asyncio
import ctypes
import os
import random
import signal
import sys
import threading
import time
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import uvloop

from jackpot import logs
from jackpot.config import load
from jackpot.contract import codec
from jackpot.daemon import link_channel, link_runner
from jackpot.daemon.batch_attempt import IncomingEvent
from jackpot.daemon.batch_processor import BatchProcessor
from jackpot.daemon.service import serve

CLONE_NEWNET = 0x40000000
POINTS = ("received", "begun", "written", "committed", "replied", "acknowledged")


def die() -> None:
    os.kill(os.getpid(), signal.SIGKILL)


def die_in_a_moment() -> None:
    """While the statement is on its way, executed, or answered: no two are alike."""
    moment_s = random.uniform(0, 0.004)

    def wait_and_die() -> None:
        time.sleep(moment_s)
        die()

    threading.Thread(target=wait_and_die).start()


def die_once_it_left() -> None:
    """What was written leaves at the end of the loop's turn. Nothing is acknowledged that was not until now."""
    link_channel.LinkChannel.acknowledge = lambda *_: None  # type: ignore[method-assign]
    asyncio.get_running_loop().call_later(0.002, die)


DEATHS = {"written": die_in_a_moment, "replied": die_once_it_left, "acknowledged": die_once_it_left}


def death_wish(point: str, times: int, armed_by: bytes) -> Callable[[str], None]:
    watched = "begun" if point == "written" else point
    reached: Counter[str] = Counter()
    armed = not armed_by
    receive = BatchProcessor.receive

    def heed(processor: BatchProcessor, arrival: Any) -> None:
        nonlocal armed
        armed = armed or (isinstance(arrival, IncomingEvent) and armed_by in arrival.payload)
        receive(processor, arrival)

    def at_point(name: str) -> None:
        reached[name] += armed
        if name == watched and reached[name] == times:
            DEATHS.get(point, die)()

    setattr(BatchProcessor, "receive", heed)  # noqa: B010
    return at_point


def choke_on(text: bytes) -> None:
    read = codec.decode

    def decode(payload: bytes) -> Any:
        if text in payload:
            raise ArithmeticError("this payload is too much for me")
        return read(payload)

    codec.decode = decode


def enter(network: str) -> None:
    """As `nsenter` does; Python has `os.setns` only from 3.12 on."""
    with Path(network).open("rb") as file:
        if ctypes.CDLL(None, use_errno=True).setns(file.fileno(), CLONE_NEWNET):
            raise OSError(ctypes.get_errno(), "setns", network)


def live(config: Path) -> None:
    if network := os.environ.get("NETWORK"):
        enter(network)
    point, _, times = os.environ.get("DIE_AT", "never:0").partition(":")
    lease_s = float(os.environ.get("LEASE_S", link_runner.LEASE_S))
    link_runner.LEASE_S, link_runner.RENEW_EVERY_S, link_runner.STANDBY_EVERY_S = lease_s, lease_s / 4, lease_s / 8
    link_runner.BROKER_PATIENCE_S, link_runner.BROKERLESS_S = 1.25 * lease_s, 2.5 * lease_s
    link_runner.AUDIT_EVERY_S = float(os.environ.get("AUDIT_EVERY_S", link_runner.AUDIT_EVERY_S))
    link_channel.NOTICES_EVERY_S = float(os.environ.get("NOTICES_EVERY_S", link_channel.NOTICES_EVERY_S))
    if text := os.environ.get("CHOKE_ON"):
        choke_on(text.encode())
    at_point = death_wish(point, int(times), os.environ.get("ARMED_BY", "").encode())
    logs.set_up()
    with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
        runner.run(serve(load(config), at_point=at_point))


if __name__ == "__main__":
    live(Path(sys.argv[1]))
