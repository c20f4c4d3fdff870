"""A process that answers every event at once, and says when it is ready: `python -m jackpot.bench.echo URL LINK`."""

import sys

import uvloop

from jackpot.bench.limits import echo
from jackpot.wire.mqtt import Broker

if __name__ == "__main__":
    uvloop.run(echo(Broker.from_url(sys.argv[1]), sys.argv[2], lambda: print("ready", flush=True)))  # noqa: T201
