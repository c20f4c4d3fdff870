"""PostgreSQL's disk is full, and then is not: its tables' disk, or that of its write-ahead log, which it dies of."""

import asyncio
import os
import shutil
import subprocess
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

import asyncpg
import pytest

from tests.acceptance import processes
from tests.acceptance.integrator import connected
from tests.faults.conftest import TABLES, EndsWell, NewDaemon
from tests.faults.players import playing
from tests.servers import PostgresProgram
from tests.waiting import patience_s

MIB = 2**20
ROOM_MIB = {"tables": 200, "log": 64}
"""How large the disk is that holds all of PostgreSQL, or its log alone."""


@dataclass(frozen=True, slots=True)
class SmallDisk:
    path: Path

    def fill(self) -> None:
        with (self.path / "filler").open("wb") as filler, suppress(OSError):
            while True:
                os.write(filler.fileno(), bytes(MIB // 16))

    def free(self) -> None:
        (self.path / "filler").unlink()


@pytest.fixture(params=ROOM_MIB)
def small_disk(request: pytest.FixtureRequest, used_dir: Path) -> Iterator[SmallDisk]:
    if os.geteuid() != 0:
        pytest.skip("only root mounts a disk of a few megabytes")
    cluster = used_dir / "postgres" / "cluster"
    place = cluster if request.param == "tables" else cluster / "pg_wal"
    aside = used_dir / "aside"
    shutil.move(place, aside)
    place.mkdir()
    size = f"size={ROOM_MIB[request.param]}m"
    mounted = subprocess.run(["mount", "-t", "tmpfs", "-o", size, "jackpot-test", place], check=False)
    if mounted.returncode:
        pytest.skip("no disk can be mounted here")
    subprocess.run(["cp", "-a", f"{aside}/.", place], check=True)
    yield SmallDisk(place)
    subprocess.run(["umount", "--lazy", place], check=True)


@pytest.fixture
def postgres_on_it(small_disk: SmallDisk, used_dir: Path) -> Iterator[PostgresProgram]:
    program = PostgresProgram(used_dir)
    program.start()
    yield program
    program.kill()


async def use_up_the_log(postgres: PostgresProgram) -> None:
    """What was made ahead is used up too: then it needs a new file, and there is no room for one."""
    with suppress(OSError, asyncpg.PostgresError, asyncpg.InterfaceError):
        async with asyncio.timeout(patience_s(30)):
            while True:
                await postgres.as_superuser("SELECT pg_switch_wal()")
                await asyncio.sleep(0.05)


async def test_the_link_is_suspended_until_there_is_room(
    small_disk: SmallDisk,
    postgres_on_it: PostgresProgram,
    mosquitto: str,
    forked_daemon: NewDaemon,
    ends_well: EndsWell,
) -> None:
    url = postgres_on_it.url
    daemon = forked_daemon(url, mosquitto)
    assert processes.run("migrate", "--config", daemon.config).returncode == 0
    daemon.start()
    log = postgres_on_it.data_dir / "postgres" / "server.log"
    panics = small_disk.path.name == "pg_wal"
    async with playing(mosquitto, TABLES) as floor, connected(mosquitto) as pit:
        await floor.goes_on()
        floor.hit()
        small_disk.fill()
        if panics:
            await use_up_the_log(postgres_on_it)
        for link in set(TABLES.values()):
            await pit.status(link, "suspended")
        said = log.read_text()
        assert "No space left on device" in said
        assert ("PANIC" in said) == panics
        small_disk.free()
        for link in set(TABLES.values()):
            await pit.status(link, "running")
        what = "of the write-ahead log" if panics else "of the tables"
        await ends_well(f"PostgreSQL's disk {what} is full", floor, url, daemon)
