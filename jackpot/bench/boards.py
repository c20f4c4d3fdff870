"""From the commit that changed the jackpot to the figure on a board, with the time on the wire beside it."""

import asyncio
import json
import uuid
from pathlib import Path
from time import perf_counter
from typing import Any

from drivers.emulator import EmulatedPort, emulate
from drivers.line import wire_seconds
from jackpot.bench.ground import Ground, daemon, link_name, table_name
from jackpot.bench.run import Say, load_tables
from jackpot.wire import topics
from jackpot.wire.mqtt import Connection, Message

BAUD = 9600
FRAME_BYTES = 37
"""An Alpha frame that writes a meter of ten characters."""
SHOWN_WITHIN_S = 20.0
PAUSE_S = 0.4


async def measure_board(at: Ground, say: Say, changes: int) -> dict[str, Any]:
    """Close rounds one by one, and wait each time until the emulated board shows what was answered."""
    port = at.folder / "board"
    board = emulate("alpha", "01", 14)
    async with EmulatedPort([board], port), daemon(at, 1, 1, more=_sign(port)):
        (table,) = await load_tables(at, 1, 1)
        replies: asyncio.Queue[dict[str, Any]] = asyncio.Queue()

        def on_reply(message: Message) -> None:
            message.connection.ack(message)
            replies.put_nowait(json.loads(message.payload))

        connection = await Connection.open(
            at.broker,
            f"bench-{uuid.uuid4().hex[:8]}",
            on_message=on_reply,
            subscriptions=[(topics.replies(link_name(0), table_name(0)), 1)],
            clean_session=True,
        )
        taken: list[float] = []
        while len(taken) < changes:
            connection.publish_nowait(table.topic, table.next())
            reply = await replies.get()
            if "displayed_cents" in reply.get("result", {}):
                taken.append(await _until_shown(board, reply["result"]["displayed_cents"]))
                await asyncio.sleep(PAUSE_S)
        await connection.close()
    ordered = sorted(taken)
    found = {
        "p50_ms": ordered[len(ordered) // 2] * 1000,
        "max_ms": ordered[-1] * 1000,
        "wire_ms": wire_seconds(FRAME_BYTES, BAUD) * 1000,
    }
    say(
        f"  board: p50 {found['p50_ms']:.0f} ms, max {found['max_ms']:.0f} ms after the commit; "
        f"{found['wire_ms']:.0f} ms of it on the wire"
    )
    return found


def _sign(port: Path) -> str:
    return f'[[signs]]\nid = "bench"\nlink = "{link_name(0)}"\nprotocol = "alpha"\nport = "{port}"\nbaud = {BAUD}\n'


async def _until_shown(board: Any, cents: int) -> float:
    started = perf_counter()
    wanted = str(cents)
    while perf_counter() - started < SHOWN_WITHIN_S:
        if "".join(character for character in board.state().text if character.isdigit()) == wanted:
            break
        await asyncio.sleep(0.005)
    return perf_counter() - started
