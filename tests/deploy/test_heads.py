"""Heads leave the database signed: whoever owns it may rewrite all of history, but not what was signed before."""

import asyncio
import datetime as dt
import gzip
import resource
import shutil
from itertools import count
from pathlib import Path
from typing import Any

import pytest
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat
from hypothesis import given
from hypothesis import strategies as st

from jackpot.cli.heads import remarks, told_by
from jackpot.contract.gaming_day import GamingDay
from jackpot.ledger.heads import keeping
from jackpot.ledger.heads.file import HeadsFile, read
from jackpot.ledger.heads.form import (
    Acceptance,
    HeadMismatchError,
    SignedHead,
    check,
    fingerprint,
    sign,
)
from jackpot.ledger.heads.keeping import keep_heads
from jackpot.ledger.record import Head
from tests.waiting import patience_s

KEY = Ed25519PrivateKey.from_private_bytes(bytes(range(32)))
KEYS = {fingerprint(KEY.public_key()): KEY.public_key()}
AT = dt.datetime(2026, 11, 16, 2, tzinfo=dt.UTC)
HEAD = SignedHead("megalink", 812, "ab" * 32, AT, AT, fingerprint(KEY.public_key()), "5e41e5", 1)


def heads_in(file: Path) -> list[SignedHead]:
    return read(file, KEYS)[0]


def keep(file: HeadsFile | Path, n: int, chain: bytes | None = None, link: str = "megalink", **more: Any) -> bytes:
    file = HeadsFile(file, KEY) if isinstance(file, Path) else file
    return file.keep(link, Head(n=n, chain=chain or str(n).encode(), at=AT), more.pop("now", AT), **more)


def test_a_signed_head_says_what_was_signed() -> None:
    assert check(KEYS, sign(KEY, HEAD)) == HEAD


@given(position=st.integers(0, len(sign(KEY, HEAD)) - 1), change=st.integers(1, 255))
def test_a_changed_byte_breaks_the_signature(position: int, change: int) -> None:
    changed = bytearray(sign(KEY, HEAD))
    changed[position] ^= change
    with pytest.raises(HeadMismatchError):
        check(KEYS, bytes(changed))


def test_another_key_is_not_the_daemons() -> None:
    forger = Ed25519PrivateKey.generate()
    with pytest.raises(HeadMismatchError, match="signature"):
        check(KEYS, sign(forger, HEAD))
    with pytest.raises(HeadMismatchError, match="not named"):
        check({}, sign(KEY, HEAD))


@pytest.mark.parametrize("cut", [1, 40, len(sign(KEY, HEAD)) - 1])
def test_what_a_crash_has_cut_short_is_said_and_the_next_head_takes_its_place(tmp_path: Path, cut: int) -> None:
    file = tmp_path / "heads.jsonl"
    line = sign(KEY, HEAD)
    file.write_bytes(line + b"\n" + line[:cut])
    assert read(file, KEYS) == ([HEAD], True)
    for n in (8, 9):
        keep(file, n)
    heads, is_cut_short = read(file, KEYS)
    assert ([(head.n, head.number) for head in heads], is_cut_short) == ([(812, 1), (8, 2), (9, 3)], False)


def test_a_head_that_lacks_only_its_line_feed_counts(tmp_path: Path) -> None:
    file = tmp_path / "heads.jsonl"
    file.write_bytes(sign(KEY, HEAD))
    assert read(file, KEYS) == ([HEAD], False)
    keep(file, 9)
    assert [head.n for head in heads_in(file)] == [812, 9]


LINE = sign(KEY, HEAD)
NOT_HEADS = {
    "not signed": b'{"link":"megalink","n":812}',
    "another number": LINE.replace(b"812", b"813"),
    "cut short, but not the last": LINE[:40],
    "no longer JSON": b"[" + LINE[1:],
    "nothing": b"",
    "garbage": b"\xff\x00garbage",
}


@pytest.mark.parametrize("line", NOT_HEADS.values(), ids=list(NOT_HEADS))
def test_any_other_line_is_an_alarm(tmp_path: Path, line: bytes) -> None:
    file = tmp_path / "heads.jsonl"
    file.write_bytes(LINE + b"\n" + line + b"\n" + LINE + b"\n")
    with pytest.raises(HeadMismatchError, match="line 2"):
        read(file, KEYS)


@pytest.mark.parametrize("line", [NOT_HEADS["not signed"], NOT_HEADS["another number"]])
def test_a_last_line_that_is_whole_and_was_not_signed_so_is_an_alarm(tmp_path: Path, line: bytes) -> None:
    file = tmp_path / "heads.jsonl"
    file.write_bytes(LINE + b"\n" + line)
    with pytest.raises(HeadMismatchError, match="line 2"):
        read(file, KEYS)


def test_a_head_that_does_not_fit_on_the_disk_was_not_kept_and_spoils_no_other(tmp_path: Path) -> None:
    file = HeadsFile(tmp_path / "heads.jsonl", KEY)
    keep(file, 7)
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (file.path.stat().st_size + 40, before[1]))
    try:
        with pytest.raises(OSError, match="part of the head"):
            keep(file, 8)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)
    keep(file, 9)
    assert [(head.n, head.number) for head in heads_in(file.path)] == [(7, 1), (9, 2)]


@pytest.mark.parametrize("packed", [False, True])
def test_a_series_goes_on_when_the_file_is_turned(tmp_path: Path, packed: bool) -> None:
    """For the daemon that runs, and for one that starts after it; each link counts for itself."""
    running = HeadsFile(tmp_path / "heads.jsonl", KEY)
    for n in (7, 8):
        keep(running, n)
        keep(running, 100 + n, link="minilink")
    turned = running.path.rename(tmp_path / "heads.jsonl-202611")
    if packed:
        turned.with_name("heads.jsonl-202611.gz").write_bytes(gzip.compress(turned.read_bytes()))
        turned.unlink()
    assert not running.path.exists()
    keep(running, 9)
    started = HeadsFile(running.path, KEY)
    last = started.last("minilink")
    assert last is not None
    assert last.n == 108
    keep(started, 109, link="minilink")
    keep(running, 10)
    found = told_by([f"{tmp_path}/heads.jsonl*"], [public_key(tmp_path)])
    assert found.files == 2
    assert {link: list(heads.series.values()) for link, heads in found.links.items()} == {
        "megalink": [(1, 4)],
        "minilink": [(1, 3)],
    }


def public_key(folder: Path) -> Path:
    public = folder / "heads.pub"
    public.write_bytes(KEY.public_key().public_bytes(Encoding.PEM, PublicFormat.SubjectPublicKeyInfo))
    return public


def test_a_head_that_is_missing_is_named(tmp_path: Path) -> None:
    file = tmp_path / "heads.jsonl"
    lines = [keep(file, n) for n in range(1, 7)]
    for kept, why in (([1, 2, 5, 6], "heads 3 to 4 are missing"), ([1, 3, 4], "head 2 is missing")):
        file.write_bytes(b"".join(lines[number - 1] + b"\n" for number in kept))
        with pytest.raises(HeadMismatchError, match=why):
            told_by([str(file)], [public_key(tmp_path)])
    file.write_bytes(b"".join(line + b"\n" for line in lines[3:]))
    found = told_by([str(file)], [public_key(tmp_path)])
    assert remarks(found) == [
        f"megalink: heads before number 4 of series {found.links['megalink'].newest.series} are not in these files"
    ]


def test_a_file_that_was_set_back_is_told_by_a_copy(tmp_path: Path) -> None:
    file, copy = tmp_path / "heads.jsonl", tmp_path / "copy.jsonl"
    keep(file, 1)
    before = file.read_bytes()
    keep(file, 2)
    shutil.copy(file, copy)
    file.write_bytes(before)
    keep(file, 3)
    with pytest.raises(HeadMismatchError, match=r"two heads of series .* have number 2"):
        told_by([str(file), str(copy)], [public_key(tmp_path)])


def test_what_was_given_up_is_not_asked_for_and_is_said(tmp_path: Path) -> None:
    """Two machines have signed; the ledger is set back to event 5, and one of them accepts it."""
    first, second = HeadsFile(tmp_path / "a.jsonl", KEY), HeadsFile(tmp_path / "b.jsonl", KEY)
    minutes = (AT + dt.timedelta(minutes=number) for number in count())
    keep(first, 5, now=next(minutes))
    keep(second, 8, now=next(minutes))
    keep(first, 9, now=next(minutes))
    keep(first, 7, b"other", now=next(minutes), accepts=Acceptance(5, "root (terminal)", "the disk was lost"))
    keep(first, 9, b"other still", now=next(minutes))
    found = told_by([str(first.path), str(second.path)], [public_key(tmp_path)])
    assert [head.n for head in found.standing()] == [5, 7, 9]
    assert remarks(found) == [
        "megalink: 2 heads after event 5 were given up at 2026-11-16 02:03:00Z by root (terminal): the disk was lost"
    ]


async def undoubted() -> bool:
    return False


async def never() -> Head:
    raise AssertionError


async def test_a_head_is_signed_when_it_has_moved_and_when_a_gaming_day_has_ended(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(keeping, "HEADS_EVERY_S", 0.0)
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

    async def last_on(day: dt.date) -> Head:
        assert day == dt.date(2026, 11, 15)
        return current[0]

    file = HeadsFile(tmp_path / "deep" / "heads.jsonl", KEY)
    published: list[bytes] = []
    with pytest.raises(asyncio.CancelledError):
        await keep_heads(
            file,
            "megalink",
            head=lambda: current[0],
            last_on=last_on,
            doubted=undoubted,
            gaming_day=GamingDay.of("Asia/Singapore", "06:00"),
            clock=clock,
            publish=published.append,
        )
    kept = heads_in(file.path)
    assert [(head.n, head.closes) for head in kept] == [(7, None), (8, None), (8, dt.date(2026, 11, 15))]
    assert b"\n".join(published) + b"\n" == file.path.read_bytes()
    assert file.path.stat().st_mode & 0o777 == 0o640


async def test_a_disk_that_is_full_stops_no_play(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(keeping, "HEADS_EVERY_S", 0.0)
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
            last_on=lambda _: never(),
            doubted=undoubted,
            gaming_day=GamingDay.of("Asia/Singapore", "06:00"),
            clock=lambda: AT,
            publish=lambda _: written.set(),
        )
    )
    await asyncio.sleep(0.05)
    assert not task.done()
    place.rmdir()  # there is room again: the head that was missed is signed
    async with asyncio.timeout(patience_s(10)):
        await written.wait()
    task.cancel()
    assert [head.n for head in heads_in(place)] == [7]
