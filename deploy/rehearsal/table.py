"""A table that plays until SIGTERM. Whatever happens to the daemon meanwhile, each event is accepted once."""

import asyncio
import signal
import sys
import time
from pathlib import Path

from jackpot.floor.table import TableController
from jackpot.mqtt.broker import Broker

HOLDER = Path("/root/safe/jackpot-pki/tables/holders/UTH-01")
EVENT_KEY = Path("/etc/jackpot/secrets/UTH-01.event-key")
SECONDS_MAX = 600
ROUND: tuple[tuple[str, dict[str, object]], ...] = (
    ("round.opened", {}),
    ("wager.placed", {"position": 1, "multiplier": 5}),
    ("round.closed", {}),
    ("hand.entered", {"position": 1, "cards": ["Ah", "Kh"], "community": ["Qh", "Jh", "9h"]}),
    ("round.settled", {}),
)


async def play(key: bytes) -> None:
    broker = Broker.from_url(
        "mqtts://jackpot.example:8883",
        ca="/etc/jackpot/servers.crt",
        cert=str(HOLDER.with_suffix(".crt")),
        key=str(HOLDER.with_suffix(".key")),
    )
    enough = asyncio.Event()
    asyncio.get_running_loop().add_signal_handler(signal.SIGTERM, enough.set)
    async with asyncio.timeout(SECONDS_MAX), TableController(broker, "megalink", "UTH-01", key=key) as table:
        started, seq, rounds = int(time.time()), None, 0
        while not enough.is_set():
            rounds += 1
            for type_, fields in ROUND:
                reply = await table.say(type_, f"{started}-{rounds}", **fields)
                if reply["status"] != "accepted" or seq not in (None, reply["seq"] - 1):
                    sys.exit(f"table.py: after seq {seq}: {reply}")
                seq = reply["seq"]
            await asyncio.sleep(0.1)
    paid = reply["result"]["awards"][0]["amount_cents"]
    sys.stdout.write(f"{rounds} rounds, every event accepted once; the last paid {paid}\n")


asyncio.run(play(bytes.fromhex(EVENT_KEY.read_text())))
