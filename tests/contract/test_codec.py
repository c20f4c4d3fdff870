"""Events are read as the contract says, also where their text is strange."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from jackpot.contract.codec import PAYLOAD_BYTES_MAX, UnreadableEvent, decode, encode, unreadable_reply
from jackpot.contract.events import HandEntered, RoundOpened
from jackpot.contract.refusals import Code

LONE = [
    r'"x":"\ud800"',
    r'"x":"\udc00"',
    r'"x":"\uD800 and more"',
    r'"x":"\ud800\ud800"',
    r'"x":"\udc00\ud800"',
    r'"x":["\ud83d\ude00\ud83d",{"\ud800":1}]',
    r'"\ud800":1,"\ud801":2',
]
"""Fields that the contract ignores, with half of a surrogate pair in them."""


def payload(type_: str, *more: str, id_: str = "an id") -> bytes:
    fields = (f'"id":"{id_}"', '"seq":7', f'"type":"{type_}"', '"round":"r"', '"at":"2026-11-16T02:00:00Z"', *more)
    return ("{" + ",".join(fields) + "}").encode()


def refusal(said: bytes) -> dict[str, Any]:
    event = decode(said)
    assert isinstance(event, UnreadableEvent), event
    encode(unreadable_reply(event))  # it can be answered
    return unreadable_reply(event)


@pytest.mark.parametrize("field", LONE)
def test_half_a_surrogate_pair_where_nobody_looks_is_ignored(field: str) -> None:
    assert isinstance(decode(payload("round.opened", field)), RoundOpened)
    assert refusal(payload("round.paused", field))["code"] == Code.UNKNOWN_TYPE


def test_whole_pairs_and_escaped_backslashes_are_left_alone() -> None:
    cards = r'"position":1,"cards":["\ud83d\ude00","\\ud800"],"community":[],"x":"\ud800"'
    event = decode(payload("hand.entered", cards))
    assert isinstance(event, HandEntered)
    assert event.cards == ["\N{GRINNING FACE}", r"\ud800"]


@pytest.mark.parametrize(
    "said",
    [
        payload("round.opened", id_=r"\ud800"),
        payload("round.voided", r'"reason":"a\udc00"'),
        payload("hand.entered", r'"position":1,"cards":["\ud800"],"community":[]'),
        payload("round.opened", r'"x":"\ud800"', '"y":'),
    ],
)
def test_half_a_surrogate_pair_in_what_counts_is_malformed(said: bytes) -> None:
    assert refusal(said)["code"] == Code.MALFORMED


def test_a_key_given_twice_is_seen_beside_half_a_surrogate_pair() -> None:
    assert "twice" in refusal(payload("round.opened", r'"x":"\ud800"', '"x":1'))["message"]


MUST, MAY = (
    {
        "wager.placed": ['"position":3'],
        "hand.entered": ['"position":3', '"cards":["As","Kd"]', '"community":[]'],
        "wager.returned": ['"position":3', '"reason":": "'],
    },
    ['"multiplier":1', '"multiplier":5', '"amount_cents":500', '"note":{}', '"x":[{"y":"z"}]'],
)


@given(
    st.sampled_from(sorted(MUST)),
    st.lists(st.sampled_from(MAY), max_size=2, unique_by=lambda field: field[:6]),
    st.sampled_from([None, '"seq":7', '"round":"r"', '"position":3', '"amount_cents":500', '"note":1', '"seq":"7"']),
)
def test_a_key_given_twice_is_seen_whatever_is_left_out_beside_it(
    type_: str, more: list[str], again: str | None
) -> None:
    """As many quotes as a whole event has are no proof: another key may be missing that need not be there."""
    fields = [*MUST[type_], *more, *([again] if again else [])]
    keys = ["id", "seq", "type", "round", "at", *(field.partition(":")[0].strip('"') for field in fields)]
    assert isinstance(decode(payload(type_, *fields)), UnreadableEvent) == (len(set(keys)) < len(keys))


def test_the_largest_payload_may_hold_them_too() -> None:
    said = payload("round.opened", '"x":"' + r"\ud800" * 2_700 + '"')
    assert len(said) <= PAYLOAD_BYTES_MAX
    assert isinstance(decode(said), RoundOpened)


@pytest.mark.parametrize("type_", ["round.opened", "round.paused"])
@pytest.mark.parametrize("note", [b"\xff", b"\xc0\x80", b"\xed\xa0\x80"])
def test_what_is_not_utf_8_is_malformed_whatever_its_type(type_: str, note: bytes) -> None:
    said = payload(type_)[:-1] + b',"x":"' + note + b'"}'
    assert refusal(said)["code"] == Code.MALFORMED


@pytest.mark.parametrize("at", ["2016-12-31T23:59:60Z", "2016-12-31T23:59:60.5+00:00"])
def test_a_leap_second_is_a_moment(at: str) -> None:
    said = payload("round.opened").replace(b"2026-11-16T02:00:00Z", at.encode())
    assert isinstance(decode(said), RoundOpened)


@pytest.mark.parametrize("at", ["2016-12-31T23:58:60Z", "2016-12-31T23:59:61Z", "2016-02-30T23:59:60Z"])
def test_no_other_minute_has_one(at: str) -> None:
    said = payload("round.opened").replace(b"2026-11-16T02:00:00Z", at.encode())
    assert refusal(said)["code"] == Code.MALFORMED


def test_what_is_far_too_large_is_not_said_to_be_smaller_than_it_is() -> None:
    """The wire cuts it: so much there is at least."""
    assert "at least 16385 bytes" in refusal(b"x" * (PAYLOAD_BYTES_MAX + 1))["message"]
