"""The simulated ledger is worth what it has in common with the real one: both play the same scripts, and answer alike."""

import asyncio
import random
from typing import Any

import pytest

from jackpot.ledger.connection import connect_writer
from tests.ledger.ledger_driver import ledger_template, ledger_url  # noqa: F401 fixtures
from tests.simulation import planted_in_batches
from tests.simulation.database import Database
from tests.simulation.ledger import Ledger
from tests.simulation.loop import Process, VirtualLoop
from tests.simulation.planting import Plant, around
from tests.simulation.script import Script, Step
from tests.simulation.substitutes import replace_postgresql
from tests.simulation.trace import Trace

STEPS = 120


def simulated(seed: int, steps: int) -> list[Step]:
    async def main() -> list[Step]:
        loop = asyncio.get_running_loop()
        assert isinstance(loop, VirtualLoop)
        database = Database(loop, Trace(loop.time), random.Random(seed), 0.001)
        process = Process("A-1", loop)
        database.on_intruder = lambda _: None  # both daemons are one process here
        told: list[Step] = []

        async def play() -> None:
            with pytest.MonkeyPatch.context() as patch:
                replace_postgresql(patch, database)
                told.extend(await Script(seed, database.connect(process)).play(steps))

        await process.start(play)
        return told

    with asyncio.Runner(loop_factory=VirtualLoop) as runner:
        return runner.run(main())


async def real(url: str, seed: int, steps: int) -> list[Step]:
    connection = await connect_writer(url)
    try:
        return await Script(seed, connection, url).play(steps)
    finally:
        await connection.close()


@pytest.mark.parametrize("seed", range(10))
async def test_every_call_has_the_same_outcome(ledger_url: str, seed: int) -> None:  # noqa: F811 the fixture above
    expected = await real(ledger_url, seed, STEPS)
    found = await asyncio.to_thread(simulated, seed, STEPS)
    for nth, (one, other) in enumerate(zip(expected, found, strict=True), start=1):
        assert other == one, f"step {nth}"


def cut_no_lease(patch: pytest.MonkeyPatch) -> None:
    def take(inner: Any, ledger: Ledger, link: str, holder: str, seconds: float) -> Any:
        row = ledger.links.get(link)
        if row is not None and row.holder != holder and row.expires_at >= ledger.now():
            return None
        return inner(ledger, link, holder, seconds)

    around(patch, Ledger, "take_lease", take)


@pytest.mark.parametrize(
    "plant",
    [
        cut_no_lease,
        planted_in_batches.the_head_is_moved_whoever_leads,
        planted_in_batches.event_ids_have_no_unique_index,
    ],
)
def test_what_the_simulated_ledger_did_otherwise_would_show(plant: Plant) -> None:
    """In outcomes that differ from those above, which PostgreSQL has too."""
    true = [simulated(seed, STEPS) for seed in range(10)]
    with pytest.MonkeyPatch.context() as patch:
        plant(patch)
        assert [simulated(seed, STEPS) for seed in range(10)] != true
