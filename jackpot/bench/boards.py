"""From the commit that changed the jackpot to the figure on a board, with the time on the wire beside it."""

import asyncio
import json
import uuid
from contextlib import AsyncExitStack
from pathlib import Path
from time import perf_counter
from typing import Any

from drivers.alpha_layout import Layout
from drivers.board import Shown
from drivers.emulator import EmulatedPort
from drivers.emulator.boards import AlphaSign
from drivers.line import wire_seconds
from drivers.wiring import Wiring
from jackpot.bench.ground import Ground, daemon, link_name, table_name
from jackpot.bench.run import Say, load_tables
from jackpot.contract import topics
from jackpot.errors import UserError
from jackpot.mqtt.client import Connection, Message

BAUD = 9600
WIDTH = 14
KINDS = {"answers": True, "one way": False}
"""Most Alpha boards are wired one way."""
SHOWN_WITHIN_S = 20.0
PAUSE_S = 0.4


async def measure_board(at: Ground, say: Say, changes: int) -> dict[str, Any]:
    """Close rounds one by one, and wait each time until the emulated boards show what was answered."""
    boards = {kind: AlphaSign("01", WIDTH, answers=answers) for kind, answers in KINDS.items()}
    async with AsyncExitStack() as stack:
        for kind, board in boards.items():
            await stack.enter_async_context(EmulatedPort([board], _port(at, kind)))
        await stack.enter_async_context(daemon(at, 1, 1, more="".join(_sign(at, kind) for kind in boards)))
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
        taken: dict[str, list[float]] = {kind: [] for kind in boards}
        shown_cents = 0
        while len(taken["one way"]) < changes:
            connection.publish_nowait(table.topic, table.next())
            reply = await replies.get()
            if "displayed_cents" in reply.get("result", {}):
                shown_cents = reply["result"]["displayed_cents"]
                waits = [_until_shown(board, shown_cents) for board in boards.values()]
                for kind, seconds in zip(boards, await asyncio.gather(*waits), strict=True):
                    taken[kind].append(seconds)
                await asyncio.sleep(PAUSE_S)
        await connection.close()
    wire_ms = wire_seconds(_packet_bytes(shown_cents), BAUD) * 1000
    return {kind: _found(kind, sorted(seconds), wire_ms, say) for kind, seconds in taken.items()}


def _found(kind: str, ordered: list[float], wire_ms: float, say: Say) -> dict[str, float]:
    found = {"p50_ms": ordered[len(ordered) // 2] * 1000, "max_ms": ordered[-1] * 1000, "wire_ms": wire_ms}
    say(
        f"  board, {kind}: p50 {found['p50_ms']:.0f} ms, max {found['max_ms']:.0f} ms after the commit; "
        f"{wire_ms:.0f} ms of it on the wire"
    )
    return found


def _packet_bytes(cents: int) -> int:
    """Of the packet that is really sent."""
    layout = Layout(Wiring("alpha", "/dev/null", width=WIDTH).resolved())
    return len(layout.saying(layout.meter(Shown(str(cents))), None).data)


def _port(at: Ground, kind: str) -> Path:
    return at.folder / kind.replace(" ", "-")


def _sign(at: Ground, kind: str) -> str:
    name, port = kind.replace(" ", "-"), _port(at, kind)
    return (
        f'[[signs]]\nid = "{name}"\nlink = "{link_name(0)}"\nprotocol = "alpha"\nport = "{port}"\n'
        f"baud = {BAUD}\nwidth = {WIDTH}\n"
    )


async def _until_shown(board: AlphaSign, cents: int) -> float:
    started = perf_counter()
    wanted = str(cents)
    while "".join(character for character in board.state().text if character.isdigit()) != wanted:
        if perf_counter() - started > SHOWN_WITHIN_S:
            raise UserError(f"a board shows {board.state().text!r} and not {cents} cents after {SHOWN_WITHIN_S:g} s")
        await asyncio.sleep(0.005)
    return perf_counter() - started
