"""`jackpot status` and `jackpot check`, beside a real daemon and without one."""

import asyncio
import json
import subprocess
from pathlib import Path
from typing import Any

import asyncpg
import pytest

from jackpot.contract import topics
from jackpot.mqtt.client import Broker, Connection
from tests.acceptance import processes
from tests.acceptance.processes import Daemon
from tests.brokers import free_port
from tests.cli.conftest import FLOOR
from tests.servers import PostgresProgram
from tests.waiting import patience_s


def checked(config: Path) -> tuple[int, dict[str, Any]]:
    done = processes.run("check", "--config", config, "-o", "json")
    return done.returncode, json.loads(done.stdout)


def bad(document: dict[str, Any]) -> list[tuple[str, str]]:
    return [(found["part"], found["fix"]) for found in document["findings"] if found["verdict"] == "bad"]


def test_beside_a_daemon_all_parts_are_good(daemon: Daemon) -> None:
    code, document = checked(daemon.config)
    assert (code, bad(document), document["passed"]) == (0, [], True)
    parts = {found["part"] for found in document["findings"]}
    assert parts >= {"config", "database", "isolation", "clock", "ledger", "broker", "daemon"}


@pytest.mark.parametrize("command", ["check", "verify"])
def test_who_reads_no_further_does_not_change_what_was_found(command: str, daemon: Daemon) -> None:
    line = [str(processes.JACKPOT), command, "--config", str(daemon.config)]
    with subprocess.Popen(line, env=processes.environment(), stdout=subprocess.PIPE, stderr=subprocess.PIPE) as found:
        assert found.stdout is not None
        found.stdout.close()
        _, said = found.communicate(timeout=patience_s(60))
    assert (found.returncode, b"Traceback" in said) == (0, False), said


def test_status_tells_links_tables_and_that_debits_are_credits(daemon: Daemon) -> None:
    done = processes.run("status", "--config", daemon.config, "-o", "json")
    assert done.returncode == 0, done.stderr
    document = json.loads(done.stdout)
    assert document["daemon"]["ready"]
    (link,) = document["links"]
    assert (link["link"], link["state"], link["balanced"]) == ("megalink", "in play", True)
    assert link["debits_micros"] == link["credits_micros"]
    assert len(link["tables"]) == 18
    assert document["alarms"] == []


def test_a_suspended_link_is_an_alarm_with_its_reason(daemon: Daemon) -> None:
    orders = ("--config", daemon.config, "--link", "megalink", "--reason")
    assert processes.run("suspend", *orders, "a drill").returncode == 0
    try:
        done = processes.run("status", "--config", daemon.config)
        assert done.returncode == 1
        assert "megalink is suspended: a drill" in done.stdout
        assert "jackpot resume" in done.stdout
    finally:
        assert processes.run("resume", *orders, "the drill is over").returncode == 0


def test_what_is_wrong_is_named_with_its_fix(tmp_path: Path) -> None:
    """No database, no broker, no board, no daemon: each is found, and none hides the others."""
    config = tmp_path / "jackpot.toml"
    sign = '[[signs]]\nid = "pit-1"\nlink = "megalink"\nprotocol = "alpha"\nport = "/dev/no-such-port"\n'
    nowhere = ("postgresql://jackpot@127.0.0.1:1/jackpot", "mqtt://127.0.0.1:1")
    config.write_text(processes.configuration(*nowhere, [*FLOOR, sign]))
    code, document = checked(config)
    assert code == 1
    fixes = dict(bad(document))
    assert fixes.keys() == {"database", "broker", "board"}
    assert "[database]" in fixes["database"]
    assert "[mqtt]" in fixes["broker"]
    assert "plug the adapter in" in fixes["board"]


@pytest.mark.parametrize(
    ("mode", "is_bad"), [(0o644, True), (0o606, True), (0o660, True), (0o640, False), (0o400, False)]
)
def test_a_secret_that_others_may_read_is_found(tmp_path: Path, mode: int, is_bad: bool) -> None:
    config, secret = tmp_path / "jackpot.toml", tmp_path / "mqtt.password"
    secret.write_text("hush\n")
    secret.chmod(mode)
    nowhere = processes.configuration("postgresql://jackpot@127.0.0.1:1/jackpot", "mqtt://127.0.0.1:1", FLOOR)
    config.write_text(nowhere.replace("[mqtt]\n", f'[mqtt]\nusername = "u"\npassword_file = "{secret}"\n'))
    found = ("secrets", f"chmod 400 {secret}")
    assert (found in bad(checked(config)[1])) is is_bad


def test_what_is_no_port_is_no_board_and_one_port_has_one_name(tmp_path: Path, daemon: Daemon) -> None:
    config, by_id = tmp_path / "jackpot.toml", tmp_path / "by-id"
    by_id.symlink_to("/dev/null")
    ports = (config, "/dev/null", by_id)
    signs = [
        f'[[signs]]\nid = "pit-{number}"\nlink = "megalink"\nprotocol = "alpha"\nport = "{port}"\n'
        for number, port in enumerate(ports)
    ]
    config.write_text(daemon.config.read_text() + "".join(signs))
    found = bad(checked(config)[1])
    assert found == [
        *[("board", "mend port in [[signs]]")] * 3,
        ("board", "give both the same port in [[signs]]"),
    ]


async def test_a_status_that_cannot_be_read_is_said(tmp_path: Path, daemon: Daemon, mqtt_url: str) -> None:
    connection = await Connection.open(Broker.from_url(mqtt_url), "stranger", on_message=lambda _: None)
    config = tmp_path / "jackpot.toml"
    config.write_text(daemon.config.read_text().replace('"megalink"', '"strange"'))
    await connection.publish(topics.status("strange"), b'"x"', retain=True)
    document = (await asyncio.to_thread(checked, config))[1]
    await connection.publish(topics.status("strange"), b"", retain=True)
    await connection.close()
    (found,) = [found for found in document["findings"] if found["part"] == "broker"]
    assert "strange is unreadable" in found["found"]


def test_a_configuration_that_cannot_be_read_fails_the_check(tmp_path: Path) -> None:
    config = tmp_path / "jackpot.toml"
    config.write_text("[database]\nurk = 1\n")
    code, document = checked(config)
    assert code == 1
    assert "unknown key `urk`" in document["findings"][0]["found"]


def test_a_configuration_that_is_not_there_is_bad_use(tmp_path: Path) -> None:
    done = processes.run("check", "--config", tmp_path / "nowhere.toml")
    assert (done.returncode, done.stdout) == (2, "")
    assert "nowhere.toml" in done.stderr


def test_a_schema_that_is_missing_names_the_command(tmp_path: Path, database_url: str, mqtt_url: str) -> None:
    config = tmp_path / "jackpot.toml"
    config.write_text(processes.configuration(database_url, mqtt_url, FLOOR))
    assert bad(checked(config)[1]) == [("database", f"jackpot migrate --config {config}")]


@pytest.mark.parametrize(("trigger", "table"), [("refuse_unsafe_commit", "events"), ("refuse_changed_fact", "awards")])
def test_a_guard_that_was_taken_off_the_ledger_is_found(
    trigger: str, table: str, tmp_path: Path, ledger_url: str, mqtt_url: str
) -> None:
    config = tmp_path / "jackpot.toml"
    config.write_text(processes.configuration(ledger_url, mqtt_url, FLOOR))
    asyncio.run(_execute(ledger_url, f"ALTER TABLE {table} DISABLE TRIGGER {trigger}"))
    ((part, fix),) = bad(checked(config)[1])
    assert part == "isolation"
    assert trigger in fix


async def _execute(url: str, statement: str) -> None:
    connection = await asyncpg.connect(url)
    await connection.execute(statement)
    await connection.close()


def test_a_superuser_is_found(tmp_path: Path, postgres: PostgresProgram, mqtt_url: str) -> None:
    config = tmp_path / "jackpot.toml"
    config.write_text(processes.configuration(postgres.url_of("postgres", "postgres"), mqtt_url, FLOOR))
    assert ("database", "ALTER ROLE postgres NOSUPERUSER") in bad(checked(config)[1])


def test_another_program_on_the_daemons_port_is_found(tmp_path: Path, database_url: str, mqtt_url: str) -> None:
    config = tmp_path / "jackpot.toml"
    broker_port = mqtt_url.rpartition(":")[2]
    taken = processes.configuration(database_url, mqtt_url, FLOOR, listen=f"127.0.0.1:{broker_port}")
    config.write_text(taken)
    assert ("daemon", "end it, or choose another listen in [http]") in bad(checked(config)[1])


def test_status_without_a_daemon_says_so(tmp_path: Path, ledger_url: str, mqtt_url: str) -> None:
    config, listen = tmp_path / "jackpot.toml", f"127.0.0.1:{free_port()}"
    config.write_text(processes.configuration(ledger_url, mqtt_url, FLOOR, listen=listen))
    done = processes.run("status", "--config", config)
    assert done.returncode == 1
    assert f"no daemon answers at {listen}: start it with jackpot serve" in done.stdout
