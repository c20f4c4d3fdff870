"""Reads JSON strictly: an integer is an integer, a key stands once, and what is not asked for is refused."""

import json
import re
from codecs import BOM_UTF8
from collections.abc import Set as AbstractSet
from dataclasses import dataclass
from typing import Any, Final

from jackpot.rules.refusal import Code, RefusalError

INTEGER_MAX: Final = 2**53 - 1
_WHITE_SPACE: Final = " \t\r\n"
_STRING_OR_BRACKET: Final = re.compile(r'"[^"\\]*(?:\\.[^"\\]*)*"|[\[\]{}]', re.DOTALL)
_STEP: Final = {"[": 1, "{": 1, "]": -1, "}": -1}


@dataclass(frozen=True, slots=True)
class _RepeatedKey:
    """Stands in place of an object in which a key is given twice, so that the rest of the input is still read."""

    key: str


def _object_of(pairs: list[tuple[str, Any]]) -> "dict[str, Any] | _RepeatedKey":
    found = dict(pairs)
    if len(found) == len(pairs):
        return found
    keys = [key for key, _ in pairs]
    return _RepeatedKey(next(key for key in keys if keys.count(key) > 1))


def _bounded_integer(digits: str) -> int:
    return int(digits[:20])  # with more digits than that it is out of every range anyway


_DECODER: Final = json.JSONDecoder(object_pairs_hook=_object_of, parse_int=_bounded_integer)


def round_texts(data: bytes) -> list[str]:
    """If the whole input is one JSON value it is one round, otherwise every line is one; blank lines are skipped."""
    text = data.removeprefix(BOM_UTF8).decode(
        "utf-8", "surrogateescape"
    )  # what is not UTF-8 is answered in its own place
    if _is_one_value(text):
        return [text]
    return [line for line in text.split("\n") if line and not line.isspace()]


def _is_one_value(text: str) -> bool:
    start = len(text) - len(text.lstrip(_WHITE_SPACE))
    try:
        _, end = _DECODER.raw_decode(text, start)
    except RecursionError:
        end = _end_of_nested(text, start)
    except json.JSONDecodeError:
        return False
    return not text[end:].strip(_WHITE_SPACE)


def _end_of_nested(text: str, start: int) -> int:
    """Where a value ends that is nested too deeply to be parsed."""
    depth = 0
    for token in _STRING_OR_BRACKET.finditer(text, start):
        depth += _STEP.get(token[0], 0)
        if depth == 0:
            return token.end()
    return start


def parse(text: str) -> object:
    try:
        text.encode()
        return _DECODER.decode(text)
    except UnicodeEncodeError as error:
        raise RefusalError(Code.MALFORMED, f"not UTF-8 at character {error.start + 1}") from error
    except json.JSONDecodeError as error:
        raise RefusalError(Code.MALFORMED, f"not JSON: {error}") from error
    except RecursionError as error:
        raise RefusalError(Code.MALFORMED, "nested too deeply") from error


def shown(value: object) -> str:
    """A value as a message may quote it: short, on one line."""
    match value:
        case dict() | _RepeatedKey():
            return "an object"
        case list():
            return "a list"
        case str() if len(value) > 40:
            return json.dumps(value[:40]) + "..."
        case _:
            return json.dumps(value)


def malformed(where: str, wanted: str, value: object) -> RefusalError:
    return RefusalError(Code.MALFORMED, f"{where} must be {wanted}, not {shown(value)}")


def an_object(value: object, where: str) -> dict[str, object]:
    if isinstance(value, _RepeatedKey):
        raise RefusalError(Code.MALFORMED, f"{where}: {shown(value.key)} is given twice")
    if not isinstance(value, dict):
        raise malformed(where, "an object", value)
    return value


def an_object_with(
    value: object, where: str, required: AbstractSet[str], optional: AbstractSet[str] = frozenset()
) -> dict[str, object]:
    """An object that has every required field and none that is not named."""
    found = an_object(value, where)
    if missing := required - found.keys():
        raise RefusalError(Code.MALFORMED, f"{where}: {shown(min(missing))} is missing")
    if unknown := found.keys() - required - optional:
        names = ", ".join(sorted(required | optional))
        raise RefusalError(Code.UNKNOWN_FIELD, f"{where} has no field {shown(min(unknown))}; it has {names}")
    return found


def a_list(value: object, where: str) -> list[object]:
    if not isinstance(value, list):
        raise malformed(where, "a list", value)
    return value


def an_integer(value: object, where: str) -> int:
    if type(value) is not int:  # True is an int to isinstance
        raise malformed(where, "an integer", value)
    return value


def true_or_false(value: object, where: str) -> bool:
    if not isinstance(value, bool):
        raise malformed(where, "true or false", value)
    return value
