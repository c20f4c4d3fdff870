"""The stream to browsers: the newest of each kind, awards all, and bounded whatever comes."""

import asyncio
from typing import Any

import pytest
from fastapi.sse import ServerSentEvent

from jackpot.console import live
from jackpot.console.live import TooManyWatchersError, Watchers
from jackpot.mqtt.client import Broker
from jackpot.signs.feed import Feed
from tests.waiting import patience_s

METER = {"link": "megalink", "version": 1, "displayed_cents": 100, "pending": []}


@pytest.fixture(autouse=True)
def quick(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(live, "PACE_S", 0.01)
    monkeypatch.setattr(live, "TICK_S", 0.05)


def feed() -> Feed:
    return Feed(Broker("127.0.0.1", 1), "nobody")


async def some(stream: Any, count: int) -> list[ServerSentEvent]:
    async with asyncio.timeout(patience_s(5)):
        return [await anext(stream) for _ in range(count)]


async def test_whoever_comes_late_is_told_what_is_known_but_not_as_live() -> None:
    known = feed()
    known.latest["meter", "megalink"] = METER
    known.latest["award", "megalink"] = {"award": "megalink-000001"}
    _, meter, tick = await some(Watchers(known).watch(), 3)
    assert (meter.event, meter.data["live"]) == ("meter", False)
    assert (tick.event, tick.data["connected"]) == ("tick", False)


async def test_of_meters_the_newest_of_awards_all() -> None:
    source = feed()
    stream = Watchers(source).watch()
    await some(stream, 1)
    waiting = asyncio.create_task(some(stream, 3))
    await asyncio.sleep(0)
    for version in range(1, 50):
        source._tell("meter", "megalink", {**METER, "version": version}, live=True)
    for number in (1, 2):
        source._tell("award", "megalink", {"award": f"megalink-00000{number}"}, live=True)
    first, second, meter = await waiting
    assert [first.data["award"], second.data["award"]] == ["megalink-000001", "megalink-000002"]
    assert (meter.data["version"], meter.data["live"]) == (49, True)


async def test_a_sign_hears_of_its_own_link_alone() -> None:
    source = feed()
    stream = Watchers(source).watch("megalink")
    await some(stream, 1)
    source._tell("meter", "other", {**METER, "link": "other"}, live=True)
    source._tell("meter", "megalink", METER, live=True)
    (meter,) = await some(stream, 1)
    assert meter.data["link"] == "megalink"


async def test_a_browser_that_does_not_read_costs_no_more_than_its_place() -> None:
    source = feed()
    watchers = Watchers(source)
    stream = watchers.watch()
    await some(stream, 1)
    for number in range(10_000):
        source._tell("award", "megalink", {"award": str(number)}, live=True)
        source._tell("meter", "megalink", {**METER, "version": number}, live=True)
    (watcher,) = watchers._watchers
    assert len(watcher.news()) == live.AWARDS_KEPT + 1


async def test_only_so_many_watch_at_once_and_a_place_comes_free(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(live, "WATCHERS_MAX", 2)
    watchers = Watchers(feed())
    streams = [watchers.watch() for _ in range(2)]
    for stream in streams:
        watchers.admit()
        await some(stream, 1)
    with pytest.raises(TooManyWatchersError):
        watchers.admit()
    await streams[0].aclose()
    watchers.admit()


async def test_a_stream_ends_when_its_visitor_may_no_longer_watch(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(live, "STILL_ALLOWED_S", 0.0)

    async def no_longer() -> bool:
        return False

    async with asyncio.timeout(patience_s(5)):
        assert [event.retry async for event in Watchers(feed()).watch(still_allowed=no_longer)] == [1000]


async def test_closing_ends_every_stream() -> None:
    watchers = Watchers(feed())
    stream = watchers.watch()
    await some(stream, 1)
    watchers.close()
    async with asyncio.timeout(patience_s(5)):
        assert [event async for event in stream] == []
