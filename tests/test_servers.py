"""The test ground itself."""

from collections.abc import Callable
from contextlib import AbstractContextManager
from pathlib import Path

import aiomqtt
import asyncpg
import pytest
from sqlalchemy import make_url

from tests import brokers
from tests.servers import RestartableBroker


@pytest.mark.parametrize("turn", [1, 2])
async def test_each_test_has_an_empty_database_of_its_own(database_url: str, turn: int) -> None:
    connection = await asyncpg.connect(database_url)
    assert not await connection.fetchval("SELECT rolsuper FROM pg_roles WHERE rolname = current_user")
    await connection.execute("CREATE TABLE only_here ()")  # fails on the second turn if the first is still there
    await connection.close()


Broker = Callable[..., AbstractContextManager[int]]


@pytest.mark.parametrize("kind", [brokers.mosquitto, brokers.nats])
async def test_a_killed_broker_starts_again_where_it_was(kind: Broker, tmp_path: Path) -> None:
    broker = RestartableBroker(kind, tmp_path)
    first = broker.start()
    broker.kill()
    with pytest.raises(aiomqtt.MqttError):
        async with aiomqtt.Client("127.0.0.1", make_url(first).port or 0):
            pass
    assert broker.start() == first
    async with aiomqtt.Client("127.0.0.1", make_url(first).port or 0):
        pass
    broker.kill()
