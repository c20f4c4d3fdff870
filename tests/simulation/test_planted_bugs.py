"""The proof of the proof: each bug that is planted into the product is found, within a few worlds of a day."""

import pytest

from tests.simulation.plan import Plan
from tests.simulation.planted import PLANTED
from tests.simulation.world import play

WORLDS = 25


@pytest.mark.parametrize("bug", PLANTED)
def test_a_planted_bug_is_found_and_nothing_without_it(bug: str, monkeypatch: pytest.MonkeyPatch) -> None:
    planted = PLANTED[bug]
    planted.plant(monkeypatch)
    for seed in range(planted.seed, planted.seed + WORLDS):
        plan = Plan(seed, only=planted.weather)
        if found := play(plan).complaints:
            assert planted.says in found[0]
            monkeypatch.undo()
            assert play(plan).complaints == []
            return
    pytest.fail("nobody complained")
