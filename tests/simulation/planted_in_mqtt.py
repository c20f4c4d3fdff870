"""Bugs to be planted in what is said on the wire: when, how often, and in which words."""

import asyncio
from typing import Any

import pytest

from jackpot.contract import codec, topics
from jackpot.daemon.link_channel import LinkChannel
from jackpot.link.awards import Award
from jackpot.link.state import meter
from tests.simulation.planting import Bed, around, keeper

PLANTED: Bed = {}
shows = keeper(PLANTED)


@shows("kill_a_daemon_at_a_point", "crash_the_broker", seed=2, says="is not paid")
def awards_not_yet_paid_are_forgotten_at_a_takeover(patch: pytest.MonkeyPatch) -> None:
    def lead(inner: Any, self: LinkChannel, *args: Any) -> None:
        inner(self, *args)
        self._unpaid.clear()

    around(patch, LinkChannel, "lead", lead)


@shows(says="the meter of version")
def the_meter_shows_what_is_not_committed_yet(patch: pytest.MonkeyPatch) -> None:
    def note(inner: Any, self: Any, state: Any, n: int, tables: Any) -> None:
        inner(self, state, n, tables)
        self._meter = Live(state, n, self._now())

    class Live:
        def __init__(self, *about: Any) -> None:
            self.about = about

        def __setitem__(self, *_: object) -> None: ...

    def encode(inner: Any, message: Any) -> Any:
        if isinstance(message, Live):
            state, n, at = message.about
            message = meter(state, version=n, at=at)
        return inner(message)

    around(patch, LinkChannel, "_note", note)
    around(patch, codec, "encode", encode)


@shows("crash_the_broker", says="never came to its end")
def states_are_not_published_again_after_a_reconnection(patch: pytest.MonkeyPatch) -> None:
    def connected(inner: Any, self: Any, connection: Any) -> None:
        with pytest.MonkeyPatch.context() as inside:
            inside.setattr(LinkChannel, "_publish_states", lambda *_: None)
            inner(self, connection)

    around(patch, LinkChannel, "_connected", connected)


@shows(says="the meter of version 0")
def the_meters_version_begins_anew_with_each_leader(patch: pytest.MonkeyPatch) -> None:
    def lead(inner: Any, self: Any, state: Any, n: int, sent: int) -> None:
        self._first = n
        inner(self, state, n, sent)

    def note(inner: Any, self: Any, state: Any, n: int, tables: Any) -> None:
        inner(self, state, n - getattr(self, "_first", 0), tables)

    around(patch, LinkChannel, "lead", lead)
    around(patch, LinkChannel, "_note", note)


@shows(says="never came to its end")
def events_are_never_acknowledged(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(LinkChannel, "acknowledge", lambda *_: None)


@shows(says="nobody spoke of")
def nobody_is_reminded_of_an_award(patch: pytest.MonkeyPatch) -> None:
    async def remind(_: LinkChannel) -> None:
        await asyncio.Event().wait()

    patch.setattr(LinkChannel, "remind", remind)


def changed(patch: pytest.MonkeyPatch, **wrong: Any) -> None:
    """Whatever is encoded has these instead of what it had under the name."""

    def encode(inner: Any, message: Any) -> Any:
        if not isinstance(message, dict):
            return inner(message)
        replaced = {name: value for name, value in wrong.items() if message.get(name) not in (None, "running")}
        return inner({**message, **replaced})

    around(patch, codec, "encode", encode)


@shows(says="may not play")
def a_table_may_play_whatever_the_link_says(patch: pytest.MonkeyPatch) -> None:
    changed(patch, accepts_play=True)


@shows(says="may play")
def a_link_is_running_whatever_happens(patch: pytest.MonkeyPatch) -> None:
    changed(patch, state="running")


@shows(says="cite")
def a_refusal_cites_another_rule(patch: pytest.MonkeyPatch) -> None:
    changed(patch, rule="UTH 5.1")


@shows(says="has the words of")
def a_refusal_has_the_words_of_another(patch: pytest.MonkeyPatch) -> None:
    changed(patch, message="The round is settled or void; nothing more can be said of it.")


@shows(says="no message")
def a_refusal_has_no_words(patch: pytest.MonkeyPatch) -> None:
    changed(patch, message="")


@shows(says="must cite")
def an_award_cites_no_rules(patch: pytest.MonkeyPatch) -> None:
    around(patch, Award, "document", lambda inner, self: {**inner(self), "rules": []})


# Found.


@shows("stop_a_daemon_on_its_way_to_the_broker", says="is sent back")
def found_a_leader_that_stalled_on_its_way_to_the_broker_speaks_for_the_next(patch: pytest.MonkeyPatch) -> None:
    def connected(inner: Any, self: Any, connection: Any) -> None:
        with pytest.MonkeyPatch.context() as inside:
            inside.setattr(self, "_vouches", lambda: True)
            inner(self, connection)

    around(patch, LinkChannel, "_connected", connected)


@shows("kill_a_daemon_at_a_point", "kill_a_table", seed=39, says="never came to its end")
def found_what_comes_before_the_subscription_is_granted_is_answered_into_nothing(patch: pytest.MonkeyPatch) -> None:
    def reply(self: Any, table: str, payload: bytes) -> None:
        self._publish(topics.replies(self.link, table), payload)

    patch.setattr(LinkChannel, "reply", reply)
