"""Reads events strictly and writes answers. What cannot be read changes nothing and is told why."""

import datetime as dt
import json
import re
from dataclasses import dataclass
from typing import Any

import msgspec

from jackpot.contract.events import Event, Id, Integer, MetersReported, TableEvent, Time
from jackpot.contract.refusals import Code, Refused

PAYLOAD_BYTES_MAX = 16 * 1024

_decoder = msgspec.json.Decoder(TableEvent)
encode = msgspec.json.Encoder().encode

# Without a backslash in the payload every string is found whole, so keys are exactly those before a colon.
_KEYS = re.compile(rb'("[^"]*")\s*:|"[^"]*"')


@dataclass(frozen=True, slots=True)
class UnreadableEvent:
    """What came is not an event of the contract. `reply_to` and `seq` are the event's where they could be read."""

    refused: Refused
    reply_to: str | None = None
    seq: int | None = None
    unproved: bool = False
    """It would be an event, but lacks the proof that its table's key gives."""


def decode(payload: bytes) -> TableEvent | UnreadableEvent:
    if len(payload) > PAYLOAD_BYTES_MAX:
        # At least: the wire cuts what is far too large.
        return _malformed(payload, f"The payload has at least {len(payload)} bytes; {PAYLOAD_BYTES_MAX} are allowed.")
    try:
        event: TableEvent = _decoder.decode(payload)
        _require_time(event.at)
        if not payload.isascii():
            payload.decode()
    except msgspec.ValidationError as error:
        return _not_an_event(payload, str(error))
    except (msgspec.DecodeError, ValueError, RecursionError) as error:
        if (marked := _mark_lone_surrogates(payload)) != payload:
            return _decode_marked(payload, marked)
        return _malformed(payload, f"This is not an event: {error}.")
    if _may_repeat_a_key(payload, event) and (key := _repeated_key(payload)) is not None:
        return _malformed(payload, f"The key {key!r} is given twice.")
    return event


_LEAP_SECOND = "23:59:60"


def _require_time(at: str) -> None:
    """Raises ValueError for a moment that is none. RFC 3339 knows leap seconds, Python does not."""
    if at[11:19] == _LEAP_SECOND:
        at = f"{at[:17]}59{at[19:]}"
    dt.datetime.fromisoformat(at)


# An escaped backslash and a whole pair are passed over; what is left is half a pair.
_SURROGATES = re.compile(
    rb"\\\\|\\u[dD][89abAB][0-9a-fA-F]{2}\\u[dD][c-fC-F][0-9a-fA-F]{2}|\\u([dD][89a-fA-F][0-9a-fA-F]{2})"
)
_MARK = b"\\u0000"
HALF_A_PAIR = "A text of the event holds half of a surrogate pair."


def _mark_lone_surrogates(payload: bytes) -> bytes:
    """JSON may hold half of a surrogate pair, which msgspec cannot read even where it is ignored.

    It becomes a control character here, which no text of an event may hold either.
    """
    return _SURROGATES.sub(lambda found: found[0] if found[1] is None else _MARK, payload)


def _decode_marked(payload: bytes, marked: bytes) -> TableEvent | UnreadableEvent:
    """Seldom, so without haste."""
    try:
        event: TableEvent = _decoder.decode(marked)
        _require_time(event.at)
        payload.decode()
    except msgspec.ValidationError as error:
        return _not_an_event(payload, str(error))
    except (msgspec.DecodeError, ValueError, RecursionError) as error:
        return _malformed(payload, f"This is not an event: {error}.")
    if _MARK in encode(event):
        return _malformed(payload, HALF_A_PAIR)
    if (key := _repeated_key(payload)) is not None:
        return _malformed(payload, f"The key {key!r} is given twice.")
    return event


def _may_repeat_a_key(payload: bytes, event: TableEvent) -> bool:
    """Quick and never wrong about "no"; nested objects and escapes are looked at again."""
    if b"\\" in payload:
        return True
    if payload.count(b'"') == encode(event).count(b'"'):
        return False  # what was read accounts for every key and every text
    keys = [key for key in _KEYS.findall(payload) if key]
    return len(set(keys)) != len(keys)


class _RepeatedKeyError(Exception):
    pass


def _unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    seen: dict[str, Any] = {}
    for key, value in pairs:
        if key in seen:
            raise _RepeatedKeyError(key)
        seen[key] = value
    return seen


def _short_integer(digits: str) -> int | None:
    """Python gives up on numbers of thousands of digits; none of those that mean something here is that long."""
    return int(digits) if len(digits) < 20 else None


def _repeated_key(payload: bytes) -> str | None:
    try:
        json.loads(payload, object_pairs_hook=_unique, parse_int=_short_integer)
    except _RepeatedKeyError as repeated:
        return str(repeated)
    except (ValueError, RecursionError):
        return None
    return None


class _Envelope(msgspec.Struct):
    id: Id
    seq: Integer
    at: Time
    type: str


def _not_an_event(payload: bytes, problem: str) -> UnreadableEvent:
    """Tell an unknown type in a good envelope from everything else."""
    try:
        payload.decode()
        marked = _mark_lone_surrogates(payload)
        envelope = msgspec.json.decode(marked, type=_Envelope)
        _require_time(envelope.at)
    except msgspec.ValidationError as error:
        return _malformed(payload, _sentence(str(error)))
    except (msgspec.DecodeError, ValueError, RecursionError) as error:
        return _malformed(payload, f"This is not an event: {error}.")
    if marked != payload and _MARK in encode(envelope):
        return _malformed(payload, HALF_A_PAIR)
    known = {str(kind.__struct_config__.tag) for kind in TableEvent.__args__}
    if envelope.type in known:
        return _malformed(payload, _sentence(problem))
    if (key := _repeated_key(payload)) is not None:
        return _malformed(payload, f"The key {key!r} is given twice.")
    message = f"{envelope.type!r} is no event type; the types are {', '.join(sorted(known))}."
    return UnreadableEvent(Refused(Code.UNKNOWN_TYPE, message), envelope.id, envelope.seq)


def _sentence(problem: str) -> str:
    """What msgspec found, without its regular expressions."""
    if "matching regex" in problem:
        key = problem.rpartition("`$.")[2].rstrip("`")
        wanted = "a UTC time such as 2026-11-16T02:00:00.000Z" if key == "at" else "text without control characters"
        return f"`{key}` must be {wanted}."
    return problem.replace("$.", "").replace(" - at ", " at ") + "."


def _malformed(payload: bytes, message: str) -> UnreadableEvent:
    """Look for `id` and `seq` once more, kindly: the sender wants to know which event was not understood."""
    try:
        found = json.loads(payload, parse_int=_short_integer)
    except (ValueError, RecursionError):
        found = None
    fields = found if isinstance(found, dict) else {}
    refused = Refused(Code.MALFORMED, message)
    return UnreadableEvent(refused, _read(fields.get("id"), Id), _read(fields.get("seq"), Integer))


def _read(value: Any, kind: Any) -> Any:
    try:
        read = msgspec.convert(value, kind)
        msgspec.json.encode(read)
    except (msgspec.ValidationError, ValueError):
        return None
    return read


def accepted_reply(event: Event, result: dict[str, Any]) -> dict[str, Any]:
    """The reply as it is recorded and sent first; a resend gets it again as a duplicate."""
    reply: dict[str, Any] = {"reply_to": event.id, "seq": event.seq, "status": "accepted", "duplicate": False}
    if not isinstance(event, MetersReported):
        reply["round"] = getattr(event, "round", None)
    reply["result"] = result
    return reply


def refused_reply(event: Event, refused: Refused) -> dict[str, Any]:
    reply: dict[str, Any] = {"reply_to": event.id, "seq": event.seq, **_refusal_fields(refused)}
    if not isinstance(event, MetersReported):
        reply["round"] = getattr(event, "round", None)
    return reply


def unreadable_reply(unreadable: UnreadableEvent) -> dict[str, Any]:
    return {"reply_to": unreadable.reply_to, "seq": unreadable.seq} | _refusal_fields(unreadable.refused)


def _refusal_fields(refused: Refused) -> dict[str, Any]:
    fields: dict[str, Any] = {
        "status": "refused",
        "code": refused.code.value,
        "rule": refused.rule,
        "message": refused.message,
        "duplicate": False,
    }
    if refused.next_seq is not None:
        fields["next_seq"] = refused.next_seq
    return fields


def as_duplicate(first_answer: bytes) -> bytes:
    return encode({**msgspec.json.decode(first_answer), "duplicate": True})
