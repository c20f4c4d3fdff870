"""Bugs in who is entered, in line, refused and told what."""

from collections.abc import Callable
from typing import Any

import pytest

from jackpot.link import changes, decide, hands, state
from jackpot.link.awards import Payout
from jackpot.link.changes import Changeset
from jackpot.link.money import micros, whole_cents
from jackpot.link.rounds import Hand, Phase, Round
from jackpot.rules.megalink import Rank
from tests.copying import replace
from tests.properties.planting import Plants, planter, wrapped

PLANTS: Plants = {}
plant = planter(PLANTS)

# D5, D6: entry and order.


@plant
def d5_the_base_is_the_pool_at_the_time_of_payment(patch: pytest.MonkeyPatch) -> None:
    def around(inner: Any, payout: Payout, round_: Round, *, waited: bool) -> Any:
        now = {p: replace(h, base_micros=payout.balances.pool) for p, h in round_.hands.items() if h.base_micros}
        return inner(payout, replace(round_, hands=round_.hands | now), waited=waited)

    wrapped(patch, Payout, "pay_shares", around)


@plant
def d5_a_base_is_not_lessened_by_what_earlier_rounds_took(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(Round, "with_base_moved", lambda round_, by_micros: round_)


@plant
def d5_only_the_first_hand_of_a_round_has_its_base_moved(patch: pytest.MonkeyPatch) -> None:
    def moved(round_: Round, by_micros: int) -> Round:
        first = round_.first_percentage_hand
        return replace(
            round_,
            hands={
                p: replace(h, base_micros=(h.base_micros or 0) + by_micros) if h == first else h
                for p, h in round_.hands.items()
            },
        )

    patch.setattr(Round, "with_base_moved", moved)


@plant
def d5_the_last_hand_gives_the_round_its_place_and_base(patch: pytest.MonkeyPatch) -> None:
    def last(round_: Round) -> Hand | None:
        found = [hand for hand in round_.hands.values() if hand.base_micros is not None]
        return max(found, key=lambda hand: hand.entry) if found else None

    patch.setattr(Round, "first_percentage_hand", property(last))


@plant
def d5_the_base_is_what_the_meter_shows_though_it_is_held(patch: pytest.MonkeyPatch) -> None:
    def around(inner: Any, link: state.LinkState, *rest: Any) -> Any:
        held = replace(link.balances, pool=micros(link.displayed_cents()))
        return inner(replace(link, balances=held), *rest)

    wrapped(patch, decide, "hand_entered", around)


@plant
def d5_a_hand_entered_again_keeps_its_old_number_and_base(patch: pytest.MonkeyPatch) -> None:
    first: dict[tuple[str, str, int], Hand] = {}

    def around(inner: Any, link: state.LinkState, table: Any, round_: Round, event: Any) -> Any:
        decision = inner(link, table, round_, event)
        if not isinstance(decision, changes.Accepted) or decision.entered is None:
            return decision
        hand = decision.entered.hand
        if link.entry == 0:
            first.clear()  # a new link
        old = first.setdefault((*round_.key, event.position), hand)
        if hand.base_micros is None or old.base_micros is None:
            return decision
        again = replace(hand, entry=old.entry, base_micros=old.base_micros)
        (changed,) = decision.rounds
        return replace(decision, rounds=(replace(changed, hands={**changed.hands, event.position: again}),))

    wrapped(patch, decide, "hand_entered", around)


def reordered(patch: pytest.MonkeyPatch, order: Callable[[list[Round]], list[Round]]) -> None:
    for module in (state, changes):
        wrapped(patch, module, "in_order", lambda inner, *args: order(inner(*args)))


@plant
def d6_who_settles_first_is_paid_first(patch: pytest.MonkeyPatch) -> None:
    reordered(patch, lambda rounds: sorted(rounds, key=lambda round_: not round_.phase.concluded))


@plant
def d6_royals_are_paid_before_straight_flushes_of_other_tables(patch: pytest.MonkeyPatch) -> None:
    def royals_first(round_: Round) -> bool:
        return not any(hand.rank is Rank.ROYAL_FLUSH for hand in round_.hands.values())

    reordered(patch, lambda rounds: sorted(rounds, key=royals_first))


@plant
def d6_only_one_waiting_round_is_paid_at_a_time(patch: pytest.MonkeyPatch) -> None:
    def pay_one(changeset: Changeset, settled_now: Any = None) -> None:
        for first in changeset.claims_in_order()[:1]:
            if first.phase is Phase.WAITING:
                took_micros = changeset.payout.pay_shares(first, waited=first.key != settled_now)
                changeset.put(first.settled())
                for other in changeset.claims_in_order():
                    changeset.put(other.with_base_moved(took_micros))

    patch.setattr(Changeset, "pay_ready", pay_one)


@plant
def d6_a_withdrawn_hand_frees_nobody(patch: pytest.MonkeyPatch) -> None:
    def around(inner: Any, *args: Any) -> Any:
        with pytest.MonkeyPatch.context() as inside:
            inside.setattr(Changeset, "pay_ready", lambda changeset, settled_now=None: None)
            return inner(*args)

    wrapped(patch, decide, "hand_withdrawn", around)


@plant
def d6_a_void_round_frees_nobody(patch: pytest.MonkeyPatch) -> None:
    def around(inner: Any, *args: Any) -> Any:
        with pytest.MonkeyPatch.context() as inside:
            inside.setattr(Changeset, "pay_ready", lambda changeset, settled_now=None: None)
            return inner(*args)

    wrapped(patch, decide, "void_round", around)


@plant
def d6_fixed_awards_wait_as_well(patch: pytest.MonkeyPatch) -> None:
    def around(inner: Any, payout: Payout, round_: Round) -> None:
        if round_.first_percentage_hand is None:
            inner(payout, round_)

    def paid_late(inner: Any, payout: Payout, round_: Round, *, waited: bool) -> Any:
        if waited:
            Payout.pay_odds(
                payout, replace(round_, hands={p: h for p, h in round_.hands.items() if h.base_micros is None})
            )
        return inner(payout, round_, waited=waited)

    wrapped(patch, Payout, "pay_odds", around)
    wrapped(patch, Payout, "pay_shares", paid_late)


@plant
def d6_entry_numbers_are_given_to_accepted_percentage_hands_only(patch: pytest.MonkeyPatch) -> None:
    def around(inner: Any, *args: Any) -> Any:
        decision = inner(*args)
        if isinstance(decision, changes.Accepted) and decision.entered and decision.entered.hand.base_micros is None:
            return replace(decision, entered=None)
        return decision

    wrapped(patch, decide, "hand_entered", around)


# D13 and what the tables are told.


@plant
def d13_the_order_of_community_cards_matters(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(hands, "sorted", list, raising=False)


@plant
def d13_cards_of_other_hands_are_not_looked_at(patch: pytest.MonkeyPatch) -> None:
    def around(inner: Any, table: Any, round_: Round, event: Any) -> Any:
        return inner(table, replace(round_, hands={}), event)

    wrapped(patch, hands, "_cards_refusal", around)


@plant
def a_returned_wager_leaves_its_hand(patch: pytest.MonkeyPatch) -> None:
    def around(inner: Any, changeset: Changeset, round_: Round, positions: Any) -> Any:
        cents = inner(changeset, round_, positions)
        changeset.put(replace(changeset.changed[round_.key], hands=round_.hands))
        return cents

    wrapped(patch, decide, "give_back", around)


@plant
def a_wager_returned_before_goes_back_again_when_the_round_is_void(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(Round, "standing_wagers", lambda round_: dict(round_.wagers))


@plant
def the_meter_is_not_held_while_a_claim_stands(patch: pytest.MonkeyPatch) -> None:
    for module in (state, changes):
        patch.setattr(module, "displayed_cents", lambda claims, pool_micros: whole_cents(pool_micros))


@plant
def parameters_for_the_next_win_are_in_force_after_a_straight_flush(patch: pytest.MonkeyPatch) -> None:
    def around(inner: Any, payout: Payout, round_: Round, *, waited: bool) -> Any:
        took = inner(payout, round_, waited=waited)
        payout._next_parameters()
        return took

    wrapped(patch, Payout, "pay_shares", around)


@plant
def deciding_changes_the_state(patch: pytest.MonkeyPatch) -> None:
    def around(inner: Any, link: state.LinkState, *args: Any) -> Any:
        link.entry += 1
        return inner(link, *args)

    wrapped(patch, decide, "hand_entered", around)


@plant
def award_numbers_skip_one(patch: pytest.MonkeyPatch) -> None:
    def around(inner: Any, payout: Payout, round_: Round, *, waited: bool) -> Any:
        payout.number += 1
        return inner(payout, round_, waited=waited)

    wrapped(patch, Payout, "pay_shares", around)
