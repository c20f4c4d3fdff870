"""What people do to a link: open it, suspend it, change its parameters, adjust a balance, conclude a round."""

import copy
from typing import Any

import pytest

from jackpot.link.commands import (
    ADJUSTMENT_CENTS_MAX,
    CommandRefusedError,
    LinkOpened,
    LinkResumed,
    LinkSuspended,
    RoundConcluded,
    TablesConfigured,
)
from jackpot.link.money import Balances
from jackpot.link.parameters import Reading
from tests.link.link_driver import LinkDriver, of_the_examples

ROYAL = "As Ks Qs Js Ts"
FLUSH_S, FLUSH_H = "9s 8s 7s 6s 5s", "9h 8h 7h 6h 5h"
J = 48_000_000


def concluded(table: str, round_: str, outcome: Any) -> RoundConcluded:
    return RoundConcluded(id="c", by="pit manager", reason="left behind", table=table, round=round_, outcome=outcome)


def suspend(pit: LinkDriver) -> None:
    pit.command(LinkSuspended(id="s", by="manager", reason="audit"))


def test_not_possible_leaves_the_state_untouched() -> None:
    pit = of_the_examples("BE-01")
    before = copy.deepcopy(pit.state)
    with pytest.raises(CommandRefusedError):
        pit.adjust("pool", -10_000_001)
    with pytest.raises(CommandRefusedError):
        pit.command(concluded("BE-01", "never", "void"))
    with pytest.raises(CommandRefusedError):
        pit.change_parameters("at_once", increment_bp=9_999, reserve_bp=2)
    assert pit.state == before


# Opening.


def test_a_new_link_starts_at_the_reset_amount_funded_by_the_house() -> None:
    pit = LinkDriver("BE-01", reset_cents=10_000_000)
    assert pit.balances == Balances(pool=10_000_000 * 10_000, house=-10_000_000 * 10_000)
    assert pit.state.parameters_version == 1


def test_a_link_is_opened_once_whoever_asks() -> None:
    pit = of_the_examples("BE-01")
    before = copy.deepcopy(pit.state)
    again = {"unit_cents": 500, "increment_bp": 2500, "reserve_bp": 310, "reset_cents": 90_000_000}
    with pytest.raises(CommandRefusedError, match="open already"):
        pit.command(LinkOpened(id="again", by="controller", reason="first seen", parameters=again))
    assert pit.state == before


@pytest.mark.parametrize(
    ("parameters", "names"),
    [
        ({"unit_cents": 0}, "unit_cents"),
        ({"increment_bp": -1}, "increment_bp"),
        ({"reserve_bp": -1}, "reserve_bp"),
        ({"increment_bp": 9_700, "reserve_bp": 301}, "10000"),
        ({"reset_cents": -1}, "reset_cents"),
        ({"reset_cents": 100, "ceiling_cents": 99}, "ceiling_cents"),
        ({"unit_cents": 10**9 + 1}, "unit_cents must be 1 to 1000000000"),
        ({"reset_cents": 10**13 + 1}, "reset_cents must be 0 to 10000000000000"),
        ({"ceiling_cents": 10**13 + 1}, "ceiling_cents must be at most 10000000000000"),
        ({"currency": "dollars"}, "currency"),
        ({"currency": "sgd"}, "currency"),
    ],
)
def test_parameters_that_cannot_work_are_refused_by_name(parameters: dict[str, Any], names: str) -> None:
    with pytest.raises(CommandRefusedError, match=names):
        LinkDriver("BE-01", **parameters)
    pit = LinkDriver("BE-01")
    with pytest.raises(CommandRefusedError, match="currency" if "currency" in parameters else names):
        pit.change_parameters("next_win", **parameters)


# Suspension.


def test_while_suspended_every_new_event_but_award_paid_is_refused_and_its_seq_stays_free() -> None:
    pit = of_the_examples("BE-01")
    pit.deal("BE-01")
    pit.enter("BE-01", 1, FLUSH_S)
    round_ = pit.round_of("BE-01")
    pit.settle("BE-01")
    suspend(pit)
    seq = pit.next_seq("BE-01")
    refused = pit.refused("BE-01", "round.opened", round="next")
    assert (refused.code, refused.recorded) == ("link_suspended", False)
    assert "audit" in refused.message
    report = {"day": "2026-11-16", "wagers": 0, "wagered_cents": 0, "awards": 0, "awarded_cents": 0}
    assert pit.refused("BE-01", "meters.reported", **report).code == "link_suspended"
    assert pit.next_seq("BE-01") == seq
    pit.accepted("BE-01", "award.paid", round=round_, award="megalink-000001")
    pit.command(LinkResumed(id="r", by="manager", reason="audited"))
    pit.accepted("BE-01", "round.opened", round="next")


# Tables.


def configure(pit: LinkDriver, *tables: dict[str, Any]) -> None:
    pit.command(TablesConfigured(id="t", by="controller", reason="tables of the configuration", tables=list(tables)))


def test_a_table_that_is_configured_may_play_on_the_positions_it_has() -> None:
    pit = of_the_examples("BE-01")
    configure(pit, *pit.state.tables_document(), {"id": "UTH-09", "game": "ultimate-texas-holdem", "positions": 3})
    pit.open("UTH-09")
    pit.wager("UTH-09", 3, 5)
    assert pit.refused("UTH-09", "wager.placed", position=4).code == "bad_position"
    assert pit.table_state("UTH-09")["next_seq"] == 4


def test_a_table_that_leaves_the_link_is_still_paid_what_waits_for_it() -> None:
    pit = left_behind()
    configure(pit, *(table for table in pit.state.tables_document() if table["id"] != "BE-02"))
    pit.settle("BE-01")
    assert [award[:2] for award in pit.amounts()] == [("BE-01", 1), ("BE-02", 1)]


def test_a_table_leaves_the_link_once_its_rounds_are_paid() -> None:
    pit = left_behind()
    pit.settle("BE-01")
    configure(pit, *(table for table in pit.state.tables_document() if table["id"] != "BE-02"))
    assert "BE-02" not in pit.state.tables


def test_a_table_changes_its_game_only_between_rounds() -> None:
    pit = left_behind()
    changed = [{**table, "game": "ultimate-texas-holdem"} for table in pit.state.tables_document()]
    configure(pit, *changed)
    assert pit.state.tables["BE-02"].game.name == "bullseye"


# Parameters.


def test_a_change_at_once_is_in_force_for_the_next_closing() -> None:
    pit = of_the_examples("UTH-01")
    pit.open("UTH-01")
    pit.wager("UTH-01", 1, 2)
    pit.change_parameters("at_once", increment_bp=1_000, unit_cents=1_000)
    assert pit.state.parameters_version == 2
    pit.wager("UTH-01", 2, 2)
    result = pit.close("UTH-01")
    assert (result["wagered_cents"], result["contributed_micros"]) == (1_000 + 2_000, 3_000 * 1_000)


def test_a_fixed_award_is_paid_on_the_stake_that_was_placed() -> None:
    pit = of_the_examples("UTH-01")
    pit.open("UTH-01")
    pit.wager("UTH-01", 1, 2)
    pit.change_parameters("at_once", unit_cents=1_000)
    pit.close("UTH-01")
    pit.enter("UTH-01", 1, "Jh 8h", "6h 5h 2h")
    pit.settle("UTH-01")
    assert pit.amounts() == [("UTH-01", 1, 40 * 500 * 2)]


def test_a_change_at_the_next_win_waits_for_a_royal_whose_reset_is_the_new_one() -> None:
    pit = of_the_examples("BE-01")
    pit.change_parameters("next_win", reset_cents=20_000_000, increment_bp=1_000)
    assert (pit.state.parameters_version, pit.state.parameters.reset_cents) == (1, 10_000_000)
    pit.deal("BE-01")
    pit.display(J)
    pit.enter("BE-01", 1, ROYAL)
    pit.settle("BE-01")
    assert pit.amounts() == [("BE-01", 1, J)]
    assert pit.displayed_cents == pit.meter["reset_cents"] == 20_000_000
    assert (pit.state.parameters_version, pit.state.parameters_next) == (2, None)
    assert pit.deal("BE-01")["contributed_micros"] == 500 * 1_000


def test_a_straight_flush_is_no_win_of_the_whole_jackpot() -> None:
    pit = of_the_examples("BE-01")
    pit.change_parameters("next_win", reset_cents=20_000_000)
    pit.deal("BE-01")
    pit.enter("BE-01", 1, FLUSH_S)
    pit.settle("BE-01")
    assert (pit.state.parameters_version, pit.meter["reset_cents"]) == (1, 10_000_000)
    assert pit.state.parameters_next is not None


def test_shared_royals_share_the_reset_amounts_of_the_jackpot_they_won() -> None:
    pit = of_the_examples("BE-01")
    pit.change_parameters("next_win", reset_cents=20_000_000)
    pit.deal("BE-01", {1: 1, 2: 1})
    pit.display(J)
    pit.enter("BE-01", 1, ROYAL)
    pit.enter("BE-01", 2, "Ah Kh Qh Jh Th")
    pit.settle("BE-01")
    assert pit.amounts() == [("BE-01", 1, 29_000_000), ("BE-01", 2, 29_000_000)]
    assert pit.displayed_cents == 20_000_000


def test_rounds_set_free_by_the_win_are_paid_by_the_new_parameters() -> None:
    pit = of_the_examples("BE-01", "BE-02")
    pit.change_parameters("next_win", shared_straight_flush=Reading.RESET_AMOUNT, reset_cents=20_000_000)
    pit.deal("BE-01")
    pit.deal("BE-02", {1: 1, 2: 1})
    pit.display(J)
    pit.enter("BE-01", 1, ROYAL)
    pit.enter("BE-02", 1, FLUSH_S)
    pit.enter("BE-02", 2, FLUSH_H)
    pit.settle("BE-02")
    pit.settle("BE-01")
    assert pit.amounts() == [("BE-01", 1, J), ("BE-02", 1, 2_000_000), ("BE-02", 2, 2_000_000)]
    assert [award.parameters_version for award in pit.awards] == [1, 2, 2]


def test_a_change_at_once_does_not_lose_the_one_that_waits() -> None:
    pit = of_the_examples("BE-01")
    pit.change_parameters("next_win", reset_cents=20_000_000)
    pit.change_parameters("at_once", increment_bp=1_000)
    assert pit.state.parameters.increment_bp == 1_000
    assert pit.state.parameters_next is not None
    assert pit.state.parameters_next.reset_cents == 20_000_000


def test_the_currency_of_a_link_cannot_be_changed() -> None:
    with pytest.raises(CommandRefusedError, match="currency"):
        of_the_examples("BE-01").change_parameters("at_once", currency="MYR")


# Adjustments.


@pytest.mark.parametrize("account", ["pool", "reserve"])
@pytest.mark.parametrize("cents", [1, 5_000_000, -5_000_000])
def test_an_adjustment_moves_money_between_the_account_and_the_house(account: str, cents: int) -> None:
    pit = of_the_examples("BE-01")
    before = pit.balances
    pit.adjust(account, cents)
    assert getattr(pit.balances, account) == getattr(before, account) + cents * 10_000
    assert pit.balances.house == before.house - cents * 10_000
    assert pit.balances.closes


@pytest.mark.parametrize(("account", "cents"), [("pool", 10_000_000), ("reserve", 100_000_000)])
def test_an_account_can_be_emptied_but_not_overdrawn(account: str, cents: int) -> None:
    pit = of_the_examples("BE-01")
    with pytest.raises(CommandRefusedError, match=account):
        pit.adjust(account, -cents - 1)
    pit.adjust(account, -cents)
    assert getattr(pit.balances, account) == 0


def test_an_adjustment_has_a_bound() -> None:
    pit = of_the_examples("BE-01")
    for cents in (ADJUSTMENT_CENTS_MAX + 1, -ADJUSTMENT_CENTS_MAX - 1):
        with pytest.raises(CommandRefusedError, match="at most"):
            pit.adjust("reserve", cents)
    pit.adjust("reserve", ADJUSTMENT_CENTS_MAX)


def test_the_pool_is_not_adjusted_while_a_claim_waits_to_be_paid_from_it() -> None:
    pit = of_the_examples("BE-01")
    pit.deal("BE-01")
    pit.enter("BE-01", 1, FLUSH_S)
    with pytest.raises(CommandRefusedError, match="claim"):
        pit.adjust("pool", 1)
    pit.adjust("reserve", 1)
    pit.settle("BE-01")
    pit.adjust("pool", 1)


# A manager concludes a round.


def left_behind() -> LinkDriver:
    """BE-01 entered a Royal and fell silent; BE-02 waits behind it."""
    pit = of_the_examples("BE-01", "BE-02")
    pit.open("BE-01", "left")
    pit.wager("BE-01", 1)
    pit.close("BE-01")
    pit.deal("BE-02")
    pit.display(J)
    pit.enter("BE-01", 1, ROYAL)
    pit.enter("BE-02", 1, FLUSH_S)
    pit.settle("BE-02")
    return pit


def test_a_manager_settles_a_round_left_behind_and_those_that_wait_are_paid() -> None:
    pit = left_behind()
    done = pit.command(concluded("BE-01", "left", "settled"))
    assert [(award.table, award.amount_cents) for award in done.awards] == [("BE-01", J), ("BE-02", 1_000_000)]
    assert pit.table_state("BE-01")["round"] is None
    assert pit.refused("BE-01", "round.settled", round="left").code == "round_concluded"
    pit.open("BE-01", "next")


def test_a_manager_voids_a_round_left_behind_and_those_that_wait_are_paid() -> None:
    pit = left_behind()
    done = pit.command(concluded("BE-01", "left", "void"))
    assert done.result == {"returned_cents": 500}
    assert pit.amounts() == [("BE-02", 1, 4_800_000)]
    assert pit.refused("BE-01", "round.opened", round="left").code == "round_exists"


def test_a_manager_may_conclude_a_round_while_the_link_is_suspended() -> None:
    pit = left_behind()
    suspend(pit)
    pit.command(concluded("BE-01", "left", "void"))
    assert pit.amounts() == [("BE-02", 1, 4_800_000)]


def test_an_open_round_can_be_voided_by_a_manager_but_not_settled() -> None:
    pit = of_the_examples("BE-01")
    pit.open("BE-01", "left")
    pit.wager("BE-01", 1)
    with pytest.raises(CommandRefusedError, match="not been closed"):
        pit.command(concluded("BE-01", "left", "settled"))
    assert pit.command(concluded("BE-01", "left", "void")).result == {"returned_cents": 500}


@pytest.mark.parametrize("outcome", ["settled", "void"])
def test_a_round_that_is_over_or_waits_its_turn_cannot_be_concluded_again(outcome: str) -> None:
    pit = left_behind()
    waits = next(iter(pit.state.waiting))[1]
    for table, round_ in (("BE-02", waits), ("BE-01", "never"), ("BE-09", "left")):
        with pytest.raises(CommandRefusedError, match="not open"):
            pit.command(concluded(table, round_, outcome))
