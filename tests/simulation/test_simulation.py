"""A short run of the simulation; `make simulate` is the long one."""

import os
import subprocess
import sys

import pytest

from tests.simulation.fault_schedule import FaultSchedule
from tests.simulation.plan import Plan
from tests.simulation.planted import PLANTED
from tests.simulation.run import explained
from tests.simulation.world import play


@pytest.mark.parametrize("seed", range(1, 11))
def test_the_auditor_has_nothing_to_complain_of(seed: int) -> None:
    verdict = play(Plan(seed, days=2.0))
    assert not verdict.complaints, explained(verdict)
    assert verdict.counts["events"] > 50


def test_a_seed_gives_the_same_world_in_every_process() -> None:
    here = play(Plan(5))
    script = (
        "from tests.simulation.plan import Plan; from tests.simulation.world import play; print(play(Plan(5)).trace)"
    )
    for hash_seed in ("1", "2"):
        environment = {**os.environ, "PYTHONHASHSEED": hash_seed}
        argv = [sys.executable, "-c", script]
        there = subprocess.run(argv, check=True, capture_output=True, text=True, env=environment)
        assert there.stdout.strip() == here.trace


def test_two_seeds_give_two_worlds() -> None:
    assert play(Plan(1, days=0.1)).trace != play(Plan(2, days=0.1)).trace


def test_a_failing_seed_fails_again_in_the_same_way_and_says_how(monkeypatch: pytest.MonkeyPatch) -> None:
    planted = PLANTED["a_commit_without_an_answer_is_taken_for_done"]
    planted.plant(monkeypatch)
    first, again = (play(Plan(1, only=planted.weather)) for _ in range(2))
    assert first.complaints
    assert (first.complaints, first.trace, first.last) == (again.complaints, again.trace, again.last)
    said = explained(first)
    assert "python -m tests.simulation.run --seed 1 --days 1 --only conflicts_and_lost_answers" in said
    assert first.complaints[0] in said


def test_every_weather_that_a_planted_bug_asks_for_exists() -> None:
    asked = {fault for planted in PLANTED.values() for fault in planted.weather}
    assert {fault for fault in asked if not hasattr(FaultSchedule, fault)} == set()
