"""A ledger that does not hold what the daemon has signed is not played on until somebody has looked and agreed."""

import asyncio
import json
import uuid
from pathlib import Path

import asyncpg
import pytest

from jackpot.floor.table import TableController
from jackpot.ledger.heads.form import new_key
from jackpot.mqtt.broker import Broker
from tests.acceptance import processes
from tests.acceptance.processes import Daemon
from tests.servers import PostgresProgram
from tests.waiting import patience_s

LINK = f"link-{uuid.uuid4().hex[:8]}"


@pytest.fixture
def heads(tmp_path: Path) -> str:
    private, public = new_key()
    (tmp_path / "heads.key").write_bytes(private)
    (tmp_path / "heads.key").chmod(0o600)
    (tmp_path / "heads.pub").write_bytes(public)
    return f'[heads]\nfile = "{tmp_path}/heads.jsonl"\nkey_file = "{tmp_path}/heads.key"\n'


async def play(mosquitto: str, name: str) -> None:
    async with (
        asyncio.timeout(patience_s(60)),
        TableController(Broker.from_url(mosquitto), LINK, "BE-01") as table,
    ):
        for type_ in ("round.opened", "round.closed", "round.settled"):
            answer = await table.say(type_, name)
            assert answer["status"] == "accepted", answer


def contradicted(daemon: Daemon) -> bool:
    return f'jackpot_head_contradicted{{link="{LINK}"}} 1.0' in daemon.get("/metrics")[1]


async def test_a_ledger_that_was_set_back(
    ledger_url: str, mosquitto: str, postgres: PostgresProgram, heads: str, tmp_path: Path
) -> None:
    floor = (processes.link(LINK), processes.table("BE-01", LINK), heads)
    daemon = Daemon(tmp_path, processes.configuration(ledger_url, mosquitto, floor))

    async def restarted() -> None:
        if daemon.runs:
            assert await asyncio.to_thread(daemon.terminate) == 0
        daemon.start()
        await asyncio.to_thread(daemon.wait_ready)

    async def typed(*words: str) -> processes.Finished:
        return await asyncio.to_thread(processes.run, *words, "--config", daemon.config)

    def signed(n: int) -> bool:
        return f'"n":{n},' in (tmp_path / "heads.jsonl").read_text()

    verify = ("verify", "-o", "json", "--heads", f"{tmp_path}/heads.jsonl*", "--heads-key", f"{tmp_path}/heads.pub")
    accept = ("heads", "accept", "--link", LINK, "--reason", "the disk was lost")
    try:
        await restarted()
        await play(mosquitto, "kept")
        assert await asyncio.to_thread(daemon.terminate) == 0
        async with postgres.database(ledger_url.partition("?")[0].rpartition("/")[2]) as earlier:
            await restarted()
            await play(mosquitto, "lost")
            await restarted()  # a head is signed at each start
            async with asyncio.timeout(patience_s(30)):
                while not signed(8):
                    await asyncio.sleep(0.05)
            assert not contradicted(daemon)
            nothing = await typed(*accept)
            assert (nothing.returncode, "nothing to accept" in nothing.stderr) == (2, True)

            assert await asyncio.to_thread(daemon.terminate) == 0
            daemon.config.write_text(daemon.config.read_text().replace(ledger_url, earlier))
            await restarted()
            ledger = await asyncpg.connect(earlier)
            reason = await ledger.fetchval("SELECT suspended FROM links WHERE link = $1", LINK)
            assert reason.startswith("the ledger does not hold event 8 as it was signed at ")
            assert contradicted(daemon)
            assert "head_contradicted" in daemon.log()
            found = json.loads((await typed("check", "-o", "json")).stdout)["findings"]
            (bad,) = [finding for finding in found if finding["verdict"] == "bad"]
            assert (bad["part"], "jackpot heads accept" in bad["fix"]) == ("heads", True)
            assert (await typed(*verify)).returncode == 1

            accepted = await typed(*accept)
            assert (accepted.returncode, "1 heads of what is lost" in accepted.stdout) == (0, True), accepted
            assert (await typed("resume", "--link", LINK, "--reason", "agreed")).returncode == 0
            await play(mosquitto, "later")
            done = await typed(*verify)
            assert done.returncode == 0, done.stderr
            (link,) = json.loads(done.stdout)["heads"]["links"]
            assert [(one["given_up"], one["since"], one["reason"]) for one in link["accepted"]] == [
                (1, 5, "the disk was lost")
            ]
            await restarted()
            assert not contradicted(daemon)
            await play(mosquitto, "after")
            assert (await typed(*verify)).returncode == 0
            audit_entry = await ledger.fetchrow(
                "SELECT subject, detail ->> 'reason' FROM audit WHERE action = 'heads.accepted'"
            )
            assert tuple(audit_entry or ()) == (LINK, "the disk was lost")
            await ledger.close()
            assert await asyncio.to_thread(daemon.terminate) == 0
    finally:
        daemon.end()
