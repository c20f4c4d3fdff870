"""Each runbook is typed as it stands, step by step, on a machine with everything on it (`machine.py` says what is changed).

The first install, and all of the upgrade, are typed on a bare Debian by `deploy/rehearse-install.sh`.
"""

import asyncio
import re
import shutil
import signal
import urllib.request
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import pytest

from deploy.rehearsal.runbook import blocks
from drivers.emulator import EmulatedPort, emulate
from jackpot.floor.table import TableController
from jackpot.mqtt.client import Connection, MqttError
from jackpot.pki import Kind
from tests.acceptance.processes import Daemon
from tests.brokers import free_port
from tests.deploy import installed
from tests.deploy.installed import DEPLOY
from tests.deploy.machine import LINK, OTHER_LINK, Failed, Machine, lose, machine
from tests.deploy.server import needs_debians_postgresql
from tests.deploy.site import ConsoleClient, balance, play, report, table_at, typed, won
from tests.waiting import patience_s

# As long as the waits in here may be, by `patience_s`.
pytestmark = [needs_debians_postgresql, pytest.mark.timeout(900)]


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Machine]:
    with machine(tmp_path_factory.mktemp("site")) as made:
        yield made


async def test_disputed_award(site: Machine) -> None:
    slip, explain, verify, suspend = blocks("disputed-award.md")
    async with table_at(site) as table:
        award = await won(table)
        printed = await typed(site, slip, {"megalink-000123": award["award"]})
        assert f"{award['amount_cents'] / 100:,.2f}" in printed
        assert "royal flush" in await typed(site, explain)
        # The month turned a moment ago, and nothing was signed since.
        (site.lib / "heads.jsonl").rename(site.lib / "heads.jsonl-202610")
        assert "signed heads hold" in await typed(site, verify)
        await typed(site, suspend)
        status, resume = blocks("claim-blocked.md")
        with pytest.raises(Failed, match="suspended"):
            await typed(site, status)
        before = balance(site, LINK, "pool")
        await ConsoleClient(site).adjust("pool", 100)
        assert balance(site, LINK, "pool") == before + 1_000_000
        await typed(site, resume)
        await play(table)
        await table.say("award.paid", award["round"], award=award["award"])
    assert LINK in await typed(site, status)


async def test_broker_lost(site: Machine) -> None:
    # The loss of its machine is rehearsed where there is one to lose.
    restart, store, certificates, _, check = blocks("broker-lost.md")
    async with table_at(site) as table:
        await play(table)
        playing = asyncio.create_task(play(table))
        await typed(site, restart)
        await playing
        playing = asyncio.create_task(play(table))
        await typed(site, store)
        await playing
    with pytest.raises(Failed, match="issue them again"):  # those of this site are made for 30 days
        await typed(site, certificates)
    await asyncio.to_thread(site.daemon.wait_ready)
    assert "none failed" in await typed(site, check)


async def test_renew_certificates(site: Machine) -> None:
    look, own, servers, table, check = blocks("renew-certificates.md")
    with pytest.raises(Failed, match="issue them again"):  # those of this site are made for 30 days
        await typed(site, look)
    assert "ends in 29 days" in await typed(site, check)
    await typed(site, own)
    async with table_at(site) as playing:
        await play(playing)
        await typed(site, servers, {"jackpot.example": "broker"})
        await play(playing)
    await asyncio.to_thread(site.daemon.wait_ready)
    printed = await typed(site, check)
    assert "none failed" in printed
    assert "ends in" not in printed
    await typed(site, table)
    listed = await typed(site, look.replace("--expiring 30 ", ""))
    assert "earlier" in listed


async def test_replace_a_table_controller(site: Machine) -> None:
    look, revoke, renew, revoke_earlier = blocks("replace-table-controller.md")
    old_key = site.event_key
    stolen = site.pki.broker(Kind.TABLE, "UTH-01")
    async with asyncio.timeout(patience_s(60)), TableController(stolen, LINK, "UTH-01", key=old_key) as table:
        await play(table)
        await typed(site, look)
        await typed(site, revoke)
        silence = asyncio.ensure_future(play(table))
        await typed(site, renew)
        assert site.event_key != old_key
        new = site.pki.broker(Kind.TABLE, "UTH-01")
        async with TableController(new, LINK, "UTH-01", key=site.event_key) as replaced:
            await play(replaced)
            await report(site, replaced)
        assert not silence.done(), "a revoked certificate was let in"
        silence.cancel()
    await typed(site, renew)
    await typed(site, revoke_earlier)
    with pytest.raises(MqttError, match=r"revoked|reset"):
        await Connection.open(new, "UTH-01", on_message=lambda _: None)
    assert "UTH-01" in await typed(site, blocks("claim-blocked.md")[0])


async def test_replace_a_board(site: Machine, tmp_path: Path) -> None:
    look, ports, pattern, new_machine = blocks("replace-board.md")
    certificate, key = site.pki.files(Kind.BOARD, "pit-2")
    shutil.copy(certificate, site.etc / "board.crt")
    shutil.copy(key, site.etc / "secrets/board.key")
    port = tmp_path / "usb-pit-2"
    board = emulate("alpha", "01", 16)
    text = installed.replaced(
        (DEPLOY / "boards.toml").read_text(),
        {
            "mqtts://broker.jackpot.example:8884": f"mqtts://127.0.0.1:{site.pki.ports[Kind.BOARD]}",
            "/etc/jackpot/": f"{site.etc}/",
            "/dev/serial/by-id/usb-pit-2": str(port),
        },
    )
    unit = (DEPLOY / "systemd/jackpot-signs.service").read_text()
    (start,) = re.findall(r"^ExecStart=(.*)$", unit, re.MULTILINE)
    asked_at = f"127.0.0.1:{free_port()}"
    command = site.here(start, {"127.0.0.1:9885": asked_at}).split()
    site.agent = Daemon(site.etc, text, name="boards", command=command)

    async def shows_an_amount() -> None:
        async with asyncio.timeout(patience_s(30)):
            while "." not in str(board.state()):
                await asyncio.sleep(0.1)

    def told() -> str:
        with suppress(OSError), urllib.request.urlopen(f"http://{asked_at}/metrics", timeout=10) as answer:
            return str(answer.read().decode())
        return ""

    async def tells(series: str) -> None:
        async with asyncio.timeout(patience_s(30)):
            while series not in await asyncio.to_thread(told):
                await asyncio.sleep(0.1)

    try:
        async with EmulatedPort([board], port):
            await typed(site, new_machine)
            await shows_an_amount()
            await tells('jackpot_sign_connected{link="megalink",sign="pit-2"} 1.0')  # noted after it was shown
            await tells('jackpot_certificate_not_after_timestamp_seconds{role="mqtt.cert"}')
            assert "pit-2" in await typed(site, look)
            assert "usb-pit-2" in await typed(site, ports, {"/dev/serial/by-id": tmp_path})
            await typed(site, pattern)
            await shows_an_amount()
    finally:
        site.agent.end()


async def test_the_auditors_day(site: Machine, tmp_path: Path) -> None:
    text = (DEPLOY / "runbooks/auditors-day.md").read_text()
    own = text.partition("```toml\n")[2].partition("```")[0]
    theirs = site.daemon.config.read_text()
    floor = theirs[theirs.index("[gaming_day]") : theirs.index("[embedded]")] + theirs[theirs.index("[[links]]") :]
    kept = [line for line in floor.splitlines(keepends=True) if not line.startswith("key_file")]
    (tmp_path / "audit.toml").write_text(site.here(own) + "".join(kept))
    (tmp_path / "audit.password").write_text(site.server.passwords["audit"] + "\n")
    (tmp_path / "yesterday").mkdir()
    for path in (site.etc / "servers.crt", site.etc / "heads.pub", *site.lib.glob("heads.jsonl*")):
        shutil.copy(path, tmp_path)
    for path in tmp_path.glob("heads.jsonl*"):
        shutil.copy(path, tmp_path / "yesterday")
    check, verify, reconcile, certificates = blocks("auditors-day.md")
    assert "heads are true" in await typed(site, check, cwd=tmp_path)
    assert "signed heads hold" in await typed(site, verify, cwd=tmp_path)
    assert "balance" in (await typed(site, reconcile, cwd=tmp_path)).lower()
    assert "UTH-01" in await typed(site, certificates, cwd=tmp_path)


async def test_upgrade(site: Machine) -> None:
    beside, check, change_over, proof = blocks("upgrade.md")
    await typed(site, beside)
    async with table_at(site) as table:
        await typed(site, check)
        playing = asyncio.create_task(play(table))
        await typed(site, change_over)
        await playing
    assert "none failed" in await typed(site, proof)


async def test_closing_a_link(site: Machine) -> None:
    suspend, amounts, books, restart = blocks("closing-a-link.md")
    async with table_at(site) as table:
        await report(site, table)
    await typed(site, suspend)
    assert "reserve" in (await typed(site, amounts)).lower()
    for account in ("pool", "reserve"):
        before = [balance(site, link, account) for link in (LINK, OTHER_LINK)]
        moved = before[0] // 10_000
        await ConsoleClient(site).adjust(account, moved, to_link=OTHER_LINK)
        after = [balance(site, link, account) for link in (LINK, OTHER_LINK)]
        assert after == [before[0] % 10_000, before[1] + moved * 10_000]
    await typed(site, books)
    assert (site.lib / "megalink-closed.xlsx").stat().st_size > 0
    text = site.daemon.config.read_text()
    closed = text[text.index("[[links]]") : text.index("# -- tables")]
    try:
        site.daemon.config.write_text(text.replace(closed, "").replace(f'link = "{LINK}"', f'link = "{OTHER_LINK}"'))
        await typed(site, restart)
        async with table_at(site) as late:
            assert (await late.say("round.opened", "late"))["code"] == "wrong_link"
        async with table_at(site, OTHER_LINK) as table:
            await play(table)
    finally:
        site.daemon.config.write_text(text)
    await typed(site, restart)
    await typed(site, blocks("claim-blocked.md")[1])


async def signed(site: Machine) -> None:
    """Until the daemon has signed where the ledger stands."""
    n = int(site.server.psql(f"SELECT n FROM links WHERE link = '{LINK}'", "jackpot"))
    async with asyncio.timeout(patience_s(30)):
        while f'"{LINK}","n":{n},' not in (site.lib / "heads.jsonl").read_text().replace(" ", ""):
            await asyncio.sleep(0.1)


async def test_daemon_gone(site: Machine) -> None:
    look, check, restart, _, watch, status = blocks("daemon-gone.md")
    async with table_at(site) as table:
        await play(table)
        site.daemon.kill()
        playing = asyncio.create_task(play(table))
        await typed(site, look)
        assert "none answers" in await typed(site, check)
        await typed(site, restart)
        await playing
    await typed(site, watch)
    assert LINK in await typed(site, status)


async def new_copy(site: Machine, copy: str) -> None:
    before = set(site.server.backups.glob("base-*"))
    await typed(site, copy)
    assert set(site.server.backups.glob("base-*")) > before


async def test_database_lost_restored_and_tables_ahead_of_it(site: Machine) -> None:
    look, _, _, _, restore, to_a_moment, verify, start, copy, ahead, room, rehearse, *_ = blocks("database-lost.md")
    lost: list[range] = []
    async with table_at(site, on_lost=lost.append) as table:
        await typed(site, look)
        assert "archived_count" in await typed(site, room)  # which makes a copy, too
        site.server.psql("SELECT pg_sleep(2)")  # a copy is named by the second
        kept = (await play(table))["seq"]
        moment = site.server.psql("SELECT clock_timestamp()").strip()
        gone = (await play(table))["seq"]
        await typed(site, "systemctl restart jackpot\n")
        await signed(site)
        site.server.archive()
        # The disk of the backups is full from here on, and then the machine is gone, with the log on its disk.
        site.server.psql("ALTER SYSTEM SET archive_command = 'false'")
        site.server.psql("SELECT pg_reload_conf()")
        unkept = (await play(table))["seq"]
        await typed(site, "systemctl restart jackpot\n")
        await signed(site)
        at: dict[str, str | Path] = {
            "2026-11-16 02:00:00+00": moment,
            "/var/tmp/heads.jsonl": site.server.folder / "heads.jsonl",
            "/etc/jackpot/heads.pub": shutil.copy(site.etc / "heads.pub", site.server.folder),
        }
        if site.server.jackpot():
            with pytest.raises(Failed, match="kept outside the database, but it is not there"):
                await typed(site, rehearse, at)
            gather, _, to_the_moment = rehearse.strip().splitlines()
            assert f"restores to {moment} and verifies" in await typed(site, f"{gather}\n{to_the_moment}\n", at)
        lose(site.server)
        shutil.rmtree(site.server.data / "pg_wal")
        await typed(site, restore)
        with pytest.raises(Failed, match="kept outside the database, but it is not there"):
            await typed(site, verify)
        await typed(site, ahead)
        assert (await play(table))["seq"] == unkept
        assert lost == [range(gone + 1, unkept + 1)]
        lost.clear()
        await typed(site, to_a_moment, at)
        await typed(site, ahead)
        assert (await play(table))["seq"] == gone
        assert lost == [range(kept + 1, unkept + 1)]
    await typed(site, "systemctl restart jackpot\n")
    await signed(site)
    assert "were given up" in await typed(site, verify)
    assert "none failed" in await typed(site, start)
    await new_copy(site, copy)


async def test_database_lost_and_its_standby_promoted(site: Machine) -> None:
    _, promote, follow, _, _, _, verify, start, copy, _, _, _, make_standby, wait_for_it = blocks("database-lost.md")
    first = site.server
    standby = site.with_database(first.standby())
    places = {
        "host=jackpot.example port=5432": f"host=127.0.0.1 port={first.port}",
        "jackpot.example:5432": f"127.0.0.1:{first.port}",
    }
    await typed(standby, make_standby, places)
    try:
        while "sync" not in (await typed(site, wait_for_it)).replace("async", "").replace("sync_state", ""):
            await asyncio.sleep(0.1)
        async with table_at(site) as table:
            await play(table)
            playing = asyncio.create_task(play(table))
            lose(first)
            await typed(standby, promote)
            text = site.daemon.config.read_text()
            site.daemon.config.write_text(text.replace(f":{first.port}/", f":{standby.server.port}/"))
            await typed(standby, follow)
            await playing
        assert "head megalink:" in await typed(standby, verify)
        assert "none failed" in await typed(standby, start)
        await new_copy(standby, copy)
    finally:
        standby.server.stop(signal.SIGQUIT)
