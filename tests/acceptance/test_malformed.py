"""What cannot be read as an event changes nothing and is told what is wrong; play goes on beside it."""

import asyncio
import json
import uuid
from typing import Any

import aiomqtt
import asyncpg
import pytest
from paho.mqtt.packettypes import PacketTypes
from paho.mqtt.properties import Properties

from tests.acceptance.conftest import LINK
from tests.acceptance.integrator import AT, Integrator, Table, connected, encoded, event
from tests.acceptance.processes import Daemon
from tests.waiting import patience_s

OPENED: dict[str, Any] = {"id": "an-id", "seq": 1, "type": "round.opened", "round": "r", "at": AT}
PLACED = OPENED | {"type": "wager.placed", "position": 1}
ENTERED = OPENED | {"type": "hand.entered", "position": 1, "cards": ["As", "Ks"], "community": ["Qs", "Js", "Ts"]}
PAID = OPENED | {"type": "award.paid", "award": "megalink-000001"}
REPORTED = {key: OPENED[key] for key in ("id", "seq", "at")} | {
    "type": "meters.reported",
    "day": "2026-11-16",
    "wagers": 0,
    "wagered_cents": 0,
    "awards": 0,
    "awarded_cents": 0,
}


def text(content: dict[str, Any], **raw: str) -> bytes:
    """The event as JSON with these fields written as they stand."""
    fields = {key: json.dumps(value) for key, value in content.items()} | raw
    return ("{" + ", ".join(f'"{key}": {value}' for key, value in fields.items()) + "}").encode()


def without(content: dict[str, Any], key: str) -> bytes:
    return encoded({name: value for name, value in content.items() if name != key})


NOT_JSON = {
    "nothing": b"",
    "a brace": b"{",
    "no object": b"[1, 2]",
    "null": b"null",
    "text": b'"round.opened"',
    "two objects": encoded(OPENED) + encoded(OPENED),
    "something behind": encoded(OPENED) + b"x",
    "single quotes": encoded(OPENED).replace(b'"', b"'"),
    "trailing comma": encoded(OPENED)[:-1] + b",}",
    "a byte order mark": b"\xef\xbb\xbf" + encoded(OPENED),
    "UTF-16": encoded(OPENED).decode().encode("utf-16"),
    "not UTF-8": encoded(OPENED)[:-1] + b', "note": "\xff"}',
    "an overlong NUL": encoded(OPENED)[:-1] + b', "note": "\xc0\x80"}',
    "a raw control character": encoded(OPENED)[:-1] + b', "note": "a\nb"}',
    "a comment": encoded(OPENED)[:-1] + b"/* */}",
    "deep nesting": encoded(OPENED)[:-1] + b', "note": ' + b"[" * 7_000 + b"]" * 7_000 + b"}",
    "deep nesting, not closed": b"[" * 16_384,
    "objects in objects": b'{"a":' * 3_000,
    "MessagePack": bytes.fromhex("82a26964a161a373657101"),
}


@pytest.mark.parametrize("payload", NOT_JSON.values(), ids=NOT_JSON.keys())
async def test_not_json(pit: Integrator, uth: Table, payload: bytes) -> None:
    reply = await pit.answer_to(LINK, uth.name, payload)
    assert (reply["status"], reply["code"], reply["rule"], reply["duplicate"]) == ("refused", "malformed", None, False)
    assert reply["message"]
    assert {"reply_to", "seq"} <= reply.keys()


BAD_FIELDS: dict[str, bytes] = {
    **{f"seq {bad}": text(OPENED, seq=bad) for bad in ("true", "5.0", '"5"', "NaN", "1e0", "null", "[1]", "{}", "01")},
    **{f"seq {bad}": text(OPENED, seq=bad) for bad in ("9007199254740992", "-9007199254740992", "9" * 5_000)},
    **{f"position {bad}": text(PLACED, position=bad) for bad in ("true", "5.0", '"5"', "NaN", "Infinity", "null")},
    **{f"multiplier {bad}": text(PLACED, multiplier=bad) for bad in ("true", "1.0", '"1"', "null", "-Infinity")},
    **{f"amount_cents {bad}": text(PLACED, amount_cents=bad) for bad in ("false", "500.0", '"500"', "null", "5e2")},
    **{
        f"id {bad[:20]}": text(OPENED, id=bad)
        for bad in ('""', "null", "5", json.dumps("x" * 65), r'"a\u0000"', r'"a\n"', r'"\u007f"', r'"\u0085"')
    },
    **{f"round {bad[:20]}": text(OPENED, round=bad) for bad in ('""', "null", "5", json.dumps("x" * 65), r'"a\tb"')},
    **{f"award {bad[:20]}": text(PAID, award=bad) for bad in ('""', "7", json.dumps("x" * 65), r'"\u001f"')},
    "id lone surrogate": text(OPENED, id=r'"\ud800"'),
    "round lone surrogate": text(OPENED, round=r'"x\udc00y"'),
    "id lone surrogate in UTF-8": text(OPENED).replace(b"an-id", b"\xed\xa0\x80"),
    "reason empty": text(OPENED, type='"round.voided"', reason='""'),
    "reason too long": text(OPENED, type='"round.voided"', reason=json.dumps("x" * 201)),
    "reason with a bell": text(OPENED, type='"round.voided"', reason=r'"a\u0007"'),
    **{
        f"at {bad}": text(OPENED, at=json.dumps(bad))
        for bad in (
            "",
            "now",
            "2026-11-16",
            "2026-11-16T02:00:00",
            "2026-11-16T02:00:00+08:00",
            "2026-11-16T02:00:00-00:00",
            "2026-02-30T02:00:00Z",
            "2026-13-01T02:00:00Z",
            "2026-11-16T25:00:00Z",
            "2026-11-16T02:61:00Z",
            "0000-01-01T00:00:00Z",
            "2026-11-16T02:00:00Z ",
            "\uff12\uff10\uff12\uff16-11-16T02:00:00Z",
        )
    },
    "at a number": text(OPENED, at="1763258400"),
    **{
        f"day {bad}": text(REPORTED, day=json.dumps(bad))
        for bad in ("2026-02-29", "2026-11-31", "2026-13-01", "2026-11-16T00:00:00Z", "16.11.2026", "20261116", "")
    },
    "day a number": text(REPORTED, day="20000"),
    **{
        f"{counter} {bad}": text(REPORTED, **{counter: bad})
        for counter in ("wagers", "wagered_cents", "awards", "awarded_cents")
        for bad in ("-1", "1.0", "true", "null")
    },
    **{f"without {key}": without(OPENED, key) for key in OPENED},
    **{f"without {key} of {PLACED['type']}": without(PLACED, key) for key in ("position", "round")},
    **{f"without {key} of {ENTERED['type']}": without(ENTERED, key) for key in ("cards", "community", "position")},
    **{f"without {key} of {REPORTED['type']}": without(REPORTED, key) for key in REPORTED},
    "award.paid without round": without(PAID, "round"),
    "round.voided without reason": text(OPENED, type='"round.voided"'),
    "cards text": text(ENTERED, cards='"As Ks"'),
    "cards numbers": text(ENTERED, cards="[1, 2]"),
    "cards null": text(ENTERED, cards="null"),
    "cards lone surrogate": text(ENTERED, cards=r'["\ud800", "Ks"]'),
    "community null": text(ENTERED, community="null"),
    "type a number": text(OPENED, type="5"),
    "type a lone surrogate": text(OPENED, type=r'"\ud800"'),
    "type a NUL, and no id": text(OPENED, type=r'"\u0000"', id='""'),
    "a key twice": text(OPENED)[:-1] + b', "seq": 1}',
    "an escaped key twice": text(OPENED)[:-1] + rb', "s\u0065q": 1}',
    "an unknown key twice": text(OPENED)[:-1] + b', "note": 1, "note": 1}',
    "a key twice inside": text(OPENED)[:-1] + b', "note": {"a": 1, "a": 1}}',
    "a key twice beside a long number": text(OPENED)[:-1] + b', "seq": 1, "note": ' + b"9" * 5_000 + b"}",
    "a key twice in an unknown type": text(OPENED, type='"round.paused"')[:-1] + b', "seq": 1}',
    "NaN in an unknown field": text(OPENED, note="NaN"),
}


async def test_wrong_and_missing_fields(pit: Integrator, uth: Table, ledger: asyncpg.Connection) -> None:
    before = await ledger.fetchval("SELECT count(*) FROM events")
    for name, payload in BAD_FIELDS.items():
        reply = await pit.answer_to(LINK, uth.name, payload)
        assert (reply["status"], reply["code"]) == ("refused", "malformed"), (name, reply)
        assert reply["message"], name
        assert reply["reply_to"] in ("an-id", None), (name, reply)
        assert reply["seq"] in (1, None), (name, reply)
        if b'"an-id"' in payload and name != "seq 01":  # that one is no JSON at all
            assert reply["reply_to"] == "an-id", (name, reply)
    assert await ledger.fetchval("SELECT count(*) FROM events") == before
    await uth.deal()


GOOD: dict[str, bytes] = {
    "+00:00": text(OPENED, at='"2026-11-16T02:00:00+00:00"'),
    "no fraction": text(OPENED, at='"2026-11-16T02:00:00Z"'),
    "nanoseconds": text(OPENED, at='"2026-11-16T02:00:00.123456789Z"'),
    "an unknown field": text(OPENED, note='{"any": ["thing", 1.5, null]}'),
    "a long number in an unknown field": text(OPENED, note="9" * 5_000),
    "other scripts": text(OPENED, round='"第四十二局 \\u2660 \\ud83c\\udccf"'),
    "64 characters": text(OPENED, round=json.dumps("é" * 64, ensure_ascii=False)),
    "space around": b" \r\n\t" + text(OPENED) + b"\n",
}


@pytest.mark.parametrize("payload", GOOD.values(), ids=GOOD.keys())
async def test_what_is_unusual_but_an_event(pit: Integrator, uth: Table, payload: bytes) -> None:
    id_ = str(uuid.uuid4())
    reply = await pit.answer_to(LINK, uth.name, payload.replace(b"an-id", id_.encode()))
    assert (reply["status"], reply["reply_to"]) == ("accepted", id_), reply


async def test_an_id_of_64_characters_of_four_bytes(pit: Integrator, uth: Table) -> None:
    id_ = "\N{BLACK SPADE SUIT}" + uuid.uuid4().hex + "\N{PLAYING CARD ACE OF SPADES}" * 31
    content = event("round.opened", 1, round="r") | {"id": id_}
    reply = await pit.answer_to(LINK, uth.name, json.dumps(content, ensure_ascii=False).encode())
    assert (reply["status"], reply["reply_to"]) == ("accepted", id_)


@pytest.mark.parametrize("padding", ["space", "unknown field"])
async def test_16384_bytes_are_allowed_and_one_more_is_not(pit: Integrator, uth: Table, padding: str) -> None:
    bare = encoded(event("round.opened", 1, round="r"))

    def padded(size: int) -> bytes:
        if padding == "space":
            return bare + b" " * (size - len(bare))
        filled = bare[:-1] + b', "note": ""}'
        return filled.replace(b'""', b'"' + b"x" * (size - len(filled)) + b'"')

    too_large = await pit.answer_to(LINK, uth.name, padded(16_385))
    assert (too_large["code"], too_large["seq"]) == ("malformed", 1)
    assert too_large["reply_to"] == json.loads(bare)["id"]
    assert "16385" in too_large["message"].replace(",", "")
    accepted = await pit.answer_to(LINK, uth.name, padded(16_384))
    assert accepted["status"] == "accepted", accepted


@pytest.mark.parametrize("size", [262_144, 1_000_000, 10_000_000])
async def test_a_huge_payload_is_malformed_and_comes_but_once(pit: Integrator, uth: Table, size: int) -> None:
    reply = await pit.answer_to(LINK, uth.name, b'{"id": "' + b"x" * size)
    assert (reply["code"], reply["reply_to"], reply["seq"]) == ("malformed", None, None)
    await uth.deal()
    await uth.settle()
    assert [reply["code"] for reply in pit.replies(LINK, uth.name) if reply["status"] == "refused"] == ["malformed"]


async def test_a_topic_too_long_to_be_answered_harms_nobody(pit: Integrator, uth: Table, daemon: Daemon) -> None:
    """The replies topic would be one byte longer than MQTT allows."""
    table = "x" * (65_535 - len(f"jackpot/v1/{LINK}/tables//events"))
    await pit.publish(LINK, table, encoded(OPENED))
    await pit.publish("nolink", table + "xx", encoded(OPENED))
    await uth.deal()
    assert (await pit.send("nolink", "UTH-999", OPENED))["code"] == "unknown_table"
    assert daemon.get("/readyz")[0] == 200


@pytest.mark.parametrize("table", ["UTH 01", "UTH-01é", "$SYS", "uth-01", "a.b", "x" * 500, "%2F", ""])
async def test_the_answer_goes_beside_the_topic_whatever_it_names(pit: Integrator, table: str) -> None:
    content = event("round.opened", 1, round="r")
    reply = await pit.send(LINK, table, content)
    assert (reply["code"], reply["reply_to"]) == ("unknown_table", content["id"])


async def test_qos_0_is_answered_too(pit: Integrator, uth: Table) -> None:
    content = event("round.opened", 1, round="r")
    topic = f"jackpot/v1/{LINK}/tables/{uth.name}/events"
    await pit.client.publish(topic, encoded(content), qos=0)
    assert (await pit.until(lambda: pit.replies(LINK, uth.name, content["id"])))[0]["status"] == "accepted"


async def test_what_was_not_understood_is_counted_and_kept(
    pit: Integrator, uth: Table, daemon: Daemon, ledger: asyncpg.Connection
) -> None:
    marks = {name: f"kept-{uuid.uuid4()}" for name in (LINK, "nolink")}
    for link, mark in marks.items():
        await pit.answer_to(link, uth.name, mark.encode())
        # A NUL cannot be kept as text: it must not keep the others from being kept.
        await pit.answer_to(link, uth.name, text(OPENED, type=rf'"{mark}\u0000"', id='""'))
        await pit.answer_to(link, uth.name, b"after " + mark.encode())
    for link, mark in marks.items():
        async with asyncio.timeout(patience_s(30)):
            while True:
                kept = await ledger.fetch(
                    "SELECT topic, code, message FROM quarantine WHERE position($1 in encode(payload, 'escape')) > 0",
                    mark,
                )
                if len(kept) == 3:
                    break
                await asyncio.sleep(0.1)
        assert {row["topic"] for row in kept} == {f"jackpot/v1/{link}/tables/{uth.name}/events"}
        assert {row["code"] for row in kept} == {"malformed"}
        assert all(row["message"] for row in kept)
    counted = [line for line in daemon.get("/metrics")[1].splitlines() if line.startswith("jackpot_unreadable_total{")]
    assert any(LINK in line and float(line.split()[-1]) >= 3 for line in counted), counted


async def test_mqtt_5_properties_are_not_needed_and_not_obeyed(daemon: Daemon, floor_broker: str) -> None:
    """A response topic in an event is not where the answer goes: that would let a table speak for others."""
    properties = Properties(PacketTypes.PUBLISH)  # type: ignore[no-untyped-call] # paho's is not typed
    properties.ResponseTopic = f"jackpot/v1/{LINK}/status"
    properties.CorrelationData = b"x"
    async with connected(floor_broker, protocol=aiomqtt.ProtocolVersion.V5) as pit:
        content = event("round.opened", 1, round="r")
        topic = f"jackpot/v1/{LINK}/tables/UTH-777/events"
        await pit.client.publish(topic, encoded(content), qos=1, properties=properties)
        assert (await pit.until(lambda: pit.replies(LINK, "UTH-777")))[0]["code"] == "unknown_table"
        assert all("state" in status for status in pit.on(f"{LINK}/status"))
