import asyncio
import gc

import uvloop

from jackpot import logs
from jackpot.cli.options import ConfigOption
from jackpot.config import load
from jackpot.daemon.service import serve


def command(config: ConfigOption) -> None:
    """Run the daemon until SIGTERM or Ctrl-C; then it finishes the batch, answers, and says `stopped`."""
    logs.set_up()
    # A batch makes thousands of objects, none of them in cycles; what is loaded by now stays for good.
    gc.freeze()
    gc.set_threshold(50_000, 20, 20)
    with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
        runner.run(serve(load(config)))
