"""Bugs in what is paid in, given back and paid out."""

from typing import Any

import pytest

from jackpot.link import awards, conclusion, decide, state
from jackpot.link.awards import Payout, Split
from jackpot.link.changes import Changeset
from jackpot.link.money import Kind, micros, whole_cents
from jackpot.link.parameters import Parameters, Reading
from jackpot.link.rounds import Round
from jackpot.rules.megalink import ODDS
from tests.copying import replace
from tests.properties.planting import Plants, planter, reposted, wrapped

PLANTS: Plants = {}
plant = planter(PLANTS)

# D2, D3, D4, D14: contributions and returns.


@plant
def d2_percentages_are_taken_from_the_displayed_amount_rounded_up(patch: pytest.MonkeyPatch) -> None:
    def rounded_up(round_: Round) -> int:
        first = round_.first_percentage_hand
        return -(-(first.base_micros or 0) // 10_000) if first else 0

    patch.setattr(Round, "base_cents", property(rounded_up))


@plant
def d3_the_reserve_share_goes_to_the_house(patch: pytest.MonkeyPatch) -> None:
    def change(postings: dict[str, int]) -> None:
        postings["house"] += postings["reserve"]
        postings["reserve"] = 0

    reposted(patch, Kind.CONTRIBUTION, change)


@plant
def d4_the_pool_gives_back_its_share_so_that_the_meter_goes_down(patch: pytest.MonkeyPatch) -> None:
    def change(postings: dict[str, int]) -> None:
        postings["pool"] = -postings["recoverable"]
        postings["house"] -= postings["recoverable"] + postings["pool"]
        postings["recoverable"] = 0

    reposted(patch, Kind.RETURN, change)


@plant
def d4_nothing_becomes_recoverable(patch: pytest.MonkeyPatch) -> None:
    def change(postings: dict[str, int]) -> None:
        postings["house"] -= postings["recoverable"]
        postings["recoverable"] = 0

    reposted(patch, Kind.RETURN, change)


@plant
def d4_recoverable_is_never_repaid(patch: pytest.MonkeyPatch) -> None:
    def change(postings: dict[str, int]) -> None:
        postings["pool"] -= postings["recoverable"]
        postings["recoverable"] = 0

    reposted(patch, Kind.CONTRIBUTION, change)


@plant
def d4_the_reserve_keeps_its_share_of_a_returned_wager(patch: pytest.MonkeyPatch) -> None:
    def change(postings: dict[str, int]) -> None:
        postings["house"] += postings["reserve"]
        postings["reserve"] = 0

    reposted(patch, Kind.RETURN, change)


@plant
def d4_a_returned_wager_is_given_back_by_the_rates_of_today(patch: pytest.MonkeyPatch) -> None:
    def around(inner: Any, changeset: Changeset, round_: Round, positions: Any) -> Any:
        today = changeset.state.parameters
        return inner(changeset, replace(round_, increment_bp=today.increment_bp), positions)

    for module in (decide, conclusion):
        wrapped(patch, module, "give_back", around)


@plant
def d14_the_ceiling_is_ignored(patch: pytest.MonkeyPatch) -> None:
    def around(inner: Any, link: state.LinkState, round_: Round, at: str) -> Any:
        return inner(replace(link, parameters=replace(link.parameters, ceiling_cents=None)), round_, at)

    wrapped(patch, decide, "_round_closed", around)


@plant
def d14_what_the_ceiling_turns_away_goes_to_the_house(patch: pytest.MonkeyPatch) -> None:
    def around(inner: Any, link: state.LinkState, round_: Round, at: str) -> Any:
        def change(postings: dict[str, int]) -> None:
            usual = postings["wagered"] // 10_000 * link.parameters.reserve_bp
            postings["house"] += postings["reserve"] - usual
            postings["reserve"] = usual

        with pytest.MonkeyPatch.context() as inside:
            reposted(inside, Kind.CONTRIBUTION, change)
            return inner(link, round_, at)

    wrapped(patch, decide, "_round_closed", around)


# D7 to D12, D15: what is paid.


@plant
def d7_the_reading_is_always_successive(patch: pytest.MonkeyPatch) -> None:
    def around(inner: Any, base: int, winners: int, parameters: Parameters) -> Split:
        split: Split = inner(base, winners, replace(parameters, shared_straight_flush=Reading.SUCCESSIVE))
        return split

    wrapped(patch, awards, "split_straight_flush", around)


@plant
def d7_every_winner_gets_ten_percent_of_the_base(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(awards, "split_straight_flush", lambda base, winners, parameters: Split(base // 10, 0, 0, {}))


@plant
def d8_shared_royals_do_not_add_reset_amounts(patch: pytest.MonkeyPatch) -> None:
    def around(inner: Any, base: int, winners: int, parameters: Parameters) -> Split:
        each, odd = divmod(base, winners)
        return Split(each, odd, 0, {})

    wrapped(patch, awards, "split_royal_flush", around)


@plant
def d9_odd_cents_go_to_the_house(patch: pytest.MonkeyPatch) -> None:
    def around(inner: Any, payout: Payout, round_: Round, *what: Any, **why: Any) -> None:
        inner(payout, round_, *what, **why)
        split: Split = what[-1]
        payout.post(Kind.SHARE, round_, pool=-micros(split.odd_cents), house=micros(split.odd_cents))

    wrapped(patch, Payout, "_pay_split", around)


@plant
def d10_royals_share_the_whole_base_though_straight_flushes_were_paid(patch: pytest.MonkeyPatch) -> None:
    def around(inner: Any, payout: Payout, round_: Round, *, waited: bool) -> Any:
        def whole(split_royal: Any, _base: int, winners: int, parameters: Parameters) -> Any:
            return split_royal(min(round_.base_cents, whole_cents(payout.balances.pool)), winners, parameters)

        with pytest.MonkeyPatch.context() as inside:
            wrapped(inside, awards, "split_royal_flush", whole)
            return inner(payout, round_, waited=waited)

    wrapped(patch, Payout, "pay_shares", around)


@plant
def d11_the_house_pays_the_reset_first(patch: pytest.MonkeyPatch) -> None:
    def change(postings: dict[str, int]) -> None:
        postings["house"] += postings["reserve"]
        postings["reserve"] = 0

    reposted(patch, Kind.RESET, change)


@plant
def d12_fixed_awards_are_not_multiplied(patch: pytest.MonkeyPatch) -> None:
    def around(inner: Any, payout: Payout, round_: Round) -> None:
        single = {p: replace(w, stake_cents=w.stake_cents // w.multiplier) for p, w in round_.wagers.items()}
        inner(payout, replace(round_, wagers=single))

    wrapped(patch, Payout, "pay_odds", around)


@plant
def d12_the_stake_comes_back_as_well(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(awards, "ODDS", {rank: odds + 1 for rank, odds in ODDS.items()})


@plant
def d15_the_pool_is_topped_up_to_the_reset_amount(patch: pytest.MonkeyPatch) -> None:
    def around(inner: Any, payout: Payout, round_: Round, *, waited: bool) -> int:
        before = payout.balances.pool
        inner(payout, round_, waited=waited)
        missing = payout.parameters.reset_cents - whole_cents(payout.balances.pool)
        payout._fund(Kind.RESET, round_, max(0, missing))
        return payout.balances.pool - before

    wrapped(patch, Payout, "pay_shares", around)
