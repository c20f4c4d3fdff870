"""`jackpot broker-log`: stands between mosquitto and its log, and counts whom it refused."""

import signal
import sys
from typing import Annotated

import typer
from prometheus_client import start_http_server

from jackpot import metrics
from jackpot.config import Http, is_address
from jackpot.errors import UserError
from jackpot.wire.broker_log import BrokerLog, Refusal


def command(
    listen: Annotated[str, typer.Option(help="Where Prometheus asks for the counts.")] = "127.0.0.1:9884",
) -> None:
    """Read the log of `mosquitto -v` from standard input, pass on what people need, and count what was refused."""
    if not is_address(listen):
        raise UserError(f"--listen {listen!r} is not an address such as 127.0.0.1:9884")
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, signal.SIG_IGN)  # the broker's last lines come after it was told to stop
    for kind in Refusal:
        metrics.broker_refused.labels(kind)
    at = Http(listen)
    try:
        start_http_server(at.port, at.host)
    except OSError as error:
        raise UserError(f"cannot listen on {listen}: {error}; choose another --listen") from error
    log = BrokerLog()
    for line in sys.stdin:
        needed, refusal = log.read(line)
        if refusal is not None:
            metrics.broker_refused.labels(refusal).inc()
        if needed:
            sys.stdout.write(line)
            sys.stdout.flush()
