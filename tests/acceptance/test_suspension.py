"""`jackpot suspend` and `resume`: no play, but what was won is paid and what was asked is answered again."""

import asyncio
import json
import uuid
from pathlib import Path

import asyncpg
import pytest

from jackpot.link.commands import BalanceAdjusted
from tests.acceptance import processes
from tests.acceptance.conftest import SUSPENDED_LINK as LINK
from tests.acceptance.integrator import Integrator, connected, encoded, event
from tests.acceptance.processes import Daemon
from tests.ledger.agreed import agree


def order(daemon: Daemon, command: str, reason: str, link: str = LINK) -> processes.Finished:
    return processes.run(command, "--config", daemon.config, "--link", link, "--reason", reason)


def begin(ledger_url: str, mosquitto: str, folder: Path) -> tuple[str, Daemon]:
    """A daemon with a link of its own, started."""
    link = f"link-{uuid.uuid4().hex[:8]}"
    floor = (processes.link(link), processes.table("UTH-01", link))
    daemon = Daemon(folder, processes.configuration(ledger_url, mosquitto, floor))
    daemon.start()
    return link, daemon


async def test_a_suspended_link(pit: Integrator, daemon: Daemon) -> None:
    table, other = pit.table(LINK, "UTH-601"), pit.table(LINK, "UTH-602")
    await table.deal()
    await table.enter(1, "Ah Ad", "Ac As 2d")
    (award,) = (await table.settle())["awards"]
    opened = event("round.opened", table.seq, round="next")
    first = await pit.send(LINK, table.name, opened)
    version = (await pit.meter(LINK))["version"]

    done = order(daemon, "suspend", "the fire alarm rings")
    assert (done.returncode, done.stderr) == (0, "")
    status = await pit.status(LINK, "suspended")
    assert "the fire alarm rings" in status["reason"]
    await pit.state(LINK, table.name, accepts_play=False)
    await pit.state(LINK, other.name, accepts_play=False)

    # A resend gets its first answer, a known id with another content its own; only then comes the suspension.
    assert await pit.send(LINK, table.name, opened) == first | {"duplicate": True}
    reused = await pit.send(LINK, table.name, opened | {"seq": 99})
    assert reused["code"] == "id_reused"
    table.seq += 1
    next_seq = table.seq
    for type_, fields in (("round.closed", {"round": "next"}), ("meters.reported", {})):
        report = {"day": "2026-11-16", "wagers": 0, "wagered_cents": 0, "awards": 0, "awarded_cents": 0}
        refused = await table.refused("link_suspended", type_, **fields, **(report if not fields else {}))
        assert refused["rule"] is None
        assert "next_seq" not in refused
    for seq in (2, 99):  # it goes before the sequence
        table.seq = seq
        await table.refused("link_suspended", "round.closed", round="next")
    assert (await pit.send(LINK, table.name, event("round.paused", next_seq)))["code"] == "unknown_type"
    assert (await pit.answer_to(LINK, table.name, b"{"))["code"] == "malformed"

    # What was won is paid; the sequence counts for it as ever.
    table.seq = next_seq + 1
    gap = await table.refused("sequence_gap", "award.paid", award=award["award"], round=award["round"])
    assert gap["next_seq"] == next_seq
    table.seq = next_seq
    await table.refused("unknown_award", "award.paid", award="nothing", round=award["round"])
    await table.pay(award)
    await table.refused("award_already_paid", "award.paid", award=award["award"], round=award["round"])
    await table.refused("link_suspended", "round.closed", round="next")
    await pit.state(LINK, table.name, accepts_play=False, next_seq=table.seq)

    done = order(daemon, "resume", "a false alarm")
    assert (done.returncode, done.stderr) == (0, "")
    await pit.status(LINK, "running")
    await pit.state(LINK, table.name, accepts_play=True)
    await table.accepted("round.closed", round="next")
    assert (await pit.meter(LINK))["version"] > version


async def test_an_order_for_no_link_of_ours_is_bad_use(pit: Integrator, daemon: Daemon) -> None:
    done = order(daemon, "suspend", "why not", link="nolink")
    assert done.returncode == 2
    assert "nolink" in done.stderr
    assert LINK in done.stderr
    assert "Traceback" not in done.stderr


@pytest.mark.parametrize(("reason", "name"), [("", "UTH-603"), ("two\nlines", "UTH-604")], ids=["empty", "two lines"])
async def test_a_reason_that_cannot_be_recorded_harms_nobody(
    pit: Integrator, daemon: Daemon, reason: str, name: str
) -> None:
    done = order(daemon, "suspend", reason)
    assert done.returncode == 2
    assert "reason" in done.stderr
    assert "Traceback" not in done.stderr
    table = pit.table(LINK, name)
    await table.open()
    await table.void()


async def test_a_request_that_cannot_be_read_is_answered_and_harms_nobody(
    pit: Integrator, daemon: Daemon, ledger: asyncpg.Connection
) -> None:
    """As an older or newer program might leave it."""
    command = {"type": "link.suspended", "id": "from-the-future", "by": "anna", "reason": {"code": 7}}
    await ledger.execute(
        "INSERT INTO requests (id, link, command) VALUES ('from-the-future', $1, $2::jsonb)", LINK, json.dumps(command)
    )
    done = order(daemon, "resume", "just to see that orders are taken")
    assert (done.returncode, done.stderr) == (0, "")
    answer = await ledger.fetchval("SELECT answer ->> 'status' FROM requests WHERE id = 'from-the-future'")
    assert answer == "refused"


async def test_without_a_daemon_the_order_stands(ledger_url: str, tmp_path: Path) -> None:
    floor = (processes.link(LINK), processes.table("UTH-601", LINK))
    config = tmp_path / "jackpot.toml"
    config.write_text(processes.configuration(ledger_url, "mqtt://127.0.0.1:1", floor))
    done = processes.run("suspend", "--config", config, "--link", LINK, "--reason", "nobody is here")
    assert done.returncode == 1
    assert "no daemon" in done.stderr
    connection = await asyncpg.connect(ledger_url)
    assert await connection.fetchval("SELECT count(*) FROM requests WHERE answer IS NULL") == 1
    await connection.close()


async def test_an_order_that_stood_is_carried_out_before_any_play(
    ledger_url: str, mosquitto: str, tmp_path: Path
) -> None:
    """Tables resend while nobody leads: the first thing they are told is that they may not play."""
    link, daemon = begin(ledger_url, mosquitto, tmp_path)
    try:
        async with connected(mosquitto) as pit:
            await asyncio.to_thread(daemon.wait_ready)
            await pit.status(link, "running")
            assert await asyncio.to_thread(daemon.terminate) == 0
            await pit.status(link, "stopped")
            assert order(daemon, "suspend", "stop play", link).returncode == 1
            opened = event("round.opened", 1, round="r")
            await pit.publish(link, "UTH-01", encoded(opened))
            before = len(pit.on(f"{link}/status"))
            daemon.start()
            answer, *_ = await pit.until(lambda: pit.replies(link, "UTH-01", opened["id"]))
            assert answer["code"] == "link_suspended"
            assert "running" not in [status["state"] for status in pit.on(f"{link}/status")[before:]]
    finally:
        daemon.end()


async def test_play_does_not_go_on_with_a_ledger_that_contradicts_itself(
    ledger_url: str, mosquitto: str, tmp_path: Path
) -> None:
    link, daemon = begin(ledger_url, mosquitto, tmp_path)
    connection = await asyncpg.connect(ledger_url)
    try:
        async with connected(mosquitto) as pit:
            await asyncio.to_thread(daemon.wait_ready)
            assert order(daemon, "suspend", "something is wrong", link).returncode == 0
            await connection.execute(
                "ALTER TABLE journals DISABLE TRIGGER ALL; "
                "UPDATE journals SET pool_after = pool_after + 1, house_after = house_after - 1"
            )
            done = order(daemon, "resume", "why not", link)
            assert done.returncode != 0
            assert "before this is mended: pool is" in done.stderr
            await connection.execute("UPDATE journals SET pool_after = pool_after - 1, house_after = house_after + 1")
            assert order(daemon, "resume", "it is mended", link).returncode == 0
            await pit.status(link, "running")
    finally:
        await connection.close()
        daemon.end()


async def test_an_order_of_more_than_the_ledger_can_hold_is_refused_and_play_goes_on(
    pit: Integrator, daemon: Daemon, ledger: asyncpg.Connection
) -> None:
    names = {"id": "too-much", "by": "anna", "approved_by": "ben"}
    adjusted = BalanceAdjusted(**names, reason="a slip of the pen", account="reserve", amount_cents=2**53 - 1)
    before = await ledger.fetchval("SELECT reserve FROM links WHERE link = $1", LINK)
    await agree(ledger, LINK, adjusted)
    done = order(daemon, "resume", "it is the next order, and waits for the one before it")
    assert (done.returncode, done.stderr) == (0, "")
    assert await ledger.fetchval("SELECT answer ->> 'status' FROM requests WHERE id = 'too-much'") == "refused"
    await pit.status(LINK, "running")
    assert "suspended" not in [status["state"] for status in pit.on(f"{LINK}/status")]
    assert await ledger.fetchval("SELECT reserve FROM links WHERE link = $1", LINK) == before
