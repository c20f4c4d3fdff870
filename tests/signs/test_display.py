"""Which face the boards of a link should show: the whole truth or dashes."""

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from drivers.board import Amount, Pending, Win
from jackpot.signs.display import WIN_SECONDS, Dashes, LinkView
from jackpot.signs.feed import UnreadableError
from jackpot.signs.messages import Award, Meter, read_award, read_meter, read_state

STALE = 5.0
NOON = datetime(2026, 11, 16, 12, tzinfo=UTC)


def meter(cents: int, version: int = 1, pending: Pending | None = None) -> Meter:
    return Meter("megalink", version, Amount(cents), pending, NOON)


def award(number: int = 1, kind: str = "percentage", at: datetime = NOON) -> Award:
    return Award(f"megalink-{number:06d}", "megalink", kind, Win("UTH-01", "STRAIGHT FLUSH", Amount(4_560_000)), at)


@pytest.fixture
def view() -> LinkView:
    """Running, with a live meter of 1,000.00 at second 0."""
    view = LinkView()
    view.take_status("running")
    view.take_meter(meter(100_000), 0.0, NOON, live=True)
    return view


def test_the_displayed_amount_is_shown(view: LinkView) -> None:
    assert view.face(1.0, STALE) == Amount(100_000)


def test_without_a_status_or_a_meter_no_figure_is_shown() -> None:
    view = LinkView()
    assert isinstance(view.face(0.0, STALE), Dashes)
    view.take_meter(meter(100_000), 0.0, NOON, live=True)
    assert isinstance(view.face(0.0, STALE), Dashes)


def test_a_figure_without_a_meter_for_too_long_is_dashes_and_comes_back(view: LinkView) -> None:
    assert view.face(4.9, STALE) == Amount(100_000)
    assert view.next_change(4.9, STALE) == 5.0
    assert view.face(5.0, STALE) == Dashes("no meter for 5 s")
    view.take_meter(meter(100_000), 6.0, NOON, live=True)
    assert view.face(6.0, STALE) == Amount(100_000)


@pytest.mark.parametrize("state", ["stopped", "suspended", "lost"])
def test_a_link_that_does_not_run_shows_dashes_until_a_new_meter_comes(view: LinkView, state: str) -> None:
    view.take_status(state)
    assert view.face(1.0, STALE) == Dashes(f"the link is {state}")
    view.take_status("running")
    assert isinstance(view.face(1.0, STALE), Dashes)
    view.take_meter(meter(100_000), 1.1, NOON, live=True)
    assert view.face(1.1, STALE) == Amount(100_000)


def test_a_retained_meter_vouches_for_nothing() -> None:
    view = LinkView()
    view.take_status("running")
    view.take_meter(meter(100_000), 0.0, NOON, live=False)
    assert isinstance(view.face(0.0, STALE), Dashes)


def test_the_newest_version_wins_and_the_same_one_again_keeps_it_alive(view: LinkView) -> None:
    view.take_meter(meter(200_000, version=3), 1.0, NOON, live=True)
    view.take_meter(meter(150_000, version=2), 2.0, NOON, live=True)
    assert view.face(2.0, STALE) == Amount(200_000)
    view.take_meter(meter(200_000, version=3), 5.5, NOON, live=True)
    assert view.face(9.0, STALE) == Amount(200_000)


@pytest.mark.parametrize("state", ["stopped", "suspended", "lost", "running"])
def test_a_restored_ledger_goes_on_at_a_lower_version(view: LinkView, state: str) -> None:
    """Whoever leads it says a status first; what the broker had kept from before it counts for nothing."""
    view.take_meter(meter(200_000, version=90), 1.0, NOON, live=True)
    view.take_status(state)
    view.take_meter(meter(200_000, version=90), 1.1, NOON, live=False)
    view.take_status("running")
    view.take_meter(meter(150_000, version=40), 2.0, NOON, live=True)
    assert view.face(2.0, STALE) == Amount(150_000)
    view.take_meter(meter(140_000, version=39), 2.1, NOON, live=True)
    assert view.face(2.1, STALE) == Amount(150_000), "out of order"


@given(
    st.lists(st.tuples(st.integers(0, 10**9), st.floats(0.0, 2.0)), min_size=1, max_size=12),
    st.lists(st.floats(0.0, 2.0), min_size=1, max_size=12),
)
def test_the_odometer_only_climbs_and_never_passes_the_committed_amount(
    steps: list[tuple[int, float]], looks: list[float]
) -> None:
    view = LinkView()
    view.take_status("running")
    now, shown_cents, committed_cents = 0.0, 0, 0
    for version, (change_cents, seconds) in enumerate(steps, start=1):
        committed_cents += change_cents
        view.take_meter(meter(committed_cents, version), now, NOON, live=True)
        for part in sorted(looks):
            face = view.face(now + seconds * part / 2.0, STALE)
            assert isinstance(face, Amount)
            assert shown_cents <= face.cents <= committed_cents
            shown_cents = face.cents
        now += seconds
    assert view.face(now + 1.0, STALE) == Amount(committed_cents)


def test_the_odometer_arrives_though_nothing_new_is_heard(view: LinkView) -> None:
    view.take_meter(meter(100_007, version=2), 1.0, NOON, live=True)
    now, seen = 1.0, []
    while now < 2.0:
        seen.append(view.face(now, STALE))
        assert view.next_change(now, STALE) > now
        now = view.next_change(now, STALE)
    assert seen[-1] == Amount(100_007)
    assert len(set(seen)) > 2


def test_after_a_win_the_lower_amount_is_shown_at_once(view: LinkView) -> None:
    view.take_meter(meter(90_000, version=2), 1.0, NOON, live=True)
    assert view.face(1.0, STALE) == Amount(90_000)


def test_a_win_takes_the_board_over_and_then_the_new_jackpot_is_shown(view: LinkView) -> None:
    view.take_award(award(), 1.0, NOON)
    view.take_meter(meter(90_000, version=2), 1.0, NOON, live=True)
    assert view.face(1.0, STALE) == award().win
    view.take_meter(meter(90_000, version=2), WIN_SECONDS, NOON, live=True)
    assert view.face(1.0 + WIN_SECONDS, STALE) == Amount(90_000)


def test_two_winners_are_announced_one_after_the_other_and_each_once(view: LinkView) -> None:
    for number in (1, 2, 1, 2):
        view.take_award(award(number), 1.0, NOON)
    assert isinstance(view.face(1.0 + 1.5 * WIN_SECONDS, STALE), Win)
    assert not isinstance(view.face(1.0 + 2.0 * WIN_SECONDS, STALE), Win)


@pytest.mark.parametrize("old", [award(kind="fixed"), award(at=NOON - timedelta(hours=1))])
def test_fixed_awards_and_news_of_the_past_take_no_board_over(view: LinkView, old: Award) -> None:
    view.take_award(old, 1.0, NOON)
    assert view.face(1.0, STALE) == Amount(100_000)


def test_d5_pending_is_shown_with_the_amount_held(view: LinkView) -> None:
    held = Pending("ROYAL FLUSH", Amount(100_000))
    view.take_meter(meter(100_000, version=2, pending=held), 1.0, NOON, live=True)
    assert view.face(1.0, STALE) == held


AT = datetime(2026, 11, 16, 2, tzinfo=UTC)
METER: dict[str, Any] = {
    "link": "megalink", "currency": "SGD", "displayed_cents": 47_999_900, "reset_cents": 10_000_000, "entry": 812, "version": 90_211,
    "pending": [{"table": "BE-02", "round": "r", "rank": "royal_flush", "base_cents": 47_999_900}], "at": "2026-11-16T02:00:00Z",
}  # fmt: skip


def test_the_contract_s_meter_is_read() -> None:
    read = read_meter(METER)
    assert read == Meter("megalink", 90_211, Amount(47_999_900), Pending("ROYAL FLUSH", Amount(47_999_900)), AT)


@pytest.mark.parametrize(
    "wrong",
    [
        {"displayed_cents": True},
        {"displayed_cents": 5.0},
        {"displayed_cents": -1},
        {"version": "1"},
        {"pending": None},
        {"pending": [7]},
        {"link": 7},
    ],
)
def test_what_is_no_meter_changes_no_board(wrong: dict[str, Any]) -> None:
    with pytest.raises(UnreadableError):
        read_meter({**METER, **wrong})


def test_what_is_no_award_or_status_changes_no_board() -> None:
    with pytest.raises(UnreadableError):
        read_award({"award": "a", "link": "megalink", "at": "yesterday"}, "SGD")
    with pytest.raises(UnreadableError):
        read_award({"award": "a", "link": "megalink", "at": "2026-11-16T02:00:00"}, "SGD")
    with pytest.raises(UnreadableError):
        read_state({"state": "fine"})
