"""The proof of the proof: each bug that is planted into the product is found, within a few worlds of a day."""

import pytest

from tests.simulation.plan import Plan
from tests.simulation.planted import PLANTED
from tests.simulation.world import play

WORLDS = 25


@pytest.mark.parametrize("bug", PLANTED)
def test_a_planted_bug_is_found(bug: str, monkeypatch: pytest.MonkeyPatch) -> None:
    planted = PLANTED[bug]
    planted.plant(monkeypatch)
    for seed in range(planted.seed, planted.seed + WORLDS):
        found = play(Plan(seed, only=planted.weather)).complaints
        if found:
            assert planted.says in found[0]
            return
    pytest.fail("nobody complained")


@pytest.mark.parametrize("weather", sorted({planted.weather for planted in PLANTED.values()}))
def test_without_a_bug_nothing_is_found_in_the_same_weather(weather: tuple[str, ...]) -> None:
    assert play(Plan(1, only=weather)).complaints == []
