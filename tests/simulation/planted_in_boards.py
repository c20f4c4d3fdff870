"""Bugs to be planted between the feed and the boards."""

from typing import Any

import pytest

from jackpot.signs import board_task, feed
from jackpot.signs.display import LinkView, Odometer, Turn
from jackpot.signs.feed import Feed
from tests.simulation import planting
from tests.simulation.planting import Bed, around

PLANTED: Bed = {}
shows = planting.keeper(PLANTED)


@shows("stop_a_sign_for_a_while", seed=2, says="after version")
def an_older_meter_that_comes_late_is_shown(patch: pytest.MonkeyPatch) -> None:
    def on_message(inner: Any, self: Any, message: Any) -> None:
        self._versions.clear()
        self._heard.clear()
        inner(self, message)

    around(patch, Feed, "_on_message", on_message)


@shows("break_connections", "crash_the_broker", says="nobody vouches", seed=2)
def a_feed_that_is_cut_says_nothing(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(Feed, "_on_lost", lambda _: None)


@shows("cut_a_daemon_off_the_broker", "cut_a_sign_off", says="nobody vouches", seed=2)
def a_figure_is_never_stale(patch: pytest.MonkeyPatch) -> None:
    def face(inner: Any, self: Any, now: float, stale_seconds: float, **more: Any) -> Any:
        return inner(self, now, float("inf"), **more)

    around(patch, LinkView, "face", face)


@shows("suspend_for_a_while", says="nobody vouches")
def a_figure_stands_whatever_the_status(patch: pytest.MonkeyPatch) -> None:
    around(patch, LinkView, "take_status", lambda inner, self, _: inner(self, "running"))


@shows("cut_a_daemon_off_the_broker", "break_connections", says="nobody vouches", seed=13)
def a_figure_that_the_broker_kept_is_taken_for_new(patch: pytest.MonkeyPatch) -> None:
    def take(inner: Any, self: Any, *about: Any, live: bool) -> None:
        inner(self, *about, live=True)

    around(patch, LinkView, "take_meter", take)


@shows(says="never committed")
def a_figure_climbs_beyond_what_is_committed(patch: pytest.MonkeyPatch) -> None:
    def at(inner: Any, self: Any, now: float) -> Any:
        amount = inner(self, now)
        return amount if amount == self.goal else type(amount)(self.goal.cents + 1, amount.currency)

    around(patch, Odometer, "at", at)


@shows(says="nobody vouches")
def a_win_stays_on_the_board(patch: pytest.MonkeyPatch) -> None:
    around(patch, Turn, "__init__", lambda inner, self, win, since, _: inner(self, win, since, float("inf")))


@shows("pull_a_boards_cable", says="nobody vouches")
def a_line_that_was_lost_is_not_opened_again(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(board_task, "RETRY_SECONDS", 1e6)


# Found.


@shows("stop_a_sign_for_a_while", "conflicts_and_lost_answers", says="after version")
def found_what_is_delivered_again_is_taken_for_new(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(feed.Heard, "is_new", lambda *_: True)
