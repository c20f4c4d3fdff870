"""The link does what the naive link does, whatever happens on the floor.

Two drivers play the same floor: hypothesis, which finds a short story for whatever goes wrong, and a seeded generator,
which plays more of it in the same time.
"""

import random
from typing import Any

import pytest
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, rule, run_state_machine_as_test

from tests.properties.link_floor import ACTIONS, Choose, Floor
from tests.properties.twin_links import TwinLinks


def by_hypothesis(data: Any) -> Choose:
    return lambda options: data.draw(st.sampled_from(options))


class LinkMachine(RuleBasedStateMachine):
    @initialize(data=st.data())
    def open_the_link(self, data: Any) -> None:
        self.floor = Floor(by_hypothesis(data))

    @rule(data=st.data(), action=st.sampled_from(ACTIONS))
    def act(self, data: Any, action: str) -> None:
        """One rule with weighted actions, as hypothesis would switch whole rules off for whole examples."""
        self.floor.act(by_hypothesis(data), action)


def play_by_hypothesis(examples: int, steps: int) -> None:
    run_state_machine_as_test(
        LinkMachine,
        settings=settings(
            max_examples=examples,
            stateful_step_count=steps,
            derandomize=True,
            deadline=None,
            suppress_health_check=list(HealthCheck),
        ),
    )


def play_by_seed(seed: int, steps: int) -> TwinLinks:
    choose = random.Random(seed).choice
    floor = Floor(choose)
    for _ in range(steps):
        floor.act(choose, choose(ACTIONS))
    return floor.links


def test_a_random_floor_agrees_with_the_naive_link() -> None:
    play_by_hypothesis(examples=40, steps=40)


@pytest.mark.parametrize("seed", range(5))
def test_a_seeded_floor_agrees_with_the_naive_link(seed: int) -> None:
    for number in range(10):
        play_by_seed(seed * 1_000 + number, steps=60)


@pytest.mark.slow
@pytest.mark.timeout(3600)
def test_many_random_floors_agree_with_the_naive_link() -> None:
    play_by_hypothesis(examples=500, steps=60)


@pytest.mark.slow
@pytest.mark.timeout(3600)
def test_many_seeded_floors_agree_with_the_naive_link() -> None:
    for seed in range(1_000_000, 1_001_000):
        play_by_seed(seed, steps=100)
