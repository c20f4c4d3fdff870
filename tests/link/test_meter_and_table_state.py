"""What signs and tables are told: the meter, its pending list, and a table's state."""

import pytest

from jackpot.link.commands import LinkResumed, LinkSuspended
from tests.link.link_driver import AT, LinkDriver, of_the_examples

ROYAL = "As Ks Qs Js Ts"
FLUSH_S, FLUSH_H = "9s 8s 7s 6s 5s", "9h 8h 7h 6h 5h"
J = 48_000_000


@pytest.fixture
def pit() -> LinkDriver:
    pit = of_the_examples("BE-01", "BE-02", "BE-03", "UTH-01")
    for table in ("BE-01", "BE-02", "BE-03"):
        pit.deal(table, {1: 1, 2: 1})
    pit.display(J)
    return pit


def contribute(pit: LinkDriver) -> int:
    """One unit wagered at another table; returns what the reply to its closing shows."""
    shown: int = pit.deal("UTH-01")["displayed_cents"]
    pit.settle("UTH-01")
    return shown


def test_the_meter_of_a_new_link_shows_the_reset_amount() -> None:
    assert LinkDriver("BE-01", reset_cents=123_456, currency="SGD").meter == {
        "link": "megalink",
        "currency": "SGD",
        "displayed_cents": 123_456,
        "reset_cents": 123_456,
        "entry": 0,
        "version": 1,
        "pending": [],
        "at": AT,
    }


def test_the_meter_names_every_round_that_holds_a_percentage_hand_from_its_entry_on(pit: LinkDriver) -> None:
    pit.enter("BE-02", 1, FLUSH_S)
    contribute(pit)
    pit.enter("BE-01", 1, FLUSH_S)
    pit.enter("BE-01", 2, "Ah Kh Qh Jh Th")
    assert pit.meter["pending"] == [
        {"table": "BE-02", "round": pit.round_of("BE-02"), "rank": "straight_flush", "base_cents": J},
        {"table": "BE-01", "round": pit.round_of("BE-01"), "rank": "royal_flush", "base_cents": J + 125},
    ]
    assert pit.meter["entry"] == 3


def test_the_rank_shown_is_the_highest_that_stands(pit: LinkDriver) -> None:
    pit.enter("BE-01", 1, FLUSH_S)
    pit.enter("BE-01", 2, "Ah Kh Qh Jh Th")
    pit.withdraw("BE-01", 2)
    assert [claim["rank"] for claim in pit.meter["pending"]] == ["straight_flush"]


def test_the_rank_shown_is_not_that_of_a_fixed_hand(pit: LinkDriver) -> None:
    pit.enter("BE-01", 1, "2c 2d 2h 2s 3c")
    assert pit.meter["pending"] == []
    pit.enter("BE-01", 2, FLUSH_S)
    assert [claim["rank"] for claim in pit.meter["pending"]] == ["straight_flush"]


def test_displayed_is_held_at_the_first_base_while_a_claim_stands(pit: LinkDriver) -> None:
    pit.enter("BE-01", 1, FLUSH_S)
    assert contribute(pit) == J
    pit.enter("BE-02", 1, FLUSH_S)
    assert contribute(pit) == J
    assert pit.displayed_cents == J
    assert pit.pool_cents == J + 250


def test_displayed_goes_on_from_the_pool_when_the_last_claim_leaves(pit: LinkDriver) -> None:
    pit.enter("BE-01", 1, FLUSH_S)
    contribute(pit)
    pit.withdraw("BE-01", 1)
    assert pit.displayed_cents == J + 125


def test_displayed_moves_to_the_next_base_when_the_first_claim_leaves(pit: LinkDriver) -> None:
    pit.enter("BE-01", 1, ROYAL)
    contribute(pit)
    pit.enter("BE-02", 1, FLUSH_S)
    contribute(pit)
    pit.void("BE-01")
    assert pit.displayed_cents == J + 125


def test_base_cents_of_a_waiting_round_changes_when_an_earlier_one_is_paid(pit: LinkDriver) -> None:
    for table in ("BE-01", "BE-02", "BE-03"):
        pit.enter(table, 1, FLUSH_S)
    pit.settle("BE-03")
    assert pit.pending == [("BE-01", J), ("BE-02", J), ("BE-03", J)]
    pit.settle("BE-01")
    assert pit.pending == [("BE-02", 43_200_000), ("BE-03", 43_200_000)]
    assert pit.displayed_cents == 43_200_000
    pit.settle("BE-02")
    assert (pit.pending, pit.displayed_cents) == ([], 34_992_000)


def test_the_meter_does_not_fall_when_a_hand_is_entered_withdrawn_or_void_or_a_wager_returned(pit: LinkDriver) -> None:
    shown = [pit.displayed_cents]

    def look() -> None:
        shown.append(pit.displayed_cents)

    pit.enter("BE-01", 1, ROYAL)
    look()
    contribute(pit)
    pit.enter("BE-02", 1, ROYAL)
    look()
    contribute(pit)
    pit.enter("BE-01", 2, FLUSH_H)
    look()
    pit.withdraw("BE-01", 1)
    look()
    pit.return_wager("BE-02", 1)
    look()
    pit.void("BE-01")
    look()
    assert shown == [J, J, J, J, J + 125, J + 250, J + 250]


def test_reset_cents_follow_the_parameters_in_force(pit: LinkDriver) -> None:
    pit.change_parameters("at_once", reset_cents=20_000_000)
    assert pit.meter["reset_cents"] == 20_000_000


# A table's state.


def test_the_state_of_a_table_that_never_spoke(pit: LinkDriver) -> None:
    assert pit.table_state("UTH-01") == {
        "table": "UTH-01",
        "next_seq": 1,
        "round": None,
        "pending": [],
        "accepts_play": True,
        "at": AT,
    }


def test_the_state_follows_the_round(pit: LinkDriver) -> None:
    pit.open("UTH-01", "r")
    assert pit.table_state("UTH-01")["round"] == {"id": "r", "phase": "open"}
    pit.wager("UTH-01", 1)
    pit.close("UTH-01")
    assert pit.table_state("UTH-01")["round"] == {"id": "r", "phase": "closed"}
    pit.settle("UTH-01")
    assert pit.table_state("UTH-01")["round"] is None
    assert pit.table_state("UTH-01")["next_seq"] == 5


def test_a_refusal_by_the_rules_uses_the_seq_up_and_a_wrong_seq_does_not(pit: LinkDriver) -> None:
    pit.refused("UTH-01", "round.closed", round="never")
    assert pit.table_state("UTH-01")["next_seq"] == 2
    pit.refused("UTH-01", "round.opened", round="r", seq=3)
    pit.refused("UTH-01", "round.opened", round="r", seq=1)
    assert pit.table_state("UTH-01")["next_seq"] == 2


def test_the_state_lists_only_settled_rounds_that_wait(pit: LinkDriver) -> None:
    pit.enter("BE-01", 1, FLUSH_S)
    pit.enter("BE-02", 1, FLUSH_S)
    assert pit.table_state("BE-01")["pending"] == []
    assert pit.table_state("BE-02")["pending"] == []  # entered, not settled
    waits = pit.round_of("BE-02")
    pit.settle("BE-02")
    assert pit.table_state("BE-02")["pending"] == [waits]
    assert pit.table_state("BE-01")["pending"] == []
    pit.settle("BE-01")
    assert pit.table_state("BE-02")["pending"] == []


def test_a_suspended_link_does_not_accept_play(pit: LinkDriver) -> None:
    pit.command(LinkSuspended(id="s", by="manager", reason="audit"))
    assert pit.table_state("UTH-01")["accepts_play"] is False
    pit.command(LinkResumed(id="r", by="manager", reason="audited"))
    assert pit.table_state("UTH-01")["accepts_play"] is True


# Events that are not about a round in play.


def test_award_paid_is_accepted_whatever_round_is_open_and_takes_the_award_off_the_list(pit: LinkDriver) -> None:
    won = pit.round_of("BE-01")
    pit.enter("BE-01", 1, FLUSH_S)
    pit.settle("BE-01")
    pit.open("BE-01")
    before = pit.balances
    assert pit.accepted("BE-01", "award.paid", round=won, award="megalink-000001").result == {}
    assert pit.state.unpaid == {}
    assert pit.balances == before


def test_meters_reported_changes_nothing_but_the_seq(pit: LinkDriver) -> None:
    before = pit.balances
    report = {"day": "2026-11-16", "wagers": 1, "wagered_cents": 500, "awards": 0, "awarded_cents": 0}
    assert pit.accepted("UTH-01", "meters.reported", **report).result == {}
    assert (pit.balances, pit.next_seq("UTH-01")) == (before, 2)


def test_a_wager_without_a_hand_at_the_settling_wins_nothing(pit: LinkDriver) -> None:
    assert pit.settle("BE-01").result == {"awards": [], "pending": []}


def test_an_award_of_two_winners_reads_as_the_contract_shows_it(pit: LinkDriver) -> None:
    round_ = pit.round_of("BE-01")
    pit.enter("BE-01", 2, FLUSH_H)
    pit.enter("BE-01", 1, FLUSH_S)
    _, award = pit.settle("BE-01").result["awards"]
    assert {"D5", "D7"} <= set(award.pop("decisions"))
    assert {"BE 4.5", "BE 3.20.2"} <= set(award.pop("rules"))
    assert award == {
        "award": "megalink-000002",
        "link": "megalink",
        "table": "BE-01",
        "round": round_,
        "position": 1,
        "entry": 2,
        "rank": "straight_flush",
        "kind": "percentage",
        "amount_cents": 4_560_000,
        "base_cents": 48_000_000,
        "shared_by": 2,
        "multiplier": 1,
        "at": AT,
    }
