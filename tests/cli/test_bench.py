"""The benchmark runs and finds figures of everything; what they are is for a quiet machine to say."""

import json

import pytest

from tests.acceptance.processes import run


def test_everything_is_measured_beside_its_limits() -> None:
    done = run("bench", "--seconds", "0.2", "-o", "json")
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout)
    assert found["wagers"]["refused"] == 0
    assert all(value > 0 for value in found["ratios"].values()), found["ratios"]
    assert set(found["latency"]) == set(found["echo_latency"]) == {"10", "1000", "5000"}


@pytest.mark.slow
@pytest.mark.timeout(1800)
def test_what_grows_is_measured() -> None:
    done = run(
        "bench", "--growth", "--seconds", "0.2", "--history", "2000", "--open-rounds", "50", "-o", "json", within_s=600
    )
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout)
    assert set(found["history"]) == {"0", "2000"}
    assert all(measured["reconcile_ms"] > 0 for measured in found["history"].values())
    assert set(found["start_s"]) == {"0", "50"}
    assert set(found["take_over_s"]) == {"kill -9", "SIGTERM"}


@pytest.mark.slow
def test_what_boards_cost_is_measured() -> None:
    done = run("bench", "--boards", "--seconds", "0.2", "-o", "json", within_s=120)
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout)["boards"]
    assert {name: len(cases) for name, cases in found["cases"].items()} == {
        "no boards": 2,
        "50 boards": 2,
        "50 boards, 10 stuck": 2,
    }
    assert all(ratio["events_per_second"] > 0 for ratio in found["ratios"].values())
