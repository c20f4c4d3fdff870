"""What `settle` reads: strict JSON, one value or a line each, every field known, every limit kept."""

import json
from typing import Any

import pytest

from jackpot.rules.reading import round_texts
from jackpot.rules.settlement import settle
from tests.rules.rounds import Json, card_round, nets, position, refusal, settled

DEALER, CARDS = "2c 3d 4h", "Ks Kd 9c"
P3P = '{"game": "prosperity-3-pictures", "dealer": ["2c", "3d", "4h"], "positions": [%s]}'
POSITION = '{"position": 1, "cards": ["Ks", "Kd", "9c"], "wagers": %s}'
GOOD = P3P % (POSITION % '{"main": 100}')


def with_stake(text: str) -> Json:
    return settle(P3P % (POSITION % f'{{"main": {text}}}'))


def play(entry: Json, **fields: Any) -> Json:
    return settled(card_round("prosperity-3-pictures", DEALER, [entry], **fields))


def test_one_value_over_many_lines_is_one_round() -> None:
    pretty = json.dumps(json.loads(GOOD), indent=2)
    assert pretty.count("\n") > 10
    assert round_texts(f"\n\n {pretty}\r\n\n".encode()) == [f"\n\n {pretty}\r\n\n"]


def test_a_byte_order_mark_is_no_part_of_the_round() -> None:
    assert round_texts(b"\xef\xbb\xbf" + GOOD.encode()) == [GOOD]


@pytest.mark.parametrize("value", ["5", '"x"', "[]", "null", "[1,\n2]", '{"a": 1,\n"a": 2}', "[NaN]"])
def test_any_one_value_is_one_round_that_is_refused(value: str) -> None:
    assert [refusal(settle(text))[0] for text in round_texts(value.encode())] == ["malformed"]


def test_otherwise_every_line_is_one_and_blank_lines_are_skipped() -> None:
    lines = [GOOD, "{", "  ", "", "\t", GOOD + "\r", "5"]
    assert round_texts("\n".join(lines).encode()) == [GOOD, "{", GOOD + "\r", "5"]


def test_a_line_is_ended_by_a_line_feed_only() -> None:
    assert len(round_texts(f"{GOOD}\x0b{GOOD}\n{GOOD}\u2028{GOOD}\n{GOOD}\x85{GOOD}".encode())) == 3


@pytest.mark.parametrize("nothing", [b"", b"\n", b"  \n\t\n \r\n"])
def test_nothing_is_no_round(nothing: bytes) -> None:
    assert round_texts(nothing) == []


def test_a_repeated_key_in_the_first_line_does_not_hide_the_second() -> None:
    first, second = round_texts(b'{"game": 1, "game": 2}\n' + GOOD.encode())
    assert refusal(settle(first)) == ("malformed", None)
    assert settle(second) == settle(GOOD)


def test_nesting_beyond_measure_is_refused_in_its_place() -> None:
    deep = "[" * 100_000 + "]" * 100_000
    assert refusal(settle(deep)) == ("malformed", None)
    assert len(round_texts(deep.encode())) == 1
    assert len(round_texts(deep.replace("[[", "[\n[").encode())) == 1  # one value, on many lines
    assert len(round_texts(f"{deep}\n{GOOD}".encode())) == 2
    assert len(round_texts(("[" * 100_000 + "\n" + GOOD).encode())) == 2
    bracket_in_text = '["]\\"", ' + deep + "]"
    assert len(round_texts(f"{bracket_in_text}\n{GOOD}".encode())) == 2


@pytest.mark.parametrize(
    "text",
    ["100.0", "1e2", '"100"', "true", "false", "null", "NaN", "Infinity", "-Infinity", "1e999", "[100]", "{}", "0x10"],
)
def test_an_integer_is_an_integer(text: str) -> None:
    assert refusal(with_stake(text)) == ("malformed", None)


@pytest.mark.parametrize("text", ["0", "-1", "-0", "1000000000001", "9" * 19, "1" * 5_000, "-" + "1" * 5_000])
def test_a_stake_is_1_to_1_000_000_000_000(text: str) -> None:
    assert refusal(with_stake(text)) == ("bad_stake", None)


def test_the_least_and_the_most_that_can_be_staked() -> None:
    assert nets(with_stake("1")) == {"main": 1}
    assert nets(with_stake("1000000000000")) == {"main": 1_000_000_000_000}


@pytest.mark.parametrize(
    "text",
    [
        GOOD.replace('"game"', '"game": "bullseye", "game"'),
        P3P % POSITION.replace('"position": 1', '"position": 1, "position": 1') % '{"main": 1}',
        P3P % (POSITION % '{"main": 100, "main": 100}'),
        GOOD[:-1] + ', "limits": {"main": {"min_cents": 1, "max_cents": 2, "max_cents": 2}}}',
        GOOD[:-1] + ', "limits": {"main": {"min_cents": 1, "max_cents": 2}, "main": {"min_cents": 1, "max_cents": 2}}}',
    ],
)
def test_a_key_given_twice_is_refused_at_every_level(text: str) -> None:
    result = settle(text)
    assert refusal(result) == ("malformed", None)
    assert "given twice" in result["error"]["message"]


@pytest.mark.parametrize("path", ["", "positions", "limits"])
def test_a_field_that_is_not_named_is_refused_at_every_level(path: str) -> None:
    round_ = {**json.loads(GOOD), "limits": {"main": {"min_cents": 1, "max_cents": 2}}}
    at = {"": round_, "positions": round_["positions"][0], "limits": round_["limits"]["main"]}[path]
    at["note"] = "x"
    assert refusal(settled(round_)) == ("unknown_field", None)


def test_a_wager_that_is_not_named_is_refused_in_wagers_and_in_limits() -> None:
    assert refusal(play(position(CARDS, {"main": 1, "jackpot": 1})))[0] == "unknown_wager"
    limits = {"ante": {"min_cents": 1, "max_cents": 2}}
    assert refusal(play(position(CARDS, {"main": 1}), limits=limits)) == ("unknown_wager", None)


@pytest.mark.parametrize("field", ["game", "dealer", "positions"])
def test_a_missing_field_of_the_round_is_refused(field: str) -> None:
    round_ = {name: value for name, value in json.loads(GOOD).items() if name != field}
    assert refusal(settled(round_)) == ("malformed", None)


@pytest.mark.parametrize("field", ["position", "cards", "wagers"])
def test_a_missing_field_of_a_position_is_refused(field: str) -> None:
    entry = {name: value for name, value in position(CARDS, {"main": 1}).items() if name != field}
    assert refusal(play(entry)) == ("malformed", None)


@pytest.mark.parametrize("game", ["UTH", "Bullseye", "", "bullseye "])
def test_no_other_game_is_known(game: str) -> None:
    assert refusal(settled({"game": game})) == ("unknown_game", None)


@pytest.mark.parametrize("value", [None, True, 1, 1.5, "x", [], {}, [None], [["As"]], {"a": 1}])
@pytest.mark.parametrize("field", ["game", "dealer", "positions", "limits"])
def test_a_field_of_another_type_is_refused(field: str, value: object) -> None:
    if (field, value) == ("limits", {}):
        return  # no limits are limits too
    assert "error" in settled({**json.loads(GOOD), field: value})


@pytest.mark.parametrize("value", [None, True, 1.0, "1", [], {}])
def test_a_position_of_another_type_is_refused(value: object) -> None:
    assert refusal(play({**position(CARDS, {"main": 1}), "position": value})) == ("malformed", None)


@pytest.mark.parametrize("value", [None, 0, 1, "true", []])
@pytest.mark.parametrize("field", ["fold", "declined"])
def test_fold_and_declined_are_true_or_false(field: str, value: object) -> None:
    entry = {**position("Kd Kc", {"ante": 1, "blind": 1, "play": 1}), field: value}
    round_ = card_round("ultimate-texas-holdem", "7d 7c", [entry], "Qh 9s 5d 3c 2h")
    assert refusal(settled(round_)) == ("malformed", None)


@pytest.mark.parametrize("value", [None, "9c", {}, [1, 2, 3], [None]])
def test_a_set_of_another_type_is_refused(value: object) -> None:
    entry = position("9c 9d 2h 8h Td", {"main": 1}, set=value)
    assert refusal(settled(card_round("bullseye", "4c 5c 2s 8s Ts", [entry]))) == ("malformed", None)


def test_cards_may_be_left_out_of_a_declined_hand_only() -> None:
    entry = position("", {"main": 1}, declined=False)
    assert refusal(settled(card_round("bullseye", "4c 5c 2s 8s Ts", [entry]))) == ("malformed", None)


def test_the_cards_of_a_declined_hand_are_checked_if_given() -> None:
    entry = position("4c 9d 2h 8h Td", {"main": 1}, declined=True)
    assert refusal(settled(card_round("bullseye", "4c 5c 2s 8s Ts", [entry]))) == ("duplicate_card", "BE 2.1")


def test_a_round_has_at_least_one_position() -> None:
    assert refusal(settled(card_round("prosperity-3-pictures", DEALER, []))) == ("malformed", None)


@pytest.mark.parametrize(
    ("limits", "code"),
    [
        ({"min_cents": 1}, "malformed"),
        ({"max_cents": 1}, "malformed"),
        ({}, "malformed"),
        (5, "malformed"),
        ({"min_cents": 1.0, "max_cents": 5}, "malformed"),
        ({"min_cents": True, "max_cents": 5}, "malformed"),
        ({"min_cents": 6, "max_cents": 5}, "bad_limits"),
        ({"min_cents": -1, "max_cents": 5}, "bad_limits"),
        ({"min_cents": 1, "max_cents": 2**53}, "bad_limits"),
    ],
)
def test_limits_have_a_minimum_and_a_maximum(limits: object, code: str) -> None:
    assert refusal(play(position(CARDS, {"main": 1}), limits={"main": limits})) == (code, None)


def test_limits_may_name_no_wager_or_one_that_was_not_placed() -> None:
    entry = position(CARDS, {"main": 1})
    unlimited = play(entry)
    assert play(entry, limits={}) == unlimited
    assert play(entry, limits={"tie": {"min_cents": 0, "max_cents": 0}}) == unlimited


@pytest.mark.parametrize("bad", [b"\xff", b'{"game": "\xc3("}', b"\xed\xa0\x80", GOOD.encode("utf-16")])
def test_what_is_not_utf_8_is_refused_in_its_place(bad: bytes) -> None:
    texts = round_texts(GOOD.encode() + b"\n" + bad.replace(b"\n", b"") + b"\n" + GOOD.encode())
    assert len(texts) == 3
    assert [refusal(settle(texts[1])), settle(texts[0]), settle(texts[2])] == [
        ("malformed", None),
        settle(GOOD),
        settle(GOOD),
    ]


@pytest.mark.parametrize("text", ["\ufeff" + GOOD, GOOD + "\u00a0", "'x'", "{game: 1}", GOOD + "]", GOOD[:-1], "\x00"])
def test_what_is_not_json_is_refused(text: str) -> None:
    assert refusal(settle(text)) == ("malformed", None)


def test_lone_surrogates_are_quoted_safely() -> None:
    result = settle('{"game": "\\ud800"}')
    assert refusal(result) == ("unknown_game", None)
    json.dumps(result).encode("ascii")


def test_a_message_quotes_no_more_than_a_glance() -> None:
    result = settled({"game": "x" * 100_000})
    assert len(result["error"]["message"]) < 300
