"""A table is moved to another link in the configuration while it has a round open and an award to pay on the first."""

import asyncio
import uuid
from pathlib import Path

from tests.acceptance import processes
from tests.acceptance.integrator import connected
from tests.acceptance.processes import Daemon


async def test_it_ends_on_the_old_link_what_it_began_there(mosquitto: str, ledger_url: str, tmp_path: Path) -> None:
    old, new, table = (f"{name}-{uuid.uuid4().hex[:8]}" for name in ("old", "new", "UTH"))
    links = (processes.link(old), processes.link(new), processes.table(f"BE-{table}", new))
    daemon = Daemon(tmp_path, processes.configuration(ledger_url, mosquitto, (*links, processes.table(table, old))))
    try:
        async with connected(mosquitto) as pit:
            daemon.start()
            await asyncio.to_thread(daemon.wait_ready)
            here, there = pit.table(old, table), pit.table(new, table)
            await here.deal()
            await here.enter(1, "Ah Ad", "Ac As 2d")
            (award,) = (await here.settle())["awards"]
            await here.deal()
            daemon.kill()
            text = daemon.config.read_text()
            daemon.config.write_text(text.replace(f'id = "{table}"\nlink = "{old}"', f'id = "{table}"\nlink = "{new}"'))
            daemon.start()
            await asyncio.to_thread(daemon.wait_ready)

            # The round ends where it began; no other begins there.
            await pit.state(
                old, table, accepts_play=False, next_seq=here.seq, round={"id": here.round, "phase": "closed"}
            )
            await pit.state(new, table, accepts_play=True, next_seq=here.seq, round=None)
            await here.refused("wrong_link", "round.opened", round="next")
            await here.settle()
            await pit.state(old, table, accepts_play=False, next_seq=here.seq, round=None)
            there.seq = here.seq
            await there.open("at home")

            # The award is announced until it is paid, on the link that made it.
            here.seq = there.seq
            assert (await here.notice(award["award"], times=2)) == award
            await here.refused("wrong_link", "award.paid", round=award["round"], award=f"{old}-000099")
            await here.pay(award)
            there.seq = here.seq
            await there.accepted("round.closed", round="at home")
            await pit.state(old, table, accepts_play=False, next_seq=here.seq)

            # Neither a restart nor a kill lets it play there again.
            daemon.kill()
            daemon.start()
            await asyncio.to_thread(daemon.wait_ready)
            await there.accepted("round.settled", round="at home")
            assert pit.last(f"{old}/tables/{table}/state")["accepts_play"] is False
            assert await asyncio.to_thread(daemon.terminate) == 0
        done = await asyncio.to_thread(processes.run, "verify", "--config", daemon.config)
        assert (done.returncode, done.stderr) == (0, ""), done
    finally:
        daemon.end()
