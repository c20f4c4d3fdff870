"""The API against its own description: whatever is sent, it answers as described and never breaks."""

import asyncio
import socket
import threading
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

import pytest
import schemathesis
from hypothesis import HealthCheck, settings
from schemathesis.specs.openapi.checks import (
    content_type_conformance,
    negative_data_rejection,
    response_schema_conformance,
    status_code_conformance,
)

from jackpot.console import commands
from jackpot.console.server import HttpServer
from jackpot.ledger.connection import create_engine
from jackpot.people import tokens
from jackpot.people.roles import PERMISSIONS, Permission, Role
from tests.brokers import free_port
from tests.console.console_client import console, open_office
from tests.console.site import INSTALLER, OF_ROLE
from tests.servers import PostgresProgram

CHECKS = [
    schemathesis.checks.not_a_server_error,
    status_code_conformance,
    content_type_conformance,
    response_schema_conformance,
    negative_data_rejection,
]


@dataclass
class Served:
    """An office of its own, on a port: what is sent there may do what it likes."""

    url: str
    tokens: dict[Role, str] = field(default_factory=dict)


@pytest.fixture(scope="module")
def served(postgres: PostgresProgram, ledger_template: str) -> Iterator[Served]:
    port = free_port()
    found, started = Served(f"http://127.0.0.1:{port}"), threading.Event()
    server: list[HttpServer] = []

    async def serve() -> None:
        async with postgres.database(ledger_template) as url, open_office(url) as office:
            for role, name in OF_ROLE.items():
                found.tokens[role] = await tokens.issue(office.engine, INSTALLER, name, "schemathesis")
            server.append(HttpServer(office.app))
            serving = asyncio.create_task(server[0].serve([socket.create_server(("127.0.0.1", port))]))
            while not server[0].started:
                await asyncio.sleep(0.01)
            started.set()
            await serving

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(commands, "PATIENCE_S", 0.05)
        thread = threading.Thread(target=lambda: asyncio.run(serve()))
        thread.start()
        assert started.wait(30)
        yield found
        server[0].should_exit = True
        thread.join()


def role_for(permission: str) -> Role:
    """One that may do it: `x-permission` is in the words of the description."""
    wanted = {Permission(name.replace(" ", "_")) for name in permission.split(" or ") if not name.startswith("anyone")}
    return next(role for role in Role if not wanted or PERMISSIONS[role] & wanted)


API = schemathesis.openapi.from_dict(console(create_engine("postgresql://nobody@nowhere/none")).openapi())

API.config.phases.coverage.enabled = False  # its thousand requests belong to a longer run


@API.parametrize()
@settings(max_examples=5, deadline=None, derandomize=True, suppress_health_check=list(HealthCheck))
def test_every_operation_answers_as_described(case: schemathesis.Case[Any], served: Served) -> None:
    role = role_for(case.operation.definition.raw["x-permission"])
    headers = {"Authorization": f"Bearer {served.tokens[role]}"}
    response = case.call(base_url=served.url, headers=headers)
    assert response.status_code not in (401, 403), "the description names the right role"
    case.validate_response(response, checks=CHECKS)
