"""Values that a configuration may not have."""

import math
from typing import Any

import pytest

from jackpot.config import read
from jackpot.errors import UserError

LINK = {"id": "megalink", "increment_bp": 2500, "reserve_bp": 310, "reset_cents": 10_000_000}
SIGN = {"id": "pit-1", "link": "megalink", "protocol": "alpha", "port": "/dev/ttyUSB0"}


def test_a_plain_one_is_taken() -> None:
    config = read({"links": [LINK], "signs": [{**SIGN, "stale_seconds": 60}]}, "a file", {})
    assert config.signs[0].stale_seconds == 60


@pytest.mark.parametrize("seconds", [math.nan, math.inf, -math.inf, 0, -1, 60.5, 1e300])
def test_a_figure_goes_stale_within_a_minute(seconds: float) -> None:
    with pytest.raises(UserError, match="pit-1: stale_seconds must be above 0 and at most 60"):
        read({"links": [LINK], "signs": [{**SIGN, "stale_seconds": seconds}]}, "a file", {})


@pytest.mark.parametrize(
    "wrong",
    [
        {"unit_cents": 0}, {"unit_cents": 10**14}, {"reset_cents": -1}, {"reset_cents": 2**62},
        {"ceiling_cents": 2**62}, {"currency": "sgd"}, {"currency": "\u00c4\u00d6\u00dc"}, {"currency": "S1D"},
    ],
    ids=str,
)  # fmt: skip
def test_amounts_are_those_that_a_ledger_can_hold(wrong: dict[str, Any]) -> None:
    with pytest.raises(UserError, match=f"megalink: {next(iter(wrong))} must be"):
        read({"links": [{**LINK, **wrong}]}, "a file", {})
