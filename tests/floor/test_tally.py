"""A table's own counters: wagers that stood at closing less those given back, and awards, each once."""

import datetime as dt
from pathlib import Path
from typing import Any

import msgspec
import pytest

from jackpot.contract.gaming_day import GamingDay
from jackpot.errors import UserError
from jackpot.floor.tally import Counters, Tally

DAY = GamingDay.of("Asia/Singapore", "06:00")
MORNING = dt.datetime(2026, 11, 16, 2, 0, tzinfo=dt.UTC)
TODAY = dt.date(2026, 11, 16)


class Clock:
    now = MORNING

    def __call__(self) -> dt.datetime:
        return self.now


def tally(path: Path | None = None, clock: Clock | None = None) -> Tally:
    return Tally(500, DAY, path=path, now=clock or Clock())


def play(table: Tally, *events: dict[str, Any] | str) -> Counters:
    for event in events:
        table.accepted({"type": event, "round": "r1"} if isinstance(event, str) else {"round": "r1", **event})
    return table.counters(TODAY)


def wager(position: int, multiplier: int = 1) -> dict[str, Any]:
    return {"type": "wager.placed", "position": position, "multiplier": multiplier}


def award(id_: str, position: int = 1) -> dict[str, Any]:
    return {"award": id_, "round": "r1", "position": position, "amount_cents": 10_000}


def test_wagers_count_when_the_round_closes() -> None:
    table = tally()
    assert play(table, "round.opened", wager(1), wager(2, 5)) == Counters()
    assert play(table, "round.closed") == Counters(2, 3000)
    assert play(table, "round.settled") == Counters(2, 3000)


def test_a_wager_cancelled_before_closing_never_counts() -> None:
    cancelled = {"type": "wager.cancelled", "position": 1}
    assert play(tally(), "round.opened", wager(1), wager(2), cancelled, "round.closed") == Counters(1, 500)


def test_a_wager_returned_after_closing_is_taken_off() -> None:
    returned = {"type": "wager.returned", "position": 2, "reason": "5.9"}
    assert play(tally(), "round.opened", wager(1), wager(2, 3), "round.closed", returned) == Counters(1, 500)


@pytest.mark.parametrize("closed", [False, True])
def test_a_void_round_counts_nothing(closed: bool) -> None:
    table = tally()
    events: list[dict[str, Any] | str] = ["round.opened", wager(1), wager(2), "round.closed", "round.voided"]
    if not closed:
        events.remove("round.closed")
    assert play(table, *events) == Counters()
    assert table.round is None


def test_a_wager_returned_and_then_voided_is_taken_off_once() -> None:
    returned = {"type": "wager.returned", "position": 2, "reason": "5.9"}
    assert play(tally(), "round.opened", wager(1), wager(2), "round.closed", returned, "round.voided") == Counters()


def test_an_award_counts_once_however_often_it_is_announced() -> None:
    table = tally()
    for _ in range(3):
        table.award(award("megalink-000001"))
    assert table.counters(TODAY) == Counters(0, 0, 1, 10_000)


def test_a_table_that_comes_back_goes_on_counting(tmp_path: Path) -> None:
    path = tmp_path / "UTH-01.json"
    first = tally(path)
    play(first, "round.opened", wager(1), "round.closed")
    first.award(award("megalink-000001"))
    second = tally(path)
    assert second.round == "r1"
    second.award(award("megalink-000001"))
    assert second.counters(TODAY) == Counters(1, 500, 1, 10_000)
    assert play(second, "round.voided") == Counters(0, 0, 1, 10_000)


@pytest.mark.parametrize(
    ("said_last", "counted"),
    [("round.settled", Counters(1, 500)), ("round.voided", Counters()), (None, Counters())],
)
def test_a_round_that_was_concluded_while_the_table_was_away(
    said_last: str | None, counted: Counters, tmp_path: Path
) -> None:
    """What the table said last came through; if it said nothing, a person has ended the round: void."""
    path = tmp_path / "UTH-01.json"
    before = tally(path)
    play(before, "round.opened", wager(1), "round.closed")
    if said_last is not None:
        before.concluding(said_last)
    back = tally(path)
    back.concluding("round.voided")
    assert back.already_concluded() == (said_last == "round.settled")
    assert (back.round, back.counters(TODAY)) == (None, counted)


def test_an_award_that_was_promised_is_expected_until_it_is_announced(tmp_path: Path) -> None:
    path = tmp_path / "UTH-01.json"
    tally(path).expect({("r1", 3)})
    back = tally(path)
    assert back.expects_awards
    back.award(award("megalink-000001", position=3))
    assert not back.expects_awards


def test_days_are_gaming_days_and_reported_until_they_are_over_and_reported(tmp_path: Path) -> None:
    clock = Clock()
    table = tally(tmp_path / "BE-01.json", clock)
    play(table, "round.opened", wager(1), "round.closed", "round.settled")
    clock.now = dt.datetime(2026, 11, 16, 22, 0, tzinfo=dt.UTC)  # 06:00 in Singapore: the next gaming day
    play(table, "round.opened", wager(1), wager(2), "round.closed", "round.settled")
    assert table.unreported() == {"2026-11-16": Counters(1, 500), "2026-11-17": Counters(2, 1000)}
    for day, counters in table.unreported().items():
        table.accepted({"type": "meters.reported", "day": day, **msgspec.to_builtins(counters)})
    assert table.unreported() == {}
    again = tally(tmp_path / "BE-01.json", clock)
    assert again.counters(dt.date(2026, 11, 17)) == Counters(2, 1000)
    assert again.counters(TODAY) == Counters(), "a day that is over and reported is not kept"


def test_a_day_that_changed_after_its_report_is_reported_again() -> None:
    table = tally()
    play(table, "round.opened", wager(1), "round.closed", "round.settled")
    table.accepted({"type": "meters.reported", "day": "2026-11-16", **msgspec.to_builtins(Counters(1, 500))})
    play(table, "round.opened", wager(1), "round.closed", "round.settled")
    assert table.unreported() == {"2026-11-16": Counters(2, 1000)}


def test_a_damaged_file_is_named(tmp_path: Path) -> None:
    (tmp_path / "UTH-01.json").write_text("{")
    with pytest.raises(UserError, match=r"UTH-01\.json cannot be read"):
        tally(tmp_path / "UTH-01.json")
