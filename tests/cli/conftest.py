"""A daemon with a small floor, for the commands that speak to one."""

import asyncio
import json
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from jackpot.cli import app
from jackpot.errors import UserError
from tests import brokers
from tests.acceptance import processes
from tests.acceptance.processes import Daemon
from tests.servers import PostgresProgram

FLOOR = (
    processes.link("megalink"),
    *(processes.table(f"{sheet}-{number:02d}", "megalink") for sheet in ("UTH", "BE") for number in range(1, 10)),
    processes.table("FAR-01", None),
)


@dataclass(frozen=True)
class Said:
    """What a command printed, and how it ended."""

    code: int
    out: str
    complaint: str

    @property
    def documents(self) -> list[dict[str, Any]]:
        return [json.loads(line) for line in self.out.splitlines()]


Jackpot = Callable[..., Said]


@pytest.fixture(scope="package")
def mqtt_url(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    with brokers.mosquitto(tmp_path_factory.mktemp("cli-broker")) as port:
        yield f"mqtt://127.0.0.1:{port}"


@pytest.fixture(scope="package")
def migrated(postgres: PostgresProgram, tmp_path_factory: pytest.TempPathFactory) -> str:
    """The name of a database with the newest schema, to copy."""
    name = "cli_migrated"
    asyncio.run(postgres.as_superuser(f"CREATE DATABASE {name} OWNER jackpot"))
    config = tmp_path_factory.mktemp("cli-migrated") / "jackpot.toml"
    config.write_text(processes.configuration(postgres.url_of("jackpot", name), "mqtt://127.0.0.1:1", FLOOR))
    done = processes.run("migrate", "--config", config)
    assert done.returncode == 0, done.stderr
    return name


@contextmanager
def _copy(postgres: PostgresProgram, template: str) -> Iterator[str]:
    with asyncio.Runner() as runner:
        database = postgres.database(template)
        yield runner.run(database.__aenter__())
        runner.run(database.__aexit__(None, None, None))


@pytest.fixture
def ledger_url(postgres: PostgresProgram, migrated: str) -> Iterator[str]:
    with _copy(postgres, migrated) as url:
        yield url


@pytest.fixture(scope="package")
def daemon(
    postgres: PostgresProgram, migrated: str, mqtt_url: str, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Daemon]:
    with _copy(postgres, migrated) as url:
        program = Daemon(tmp_path_factory.mktemp("cli"), processes.configuration(url, mqtt_url, FLOOR))
        program.start()
        try:
            program.wait_ready()
            yield program
        finally:
            program.end()


@pytest.fixture
def jackpot() -> Jackpot:
    """A command as typed at a terminal, in this process: its output, and its one line of complaint."""

    def run(*arguments: str | Path) -> Said:
        done = CliRunner().invoke(app, [str(argument) for argument in arguments])
        if isinstance(done.exception, UserError):
            return Said(done.exception.exit_code, done.stdout, str(done.exception))
        if done.exception is not None and not isinstance(done.exception, SystemExit):
            raise done.exception
        return Said(done.exit_code, done.stdout, done.stderr)

    return run
