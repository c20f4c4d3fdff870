"""The benchmark runs and finds figures of everything; what they are is for a quiet machine to say."""

import json

import pytest

from jackpot.bench.many_boards import CASES, TIMES
from jackpot.bench.verdict import judged
from tests.acceptance.processes import run


def test_everything_is_measured_beside_its_limits_and_judged() -> None:
    done = run("bench", "--seconds", "0.2", "-o", "json")
    assert done.returncode in {0, 1}, done.stderr
    found = json.loads(done.stdout)
    assert all(value > 0 for value in (found["ratios"] | found["throughput"]).values()), found
    assert set(found["latency"]) == {"10", "1000", "5000"}
    assert sum(found["profile"].values()) > 0
    verdict = found["verdict"]
    assert len(verdict) == 5
    assert done.returncode == (0 if all(one["holds"] for one in verdict) else 1)


def test_a_figure_is_held_against_its_bound() -> None:
    at_the_bound = {
        "wagers_to_one_transaction_a_wager": 4.0,
        "events_to_smaller_limit": 0.5,
        "p50_at_10_to_echo_and_commit": 2.0,
        "p50_at_1000_to_echo_and_commit": 2.0,
    }
    assert all(one["holds"] for one in judged(at_the_bound))
    for figure, worse in (("events_to_smaller_limit", 0.49), ("p50_at_1000_to_echo_and_commit", 2.01)):
        assert [one["holds"] for one in judged(at_the_bound | {figure: worse})].count(False) == 1


@pytest.mark.parametrize("option", ["--seconds=0", "--seconds=-1", "--seconds=nan", "--soak=-3", "--history=-1"])
def test_an_option_that_cannot_be_is_refused(option: str) -> None:
    done = run("bench", option)
    assert (done.returncode, done.stdout, done.stderr.count("\n")) == (2, "", 1), done.stderr


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
    assert set(found["daemons"]) == {"1", "2"}
    assert set(found["start_s"]) == {"0", "50"}
    assert set(found["take_over_s"]) == {"kill -9", "SIGTERM"}


@pytest.mark.slow
def test_what_boards_cost_is_measured() -> None:
    done = run("bench", "--boards", "--seconds", "0.2", "-o", "json", within_s=120)
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout)["boards"]
    assert {name: len(cases) for name, cases in found["cases"].items()} == dict.fromkeys(CASES, TIMES)
    assert all(ratio["events_per_second"] > 0 for ratio in found["ratios"].values())
