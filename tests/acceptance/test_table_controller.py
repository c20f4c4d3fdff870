"""Our own table controller beside a daemon whose `next_seq` is not what the table has counted."""

import asyncio
import uuid
from collections.abc import Iterator
from pathlib import Path

import pytest

from jackpot.floor.table import TableController
from jackpot.mqtt.broker import Broker
from tests.acceptance import processes
from tests.acceptance.processes import Daemon
from tests.servers import PostgresProgram
from tests.waiting import patience_s


@pytest.fixture
def link() -> str:
    return f"link-{uuid.uuid4().hex[:8]}"


@pytest.fixture
def serving(ledger_url: str, mosquitto: str, link: str, tmp_path: Path) -> Iterator[Daemon]:
    floor = (processes.link(link), processes.table("BE-01", link))
    daemon = Daemon(tmp_path, processes.configuration(ledger_url, mosquitto, floor))
    daemon.start()
    try:
        daemon.wait_ready()
        yield daemon
    finally:
        daemon.end()


async def play(table: TableController, name: str) -> list[int]:
    """A round; the seq of every answer, all of them accepted."""
    said = [
        table.post("round.opened", name),
        table.post("wager.placed", name, position=1),
        table.post("round.closed", name),
        table.post("round.settled", name),
    ]
    answers = await asyncio.gather(*said)
    assert [answer["status"] for answer in answers] == ["accepted"] * len(said), answers
    return [answer["seq"] for answer in answers]


async def test_what_is_refused_and_not_recorded_holds_up_nothing_behind_it(
    serving: Daemon, mosquitto: str, link: str
) -> None:
    async with asyncio.timeout(patience_s(30)), TableController(Broker.from_url(mosquitto), link, "BE-01") as table:
        answers = await asyncio.gather(
            table.post("round.opened", "r"),
            table.post("wager.placed", "r", position="one"),
            table.post("wager.dreamt", "r"),
            table.post("wager.placed", "r", position=1),
            table.post("round.closed", "r"),
        )
        assert [answer.get("code", "accepted") for answer in answers] == [
            "accepted",
            "malformed",
            "unknown_type",
            "accepted",
            "accepted",
        ]
        assert (answers[3]["seq"], answers[4]["seq"]) == (2, 3)
        await table.say("round.settled", "r")
        assert await play(table, "next") == [5, 6, 7, 8]


async def test_a_table_ahead_of_a_restored_ledger_says_so_and_goes_on(
    serving: Daemon, mosquitto: str, link: str, ledger_url: str, postgres: PostgresProgram
) -> None:
    lost: list[range] = []
    async with (
        asyncio.timeout(patience_s(60)),
        TableController(Broker.from_url(mosquitto), link, "BE-01", on_lost=lost.append) as table,
    ):
        assert await play(table, "kept") == [1, 2, 3, 4]
        assert await asyncio.to_thread(serving.terminate) == 0
        async with postgres.database(ledger_url.partition("?")[0].rpartition("/")[2]) as restored:
            serving.start()
            assert await play(table, "lost") == [5, 6, 7, 8]
            await table.say("round.opened", "half lost")
            assert await asyncio.to_thread(serving.terminate) == 0
            serving.config.write_text(serving.config.read_text().replace(ledger_url, restored))
            serving.start()
            try:
                orphan = await table.say("wager.placed", "half lost", position=1)
                assert (orphan["code"], orphan["seq"]) == ("unknown_round", 5)
                assert lost == [range(5, 10)]
                assert await play(table, "later") == [6, 7, 8, 9]
                assert len(lost) == 1
            finally:
                serving.end()
