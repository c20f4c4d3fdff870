"""`jackpot serve` from its start to its end, and what comes back after a kill -9 of it, of the broker, of PostgreSQL."""

import asyncio
import json
import socket
import time
import uuid
from pathlib import Path

import asyncpg
import pytest

from tests import brokers
from tests.acceptance import processes
from tests.acceptance.integrator import Integrator, Table, connected, encoded, event
from tests.acceptance.processes import BACK_WITHIN_S, Daemon
from tests.servers import PostgresProgram, RestartableBroker
from tests.waiting import patience_s


@pytest.fixture
def link() -> str:
    """A name of its own: tests share a broker, which keeps what is retained."""
    return f"link-{uuid.uuid4().hex[:8]}"


@pytest.fixture
def floor(link: str) -> tuple[str, ...]:
    return (processes.link(link), processes.table("UTH-01", link), processes.table("BE-01", link))


async def back(daemon: Daemon) -> None:
    await asyncio.to_thread(daemon.wait_ready, BACK_WITHIN_S)


async def win(table: Table) -> dict[str, object]:
    """A round with an award that is not paid yet."""
    await table.deal()
    await table.enter(1, "Ah Ad", "Ac As 2d")
    (award,) = (await table.settle())["awards"]
    found: dict[str, object] = award
    return found


async def test_with_new_tables_nothing_is_answered_again(
    any_broker: str, ledger_url: str, link: str, floor: tuple[str, ...], tmp_path: Path
) -> None:
    """What is recorded at a start, before anything is said, knows how far the answers were sent."""
    daemon = Daemon(tmp_path, processes.configuration(ledger_url, any_broker, floor))
    try:
        async with connected(any_broker) as pit:
            daemon.start()
            await asyncio.to_thread(daemon.wait_ready)
            table = pit.table(link, "UTH-01")
            await table.deal()
            assert await asyncio.to_thread(daemon.terminate) == 0
            said = len(pit.replies(link, table.name))
            daemon.config.write_text(daemon.config.read_text() + processes.table("TCX-01", link))
            daemon.start()
            await back(daemon)
            await pit.state(link, "TCX-01", next_seq=1, accepts_play=True)
            await table.settle()
            assert len(pit.replies(link, table.name)) == said + 1
    finally:
        daemon.end()


async def quarantined(ledger_url: str) -> list[bytes]:
    ledger = await asyncpg.connect(ledger_url)
    rows = await ledger.fetch("SELECT payload FROM quarantine ORDER BY id")
    await ledger.close()
    return [row["payload"] for row in rows]


def versions(pit: Integrator, link: str) -> list[int]:
    return [meter["version"] for meter in pit.on(f"{link}/meter")]


async def test_its_life(any_broker: str, ledger_url: str, link: str, floor: tuple[str, ...], tmp_path: Path) -> None:
    daemon = Daemon(tmp_path, processes.configuration(ledger_url, any_broker, floor))
    daemon.start()
    try:
        async with connected(any_broker) as pit:
            await asyncio.to_thread(daemon.wait_ready)
            assert daemon.get("/healthz")[0] == 200
            assert "jackpot_" in daemon.get("/metrics")[1]
            await pit.status(link, "running")
            table = pit.table(link, "UTH-01")
            await pit.state(link, table.name, next_seq=1, round=None, pending=[], accepts_play=True)
            first = await pit.meter(link, displayed_cents=10_000_000)
            assert first.items() >= {"link": link, "currency": "SGD", "reset_cents": 10_000_000, "pending": []}.items()
            award = await win(table)
            assert len([notice for notice in pit.notices(link, table.name) if notice == award]) <= 1
            await table.notice(str(award["award"]))
            await pit.answer_to(link, table.name, b"nonsense at the last moment")

            assert await asyncio.to_thread(daemon.terminate) == 0
            assert await quarantined(ledger_url) == [b"nonsense at the last moment"]
            await pit.status(link, "stopped")
            await pit.state(link, table.name, next_seq=table.seq, accepts_play=False)
        async with connected(any_broker) as newcomer:
            # What the broker keeps for whoever comes now: it was a good end, and no will came after it.
            await newcomer.status(link, "stopped")
            kept = await newcomer.meter(link)

            daemon.start()
            await back(daemon)
            table = newcomer.table(link, "UTH-01")
            assert (await newcomer.status(link, "running"))["state"] == "running"
            table.seq = (await newcomer.state(link, table.name, accepts_play=True))["next_seq"]
            assert await table.notice(str(award["award"])) == award, "a notice is sent again at start"
            opened = event("round.opened", table.seq, round="before the kill")
            answer = await newcomer.send(link, table.name, opened)

            daemon.kill()
            await newcomer.status(link, "lost")
            on_its_way = event("wager.placed", table.seq + 1, round="before the kill", position=1)
            await newcomer.publish(link, table.name, encoded(on_its_way))
            daemon.start()
            await back(daemon)
            await newcomer.status(link, "running")
            await newcomer.until(lambda: newcomer.replies(link, table.name, on_its_way["id"]))
            await newcomer.publish(link, table.name, encoded(opened))
            again = answer | {"duplicate": True}
            await newcomer.until(lambda: again in newcomer.replies(link, table.name, opened["id"]))
            table.seq += 2
            await table.pay(award)
            assert versions(newcomer, link)[0] == kept["version"]
            assert versions(newcomer, link) == sorted(versions(newcomer, link))
            assert kept["version"] >= first["version"]
            await newcomer.meter(link, version=kept["version"] + 3)
    finally:
        daemon.end()


def parts(daemon: Daemon, link: str) -> dict[str, bool]:
    found: dict[str, bool] = json.loads(daemon.get("/readyz")[1])["links"][link]
    return found


async def test_kill_9_of_the_broker(ledger_url: str, link: str, floor: tuple[str, ...], tmp_path: Path) -> None:
    data = tmp_path / "broker"
    data.mkdir()
    broker = RestartableBroker(brokers.mosquitto, data)
    broker.start()
    daemon = Daemon(tmp_path, processes.configuration(ledger_url, broker.url, floor))
    daemon.start()
    try:
        await asyncio.to_thread(daemon.wait_ready)
        async with connected(broker.url) as pit:
            table = pit.table(link, "UTH-01")
            award = await win(table)
            before = await pit.state(link, table.name, next_seq=table.seq)
            meter = await pit.meter(link)
            broker.kill()
            await asyncio.to_thread(daemon.wait_not_ready)
            assert {"database": True, "broker": False}.items() <= parts(daemon, link).items()
        for kept in data.glob("mosquitto.db*"):
            kept.unlink()  # a broker that has lost everything must be survivable too
        broker.start()
        async with connected(broker.url) as pit:
            await back(daemon)
            await pit.status(link, "running")
            assert await pit.state(link, "UTH-01", next_seq=before["next_seq"], round=None)
            await pit.state(link, "BE-01", next_seq=1)
            assert (await pit.meter(link))["version"] >= meter["version"]
            table = pit.table(link, "UTH-01")
            table.seq = before["next_seq"]
            assert await table.notice(str(award["award"])) == award, "a notice is sent again after a reconnection"
            await table.pay(award)
            await table.open("after")
            await table.void()
    finally:
        daemon.end()
        broker.kill()


async def test_kill_9_of_postgresql(
    killable_postgres: PostgresProgram, mosquitto: str, link: str, floor: tuple[str, ...], tmp_path: Path
) -> None:
    daemon = Daemon(tmp_path, processes.configuration(killable_postgres.url, mosquitto, floor))
    assert processes.run("migrate", "--config", daemon.config).returncode == 0
    daemon.start()
    try:
        async with connected(mosquitto) as pit:
            await asyncio.to_thread(daemon.wait_ready)
            table = pit.table(link, "UTH-01")
            await table.deal()
            killable_postgres.kill()
            hand = event("hand.declined", table.seq, round=table.round, position=1)
            await pit.publish(link, table.name, encoded(hand))
            await pit.status(link, "suspended")
            assert {"database": False, "broker": True}.items() <= parts(daemon, link).items()
            await pit.state(link, table.name, accepts_play=False)
            await asyncio.to_thread(daemon.wait_not_ready)
            assert daemon.get("/healthz")[0] == 200
            assert pit.replies(link, table.name, hand["id"]) == [], "nothing is answered that was not committed"
            killable_postgres.start()
            await back(daemon)
            await pit.status(link, "running")
            await pit.state(link, table.name, accepts_play=True)
            answer, *_ = await pit.until(lambda: pit.replies(link, table.name, hand["id"]))
            assert answer["status"] == "accepted"
            table.seq += 1
            await table.settle()
            # Killed again with nothing on its way: the daemon must notice by itself.
            killable_postgres.kill()
            await asyncio.to_thread(daemon.wait_not_ready)
            killable_postgres.start()
            await back(daemon)
            await pit.status(link, "running")
            await table.open("after")
            assert await asyncio.to_thread(daemon.terminate) == 0
    finally:
        daemon.end()


async def test_sigterm_while_its_servers_are_away(
    killable_postgres: PostgresProgram, mosquitto: str, link: str, floor: tuple[str, ...], tmp_path: Path
) -> None:
    daemon = Daemon(tmp_path, processes.configuration(killable_postgres.url, mosquitto, floor))
    assert processes.run("migrate", "--config", daemon.config).returncode == 0
    daemon.start()
    try:
        async with connected(mosquitto) as pit:
            await asyncio.to_thread(daemon.wait_ready)
            killable_postgres.kill()
            await pit.status(link, "suspended")
            assert await asyncio.to_thread(daemon.terminate) == 0
            await pit.status(link, "stopped")
        killable_postgres.start()
        unheard = processes.configuration(killable_postgres.url, f"mqtt://127.0.0.1:{brokers.free_port()}", floor)
        alone = Daemon(tmp_path, unheard, name="alone")
        alone.start()
        await asyncio.to_thread(alone.wait_alive)
        assert await asyncio.to_thread(alone.terminate) == 0
    finally:
        daemon.end()


async def test_sigterm_while_a_request_is_only_begun(
    ledger_url: str, mosquitto: str, link: str, floor: tuple[str, ...], tmp_path: Path
) -> None:
    """Whoever holds a connection open does not hold the daemon."""
    daemon = Daemon(tmp_path, processes.configuration(ledger_url, mosquitto, floor))
    daemon.start()
    try:
        async with connected(mosquitto) as pit:
            await asyncio.to_thread(daemon.wait_ready)
            host, _, port = daemon.listen.rpartition(":")
            with socket.create_connection((host, int(port))) as begun, socket.create_connection((host, int(port))):
                begun.sendall(b"POST /login HTTP/1.1\r\nHost: console\r\nContent-Length: 9\r\n\r\nname=")
                before = time.monotonic()
                assert await asyncio.to_thread(daemon.terminate) == 0
                assert time.monotonic() - before < patience_s(9.0)
            await pit.status(link, "stopped")
    finally:
        daemon.end()


async def test_sigterm_while_postgresql_stands_still(
    killable_postgres: PostgresProgram, mosquitto: str, link: str, floor: tuple[str, ...], tmp_path: Path
) -> None:
    """It neither answers nor closes anything."""
    daemon = Daemon(tmp_path, processes.configuration(killable_postgres.url, mosquitto, floor))
    assert processes.run("migrate", "--config", daemon.config).returncode == 0
    daemon.start()
    try:
        async with connected(mosquitto) as pit:
            await asyncio.to_thread(daemon.wait_ready)
            with killable_postgres.standing_still():
                before = time.monotonic()
                assert await asyncio.to_thread(daemon.terminate) == 0
                assert time.monotonic() - before < patience_s(15.0)
            await pit.status(link, "stopped")
    finally:
        daemon.end()


async def test_it_starts_before_its_broker(ledger_url: str, link: str, floor: tuple[str, ...], tmp_path: Path) -> None:
    port = brokers.free_port()
    daemon = Daemon(tmp_path, processes.configuration(ledger_url, f"mqtt://127.0.0.1:{port}", floor))
    daemon.start()
    try:
        async with asyncio.timeout(patience_s(30)):
            while daemon.get("/healthz")[0] != 200:
                await asyncio.sleep(0.05)
        assert daemon.get("/readyz")[0] == 503
        with brokers.mosquitto(tmp_path, port=port):
            await back(daemon)
            async with connected(f"mqtt://127.0.0.1:{port}") as pit:
                await pit.status(link, "running")
    finally:
        daemon.end()


# -- what it refuses at its start --------------------------------------------------------------------------------


def refused(config: Path, *said: str) -> None:
    """One line that says what is wrong; no traceback."""
    done = processes.run("serve", "--config", config)
    assert done.returncode in (1, 2), done
    assert "Traceback" not in done.stderr, done.stderr
    for words in said:
        assert words in done.stderr, done.stderr
    assert len(done.stderr.strip().splitlines()) == 1, done.stderr


async def test_an_empty_an_older_and_a_newer_schema(
    database_url: str, mosquitto: str, floor: tuple[str, ...], tmp_path: Path
) -> None:
    config = tmp_path / "jackpot.toml"
    config.write_text(processes.configuration(database_url, mosquitto, floor))
    refused(config, "empty", "jackpot migrate")
    connection = await asyncpg.connect(database_url)
    await connection.execute("CREATE TABLE alembic_version (version_num text); INSERT INTO alembic_version VALUES (1)")
    await connection.execute("UPDATE alembic_version SET version_num = '0001'")
    refused(config, "0001", "jackpot migrate")
    await connection.execute("UPDATE alembic_version SET version_num = '9999'")
    await connection.close()
    refused(config, "9999", "newer program")
    done = processes.run("migrate", "--config", config)
    assert (done.returncode, done.stderr.count("\n")) == (2, 1)
    assert "9999" in done.stderr


def test_an_unknown_key_is_named(floor: tuple[str, ...], tmp_path: Path) -> None:
    config = tmp_path / "jackpot.toml"
    good = processes.configuration("postgresql://jackpot@127.0.0.1:1/jackpot", "mqtt://127.0.0.1:1", floor)
    for wrong in (f'colour = "red"\n{good}', f'{good}colour = "red"\n'):
        config.write_text(wrong)
        refused(config, "colour")


async def test_no_database_no_port_no_file(
    ledger_url: str, mosquitto: str, floor: tuple[str, ...], tmp_path: Path
) -> None:
    config = tmp_path / "jackpot.toml"
    refused(config, str(config))
    nowhere = f"postgresql://jackpot@127.0.0.1:{brokers.free_port()}/jackpot"
    config.write_text(processes.configuration(nowhere, mosquitto, floor))
    refused(config, "database")
    with socket.create_server(("127.0.0.1", 0)) as taken:
        listen = f"127.0.0.1:{taken.getsockname()[1]}"
        config.write_text(processes.configuration(ledger_url, mosquitto, floor, listen=listen))
        refused(config, listen)


async def test_migrate_says_what_it_did(database_url: str, floor: tuple[str, ...], tmp_path: Path) -> None:
    config = tmp_path / "jackpot.toml"
    config.write_text(processes.configuration(database_url, "mqtt://127.0.0.1:1", floor))
    first = processes.run("migrate", "--config", config)
    assert (first.returncode, first.stderr) == (0, "")
    again = processes.run("migrate", "--config", config)
    assert (again.returncode, again.stderr) == (0, "")
    assert first.stdout != again.stdout
