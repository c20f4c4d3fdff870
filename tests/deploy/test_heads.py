"""Heads leave the database signed: whoever owns it may rewrite all of history, but not what was signed before."""

import asyncio
import datetime as dt
import json
import resource
from collections.abc import AsyncIterator
from dataclasses import dataclass
from pathlib import Path

import pytest
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat
from hypothesis import given
from hypothesis import strategies as st

from jackpot.ledger import heads
from jackpot.ledger.heads import HeadNotTrue, HeadsFile, SignedHead, check, fingerprint, keep_heads, sign
from jackpot.ledger.record import Head
from jackpot.link.gaming_day import GamingDay
from jackpot.pki import Kind
from jackpot.wire import topics
from jackpot.wire.mqtt import Connection
from tests.acceptance import processes
from tests.deploy.conftest import Controller, Database
from tests.deploy.installed import Pki
from tests.deploy.test_roles_at_work import as_role
from tests.ledger.scribe import Scribe, scribe_at
from tests.servers import PostgresProgram
from tests.wire.peers import Inbox

KEY = Ed25519PrivateKey.from_private_bytes(bytes(range(32)))
KEYS = {fingerprint(KEY.public_key()): KEY.public_key()}
AT = dt.datetime(2026, 11, 16, 2, tzinfo=dt.UTC)
HEAD = SignedHead("megalink", 812, "ab" * 32, AT, AT, fingerprint(KEY.public_key()))


def test_a_signed_head_says_what_was_signed() -> None:
    assert check(KEYS, sign(KEY, HEAD)) == HEAD


@given(position=st.integers(0, len(sign(KEY, HEAD)) - 1), change=st.integers(1, 255))
def test_a_changed_byte_breaks_the_signature(position: int, change: int) -> None:
    changed = bytearray(sign(KEY, HEAD))
    changed[position] ^= change
    with pytest.raises(HeadNotTrue):
        check(KEYS, bytes(changed))


def test_another_key_is_not_the_daemons() -> None:
    forger = Ed25519PrivateKey.generate()
    with pytest.raises(HeadNotTrue, match="signature"):
        check(KEYS, sign(forger, HEAD))
    with pytest.raises(HeadNotTrue, match="not named"):
        check({}, sign(KEY, HEAD))


@pytest.mark.parametrize("cut", [1, 40, len(sign(KEY, HEAD)) - 1])
def test_what_a_crash_has_cut_short_is_left_out_and_the_next_head_begins_a_line(tmp_path: Path, cut: int) -> None:
    file = tmp_path / "heads.jsonl"
    line = sign(KEY, HEAD)
    file.write_bytes(line + b"\n" + line[:cut])
    assert list(heads.read(file, KEYS)) == [HEAD]
    for n in (8, 9):
        HeadsFile(file, KEY).keep("megalink", Head(n=n, chain=b"8", at=AT), AT, None)
    assert [head.n for head in heads.read(file, KEYS)] == [812, 8, 9]
    assert file.read_bytes().count(b"\n") == 4


def test_a_head_that_lacks_only_its_line_feed_counts(tmp_path: Path) -> None:
    file = tmp_path / "heads.jsonl"
    file.write_bytes(sign(KEY, HEAD))
    assert list(heads.read(file, KEYS)) == [HEAD]


@pytest.mark.parametrize("line", [b'{"link":"megalink","n":812}', sign(KEY, HEAD).replace(b"812", b"813")])
@pytest.mark.parametrize("after", [b"\n", b""])
def test_a_whole_line_that_was_not_signed_so_is_an_alarm(tmp_path: Path, line: bytes, after: bytes) -> None:
    file = tmp_path / "heads.jsonl"
    file.write_bytes(sign(KEY, HEAD) + b"\n" + line + after)
    with pytest.raises(HeadNotTrue, match="line 2"):
        list(heads.read(file, KEYS))


def test_a_head_that_does_not_fit_on_the_disk_was_not_kept_and_spoils_no_other(tmp_path: Path) -> None:
    file = HeadsFile(tmp_path / "heads.jsonl", KEY)
    file.keep("megalink", Head(n=7, chain=b"7", at=AT), AT, None)
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (file.path.stat().st_size + 40, before[1]))
    try:
        with pytest.raises(OSError, match="part of the head"):
            file.keep("megalink", Head(n=8, chain=b"8", at=AT), AT, None)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)
    file.keep("megalink", Head(n=9, chain=b"9", at=AT), AT, None)
    assert [head.n for head in heads.read(file.path, KEYS)] == [7, 9]


async def test_a_head_is_signed_when_it_has_moved_and_when_a_gaming_day_has_ended(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(heads, "HEADS_EVERY_S", 0.0)
    before_six = dt.datetime(2026, 11, 15, 21, 59, tzinfo=dt.UTC)
    after_six = dt.datetime(2026, 11, 15, 22, 1, tzinfo=dt.UTC)
    # Each turn looks at the clock once: two quiet minutes, one with an event, then the day ends, and one more.
    turns = iter([(7, before_six), (7, before_six), (8, before_six), (8, after_six), (8, after_six)])
    now = [before_six]
    current = [Head(n=7, chain=b"7", at=before_six)]

    def clock() -> dt.datetime:
        try:
            n, now[0] = next(turns)
        except StopIteration:
            raise asyncio.CancelledError from None
        current[0] = Head(n=n, chain=str(n).encode(), at=before_six)
        return now[0]

    file = HeadsFile(tmp_path / "deep" / "heads.jsonl", KEY)
    published: list[bytes] = []
    with pytest.raises(asyncio.CancelledError):
        await keep_heads(
            file,
            "megalink",
            head=lambda: current[0],
            gaming_day=GamingDay.of("Asia/Singapore", "06:00"),
            clock=clock,
            publish=published.append,
        )
    kept = list(heads.read(file.path, KEYS))
    assert [(head.n, head.closes) for head in kept] == [(7, None), (8, None), (8, dt.date(2026, 11, 15))]
    assert b"\n".join(published) + b"\n" == file.path.read_bytes()
    assert file.path.stat().st_mode & 0o777 == 0o640


async def test_a_disk_that_is_full_stops_no_play(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(heads, "HEADS_EVERY_S", 0.0)
    place = tmp_path / "heads.jsonl"
    place.mkdir()  # a file cannot be written there
    file = HeadsFile(place, KEY)
    written = asyncio.Event()
    current = Head(n=7, chain=b"7", at=AT)
    task = asyncio.create_task(
        keep_heads(
            file,
            "megalink",
            head=lambda: current,
            gaming_day=GamingDay.of("Asia/Singapore", "06:00"),
            clock=lambda: AT,
            publish=lambda _: written.set(),
        )
    )
    await asyncio.sleep(0.05)
    assert not task.done()
    place.rmdir()  # there is room again: the head that was missed is signed
    async with asyncio.timeout(10):
        await written.wait()
    task.cancel()
    assert [head.n for head in heads.read(place, KEYS)] == [7]


# -- the database's owner ------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Ledger:
    config: Path
    scribe: Scribe


@pytest.fixture
async def ledgers(postgres: PostgresProgram, ledger_template: str, tmp_path: Path) -> AsyncIterator[list[Ledger]]:
    """Two ledgers of one link with the same past, until one of them takes another course."""
    made = []
    async with postgres.database(ledger_template) as first, postgres.database(ledger_template) as second:
        for name, url in (("true", first), ("rewritten", second)):
            config = tmp_path / f"{name}.toml"
            config.write_text(f'[database]\nurl = "{url}"\n')
            async with scribe_at(url, "UTH-01") as scribe:
                made.append(Ledger(config, scribe))
                scribe.deal("UTH-01", {1: 1})
                scribe.settle("UTH-01")
                await scribe.commit()
        yield made


def signed(ledger: Ledger, file: Path) -> None:
    head = ledger.scribe._head
    HeadsFile(file, KEY).keep("megalink", head, AT, None)


def verified(ledger: Ledger, *heads_files: Path) -> tuple[int, str]:
    public = ledger.config.with_name("heads.pub")
    public.write_bytes(KEY.public_key().public_bytes(Encoding.PEM, PublicFormat.SubjectPublicKeyInfo))
    more: list[str | Path] = [part for file in heads_files for part in ("--heads", file)]
    if heads_files:
        more += ["--heads-key", public]
    done = processes.run("verify", "--config", ledger.config, *more)
    return done.returncode, done.stderr


async def test_a_history_rewritten_with_its_chain_is_told_by_the_heads_alone(
    ledgers: list[Ledger], tmp_path: Path
) -> None:
    true, rewritten = ledgers
    file = tmp_path / "heads.jsonl"
    signed(true, file)
    assert verified(true, file) == verified(rewritten, file) == (0, "")
    # The owner writes the next round anew, with a wager that was never placed, and everything after it.
    true.scribe.deal("UTH-01", {1: 1})
    rewritten.scribe.deal("UTH-01", {1: 1, 2: 5})
    for ledger in ledgers:
        ledger.scribe.settle("UTH-01")
        await ledger.scribe.commit()
        ledger.scribe.deal("UTH-01", {1: 1})
        await ledger.scribe.commit()
    signed(true, file)
    assert verified(true, file) == (0, "")
    assert verified(rewritten) == (0, ""), "by itself it is a true ledger"
    code, said = verified(rewritten, file)
    assert code == 1
    assert "its chain is not the one that was kept outside the database" in said


async def test_a_history_cut_short_is_told_by_the_heads(ledgers: list[Ledger], tmp_path: Path) -> None:
    true, cut = ledgers
    file = tmp_path / "heads.jsonl"
    true.scribe.deal("UTH-01", {1: 1})
    await true.scribe.commit()
    signed(true, file)
    assert verified(cut) == (0, "")
    code, said = verified(cut, file)
    assert code == 1
    assert "kept outside the database, but it is not there" in said


async def test_heads_that_contradict_each_other_need_no_database(ledgers: list[Ledger], tmp_path: Path) -> None:
    true, rewritten = ledgers
    file = tmp_path / "heads.jsonl"
    true.scribe.deal("UTH-01", {1: 1})
    rewritten.scribe.deal("UTH-01", {2: 1})
    for ledger in ledgers:
        await ledger.scribe.commit()
        signed(ledger, file)
    code, said = verified(true, file)
    assert code == 1
    assert "was rewritten between" in said


@pytest.mark.parametrize("alone", ["--heads", "--heads-key"])
def test_heads_and_their_key_prove_nothing_without_each_other(tmp_path: Path, alone: str) -> None:
    done = processes.run("verify", "--config", tmp_path / "jackpot.toml", alone, tmp_path / "heads")
    assert done.returncode == 2
    (line,) = done.stderr.splitlines()
    other = {"--heads": "--heads-key", "--heads-key": "--heads"}[alone]
    assert f"{other} FILE" in line


# -- the daemon ----------------------------------------------------------------------------------------------------


async def test_the_daemon_signs_its_heads_and_the_auditor_proves_the_ledger_with_them(
    controller: Controller, database: Database, pki: Pki, tmp_path: Path
) -> None:
    config = as_role(controller, database, "audit", tmp_path)
    heads_file, public = controller.heads_file, controller.heads_public_key
    done = processes.run("verify", "--config", config, "--heads", heads_file, "--heads-key", public, "-o", "json")
    assert (done.returncode, json.loads(done.stdout)["verified"]) == (0, True), done.stderr
    keys = {fingerprint(key): key for key in [heads.load_public_key(public)]}
    kept = list(heads.read(heads_file, keys))
    assert {head.link for head in kept} == {"megalink"}
    inbox = Inbox()
    # Whoever keeps copies elsewhere comes in by the controllers' door, and may not write there either.
    broker = pki.broker(Kind.CONTROLLER, "control-1")
    connection = await Connection.open(broker, "copies", on_message=inbox, subscriptions=[(topics.head("+"), 1)])
    assert await inbox.holds(1) == [heads_file.read_bytes().splitlines()[-1]]
    connection.abort()
