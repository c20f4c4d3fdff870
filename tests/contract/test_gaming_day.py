"""The gaming day starts at a local hour and has the date of its start, on nights when the clocks change too."""

import datetime as dt
from zoneinfo import ZoneInfo

import pytest
from hypothesis import given
from hypothesis import strategies as st

from jackpot.contract.gaming_day import GamingDay

SINGAPORE = GamingDay.of("Asia/Singapore", "06:00")
LONDON = GamingDay.of("Europe/London", "06:00")

ZONES = (
    "Asia/Singapore",
    "Europe/London",
    "America/New_York",
    "Australia/Lord_Howe",  # by half an hour
    "America/Sao_Paulo",  # changed at midnight
    "Africa/Casablanca",
    "Asia/Kathmandu",
    "UTC",
)


MOMENTS = st.integers(1_300_000_000, 2_200_000_000).map(lambda seconds: dt.datetime.fromtimestamp(seconds, dt.UTC))
"""From 2011 to 2039."""


def utc(text: str) -> dt.datetime:
    return dt.datetime.fromisoformat(text).replace(tzinfo=dt.UTC)


def local(zone: str, text: str, *, fold: int = 0) -> dt.datetime:
    return dt.datetime.fromisoformat(text).replace(tzinfo=ZoneInfo(zone), fold=fold)


@pytest.mark.parametrize(
    ("at", "day"),
    [
        ("2026-11-15T21:59:59.999999", "2026-11-15"),  # 05:59:59.999999 in Singapore
        ("2026-11-15T22:00:00", "2026-11-16"),  # 06:00
        ("2026-11-16T15:59:59", "2026-11-16"),  # just before midnight
        ("2026-11-16T16:00:00", "2026-11-16"),  # midnight: a new date, the same gaming day
        ("2026-11-16T21:59:59", "2026-11-16"),
        ("2026-12-31T21:59:59", "2026-12-31"),  # 05:59:59 on New Year's Day
        ("2028-02-29T00:00:00", "2028-02-29"),
    ],
)
def test_a_day_runs_from_its_hour_to_the_next_and_has_the_date_of_its_start(at: str, day: str) -> None:
    assert SINGAPORE.day(utc(at)) == dt.date.fromisoformat(day)


def test_a_day_of_24_hours() -> None:
    day = dt.date(2026, 11, 16)
    assert SINGAPORE.start(day) == utc("2026-11-15T22:00:00")
    assert SINGAPORE.end(day) == utc("2026-11-16T22:00:00")


@pytest.mark.parametrize(
    ("day", "hours"),
    [
        ("2026-03-27", 24),
        ("2026-03-28", 23),  # the clocks go forward at 01:00 on the 29th, before the day ends at 06:00
        ("2026-03-29", 24),
        ("2026-10-24", 25),  # and back at 02:00 on the 25th
        ("2026-10-25", 24),
    ],
)
def test_the_night_on_which_the_clocks_change_is_an_hour_shorter_or_longer(day: str, hours: int) -> None:
    date = dt.date.fromisoformat(day)
    assert LONDON.end(date) - LONDON.start(date) == dt.timedelta(hours=hours)


def test_both_passes_of_the_hour_that_comes_twice_belong_to_the_night_before() -> None:
    for fold in (0, 1):
        assert LONDON.day(local("Europe/London", "2026-10-25T01:30", fold=fold)) == dt.date(2026, 10, 24)
    assert LONDON.day(local("Europe/London", "2026-10-25T06:00")) == dt.date(2026, 10, 25)


def test_a_starting_hour_that_comes_twice_counts_the_first_time() -> None:
    """New York, 1 November 2026: 01:30 is at 05:30Z and again at 06:30Z."""
    new_york = GamingDay.of("America/New_York", "01:30")
    day = dt.date(2026, 11, 1)
    assert new_york.start(day) == utc("2026-11-01T05:30:00")
    assert new_york.day(utc("2026-11-01T05:29:59")) == dt.date(2026, 10, 31)
    assert new_york.day(utc("2026-11-01T05:30:00")) == day
    assert new_york.day(utc("2026-11-01T06:15:00")) == day  # 01:15 for the second time
    assert new_york.day(utc("2026-11-01T06:30:00")) == day


def test_a_starting_hour_that_is_skipped_counts_as_if_the_clocks_had_not_changed_yet() -> None:
    """New York, 8 March 2026: from 02:00 EST straight to 03:00 EDT at 07:00Z; 02:30 EST would be 07:30Z."""
    new_york = GamingDay.of("America/New_York", "02:30")
    day = dt.date(2026, 3, 8)
    assert new_york.start(day) == utc("2026-03-08T07:30:00")
    assert new_york.day(utc("2026-03-08T07:29:59")) == dt.date(2026, 3, 7)
    assert new_york.day(utc("2026-03-08T07:30:00")) == day


def test_a_day_may_start_at_midnight_also_where_midnight_is_skipped() -> None:
    sao_paulo = GamingDay.of("America/Sao_Paulo", "00:00")
    day = dt.date(2018, 11, 4)  # the clocks went from 00:00 to 01:00
    assert sao_paulo.start(day) == utc("2018-11-04T03:00:00")
    assert sao_paulo.end(day) - sao_paulo.start(day) == dt.timedelta(hours=23)


@pytest.mark.parametrize("zone", ZONES)
@pytest.mark.parametrize("starts_at", ["00:00", "00:30", "02:00", "02:30", "06:00", "23:59"])
def test_on_every_night_of_a_year_the_day_changes_once_at_its_hour(zone: str, starts_at: str) -> None:
    gaming_day = GamingDay.of(zone, starts_at)
    for days in range(365):
        day = dt.date(2018, 1, 1) + dt.timedelta(days=days)
        start = gaming_day.start(day)
        assert gaming_day.day(start) == day
        assert gaming_day.day(start - dt.timedelta(microseconds=1)) == day - dt.timedelta(days=1)


@given(
    zone=st.sampled_from(ZONES),
    starts_at=st.times().map(lambda time: time.replace(microsecond=0, fold=0)),
    at=MOMENTS,
)
def test_every_moment_belongs_to_exactly_one_day(zone: str, starts_at: dt.time, at: dt.datetime) -> None:
    gaming_day = GamingDay(ZoneInfo(zone), starts_at)
    day = gaming_day.day(at)
    assert gaming_day.start(day) <= at < gaming_day.end(day)


@given(
    zone=st.sampled_from(ZONES),
    starts_at=st.sampled_from(["00:00", "01:30", "02:00", "02:30", "06:00", "23:30"]),
    day=st.dates(dt.date(2011, 1, 1), dt.date(2040, 1, 1)),
)
def test_days_follow_each_other_without_gap_or_overlap(zone: str, starts_at: str, day: dt.date) -> None:
    gaming_day = GamingDay.of(zone, starts_at)
    start, end = gaming_day.start(day), gaming_day.end(day)
    assert end == gaming_day.start(day + dt.timedelta(days=1))
    assert gaming_day.day(start - dt.timedelta(microseconds=1)) < gaming_day.day(end)
    assert start <= end


@given(MOMENTS, st.timedeltas(dt.timedelta(0), dt.timedelta(days=9)))
def test_a_later_moment_never_belongs_to_an_earlier_day(at: dt.datetime, later: dt.timedelta) -> None:
    for zone in ZONES:
        gaming_day = GamingDay.of(zone, "02:30")
        assert gaming_day.day(at) <= gaming_day.day(at + later)


def test_where_a_zone_skipped_a_whole_date_no_day_begins_before_its_start() -> None:
    day = GamingDay.of("Pacific/Apia", "06:00")  # went from 29 to 31 December 2011
    at = dt.datetime(2011, 12, 30, 12, 0, tzinfo=dt.UTC)  # 02:00 on the 31st, before that day's start
    assert day.start(day.day(at)) <= at < day.end(day.day(at))
