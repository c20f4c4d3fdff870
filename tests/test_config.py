"""What cannot be is refused when the configuration is read, in words, and without a password in them."""

from pathlib import Path
from typing import Any

import pytest

from jackpot.config import read
from jackpot.errors import UserError
from jackpot.pki.secrets import secret

LINK = {"id": "megalink", "increment_bp": 2500, "reserve_bp": 310, "reset_cents": 10_000_000}
SIGN = {"id": "pit-3", "link": "megalink", "protocol": "alpha", "port": "/dev/ttyUSB0"}


@pytest.mark.parametrize(
    "url",
    [
        "postgresql://jackpot@127.0.0.1:5432/jackpot",
        "postgres://jackpot:p%40ss%2Fword@db.example/jackpot?sslmode=verify-full&sslrootcert=/etc/ca.crt",
        "postgresql://jackpot@a:5432,b:5432,[2001:db8::1]:5432/jackpot",
        "postgresql://jackpot@/jackpot?host=%2Frun%2Fpostgresql",
    ],
)
def test_urls_of_databases(url: str) -> None:
    assert read({"database": {"url": url, "console_url": url}}, "the file", {}).database.url == url


@pytest.mark.parametrize(
    "url",
    [
        "",
        "postgresql//a",
        "mysql://jackpot:sekret@127.0.0.1/jackpot",
        "postgresql+asyncpg://jackpot:sekret@127.0.0.1/jackpot",
        "jackpot:sekret@127.0.0.1",
        "postgresql://jackpot:sekret/12@127.0.0.1/jackpot",
        "postgresql://jackpot:12?sekret@127.0.0.1/jackpot",
        "postgresql://jackpot:sekret#@127.0.0.1/jackpot",
        "postgresql://jackpot:sekret@127.0.0.1:port/jackpot",
        "postgresql://jackpot:sekret@127.0.0.1:²/jackpot",
        "postgresql://jackpot:sekret@127.0.0.1:65536/jackpot",
        "postgresql://jackpot:sekret@a:5432,b:x/jackpot",
        "postgresql://jackpot:sekret@[::1/jackpot",
    ],
)
@pytest.mark.parametrize("key", ["url", "console_url"])
def test_what_is_no_url_of_a_database(url: str, key: str) -> None:
    with pytest.raises(UserError, match=f"database.{key} must look like postgresql://") as refused:
        read({"database": {key: url}}, "the file", {})
    assert "sekret" not in str(refused.value)


@pytest.mark.parametrize(
    ("document", "why"),
    [
        ({"database": "x"}, "Expected `object`, got `str` in database"),
        ({"http": {"listen": "host:²"}}, "http.listen"),
        ({"gaming_day": {"starts_at": "0٦:00"}}, "gaming_day.starts_at"),
        ({"signs": [{**SIGN, "baud": 0}]}, "signs: pit-3: a baud rate of 0"),
        ({"signs": [{**SIGN, "port": ""}]}, "signs: pit-3: "),
        ({"signs": [{**SIGN, "port": "socket://127.0.0.1:99999"}]}, "socket://host:port"),
        ({"signs": [{**SIGN, "port": "socket://a..b:80"}]}, "socket://host:port"),
        ({"signs": [{**SIGN, "address": "ZZ"}]}, "signs: pit-3: alpha: 'ZZ' is no address"),
        (
            {"signs": [SIGN, {**SIGN, "id": "pit-4"}]},
            "signs: pit-4: its address '01' on /dev/ttyUSB0 is also that of pit-3",
        ),
        ({"signs": [SIGN, {**SIGN, "id": "pit-4", "address": "?1"}]}, "pit-4: its address '?1' on /dev/ttyUSB0"),
        ({"signs": [{**SIGN, "address": "00"}, {**SIGN, "id": "pit-4"}]}, "is also that of pit-3, '00'"),
        ({"signs": [SIGN, {**SIGN, "id": "pit-4", "address": "02", "baud": 300}]}, "need one baud rate and one format"),
        ({"signs": [{**SIGN, "protocol": "ed400", "answers": True}]}, "pit-3: ed400: such boards never answer"),
        ({"signs": [{**SIGN, "address": "??", "answers": True}]}, "would answer all at once"),
        ({"tables": [{"id": "BE-01", "game": "bullseye", "positions": 7}]}, "positions must be 1 to 6"),
        ({"tables": [{"id": "BE-01", "game": "bullseye", "positions": 0}]}, "positions must be 1 to 6"),
        ({"links": [{**LINK, "shared_straight_flush": "other"}]}, "use one of successive, reset_amount"),
        ({"signs": [{**SIGN, "protocol": "mikohn"}]}, "use one of alpha, ed400, icpdas"),
    ],
)
def test_what_cannot_be_is_named(document: dict[str, Any], why: str) -> None:
    environment = {"JACKPOT_DATABASE_URL": "postgresql://jackpot@127.0.0.1/jackpot"}
    with pytest.raises(UserError) as refused:
        read({"links": [LINK], **document}, "the file", environment)
    assert why in str(refused.value)


@pytest.mark.parametrize(("game", "positions"), [("bullseye", 6), ("ultimate-texas-holdem", 7)])
def test_a_table_has_as_many_positions_as_its_game(game: str, positions: int) -> None:
    (table,) = read({"tables": [{"id": "T-01", "game": game}]}, "the file", {}).tables
    assert table.positions == positions


def test_a_secret_that_is_no_text(tmp_path: Path) -> None:
    path = tmp_path / "password"
    path.write_bytes(b"\xff\xfe\n")
    with pytest.raises(UserError, match="is no text in UTF-8"):
        secret(path)
