"""Before a leader signs the next head it looks whether the ledger still holds the last, and when each day ended."""

import asyncio
import datetime as dt
from collections.abc import Callable
from pathlib import Path
from typing import Any, cast

import asyncpg
import pytest
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

from jackpot.daemon.background_tasks import BackgroundTasks
from jackpot.ledger.heads import keeping
from jackpot.ledger.heads.file import HeadsFile
from jackpot.ledger.heads.form import Acceptance
from jackpot.ledger.record import Head
from jackpot.ledger.seal import UNSEALED
from jackpot.link.commands import LinkResumed
from tests.ledger.ledger_driver import NOON, SINGAPORE, scribe_at
from tests.ledger.processors import desk_at
from tests.waiting import patience_s

KEY = Ed25519PrivateKey.from_private_bytes(bytes(range(32)))


class LinkChannel:
    """Nobody listens."""

    def __init__(self) -> None:
        self.said: list[str] = []

    def head(self, line: bytes) -> None: ...

    def say(self, state: str, **_: object) -> None:
        self.said.append(state)


async def until(holds: Callable[[], bool]) -> None:
    async with asyncio.timeout(patience_s(20)):
        while not holds():
            await asyncio.sleep(0.01)


async def test_a_history_that_is_rewritten_while_it_is_played_suspends_its_link(
    ledger_url: str, intruder: asyncpg.Connection, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(keeping, "HEADS_EVERY_S", 0.02)
    heads, channel = HeadsFile(tmp_path / "heads.jsonl", KEY), LinkChannel()
    async with asyncpg.create_pool(ledger_url, min_size=1) as pool, desk_at(ledger_url) as counter:
        processor = counter.processor
        background = BackgroundTasks("megalink", pool, processor, cast("Any", channel), seal=UNSEALED, heads=heads)
        serving = asyncio.create_task(processor.run())
        signing = asyncio.create_task(background.sign_heads(heads, SINGAPORE, lambda: NOON))
        await until(heads.path.exists)
        await intruder.execute("UPDATE events SET chain = 'rewritten'")

        def suspended() -> bool:
            return processor.state is not None and processor.state.suspended is not None

        await until(lambda: channel.said[-1:] == ["suspended"])
        n, kept = processor.n, heads.path.read_bytes()
        # Whoever lets it go on without having looked is stopped again, and nothing is signed meanwhile.
        await processor.order(LinkResumed(id="r1", by="mona", reason="why not"))
        await until(lambda: processor.n == n + 2 and len(channel.said) == 2)
        assert suspended()
        assert heads.path.read_bytes() == kept
        # Somebody has looked.
        head = Head(n=processor.n, chain=processor.head.chain, at=processor.head.at)
        HeadsFile(heads.path, KEY).keep("megalink", head, NOON, accepts=Acceptance(0, "root (terminal)", "agreed"))
        await processor.order(LinkResumed(id="r2", by="mona", reason="agreed"))
        await until(lambda: f'"n":{n + 3},'.encode() in heads.path.read_bytes())
        assert not suspended()
        for task in (signing, serving):
            task.cancel()


async def test_a_gaming_day_is_closed_with_its_last_event(ledger_url: str, intruder: asyncpg.Connection) -> None:
    last: dict[dt.date, int] = {}
    async with scribe_at(ledger_url, "UTH-01") as scribe:
        for days in (0, 1, 2):  # nothing is played on the third
            scribe.pass_time(days=days)
            scribe.deal("UTH-01", {1: 1})
            scribe.settle("UTH-01")
            last[scribe.day] = scribe.n
            await scribe.commit()
    first, *_ = last
    ends = [(await keeping.last_on(intruder, "megalink", first + dt.timedelta(days=days))).n for days in range(-1, 5)]
    numbers = list(last.values())
    assert ends == [0, numbers[0], numbers[1], numbers[1], numbers[2], numbers[2]]
