"""`jackpot signs` as an operator uses it."""

import asyncio
import json
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from drivers.emulator import EmulatedPort, emulate
from drivers.emulator.boards import AlphaSign
from jackpot.cli.signs import command
from jackpot.errors import CheckFailed, UserError
from jackpot.signs import Entry, JsonLinesHistory
from jackpot.wire import topics
from jackpot.wire.mqtt import Broker, Connection
from tests import brokers
from tests.drivers.conftest import eventually

PROGRAM = [sys.executable, "-c", "from jackpot.cli.signs import command; command()"]


def config(folder: Path, port: int, sign_port: Path) -> Path:
    file = folder / "jackpot.toml"
    file.write_text(
        f'mqtt.url = "mqtt://127.0.0.1:{port}"\n'
        '[[links]]\nid = "megalink"\nincrement_bp = 2500\nreserve_bp = 310\nreset_cents = 10_000_000\n'
        f'[[signs]]\nid = "pit-3"\nlink = "megalink"\nprotocol = "alpha"\nport = "{sign_port}"\n'
    )
    return file


def run(*arguments: str | Path) -> Any:
    return CliRunner().invoke(command, [str(argument) for argument in arguments])


@pytest.fixture
def state(tmp_path: Path) -> Path:
    with JsonLinesHistory(tmp_path) as history:
        noon = datetime(2026, 11, 16, 12, tzinfo=UTC)
        history.add(Entry(noon, "pit-3", "told", "$1,000.00", 100_000, version=7, confirmed=True))
    return tmp_path


def test_history_tells_what_the_board_showed(state: Path) -> None:
    told = run("history", "pit-3", "--at", "2026-11-16T20:00:05+08:00", "--state", state)
    assert told.exit_code == 0
    assert "$1,000.00, meter version 7" in told.output
    as_json = json.loads(run("history", "pit-3", "--at", "2026-11-16T12:00:05Z", "--state", state, "-o", "json").output)
    assert (as_json["told"]["cents"], as_json["until"]) == (100_000, None)


@pytest.mark.parametrize(
    ("arguments", "error", "message"),
    [
        (("history", "pit-9"), UserError, "kept are: pit-3"),
        (("history", "pit-3", "--at", "noon"), UserError, "not a moment"),
        (("history", "pit-3", "--at", "2026-11-16T12:00:00"), UserError, "no time zone"),
        (("history", "pit-3", "--at", "2026-11-16T11:00:00Z"), CheckFailed, "nothing was told"),
    ],
)
def test_history_answers_bad_use_in_words(state: Path, arguments: tuple[str, ...], error: type, message: str) -> None:
    result = run(*arguments, "--state", state)
    assert type(result.exception) is error
    assert message in str(result.exception)


def test_bad_use_is_answered_in_words(tmp_path: Path) -> None:
    file = config(tmp_path, 1, tmp_path / "nowhere")
    assert "--config FILE" in str(run().exception)
    assert "no sign 'pit-9'" in str(run("test", "pit-9", "--config", file).exception)
    gone = run("test", "pit-3", "--config", file, "--state", tmp_path / "state").exception
    assert type(gone) is CheckFailed
    assert "No such file" in str(gone)
    assert "no address" in str(run("emulate", "--protocol", "ed400", "--address", "0A").exception)


async def test_a_test_pattern_is_shown_and_then_dashes(tmp_path: Path) -> None:
    board = AlphaSign("01", 16)
    seen = set()
    async with EmulatedPort([board], tmp_path / "port"):
        file = config(tmp_path, 1, tmp_path / "port")
        arguments = ["test", "pit-3", "--config", str(file), "--seconds", "0.5", "--state", str(tmp_path / "state")]
        program = await asyncio.create_subprocess_exec(*PROGRAM, *arguments, stdout=subprocess.PIPE)
        while program.returncode is None:
            seen.add(board.state().text.strip())
            await asyncio.sleep(0.05)
        output, _ = await program.communicate()
    assert program.returncode == 0
    assert "TEST 0123456789." in seen
    assert board.state().text.strip() == "--------"
    assert output.decode().count("says so itself") == 2


async def test_emulate_opens_a_port_that_a_driver_can_use_and_draws_the_board(tmp_path: Path) -> None:
    port, picture = tmp_path / "port", tmp_path / "board.png"
    arguments = ["emulate", "--protocol", "ed400", "--port", str(port), "--png", str(picture)]
    program = await asyncio.create_subprocess_exec(*PROGRAM, *arguments, stdout=subprocess.PIPE)
    await eventually(port.exists)
    line = os.open(port, os.O_RDWR | os.O_NOCTTY)
    os.write(line, b"\x02011234\x03")
    await asyncio.sleep(0.5)
    os.close(line)
    program.send_signal(signal.SIGTERM)
    assert await program.wait() == 0
    assert picture.read_bytes().startswith(b"\x89PNG")


@pytest.fixture
def broker(tmp_path: Path) -> Iterator[int]:
    with brokers.mosquitto(tmp_path) as port:
        yield port


async def test_boards_on_another_machine_are_fed_by_mqtt_alone(tmp_path: Path, broker: int) -> None:
    board = emulate("alpha", "01", 16)
    daemon = await Connection.open(Broker("127.0.0.1", broker), "daemon", on_message=lambda _: None)

    def publish(topic: str, **message: Any) -> None:
        daemon.publish_nowait(topic, json.dumps(message).encode(), retain=topic != topics.awards("megalink"))

    async def beat() -> None:
        version = 1
        while True:
            publish(
                topics.meter("megalink"),
                link="megalink",
                currency="SGD",
                displayed_cents=47_999_900,
                reset_cents=10_000_000,
                entry=812,
                version=version,
                pending=[],
                at=datetime.now(UTC).isoformat(),
            )
            version += 1
            await asyncio.sleep(0.3)

    def shows(text: str) -> bool:
        return board.state().text.strip() == text

    async with EmulatedPort([board], tmp_path / "port"):
        publish(topics.status("megalink"), state="running")
        beating = asyncio.create_task(beat())
        daemon.publish_nowait(topics.meter("megalink"), b"no JSON at all")
        file = config(tmp_path, broker, tmp_path / "port")
        program = await asyncio.create_subprocess_exec(
            *PROGRAM, "--config", str(file), "--state", str(tmp_path / "state"), stderr=subprocess.DEVNULL
        )
        await eventually(lambda: shows("$479,999.00"))
        publish(topics.status("megalink"), state="lost")
        await eventually(lambda: shows("--------"))
        publish(topics.status("megalink"), state="running")
        await eventually(lambda: shows("$479,999.00"))
        publish(
            topics.awards("megalink"), award="megalink-000001", link="megalink", table="UTH-01", round="r-1", position=3,
            entry=812, rank="royal_flush", kind="percentage", amount_cents=47_999_900, base_cents=47_999_900,
            shared_by=1, multiplier=5, rules=["UTH 4.2"], decisions=["D5"], at=datetime.now(UTC).isoformat(),
        )  # fmt: skip
        await eventually(lambda: shows("UTH-01 ROYAL FLUSH $479,999.00"))
        program.send_signal(signal.SIGTERM)
        assert await program.wait() == 0
        await eventually(lambda: shows("--------"))
        beating.cancel()
    await daemon.close()
    assert run("history", "pit-3", "--state", tmp_path / "state").exit_code == 0
