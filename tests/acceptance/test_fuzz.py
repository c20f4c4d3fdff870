"""A flood of nonsense: nothing of it is recorded, all of it is answered, and play goes on."""

import asyncio
import json
import os
import random
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import asyncpg
import pytest

from jackpot.mqtt.client import Broker, Connection, Message
from tests.acceptance.conftest import LINK
from tests.acceptance.integrator import AT, ROOT, connected
from tests.acceptance.processes import Daemon
from tests.waiting import patience_s

PAYLOADS = int(os.environ.get("JACKPOT_FUZZ_PAYLOADS", "100000"))
ON_THEIR_WAY_MAX = 4_000
SEQ = 424_242  # far ahead: if a payload is an event after all, it is a gap and not recorded

NOT_RECORDED = {
    "malformed", "unknown_type", "unknown_table", "not_linked", "wrong_link", "id_reused", "sequence_gap",
    "sequence_reused", "link_suspended",
}  # fmt: skip

EVENTS: list[dict[str, Any]] = [
    {"type": "round.opened", "round": "r"},
    {"type": "wager.placed", "round": "r", "position": 3, "multiplier": 5, "amount_cents": 2500},
    {"type": "hand.entered", "round": "r", "position": 3, "cards": ["As", "Ks"], "community": ["Qs", "Js", "Ts"]},
    {"type": "round.voided", "round": "r", "reason": "5.1"},
    {"type": "award.paid", "round": "r", "award": f"{LINK}-000001"},
    {"type": "meters.reported", "day": "2026-11-16", "wagers": 1, "wagered_cents": 5, "awards": 0, "awarded_cents": 0},
]
ODD: list[Any] = [
    None, True, False, 0, -1, 1.5, 2**53, -(2**63), 10**30, "", "x" * 70, "\0", "\ud800", [], {}, [[]], "NaN", "5", AT,
]  # fmt: skip


def _mutated(chance: random.Random, text: bytes) -> bytes:
    place = chance.randrange(len(text))
    match chance.randrange(6):
        case 0:
            return text[:place]
        case 1:
            return text[:place] + chance.randbytes(chance.randint(1, 8)) + text[place:]
        case 2:
            return text[:place] + text[place + chance.randint(1, 30) :]
        case 3:
            changed = bytearray(text)
            changed[place] ^= 1 << chance.randrange(8)
            return bytes(changed)
        case 4:
            return text[:-1] + b"," + text[1:]
        case _:
            return (
                text[:place]
                + chance.choice([b'"', b"\\", b"{", b"]", b":", b"\\ud83d", b"\\u0000", b"1e9"])
                + text[place:]
            )


def payloads(seed: int) -> Iterator[bytes]:
    chance = random.Random(seed)
    for number in range(PAYLOADS):
        match number % 4:
            case 0:
                yield chance.randbytes(chance.randint(0, 300))
            case 1:
                yield _mutated(chance, chance.choice([b"[]", b"{}", b'{"id":"a"}', b"[[[{}]]]", b"null", b'"x"']))
            case 2:
                content = {"id": f"fuzz-{number}", "seq": SEQ, "at": AT, **chance.choice(EVENTS)}
                content[chance.choice([*content, "note", "type"])] = chance.choice(ODD)
                yield json.dumps(content).encode()
            case _:
                content = {"id": f"fuzz-{number}", "seq": SEQ, "at": AT, **chance.choice(EVENTS)}
                yield _mutated(chance, json.dumps(content).encode())


def memory_mib(daemon: Daemon) -> int:
    status = Path(f"/proc/{daemon.process.pid}/status").read_text()
    return int(status.partition("VmRSS:")[2].split()[0]) // 1024


@pytest.mark.timeout(600)
async def test_a_flood_of_nonsense(daemon: Daemon, ledger: asyncpg.Connection, floor_broker: str) -> None:
    recorded = await ledger.fetchval("SELECT count(*) FROM events")
    memory = memory_mib(daemon)
    places = [(LINK, "UTH-903")] * 6 + [(LINK, "UTH-999"), (LINK, "FAR-01")]
    codes: Counter[str] = Counter()
    moved = asyncio.Event()

    def count(message: Message) -> None:
        codes[json.loads(message.payload)["code"]] += 1
        moved.set()

    filters = [(f"{ROOT}/{link}/tables/{name}/replies", 0) for link, name in sorted(set(places))]
    flood = await Connection.open(
        Broker.from_url(floor_broker), "flood", on_message=count, subscriptions=filters, clean_session=True
    )
    sent = 0
    for sent, payload in enumerate(payloads(seed=3), start=1):
        link, name = places[sent % len(places)]
        flood.publish_nowait(f"{ROOT}/{link}/tables/{name}/events", payload)
        while sent - codes.total() > ON_THEIR_WAY_MAX:
            moved.clear()
            async with asyncio.timeout(patience_s(60)):
                await moved.wait()
    async with asyncio.timeout(patience_s(60)):
        while codes.total() < sent:
            moved.clear()
            await moved.wait()
    await flood.close()

    assert codes.total() == sent == PAYLOADS
    assert codes.keys() <= NOT_RECORDED, codes
    assert codes["malformed"] > PAYLOADS / 2
    assert await ledger.fetchval("SELECT count(*) FROM events") == recorded
    assert await ledger.fetchval("SELECT count(*) FROM quarantine") <= 10_500
    assert memory_mib(daemon) < memory + 150
    async with connected(floor_broker) as pit:
        await pit.status(LINK, "running")
        table = pit.table(LINK, "UTH-903")
        await table.deal()
        await table.settle()
    assert daemon.get("/readyz")[0] == 200
