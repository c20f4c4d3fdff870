"""A dispute is answered from what the board was told and when it answered."""

import errno
import gzip
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import TextIO

import pytest

from jackpot.signs import history
from jackpot.signs.history import Entry, JsonLinesHistory, answer, boards

NOON = datetime(2026, 11, 16, 12, tzinfo=UTC)


def at(seconds: float) -> datetime:
    return NOON + timedelta(seconds=seconds)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    with JsonLinesHistory(tmp_path) as history:
        for entry in (
            Entry(at(0), "pit-3", "connected"),
            Entry(at(1), "pit-3", "told", "$1,000.00", 100_000, version=7),
            Entry(at(1.3), "pit-3", "answered", "$1,000.00", confirmed=True),
            Entry(at(5), "pit-3", "told", "$1,001.00", 100_100, version=8),
            Entry(at(9), "pit-3", "fault", reason="line lost"),
            Entry(at(12), "pit-3", "connected"),
            Entry(at(12.5), "pit-3", "told", "--------", reason="no meter yet", confirmed=True),
            Entry(at(12.5), "bar", "told", "7", 7),
        ):
            history.add(entry)
    return tmp_path


def test_what_the_board_was_told_last_before_the_moment(folder: Path) -> None:
    found = answer(folder, "pit-3", at(4.999))
    assert found.told == Entry(at(1), "pit-3", "told", "$1,000.00", 100_000, version=7)
    assert found.answered
    assert found.answered.at == at(1.3)
    assert found.fault is None
    assert found.until
    assert found.until.at == at(5)


def test_what_was_told_and_never_answered(folder: Path) -> None:
    found = answer(folder, "pit-3", at(8))
    assert found.told
    assert found.told.cents == 100_100
    assert found.answered is None
    assert found.fault is None


def test_a_fault_since_then_is_part_of_the_answer(folder: Path) -> None:
    found = answer(folder, "pit-3", at(11))
    assert found.fault
    assert found.fault.reason == "line lost"


def test_the_last_own_word_before_the_moment_is_the_evidence(tmp_path: Path) -> None:
    with JsonLinesHistory(tmp_path) as kept:
        kept.add(Entry(at(0), "pit-3", "told", "$1,000.00", 100_000))
        for second in (60, 120, 180):
            kept.add(Entry(at(second), "pit-3", "answered", "$1,000.00", confirmed=True))
    for second, evidence in ((30, 60), (60, 60), (130, 120), (999, 180)):
        found = answer(tmp_path, "pit-3", at(second)).answered
        assert found
        assert found.at == at(evidence)


def test_a_fault_lasts_until_the_board_answers_or_is_connected_anew(tmp_path: Path) -> None:
    with JsonLinesHistory(tmp_path) as kept:
        for entry in (
            Entry(at(0), "pit-3", "told", "$1.00", 100, confirmed=True),
            Entry(at(1), "pit-3", "fault", reason="silent"),
            Entry(at(2), "pit-3", "told", "$2.00", 200),
            Entry(at(4), "pit-3", "answered", "$2.00", confirmed=True),
            Entry(at(6), "pit-3", "fault", reason="line lost"),
            Entry(at(8), "pit-3", "connected"),
            Entry(at(9), "pit-3", "fault", reason="silent"),
            Entry(at(10), "pit-3", "told", "", reason="its memory is laid out"),
        ):
            kept.add(entry)
    found = {second: answer(tmp_path, "pit-3", at(second)).fault for second in (0, 1, 3, 5, 7, 8, 11)}
    reasons = {second: entry and entry.reason for second, entry in found.items()}
    assert reasons == {0: None, 1: "silent", 3: "silent", 5: None, 7: "line lost", 8: None, 11: "silent"}
    assert kept.has_answered("pit-3")
    assert not kept.has_answered("pit-4")


def test_dashes_are_an_answer_too(folder: Path) -> None:
    found = answer(folder, "pit-3", at(99))
    assert found.told
    assert (found.told.text, found.told.cents, found.told.reason) == ("--------", None, "no meter yet")
    assert found.answered == found.told
    assert found.until is None


def test_before_the_record_begins_nothing_is_known(folder: Path) -> None:
    assert answer(folder, "pit-3", at(0.5)).told is None
    assert answer(folder, "unknown", at(5)).told is None
    assert boards(folder) == ["bar", "pit-3"]


def test_a_line_cut_short_by_a_crash_is_passed_over(folder: Path) -> None:
    file = next((folder / "pit-3").iterdir())
    file.write_text(file.read_text() + '{"at": "2026-11-16T12:0')
    assert answer(folder, "pit-3", at(99)).told is not None
    with JsonLinesHistory(folder) as history:
        history.add(Entry(at(120), "pit-3", "told", "$1,002.00", 100_200))
    found = answer(folder, "pit-3", at(121)).told
    assert found is not None, "and spoils nothing that is written after it"
    assert found.cents == 100_200


def test_files_are_rotated_by_size_and_the_oldest_go(tmp_path: Path) -> None:
    with JsonLinesHistory(tmp_path, file_bytes_max=1000, files_max=3) as history:
        for second in range(100):
            history.add(Entry(at(second), "pit-3", "told", f"${second}.00", second * 100))
    files = sorted((tmp_path / "pit-3").iterdir())
    assert [file.suffix for file in files] == [".gz", ".gz", ".jsonl"]
    assert all(file.stat().st_size < 1200 for file in files)
    for second in (80, 85, 90, 95, 99):
        found = answer(tmp_path, "pit-3", at(second))
        assert found.told
        assert found.told.cents == second * 100
    assert answer(tmp_path, "pit-3", at(5)).told is None


@pytest.fixture
def many(tmp_path: Path) -> Path:
    """A figure a second for 200 s, in many files."""
    with JsonLinesHistory(tmp_path, file_bytes_max=1000) as history:
        for second in range(200):
            history.add(Entry(at(second), "pit-3", "told", f"${second}.00", second * 100))
    assert len(list((tmp_path / "pit-3").iterdir())) > 15
    return tmp_path


def test_every_moment_is_found_though_one_or_two_files_are_read(many: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    read: list[Path] = []
    reading = history._reading

    def watched(path: Path) -> TextIO:
        read.append(path)
        return reading(path)

    monkeypatch.setattr(history, "_reading", watched)
    for second in range(199):
        found = answer(many, "pit-3", at(second + 0.5))
        assert found.told
        assert found.until
        assert (found.told.cents, found.until.cents) == (second * 100, (second + 1) * 100)
        assert len(read) <= 2
        read.clear()


def test_what_was_told_long_before_a_file_of_faults_is_found(tmp_path: Path) -> None:
    with JsonLinesHistory(tmp_path, file_bytes_max=1000) as kept:
        kept.add(Entry(at(0), "pit-3", "told", "$1,000.00", 100_000))
        for second in range(1, 100):
            kept.add(Entry(at(second), "pit-3", "fault", reason=f"fault {second}"))
    found = answer(tmp_path, "pit-3", at(90))
    assert found.told
    assert found.fault
    assert (found.told.cents, found.fault.reason) == (100_000, "fault 90")


def test_a_file_is_read_once_though_a_crash_left_it_plain_and_compressed(many: Path) -> None:
    """And files of an earlier version, all plain, are compressed with the next that is full."""
    files = sorted((many / "pit-3").iterdir())
    for file in files[:-1]:
        plain = gzip.decompress(file.read_bytes())
        file.with_suffix("").write_bytes(plain)
    files[0].unlink()
    (many / "pit-3" / files[1].name.replace(".jsonl.gz", ".part")).write_bytes(b"half of it")
    found = answer(many, "pit-3", at(150))
    assert found.told
    assert found.told.cents == 15_000
    with JsonLinesHistory(many, file_bytes_max=1000) as kept:
        for second in range(200, 220):
            kept.add(Entry(at(second), "pit-3", "told", f"${second}.00", second * 100))
    after = sorted((many / "pit-3").iterdir())
    assert {file.suffix for file in after[:-1]} == {".gz"}
    assert [file for file in after if file in files[:-1]] == files[:-1]


def test_a_disk_without_room_to_compress_loses_no_entry(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(_: Path) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(history, "_compress", full)
    with JsonLinesHistory(tmp_path, file_bytes_max=1000) as kept:
        for second in range(50):
            kept.add(Entry(at(second), "pit-3", "told", f"${second}.00", second * 100))
    assert kept.lost == 0
    found = answer(tmp_path, "pit-3", at(7))
    assert found.told
    assert found.told.cents == 700


def test_a_record_that_cannot_be_kept_is_counted_and_stops_no_one(tmp_path: Path) -> None:
    with JsonLinesHistory(tmp_path) as history:
        (tmp_path / "pit-3").write_text("a file where the board's folder should be")
        history.add(Entry(at(0), "pit-3", "connected"))
        history.add(Entry(at(0), "bar", "connected"))
    assert history.lost == 1
    assert (tmp_path / "bar").is_dir()
