"""Without a configured database the embedded one is asked: the server that runs, or one started for the while."""

import json
import subprocess
import sys
from pathlib import Path

from tests.ledger.ledger_driver import make_schema, scribe_at
from tests.servers import ROOT, PostgresProgram


def reconcile(config: Path) -> subprocess.CompletedProcess[str]:
    start = "from jackpot.cli import main; main()"
    argv = [sys.executable, "-c", start, "reconcile", "--config", str(config), "--day", "2026-11-16", "-o", "json"]
    return subprocess.run(argv, cwd=ROOT, capture_output=True, text=True, check=False)


async def test_a_report_leaves_a_running_server_alone_and_needs_none(used_dir: Path, tmp_path: Path) -> None:
    config = tmp_path / "jackpot.toml"
    config.write_text(f'[embedded]\ndata_dir = "{used_dir}"\n')
    server = PostgresProgram(used_dir)
    url = server.start()
    await make_schema(url)
    async with scribe_at(url, "UTH-01") as scribe:
        scribe.deal("UTH-01")
        await scribe.commit()
        beside = reconcile(config)
        assert beside.returncode == 1
        assert beside.stderr == (
            "jackpot: gaming day 2026-11-16 does not balance: table UTH-01: it had play but reported no meters\n"
        )
        scribe.report_all()
        await scribe.commit()
    server.stop()
    alone = reconcile(config)
    assert (alone.returncode, alone.stderr) == (0, "")
    (link,) = json.loads(alone.stdout)["links"]
    assert link["pool_micros"] == scribe.balances.pool
