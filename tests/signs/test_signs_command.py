"""`jackpot signs` as an operator uses it."""

import asyncio
import json
import os
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, suppress
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from drivers import icpdas
from drivers.board import Known
from drivers.connect import connect
from drivers.emulator import EmulatedPort, emulate
from drivers.emulator.boards import AlphaSign
from drivers.line import Lines
from drivers.wiring import Wiring
from jackpot.cli.signs import command
from jackpot.contract import topics
from jackpot.errors import CheckFailedError, UserError
from jackpot.mqtt.client import Broker, Connection
from jackpot.signs import Entry, JsonLinesHistory
from tests import brokers
from tests.acceptance import processes
from tests.signs.conftest import eventually

PROGRAM = [sys.executable, "-c", "from jackpot.cli.signs import command; command()"]


def config(folder: Path, port: int, sign_port: Path | str) -> Path:
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
        (("history", "pit-3", "--at", "2026-11-16T11:00:00Z"), CheckFailedError, "nothing was told"),
        (("history", "pit-3", "--at", "2999-01-01T00:00:00Z"), UserError, "is yet to come"),
        (("history", "pit-3", "--at", "9999-12-31T23:59:59-12:00"), UserError, "no calendar knows"),
        (("history", "pit-3", "--at", "0001-01-01T00:00:00+12:00"), UserError, "no calendar knows"),
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
    assert type(gone) is CheckFailedError
    assert "No such file" in str(gone)
    assert "no address" in str(run("emulate", "--protocol", "ed400", "--address", "0A").exception)
    for address in ("00", "0?", "??"):
        assert "no board has the address" in str(run("emulate", "--address", address, "--seconds", "0").exception)


@pytest.mark.parametrize("seconds", ["nan", "inf", "-1"])
@pytest.mark.parametrize("arguments", [("emulate", "--seconds"), ("emulate", "--late"), ("test", "pit-3", "--seconds")])
def test_times_that_no_clock_knows_are_refused(tmp_path: Path, arguments: tuple[str, ...], seconds: str) -> None:
    file = config(tmp_path, 1, tmp_path / "nowhere")
    refused = run(*arguments, seconds, *(("--config", file) if "test" in arguments else ()))
    assert refused.exit_code == 2
    assert f"Invalid value for '{arguments[-1]}'" in refused.output


@pytest.mark.parametrize(
    "port", ["socket://127.0.0.1:99999", "socket://127.0.0.1:0", "socket://a..b:80", "", "a\\u0000b"]
)
def test_a_port_that_cannot_be_is_named(tmp_path: Path, port: str) -> None:
    file = config(tmp_path, 1, port)
    for arguments in ((), ("test", "pit-3")):
        refused = run(*arguments, "--config", file, "--state", tmp_path / "state").exception
        assert type(refused) is UserError
        assert "should be a path such as /dev/ttyUSB0, or socket://host:port" in str(refused)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("--port", "nowhere/port"), "nowhere/port: No such file or directory; choose another --port"),
        (("--port", "folder"), "folder: File exists; choose another --port"),
        (("--png", "nowhere/board.png"), "in a folder that is there"),
        (("--png", "board.bmp2"), "ends in .png"),
    ],
)
def test_an_emulator_that_cannot_be_is_refused_in_words(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, arguments: tuple[str, str], message: str
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "folder").mkdir()
    refused = run("emulate", "--seconds", "0.1", *arguments).exception
    assert type(refused) is UserError
    assert message in str(refused)


def test_an_emulator_takes_nothing_that_is_not_its_own(tmp_path: Path) -> None:
    text, adapter, left = tmp_path / "text", tmp_path / "adapter", tmp_path / "left"
    text.write_text("a year of work")
    adapter.symlink_to("/dev/null")
    left.symlink_to("/dev/pts/999999")
    for path in (text, adapter):
        refused = run("emulate", "--port", path, "--seconds", "0.1").exception
        assert type(refused) is UserError
        assert "File exists" in str(refused)
    assert text.read_text() == "a year of work"
    assert adapter.readlink() == Path("/dev/null")
    assert run("emulate", "--port", left, "--seconds", "0.1").exit_code == 0, "what a killed emulator left behind"
    assert not left.is_symlink()


def test_an_emulator_without_a_port_of_its_own_leaves_nothing_behind(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    opened = run("emulate", "--seconds", "0.1")
    assert f"open at {tmp_path}" in opened.output.replace("\n", "")
    assert list(tmp_path.iterdir()) == []


ASKED, ANSWER = icpdas.Command("01", icpdas.HOST_CONTROL).to_bytes(), icpdas.Accepted("01").to_bytes()


@asynccontextmanager
async def emulated(port: Path, *arguments: str) -> AsyncIterator[None]:
    program = await asyncio.create_subprocess_exec(
        *PROGRAM, "emulate", "--protocol", "icpdas", "--port", str(port), *arguments, stdout=subprocess.DEVNULL
    )
    try:
        await eventually(port.exists)
        yield
    finally:
        program.send_signal(signal.SIGTERM)
        assert await program.wait() == 0


async def ask(port: Path, within_seconds: float) -> tuple[bytes, float]:
    """What comes back, and after how long."""
    line = os.open(port, os.O_RDWR | os.O_NOCTTY | os.O_NONBLOCK)
    asked_at, heard = time.monotonic(), b""
    os.write(line, ASKED)
    while not heard.endswith(b"\r") and time.monotonic() < asked_at + within_seconds:
        await asyncio.sleep(0.01)
        with suppress(BlockingIOError):
            heard += os.read(line, 100)
    os.close(line)
    return heard, time.monotonic() - asked_at


async def test_a_sound_emulated_line_answers(tmp_path: Path) -> None:
    async with emulated(tmp_path / "port"):
        assert (await ask(tmp_path / "port", 20.0))[0] == ANSWER


@pytest.mark.parametrize("fault", ["--drop", "--garble"])
async def test_an_emulated_line_loses_or_changes_bytes(tmp_path: Path, fault: str) -> None:
    async with emulated(tmp_path / "port", fault, "1"):
        assert (await ask(tmp_path / "port", 1.0))[0] != ANSWER


async def test_an_emulated_line_is_late(tmp_path: Path) -> None:
    async with emulated(tmp_path / "port", "--slow", "2"):
        answer, seconds = await ask(tmp_path / "port", 20.0)
    assert answer == ANSWER
    assert seconds > 0.2


async def test_an_emulated_board_answers_late_or_never(tmp_path: Path) -> None:
    async with emulated(tmp_path / "port", "--late", "1"):
        answer, seconds = await ask(tmp_path / "port", 20.0)
    assert answer == ANSWER
    assert seconds >= 1.0
    async with emulated(tmp_path / "port", "--mute"):
        assert (await ask(tmp_path / "port", 1.0))[0] == b""


async def test_an_emulated_port_is_unplugged_and_comes_back(tmp_path: Path) -> None:
    port = tmp_path / "port"
    async with emulated(port, "--unplug", "0.5"):
        for _ in range(2):
            await eventually(lambda: not port.exists())
            await eventually(port.exists)


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


async def test_a_board_that_somebody_drives_is_not_tested(tmp_path: Path) -> None:
    async with EmulatedPort([AlphaSign("01", 16)], tmp_path / "port"):
        wiring = Wiring("alpha", str(tmp_path / "port")).resolved()
        driver = await connect(wiring, Lines(), Known())
        arguments = ("signs", "test", "pit-3", "--config", config(tmp_path, 1, tmp_path / "port"))
        refused = await asyncio.to_thread(processes.run, *arguments, "--state", tmp_path / "state")
        driver.close()
    assert refused.returncode == 1
    assert "busy; stop the program that drives it first" in refused.stderr


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
