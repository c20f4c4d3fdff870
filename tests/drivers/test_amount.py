"""A figure that does not fit is never cut to a smaller one."""

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from drivers.amount import fit_characters, fit_digits
from drivers.board import Amount
from drivers.wiring import Wiring


@pytest.mark.parametrize(
    ("width", "shown"),
    [
        (16, "$1,234,567.89"),
        (13, "$1,234,567.89"),
        (12, "1,234,567.89"),
        (11, "1234567.89"),
        (10, "1234567.89"),
        (9, None),
        (1, None),
    ],
)
def test_sign_then_separators_go_and_never_a_digit(width: int, shown: str | None) -> None:
    assert fit_characters(Amount(123_456_789), width, decimals=2) == shown


def test_a_board_declared_to_show_whole_units_always_does() -> None:
    assert fit_characters(Amount(123_456_789), 16, decimals=0) == "$1,234,567"
    assert fit_characters(Amount(123_456_789), 7, decimals=0) == "1234567"
    assert fit_characters(Amount(123_456_789), 6, decimals=0) is None


def test_a_numeric_meter_s_point_takes_no_place() -> None:
    assert fit_digits(Amount(47_999_900), 8, decimals=2) == "479999.00"
    assert fit_digits(Amount(47_999_900), 7, decimals=2) is None
    assert fit_digits(Amount(7), 3, decimals=2) == "0.07"


def test_other_currencies_are_named() -> None:
    assert fit_characters(Amount(5_00, "EUR"), 16, decimals=2) == "EUR 5.00"


@given(st.integers(0, 10**15), st.integers(1, 30))
def test_what_is_shown_is_the_amount_to_the_cent(cents: int, width: int) -> None:
    for shown in (fit_characters(Amount(cents), width, decimals=2), fit_digits(Amount(cents), width, decimals=2)):
        if shown is not None:
            assert int(re.sub(r"[^0-9]", "", shown)) == cents


@given(st.integers(0, 10**15), st.integers(1, 30))
def test_a_board_without_cents_never_shows_more_than_there_is(cents: int, width: int) -> None:
    amount = Amount(cents)
    assert cents - 100 < amount.cut_to(0).cents <= cents
    for shown in (fit_characters(amount, width, decimals=0), fit_digits(amount, width, decimals=0)):
        if shown is not None:
            assert int(re.sub(r"[^0-9]", "", shown)) * 100 == amount.cut_to(0).cents


@pytest.mark.parametrize("cents", [-1, True, 5.0, "5"])
def test_only_whole_cents_are_an_amount(cents: int) -> None:
    with pytest.raises(ValueError, match="whole number of cents"):
        Amount(cents)


@pytest.mark.parametrize(
    ("wiring", "message"),
    [
        (Wiring("alpha", "/dev/ttyUSB0", address="1"), "no address"),
        (Wiring("ed400", "/dev/ttyUSB0", address="0A"), "no address"),
        (Wiring("icpdas", "/dev/ttyUSB0", width=99), "width of 99"),
        (Wiring("alpha", "/dev/ttyUSB0", baud=5), "baud rate"),
        (Wiring("alpha", "socket://serial-server"), "socket://host:port"),
        (Wiring("alpha", "socket://host:http"), "socket://host:port"),
        (Wiring("alpha", "socket://host:99999"), "socket://host:port"),
        (Wiring("alpha", "socket://a..b:80"), "socket://host:port"),
        (Wiring("alpha", ""), "/dev/ttyUSB0"),
        (Wiring("mikohn", "/dev/ttyUSB0"), "unknown protocol"),  # type: ignore[arg-type]  # what a file may hold
        (Wiring("alpha", "/dev/ttyUSB0", format="9X9"), "line format"),  # type: ignore[arg-type]  # likewise
    ],
)
def test_impossible_wiring_is_refused_in_words(wiring: Wiring, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        wiring.resolved()
