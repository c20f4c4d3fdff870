"""The proof of the proof: each of these bugs, planted into the link, is found."""

from typing import Any

import pytest

from jackpot.contract.refusals import Refused
from jackpot.link import awards, decide
from jackpot.link.awards import Split
from jackpot.link.money import UnbalancedError
from jackpot.link.parameters import Parameters, Reading
from jackpot.link.rounds import Round
from tests.copying import replace
from tests.link import test_decisions_on_sharing as sharing
from tests.link import test_refusals_in_order as refusals
from tests.properties import planted_in_money, planted_in_order
from tests.properties.planting import wrapped
from tests.properties.test_link_against_naive import play_by_seed

PLANTS = {**planted_in_money.PLANTS, **planted_in_order.PLANTS}


def play_floors(floors: int) -> None:
    for seed in range(floors):
        play_by_seed(seed, steps=60)


@pytest.mark.parametrize("bug", PLANTS)
def test_a_planted_bug_is_found_by_the_random_floor(bug: str, monkeypatch: pytest.MonkeyPatch) -> None:
    PLANTS[bug](monkeypatch)
    with pytest.raises((AssertionError, UnbalancedError)):
        play_floors(150)


# Bugs that show so seldom that a test of the rule itself is the better trap.


def d7_the_draws_are_truncated_together(patch: pytest.MonkeyPatch) -> None:
    def around(inner: Any, base: int, winners: int, parameters: Parameters) -> Split:
        split: Split = inner(base, winners, parameters)
        if parameters.shared_straight_flush is Reading.RESET_AMOUNT or winners == 1:
            return split
        each, odd = divmod(base * (10**winners - 9**winners) // 10**winners, winners)
        return replace(split, each_cents=each, odd_cents=odd)

    wrapped(patch, awards, "split_straight_flush", around)


def a_bad_multiplier_is_seen_before_a_taken_position(patch: pytest.MonkeyPatch) -> None:
    def around(inner: Any, parameters: Any, table: Any, round_: Round, event: Any) -> Any:
        alone = inner(parameters, table, replace(round_, wagers={}), event)
        return alone if isinstance(alone, Refused) else inner(parameters, table, round_, event)

    wrapped(patch, decide, "_wager_placed", around)


def test_draws_truncated_together_are_found_by_the_test_of_d7(monkeypatch: pytest.MonkeyPatch) -> None:
    sharing.test_d7_successive_draws_each_truncated_by_itself(109, 2, [10, 9])
    d7_the_draws_are_truncated_together(monkeypatch)
    with pytest.raises(AssertionError):
        sharing.test_d7_successive_draws_each_truncated_by_itself(109, 2, [10, 9])


def test_a_refusal_out_of_order_is_found_by_the_test_of_the_order(monkeypatch: pytest.MonkeyPatch) -> None:
    row = next(row for row in refusals.ROWS if row[3] == "position_taken")
    refusals.test_the_first_fault_in_the_contracts_order_is_the_answer(refusals.stage(), row)
    a_bad_multiplier_is_seen_before_a_taken_position(monkeypatch)
    with pytest.raises(AssertionError):
        refusals.test_the_first_fault_in_the_contracts_order_is_the_answer(refusals.stage(), row)
