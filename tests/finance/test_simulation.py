"""A link's economics: what follows from the odds, and that playing it forward comes to the same."""

import json
import math
from fractions import Fraction
from pathlib import Path
from statistics import fmean, median

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from jackpot.cli.simulate import command, percentiles
from jackpot.finance.economics.expected_value import HANDS, PROBABILITY, WAYS, Floor, Outlook
from jackpot.finance.economics.plot import area, bar, histogram
from jackpot.finance.economics.simulation import simulate
from jackpot.link.parameters import Parameters
from jackpot.rules.megalink import ODDS, SHARE_PERCENT, Rank
from tests.finance.terminal import at_terminal, write_config

EXAMPLE = Parameters(unit_cents=500, increment_bp=2500, reserve_bp=310, reset_cents=10_000_000)
ALL_SORTS = Floor(multipliers=(60, 20, 10, 5, 5))
LONG = 120_000
"""Days; with 28,800 wagers a day some 5,300 Royal Flushes."""


def test_the_odds_are_those_of_five_cards_of_one_deck() -> None:
    assert math.comb(52, 5) == HANDS
    assert WAYS[Rank.ROYAL_FLUSH] + WAYS[Rank.STRAIGHT_FLUSH] == 10 * 4
    assert WAYS[Rank.FOUR_OF_A_KIND] == 13 * 48
    assert WAYS[Rank.FULL_HOUSE] == 13 * math.comb(4, 3) * 12 * math.comb(4, 2)
    assert WAYS[Rank.FLUSH] == 4 * math.comb(13, 5) - 40
    assert WAYS[Rank.STRAIGHT] == 10 * 4**5 - 40


def test_the_return_of_the_worked_examples() -> None:
    outlook = Outlook(EXAMPLE, Floor())
    assert outlook.return_by_odds == Fraction(400 * 624 + 80 * 3744 + 40 * 5108 + 20 * 10200, HANDS)
    assert float(outlook.return_to_player) == pytest.approx(0.649175, abs=1e-6)
    assert float(outlook.reserve_bp_needed) == pytest.approx(307.8, abs=0.1)
    assert round(outlook.royal_cents) == 48_009_211


@pytest.mark.parametrize("multiplier", [1, 2, 5])
def test_at_the_break_even_meter_a_wager_returns_its_stake_on_average(multiplier: int) -> None:
    outlook = Outlook(EXAMPLE, Floor())
    stake, meter = multiplier * EXAMPLE.unit_cents, outlook.break_even_cents(multiplier)
    by_odds = sum(PROBABILITY[rank] * odds * stake for rank, odds in ODDS.items())
    shares = sum(PROBABILITY[rank] * Fraction(percent, 100) * meter for rank, percent in SHARE_PERCENT.items())
    assert by_odds + shares == stake


@pytest.mark.parametrize("floor", [Floor(), ALL_SORTS], ids=["1x only", "all multipliers"])
@pytest.mark.parametrize("reset_cents", [0, 10_000_000])
def test_playing_it_forward_comes_to_what_the_odds_say(floor: Floor, reset_cents: int) -> None:
    parameters = Parameters(reset_cents=reset_cents)
    outlook, played = Outlook(parameters, floor), simulate(parameters, floor, days=LONG, seed=7)
    royals = played.royals
    expected = played.wagers * PROBABILITY[Rank.ROYAL_FLUSH]
    # The seed is fixed; the bounds are some three standard deviations, so that another seed would do as well.
    assert abs(len(royals) - expected) < 3 * math.sqrt(expected)
    assert played.return_to_player == pytest.approx(float(outlook.return_to_player), rel=2e-3)
    assert fmean(royal.amount_cents for royal in royals) == pytest.approx(float(outlook.royal_cents), rel=0.02)
    assert fmean(played.meter_cents) == pytest.approx(float(outlook.royal_cents), rel=0.05)
    assert median(royal.wagers for royal in royals) == pytest.approx(math.log(2) * 649_740, rel=0.04)
    assert played.straight_flushes / len(royals) == pytest.approx(9, rel=0.04)
    assert played.closes


def test_the_same_seed_plays_the_same_game() -> None:
    first, again, other = (simulate(EXAMPLE, ALL_SORTS, days=2_000, seed=seed) for seed in (3, 3, 4))
    assert first == again
    assert first.meter_cents != other.meter_cents


PARAMETERS = st.builds(
    Parameters,
    unit_cents=st.integers(1, 10_000),
    increment_bp=st.integers(0, 5_000),
    reserve_bp=st.integers(0, 5_000),
    reset_cents=st.integers(0, 20_000_000),
    ceiling_cents=st.none() | st.integers(20_000_000, 40_000_000),
)
FLOORS = st.builds(Floor, multipliers=st.tuples(*[st.integers(0, 9)] * 5).filter(any))


@settings(max_examples=25, deadline=None)
@given(parameters=PARAMETERS, floor=FLOORS, days=st.integers(1, 60), seed=st.integers())
def test_every_micro_is_accounted_for(parameters: Parameters, floor: Floor, days: int, seed: int) -> None:
    played = simulate(parameters, floor, days=days, seed=seed)
    assert played.closes
    assert played.wagers == floor.wagers_per_day * days
    assert played.reserve_micros >= 0
    assert parameters.ceiling_cents is None or max(played.meter_cents) <= parameters.ceiling_cents


def test_a_ceiling_turns_the_rest_to_the_reserve() -> None:
    free = simulate(EXAMPLE, Floor(), days=3_000, seed=5)
    bound = simulate(Parameters(ceiling_cents=30_000_000), Floor(), days=3_000, seed=5)
    assert max(free.meter_cents) > 30_000_000 == max(bound.meter_cents)
    assert bound.reserve_micros > free.reserve_micros


def test_resets_come_from_the_house_when_nothing_goes_to_the_reserve() -> None:
    played = simulate(Parameters(reserve_bp=0), Floor(), days=3_000, seed=5)
    assert played.from_reserve_micros == 0
    assert played.from_house_micros == len(played.royals) * 10**11


def test_a_single_day_may_pass_without_a_share() -> None:
    played = simulate(EXAMPLE, Floor(tables=1, rounds_per_hour=1, wagers_per_round=1), days=1, seed=1)
    assert (played.wagers, played.royals, played.straight_flushes) == (24, [], 0)
    assert played.pool_micros == 10**11 + 24 * 500 * 2500


def test_plots() -> None:
    assert area([0, 4, 8, 8], width=4, height=1) == [" ▄██"]
    assert area([8, 4], width=2, height=2) == ["█ ", "██"]
    assert area([5], width=3, height=1) == ["███"]
    assert area([0, 0], width=2, height=1) == ["  "]
    assert [bar(value, 4, 2) for value in (0, 1, 4)] == ["", "▌", "██"]
    assert histogram([1, 2, 3, 10], 3) == [(1, 5, 3), (5, 9, 0), (9, 13, 1)]
    assert percentiles([5]) == {}


async def test_at_the_terminal() -> None:
    shown = (await at_terminal(command, "--days", "900")).stdout.decode()
    for words in ("Return to player", "64.918 %", "Days between Royals", "breaks even", "1,079,947", "█"):
        assert words in shown
    document = json.loads((await at_terminal(command, "--days", "900", "--seed", "4", "-o", "json")).stdout)
    assert document["expected"]["return_to_player"] == pytest.approx(0.649175, abs=1e-6)
    assert document["played"]["wagers"] == 900 * 28_800
    assert set(document["played"]["meter_cents"]) == {"5", "25", "50", "75", "95"}


async def test_terms_are_taken_from_a_configuration(tmp_path: Path) -> None:
    config = write_config(tmp_path, "postgresql://nobody@127.0.0.1:1/none")
    options = ("--config", config, "--days", "10", "--reset-cents", "5000000", "-o", "json")
    parameters = json.loads((await at_terminal(command, *options)).stdout)["parameters"]
    assert (parameters["increment_bp"], parameters["reset_cents"]) == (2500, 5_000_000)


async def test_bad_use_is_one_line(tmp_path: Path) -> None:
    config = write_config(tmp_path, "postgresql://nobody@127.0.0.1:1/none")
    for options, message in {
        ("--multipliers", "1,2"): "is not five weights",
        ("--multipliers", "0,0,0,0,0"): "is not five weights",
        ("--multipliers", "a,b,c,d,e"): "is not five weights",
        ("--increment-bp", "9900", "--reserve-bp", "200"): "together at most 10000",
        ("--ceiling-cents", "1"): "must not be below reset_cents",
        ("--link", "megalink"): "name it with --config FILE",
        ("--config", str(config), "--link", "other"): "has no link 'other'",
    }.items():
        ended = await at_terminal(command, *options)
        assert (ended.exit_code, message in ended.message) == (2, True), ended
