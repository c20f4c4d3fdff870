"""Bad input of any kind is answered by an error in its place, never by a traceback."""

import json
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st
from typer.testing import CliRunner

from jackpot.cli import app
from tests.rules.rounds import settled
from tests.rules.strategies import rounds

FIELDS = "game dealer community positions position cards wagers set fold declined limits min_cents max_cents"
WAGERS = "main tie ante blind play trips bets bet number stake winning bonus straight_up bonus_win As Td 0 00"
WORDS = st.sampled_from(f"{FIELDS} {WAGERS}".split())
LEAVES = (
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats()
    | st.text(max_size=8)
    | WORDS
    | st.sampled_from([10**12, 10**12 + 1, 2**53, 2**63, -1, 0, 1])
)
ANYTHING = st.recursive(
    LEAVES, lambda inner: st.lists(inner, max_size=6) | st.dictionaries(WORDS | st.text(max_size=3), inner, max_size=5)
)


def places(value: Any) -> list[tuple[Any, Any]]:
    """Every place in a JSON value that can be changed: a container, and its key or index."""
    keys: list[Any] = list(value) if isinstance(value, dict) else list(range(len(value)))
    found = [(value, key) for key in keys]
    for key in keys:
        if isinstance(value[key], dict | list):
            found += places(value[key])
    return found


def is_answer(result: dict[str, Any]) -> bool:
    if "error" not in result:
        return "game" in result
    error = result["error"]
    return error.keys() == {"code", "message", "rule"} and bool(error["code"]) and bool(error["message"])


@given(rounds(), st.data())
@settings(max_examples=300, deadline=None)
def test_a_good_round_with_anything_anywhere(round_: dict[str, Any], data: st.DataObject) -> None:
    copy = json.loads(json.dumps(round_))
    for _ in range(data.draw(st.integers(1, 3))):
        container, key = data.draw(st.sampled_from(places(copy)))
        match data.draw(st.sampled_from(["replace", "remove", "add", "repeat"])):
            case "replace":
                container[key] = data.draw(ANYTHING)
            case "remove":
                del container[key]
            case "add" if isinstance(container, dict):
                container[data.draw(WORDS | st.text(max_size=4))] = data.draw(ANYTHING)
            case "add":
                container.append(data.draw(ANYTHING))
            case _ if isinstance(container, list):
                container.append(container[key])
        if not places(copy):
            break
    assert is_answer(settled(copy))


@given(ANYTHING)
@settings(max_examples=100, deadline=None)
def test_any_json(value: object) -> None:
    assert "error" in settled(value)


@given(st.lists(st.binary(max_size=40) | ANYTHING.map(lambda value: json.dumps(value).encode()), max_size=6))
@settings(max_examples=100, deadline=None)
def test_any_bytes_through_the_command(lines: list[bytes]) -> None:
    called = CliRunner().invoke(app, ["settle"], input=b"\n".join(lines))
    assert called.exception is None or isinstance(called.exception, SystemExit)
    answers = [json.loads(line) for line in called.stdout.splitlines()]
    assert all(is_answer(answer) for answer in answers)
    assert called.exit_code == int(any("error" in answer for answer in answers))


@given(rounds(), st.data())
@settings(max_examples=100, deadline=None)
def test_a_good_round_cut_or_with_a_byte_changed(round_: dict[str, Any], data: st.DataObject) -> None:
    text = json.dumps(round_).encode()
    place = data.draw(st.integers(0, len(text) - 1))
    changed = text[:place] + data.draw(st.binary(max_size=2)) + text[place + data.draw(st.integers(0, 3)) :]
    called = CliRunner().invoke(app, ["settle"], input=changed)
    assert called.exception is None or isinstance(called.exception, SystemExit)
    assert all(is_answer(json.loads(line)) for line in called.stdout.splitlines())


@given(st.sampled_from(["be", "uth", "tcx", "far", "p3p", "x"]), st.lists(st.text(max_size=4) | WORDS, max_size=12))
@settings(max_examples=80, deadline=None)
def test_anything_to_explain(game: str, hand: list[str]) -> None:
    called = CliRunner().invoke(app, ["explain", "-o", "json", "--", game, *hand])
    assert called.exception is None or type(called.exception).__name__ in ("UserError", "SystemExit")
