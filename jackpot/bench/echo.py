"""A process that answers every event at once, and says when it is ready: `python -m jackpot.bench.echo URL`.

It is the broker and the client library alone. Its topics are no links': whatever comes on those a daemon answers too.
"""

import asyncio
import json
import sys
import uuid
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import uvloop

from jackpot.bench.ground import Ground, table_name
from jackpot.bench.load import Load, LoadTable
from jackpot.contract import topics
from jackpot.mqtt.client import Broker, Connection, Message

ROOT = "echoed/v1"
LINK = "link-00"
ANSWER = json.dumps(
    {"reply_to": str(uuid.uuid4()), "seq": 1, "status": "accepted", "duplicate": False, "round": "r", "result": {}}
).encode()


def elsewhere(topic: str) -> str:
    return topic.replace(topics.ROOT, ROOT, 1)


async def echo(broker: Broker) -> None:
    def on_message(message: Message) -> None:
        message.connection.publish_nowait(message.topic.replace("events", "replies"), ANSWER)
        message.connection.ack(message)

    asked = [(elsewhere(topics.events(LINK, "+")), 1)]
    connection = await Connection.open(
        broker, "bench-echo", on_message=on_message, subscriptions=asked, clean_session=True
    )
    print("ready", flush=True)  # noqa: T201
    await connection.wait_closed()


@asynccontextmanager
async def echo_load(at: Ground, count: int) -> AsyncIterator[Load]:
    """A load whose events are echoed by a process of its own, as the daemon is one."""
    program = (sys.executable, "-m", "jackpot.bench.echo", at.mqtt_url)
    process = await asyncio.create_subprocess_exec(*program, stdout=asyncio.subprocess.PIPE)
    tables = [LoadTable(LINK, table_name(number)) for number in range(count)]
    for table in tables:
        table.topic, table.replies = elsewhere(table.topic), elsewhere(table.replies)
    load = Load(at.broker, tables)
    try:
        if process.stdout is not None:
            await process.stdout.readline()
        await load.connect()
        yield load
        await load.close()
    finally:
        process.terminate()
        await process.wait()


if __name__ == "__main__":
    uvloop.run(echo(Broker.from_url(sys.argv[1])))
