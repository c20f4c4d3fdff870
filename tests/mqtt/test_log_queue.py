"""A log that one program writes and another takes, line by line."""

from pathlib import Path

from jackpot.mqtt.log_queue import LogQueue


def test_a_log_is_taken_line_by_line_over_restarts_and_rotation(tmp_path: Path) -> None:
    path = tmp_path / "log"
    queue = LogQueue(path)
    assert queue.lines() == []
    with path.open("a") as writer:
        writer.write("one\ntwo\nthr")
        writer.flush()
        assert queue.lines() == ["one", "two"]
        assert queue.lines() == ["one", "two"], "not dealt with yet"
        queue.taken()
        assert queue.lines() == []
        writer.write("ee\n" + "x" * 9_000 + "\n")
    assert queue.lines() == ["three", "x" * 9_000]
    queue.taken()
    assert path.stat().st_size == 9_015
    assert path.stat().st_blocks * 512 <= 4096, "the room of what was taken is free again"
    queue.close()
    queue = LogQueue(path)
    assert queue.lines() == []
    path.rename(tmp_path / "log.1")
    path.write_text("four\n")
    assert queue.lines() == []
    assert queue.lines() == ["four"]
    queue.taken()
    path.write_text("")
    assert queue.lines() == []
    path.write_text("five\n")
    assert queue.lines() == ["five"]
    queue.close()


def test_the_beginning_of_a_line_in_a_new_file_is_not_taken_for_what_was_handed_out_of_the_old(tmp_path: Path) -> None:
    path = tmp_path / "log"
    path.write_text("one\ntwo\n")
    queue = LogQueue(path)
    assert queue.lines() == ["one", "two"]
    queue.taken()
    path.unlink()
    path.write_text("thr")
    for _ in range(2):
        assert queue.lines() == []
        queue.taken()
    with path.open("a") as writer:
        writer.write("ee\n")
    assert queue.lines() == ["three"]
    queue.close()
