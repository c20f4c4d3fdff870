"""`jackpot settle`, `draw` and `explain` as they are called: the function in this process, and the real process."""

import json
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner, Result

from jackpot.cli import app
from jackpot.errors import UserError
from jackpot.rules.fast_action_roulette import NUMBERS
from tests.waiting import patience_s

UTH = (
    '{"game": "ultimate-texas-holdem", "dealer": ["7d", "7c"], "community": ["Qh", "Jh", "Th", "2c", "3d"],\n'
    ' "positions": [{"position": 1, "cards": ["Ah", "Kh"],'
    ' "wagers": {"ante": 1000, "blind": 1000, "play": 4000, "trips": 500}}]}'
)
UTH_RESULT = {
    "game": "ultimate-texas-holdem",
    "dealer": {"hand": "pair", "qualifies": True},
    "positions": [
        {
            "position": 1,
            "hand": "royal_flush",
            "net_cents": 555000,
            "wagers": {
                "ante": {"net_cents": 1000, "rule": "UTH 4.1.1"},
                "blind": {"net_cents": 500000, "rule": "UTH 4.1.1"},
                "play": {"net_cents": 4000, "rule": "UTH 4.1.1"},
                "trips": {"net_cents": 50000, "rule": "UTH 4.1.1"},
            },
        }
    ],
}
FAR = (
    '{"game": "fast-action-roulette", "winning": "17", "bonus": ["0", "00", "S", "MBS", "1", "2", "17", "21", "25",'
    ' "36"], "bets": [{"bet": "straight_up", "number": "17", "stake": 100}, {"bet": "super_bonus_win", "stake": 100}]}'
)
FAR_RESULT = {
    "game": "fast-action-roulette",
    "winning": "17",
    "bets": [
        {"bet": "straight_up", "number": "17", "stake": 100, "net_cents": 4000, "rule": "FAR 4.1"},
        {"bet": "super_bonus_win", "stake": 100, "net_cents": -100, "rule": "FAR 4.2"},
    ],
    "net_cents": 3900,
}


def call(*arguments: str, given: str | bytes = "") -> Result:
    return CliRunner().invoke(app, list(arguments), input=given)


def run(*arguments: str, given: bytes = b"") -> subprocess.CompletedProcess[bytes]:
    command = [sys.executable, "-c", "from jackpot.cli import main; main()", *arguments]
    return subprocess.run(command, input=given, capture_output=True, check=False, timeout=patience_s(60))


def results(printed: str | bytes) -> Iterator[dict[str, Any]]:
    for line in printed.splitlines():
        yield json.loads(line)


def test_the_page_s_own_rounds_give_the_page_s_own_results() -> None:
    one = call("settle", given=UTH)  # one object over two lines
    assert (one.exit_code, list(results(one.stdout))) == (0, [UTH_RESULT])
    both = call("settle", "-", given=UTH.replace("\n", "") + "\n\n" + FAR)
    assert (both.exit_code, list(results(both.stdout))) == (0, [UTH_RESULT, FAR_RESULT])


def test_a_bad_line_is_answered_in_its_place_and_exits_1(tmp_path: Path) -> None:
    file = tmp_path / "rounds.jsonl"
    file.write_text(f'{FAR}\n{{\n{FAR}\n{{"game": "craps"}}\n{FAR}')
    called = call("settle", str(file))
    assert called.exit_code == 1
    codes = [result.get("error", {}).get("code") for result in results(called.stdout)]
    assert codes == [None, "malformed", None, "unknown_game", None]


def test_the_real_process_settles_refuses_and_shows_no_traceback() -> None:
    deep = b"[" * 200_000
    done = run("settle", given=b"\n".join([FAR.encode(), deep, b"\xff\xfe", b"1" * 10_000, FAR.encode()]))
    found = list(results(done.stdout))
    assert (found[0], found[4]) == (FAR_RESULT, FAR_RESULT)
    assert all(result.keys() == {"error"} for result in found[1:4])
    assert (done.returncode, done.stderr) == (1, b"")


def test_nothing_to_settle_prints_nothing() -> None:
    done = run("settle")
    assert (done.returncode, done.stdout, done.stderr) == (0, b"", b"")


def test_a_file_that_cannot_be_read_is_bad_use(tmp_path: Path) -> None:
    for file in (tmp_path / "missing", tmp_path):
        done = run("settle", str(file))
        assert done.returncode == 2
        assert done.stderr.startswith(b"jackpot: cannot read ")
        assert done.stderr.count(b"\n") == 1


def test_rounds_are_shown_as_a_table_for_people() -> None:
    shown = call("settle", "-o", "table", given=f"{FAR}\n{{")
    assert "straight_up 17" in shown.stdout
    assert "+40.00" in shown.stdout
    assert "refused: not JSON" in shown.stdout
    assert shown.exit_code == 1


def test_draw_prints_ten_different_numbers() -> None:
    drawn = json.loads(call("draw", "-o", "json").stdout)
    assert drawn.keys() == {"bonus", "super_bonus", "scatter_bonus"}
    assert len(drawn["bonus"]) == len(set(drawn["bonus"]) & set(NUMBERS)) == 10
    line = call("draw").stdout.splitlines()[0]
    assert line.startswith("Bonus Numbers: ")
    assert len(line.split()) == 12


def test_what_was_drawn_can_be_settled() -> None:
    drawn = json.loads(call("draw", "-o", "json").stdout)["bonus"]
    bets = [{"bet": "bonus_win", "stake": 100}]
    spun = {"game": "fast-action-roulette", "winning": drawn[0], "bonus": drawn, "bets": bets}
    assert json.loads(call("settle", given=json.dumps(spun)).stdout)["net_cents"] == 200


@pytest.mark.parametrize("hand", [["As", "Kd", "3h", "4c", "6d"], ["As Kd 3h 4c 6d"], ["as,kd,3h", "4c,6d"]])
def test_explain_takes_a_hand_as_it_is_typed(hand: list[str]) -> None:
    explained = json.loads(call("explain", "be", *hand, "-o", "json").stdout)
    assert explained["game"] == "bullseye"
    assert explained["hand"] == ["As", "Kd", "3h", "4c", "6d"]
    assert explained["findings"][0]["found"] == "gnau_tung_ku"


def test_explain_shows_tables_for_people() -> None:
    shown = call("explain", "ultimate-texas-holdem", "Ah", "Kh", "Qh", "Jh", "Th").stdout
    assert "royal flush" in shown
    assert "100 % of the pool" in shown
    assert "UTH 4.2" in shown
    assert "3 to 2" in call("explain", "UTH").stdout


@pytest.mark.parametrize(
    "arguments", [["craps"], ["be", "As"], ["be", "1x", "2s", "3s", "4s", "5s"], ["far", "17", "18"]]
)
def test_explain_answers_bad_use_in_one_line(arguments: list[str]) -> None:
    answer = call("explain", *arguments).exception
    assert isinstance(answer, UserError)
    assert "\n" not in str(answer)


def test_output_that_cannot_be_written_is_one_line() -> None:
    with Path("/dev/full").open("wb") as full:
        command = [sys.executable, "-c", "from jackpot.cli import main; main()", "explain", "tcx", "Ah", "Kh", "Qh"]
        done = subprocess.run(command, stdout=full, stderr=subprocess.PIPE, check=False, timeout=patience_s(60))
    assert (done.returncode, done.stderr) == (
        2,
        b"jackpot: the output cannot be written: No space left on device\n",
    )


def test_a_reader_that_has_had_enough_is_no_failure() -> None:
    many = "\n".join([FAR] * 2_000)
    command = [sys.executable, "-c", "from jackpot.cli import main; main()", "settle"]
    with subprocess.Popen(
        command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    ) as settling:
        assert settling.stdin is not None
        assert settling.stdout is not None
        settling.stdin.write(many)
        settling.stdin.close()
        assert json.loads(settling.stdout.readline()) == FAR_RESULT
        settling.stdout.close()
        assert settling.stderr is not None
        assert (settling.stderr.read(), settling.wait(60)) == ("", 0)
