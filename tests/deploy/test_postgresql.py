"""Debian's PostgreSQL with the site's files: who gets in over the network, and what a backup is worth.

The PostgreSQL of the other tests has no TLS, so these need Debian's (`apt-get install postgresql`), run by root.
"""

import json
import re
import shutil
import signal
import subprocess
from collections.abc import Iterator
from pathlib import Path

import asyncpg
import pytest
from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat

from jackpot.ledger.heads.file import HeadsFile
from jackpot.ledger.heads.form import load_key, new_key
from jackpot.pki import Kind, Site
from tests.acceptance import processes
from tests.deploy import installed
from tests.deploy.installed import DEPLOY
from tests.deploy.server import ROLES, Server, needs_debians_postgresql, running_server
from tests.ledger.ledger_driver import scribe_at

pytestmark = needs_debians_postgresql


@pytest.fixture(scope="module")
def server() -> Iterator[Server]:
    with running_server() as server:
        yield server


async def comes_in(url: str) -> bool:
    try:
        connection = await asyncpg.connect(url, timeout=10)
    except (asyncpg.InvalidAuthorizationSpecificationError, asyncpg.InsufficientPrivilegeError, OSError):
        return False
    await connection.close()
    return True


async def test_each_role_comes_in_over_tls_with_its_password(server: Server) -> None:
    for role in ROLES[:-1]:
        assert await comes_in(server.url(role)), role


async def test_nobody_comes_in_otherwise(server: Server, tmp_path: Path) -> None:
    forger = Site(tmp_path / "pki")
    forger.create("Test", installed.now())
    other = forger.authorities[Kind.SERVER].certificate_file
    for why, url in {
        "in the clear": server.url("settle", tls="disable"),
        "wrong password": server.url("settle", password="wrong"),
        "no password": server.url("settle", password=""),
        "another database": server.url("settle", database="postgres"),
        "the owner": server.url("migrate").replace("jackpot_migrate", "jackpot_owner"),
        "the superuser": server.url("migrate").replace("jackpot_migrate", "postgres"),
        "a copy of the server as a client": server.url("replica"),
        "the server is not trusted": server.url("settle").replace(str(server.ca), str(other)),
        "the server has another name": server.url("settle").replace("127.0.0.1", "localhost"),
    }.items():
        assert not await comes_in(url), why


def test_the_grants_of_compose_come_in_with_the_password_file_when_the_server_is_healthy(server: Server) -> None:
    text = (DEPLOY / "compose/compose.yaml").read_text()
    (healthy,) = re.findall(r'test: \["CMD", (.*)\]', text)
    server.run(*json.loads(f"[{healthy}]"))
    passfile = server.folder / "server/migrate.pgpass"
    passfile.write_text(f"127.0.0.1:{server.port}:jackpot:jackpot_migrate:{server.passwords['migrate']}\n")
    server.own(passfile)
    (way,) = re.findall(r'"(host=db [^"]*)"', text)
    places = {
        "host=db": "host=127.0.0.1",
        "/etc/jackpot/secrets/migrate.pgpass": str(passfile),
        "/etc/jackpot/servers.crt": str(server.ca),
    }
    way = re.sub(r"\s+", " ", installed.replaced(way, places))
    assert server.run("psql", "--no-psqlrc", "-At", "--command=SELECT current_user", way) == "jackpot_owner\n"


def test_passwords_are_kept_as_scram_alone(server: Server) -> None:
    kept = server.psql("SELECT rolpassword FROM pg_authid WHERE rolname LIKE 'jackpot_%' AND rolpassword IS NOT NULL")
    lines = kept.splitlines()
    assert len(lines) == len(ROLES)
    assert all(line.startswith("SCRAM-SHA-256$") for line in lines)


async def test_what_was_answered_survives_the_loss_of_the_server(server: Server, tmp_path: Path) -> None:
    private, _ = new_key()
    (tmp_path / "heads.key").write_bytes(private)
    key = load_key(tmp_path / "heads.key")
    heads, public = server.folder / "heads.jsonl", server.folder / "heads.pub"
    public.write_bytes(key.public_key().public_bytes(Encoding.PEM, PublicFormat.SubjectPublicKeyInfo))
    public.chmod(0o644)
    async with scribe_at(server.url("settle"), "UTH-01") as scribe:
        scribe.deal("UTH-01", {1: 1})
        scribe.settle("UTH-01")
        await scribe.commit()
        # As with a standby, as its runbook says. The copy has it; this server has none, and does not read it.
        server.psql("ALTER SYSTEM SET synchronous_standby_names = 'FIRST 1 (standby)'")
        server.run(server.folder / "lib/backup.sh")
        # After the copy: only the log has it.
        scribe.deal("UTH-01", {1: 5, 2: 3})
        scribe.settle("UTH-01")
        await scribe.commit()
        HeadsFile(heads, key).keep("megalink", scribe._head, installed.now(), None)
        heads.chmod(0o644)
        last = scribe.n
    server.archive()
    if server.jackpot():
        told = server.run(server.folder / "lib/rehearse.sh", heads, public)
        assert "restores and verifies" in told

    server.stop(signal.SIGQUIT)
    shutil.rmtree(server.data)
    server.run(server.folder / "lib/restore.sh", server.data)
    server.start()
    server.run(server.folder / "lib/recovered.sh")
    assert server.psql("SHOW synchronous_standby_names") == "\n", "a commit would wait for ever"
    config = tmp_path / "audit.toml"
    config.write_text(f'[database]\nurl = "{server.url("audit")}"\n')
    done = processes.run("verify", "--config", config, "--heads", heads, "--heads-key", public)
    assert done.returncode == 0, done.stderr
    assert f"head megalink:{last}:" in done.stdout


def restored(server: Server, moment: str | None = None) -> str:
    """In the place of the server that there was; what was said of it."""
    server.stop(signal.SIGQUIT)
    shutil.rmtree(server.data)
    to = [] if moment is None else [moment]
    server.run(server.folder / "lib/restore.sh", server.data, *to)
    server.start()
    return server.run(server.folder / "lib/recovered.sh", *to)


def notes(server: Server) -> list[str]:
    return server.psql("SELECT note FROM noted ORDER BY note").split()


def note(server: Server, text: str) -> str:
    """Commit a row; the moment after it."""
    server.psql(f"INSERT INTO noted VALUES ('{text}'); SELECT pg_sleep(0.01)")
    return server.psql("SELECT clock_timestamp()").strip()


def test_a_moment_is_restored_and_not_another(server: Server) -> None:
    """From the newest copy that had ended by then, whatever copies were made later."""
    backup = (server.folder / "lib/backup.sh",)
    server.psql("CREATE TABLE noted (note text)")
    long_ago = server.psql("SELECT clock_timestamp() - interval '1 day'").strip()
    server.run(*backup)
    server.psql("SELECT pg_sleep(2)")  # a copy is named by the second
    moment = note(server, "one")
    note(server, "two")
    server.run(*backup)
    note(server, "three")
    server.archive()

    refused = server.fails(server.folder / "lib/restore.sh", server.data.with_name("none"), long_ago)
    assert "had ended by" in refused
    assert "names no zone" in server.fails(server.folder / "lib/restore.sh", server.data.with_name("none"), moment[:19])
    assert not server.data.with_name("none").exists()
    if server.jackpot():
        assert f"restores to {moment}" in server.run(server.folder / "lib/rehearse.sh", "--moment", moment)

    assert f"the last commit is of {moment[:10]}" in restored(server, moment)
    assert notes(server) == ["one"]
    assert "recovery_target" not in (server.data / "postgresql.auto.conf").read_text(), "a standby would stop there too"
    # The copy of a server that was restored to a moment is restored to its end all the same.
    note(server, "four")
    server.run(*backup)
    note(server, "five")
    server.archive()
    restored(server)
    assert notes(server) == ["five", "four", "one"]


def test_what_the_lost_server_still_has_of_its_log_is_restored_too(server: Server) -> None:
    server.psql("CREATE TABLE seen (note text)")
    server.run(server.folder / "lib/backup.sh")
    server.archive()
    server.psql("INSERT INTO seen VALUES ('in no piece that was kept')")
    server.stop(signal.SIGQUIT)
    lost = server.data.rename(server.data.with_name("lost"))
    server.run(server.folder / "lib/restore.sh", "--old", lost, server.data)
    server.start()
    server.run(server.folder / "lib/recovered.sh")
    assert server.psql("SELECT note FROM seen").strip() == "in no piece that was kept"
    shutil.rmtree(lost)


def test_a_piece_that_cannot_be_read_is_not_left_out(server: Server) -> None:
    server.run(server.folder / "lib/backup.sh")
    server.archive()
    server.psql("CREATE TABLE later (note text)")
    kept = server.archive()
    kept.write_bytes(kept.read_bytes()[:-20])
    server.stop(signal.SIGQUIT)
    whole = server.data.rename(server.data.with_name("whole"))
    server.run(server.folder / "lib/restore.sh", server.data)
    try:
        server.start(wait=False)
        assert "has ended" in server.fails(server.folder / "lib/recovered.sh")
    finally:
        shutil.rmtree(server.data)
        whole.rename(server.data)
        server.start()
    kept.unlink()


def test_a_piece_that_the_lost_server_has_and_that_cannot_be_read_is_not_the_end_of_the_log(tmp_path: Path) -> None:
    """PostgreSQL takes 1 for the end, and goes on from there; above 125 it ends."""
    fetch = (DEPLOY / "backup/fetch-wal.sh", tmp_path, "000000010000000000000001", tmp_path / "fetched")
    old = tmp_path / "pg_wal"
    (old / "000000010000000000000001").mkdir(parents=True)
    assert subprocess.run([*fetch, old], check=False, stderr=subprocess.DEVNULL).returncode == 126
    assert subprocess.run([*fetch, tmp_path], check=False).returncode == 1
    assert subprocess.run([*fetch, ""], check=False).returncode == 1


def copies(server: Server) -> list[str]:
    return sorted(path.name for path in server.backups.glob("base-*"))


def test_a_copy_that_failed_takes_no_room_and_room_is_made_without_a_new_one(server: Server) -> None:
    backup, full = server.folder / "lib/backup.sh", server.folder / "full"
    full.mkdir()
    (full / "zstd").write_text("#!/bin/sh\necho no room >&2\nexit 1\n")
    (full / "zstd").chmod(0o755)
    server.run(backup)
    server.psql("SELECT pg_sleep(2)")  # a copy is named by the second
    server.run(backup)
    before = copies(server)
    assert "no room" in server.fails("env", f"PATH={full}:{server.environment['PATH']}", backup)
    assert copies(server) == before
    assert not (server.backups / "unfinished").exists()
    pieces = sorted((server.backups / "wal").iterdir())
    for none in ("0", "-1", "few"):
        assert "1 or more" in server.fails("env", f"JACKPOT_BACKUP_KEEP={none}", backup, "--prune")
    none_yet = server.run("env", f"JACKPOT_BACKUP={server.backups}/none-yet", backup, "--prune")
    assert "all of the log stays" in none_yet
    server.run("env", "JACKPOT_BACKUP_KEEP=1", backup, "--prune")
    assert copies(server) == before[-1:]
    assert len(sorted((server.backups / "wal").iterdir())) < len(pieces)


def test_a_moment_that_the_log_does_not_reach_is_no_restore(server: Server) -> None:
    server.run(server.folder / "lib/backup.sh")
    server.archive()
    later = server.psql("SELECT clock_timestamp() + interval '1 hour'").strip()
    server.stop(signal.SIGQUIT)
    kept = server.data.rename(server.data.with_name("kept"))
    server.run(server.folder / "lib/restore.sh", server.data, later)
    try:
        server.start(wait=False)
        assert "has ended" in server.fails(server.folder / "lib/recovered.sh", later)
        assert "recovery ended before configured recovery target was reached" in (server.folder / "log").read_text()
    finally:
        shutil.rmtree(server.data)
        kept.rename(server.data)
        server.start()


def test_a_piece_of_the_log_is_kept_once_and_never_replaced(server: Server, tmp_path: Path) -> None:
    piece, other = server.backups / "piece", server.backups / "other"
    for path, content in ((piece, b"true"), (other, b"forged")):
        path.write_bytes(content)
        server.own(path)
    archive = server.folder / "lib/archive-wal.sh"
    server.run(archive, piece, "000000010000000000000001.test")
    server.run(archive, piece, "000000010000000000000001.test")
    with pytest.raises(AssertionError):
        server.run(archive, other, "000000010000000000000001.test")
    assert server.run("zstd", "-qdc", server.backups / "wal/000000010000000000000001.test.zst") == "true"


def test_a_minute_of_a_quiet_floor_is_not_sixteen_megabytes(server: Server) -> None:
    """Every second a lease is renewed, so every minute there is a piece of the log to keep, however little is in it."""
    server.psql("SELECT pg_switch_wal()")
    for _ in range(60):
        server.psql("UPDATE leases SET expires_at = expires_at", "jackpot")
    kept = server.archive()
    assert kept.stat().st_size < 16 * 2**20 / 200
