"""Whoever types something wrong, or names a database that is not there, reads one line; exit code 2."""

import os
import subprocess
from pathlib import Path

import pytest

from jackpot.cli.common import read_day
from jackpot.errors import UserError
from tests.acceptance import processes
from tests.acceptance.processes import JACKPOT, environment
from tests.waiting import patience_s

LINK = processes.link("megalink")
ORDER = ("--link", "megalink", "--reason", "a test")


def refused(*arguments: str | bytes | Path) -> str:
    done = subprocess.run(
        [JACKPOT, *arguments], env=environment(), capture_output=True, text=True, timeout=patience_s(60), check=False
    )
    assert (done.returncode, done.stdout) == (2, ""), done
    (line,) = done.stderr.splitlines()
    assert line.startswith("jackpot: ")
    assert "sqlalchemy" not in line
    return line.removeprefix("jackpot: ")


@pytest.fixture
def config(tmp_path: Path) -> Path:
    return tmp_path / "jackpot.toml"


def database(config: Path, url: str) -> None:
    config.write_text(processes.configuration(url, "mqtt://127.0.0.1:1", [LINK]))


@pytest.mark.parametrize(
    ("typed", "said"),
    [
        (["reconcile"], "Missing option '--config'; see jackpot reconcile --help"),
        (["nosuch"], "No such command 'nosuch'; see jackpot --help"),
        (["status", "--config", "x", "-o", "xml"], "see jackpot status --help"),
        (["user", "add", "emil", "--config", "x"], "see jackpot user add --help"),
    ],
)
def test_what_was_typed_wrong(typed: list[str], said: str) -> None:
    assert refused(*typed).endswith(said)


def test_without_a_command_its_help_is_shown() -> None:
    for command in ([], ["user"]):
        done = processes.run(*command)
        assert (done.returncode, done.stderr) == (2, "")
        assert "Usage: jackpot" in done.stdout


@pytest.mark.parametrize("command", ["serve", "migrate", "verify"])
def test_a_database_that_does_not_exist(command: str, ledger_url: str, config: Path) -> None:
    database(config, ledger_url.replace("/test_", "/no_such_"))
    assert 'database "no_such_' in refused(command, "--config", config)


@pytest.mark.parametrize("command", [["serve"], ["migrate"], ["suspend", *ORDER]])
def test_a_password_is_never_shown(command: list[str], config: Path) -> None:
    database(config, "postgresql://jackpot:sekret@127.0.0.1:1/books?password=sekret")
    line = refused(*command, "--config", config)
    assert line.startswith("the database 127.0.0.1:1/books cannot be used: ")
    assert "sekret" not in line


@pytest.mark.parametrize("command", ["suspend", "resume"])
def test_an_order_to_a_database_without_a_schema(command: str, database_url: str, config: Path) -> None:
    database(config, database_url)
    assert "run: jackpot migrate" in refused(command, "--config", config, *ORDER)


def test_a_reason_that_is_no_text(config: Path) -> None:
    typed = [os.fsencode(config), b"--link", b"megalink", b"--reason", b"caf\xe9"]
    assert refused("suspend", "--config", *typed) == "--reason is no text in UTF-8"


@pytest.mark.parametrize("day", ["9999-12-31", "0001-01-01", "20261116", "2026-W47-1", "2026-02-30", "٢٠٢٦-11-16", ""])
def test_what_is_no_gaming_day(day: str) -> None:
    with pytest.raises(UserError, match="is no gaming day"):
        read_day(day)
