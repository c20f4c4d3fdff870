"""PostgreSQL calls a commit a success when it has stopped waiting for its synchronous standby. The table hears nothing."""

import asyncio
from functools import partial

import asyncpg

from tests.acceptance import processes
from tests.acceptance.integrator import connected, encoded, event
from tests.faults.conftest import EndsWell, NewDaemon
from tests.faults.witness import Witness
from tests.servers import PostgresProgram
from tests.waiting import patience_s


async def wait_for_standbys(postgres: PostgresProgram, names: str) -> None:
    await postgres.as_superuser(f"ALTER SYSTEM SET synchronous_standby_names = '{names}'")
    await postgres.as_superuser("SELECT pg_reload_conf()")


async def test_nothing_is_answered_that_the_standby_may_lack(
    killable_postgres: PostgresProgram, mosquitto: str, forked_daemon: NewDaemon, ends_well: EndsWell
) -> None:
    daemon = forked_daemon(killable_postgres.url, mosquitto)
    assert processes.run("migrate", "--config", daemon.config).returncode == 0
    daemon.start()
    await asyncio.to_thread(daemon.wait_ready)
    ledger = await asyncpg.connect(killable_postgres.url)
    administrator = await asyncpg.connect(killable_postgres.url_of("postgres", "postgres"))
    async with connected(mosquitto) as pit:
        table = pit.table("one", "BE-01")
        await table.open("r1")
        wager = event("wager.placed", table.seq, round="r1", position=1, amount_cents=500)
        replies = partial(pit.replies, "one", "BE-01", wager["id"])
        await wait_for_standbys(killable_postgres, "nobody")
        await pit.publish("one", "BE-01", encoded(wager))
        cancelled = 0
        async with asyncio.timeout(patience_s(30)):
            # Every wait is ended, as a timeout or a person may end it; each time PostgreSQL says that all is well.
            while not replies() and (cancelled < 10 or pit.last("one/status")["state"] != "suspended"):
                cancelled += len(
                    await administrator.fetch(
                        "SELECT pg_cancel_backend(pid) FROM pg_stat_activity WHERE wait_event = 'SyncRep'"
                    )
                )
                await asyncio.sleep(0.05)
        assert await ledger.fetchval("SELECT count(*) FROM events WHERE id = $1", wager["id"]) == 1, "all can read it"
        assert not replies()
        await wait_for_standbys(killable_postgres, "")
        assert {reply["status"] for reply in await pit.until(replies)} == {"accepted"}
        await pit.status("one", "running")
        assert await ledger.fetchval("SELECT count(*) FROM events WHERE id = $1", wager["id"]) == 1
        what = "a wait for the synchronous standby is cancelled"
        await ends_well(what, Witness(pit), killable_postgres.url, daemon, times=cancelled)
    await ledger.close()
    await administrator.close()
