"""A session at a cluster of brokers: any node will do."""

import asyncio
from contextlib import ExitStack
from pathlib import Path

from jackpot.mqtt.client import Broker, Connection
from jackpot.mqtt.session import Session
from tests import brokers
from tests.waiting import patience_s


async def test_a_node_that_is_not_there_or_goes_away_is_passed_over(tmp_path: Path) -> None:
    connected: asyncio.Queue[Connection] = asyncio.Queue()
    with ExitStack() as first_node, ExitStack() as second_node:
        for name in ("first", "second"):
            (tmp_path / name).mkdir()
        first = first_node.enter_context(brokers.mosquitto(tmp_path / "first"))
        second = second_node.enter_context(brokers.mosquitto(tmp_path / "second"))
        nodes = ",".join(f"127.0.0.1:{port}" for port in (brokers.free_port(), first, second))
        session = Session(
            broker=Broker.from_url(f"mqtt://{nodes}"),
            client_id="anyone",
            on_message=lambda _: None,
            on_connect=connected.put_nowait,
        )
        running = asyncio.create_task(session.run())
        try:
            async with asyncio.timeout(patience_s(20)):
                await connected.get()
                assert session.broker.port == first
                first_node.close()
                again = await connected.get()
                assert session.broker.port == second
                await again.publish("anything", b"", retain=False)
        finally:
            running.cancel()
            await asyncio.gather(running, return_exceptions=True)
