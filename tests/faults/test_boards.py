"""A board is unplugged, and its line hangs, while tables play: money does not notice, and the figure is right again."""

from pathlib import Path

import asyncpg

from drivers.emulator import EmulatedPort, emulate
from tests.faults import counts
from tests.faults.conftest import TABLES, EndsWell, NewDaemon
from tests.faults.players import playing
from tests.signs.conftest import eventually
from tests.waiting import patience_s


def sign(port: Path) -> str:
    return f'[[signs]]\nid = "pit-1"\nlink = "one"\nprotocol = "alpha"\nport = "{port}"\nbaud = 115200\nwidth = 16\n'


async def figure(ledger_url: str) -> str:
    """What the sign of link one must show, by the ledger."""
    connection = await asyncpg.connect(ledger_url)
    cents = await connection.fetchval("SELECT pool / 10000 FROM links WHERE link = 'one'")
    await connection.close()
    return f"${cents // 100:,}.{cents % 100:02d}"


@counts.times(20, short=3)
async def test_a_board_is_unplugged_and_comes_back(
    ledger_url: str,
    mosquitto: str,
    forked_daemon: NewDaemon,
    ends_well: EndsWell,
    *,
    tmp_path: Path,
    lap: int,
    times: int,
) -> None:
    # Without Straight Flushes: each takes the board for some seconds.
    board = emulate("alpha", "01", 16)
    async with EmulatedPort((board,), tmp_path / "board") as port:
        daemon = forked_daemon(ledger_url, mosquitto, more=sign(port.path))
        daemon.start()
        async with playing(mosquitto, TABLES, seed=lap, stacked=0) as floor:
            for number in range(times):
                await floor.goes_on(10)
                floor.hit()
                if number % 2:
                    port.stick()
                else:
                    port.unplug()
                    board.power_cycle()
                await floor.goes_on(10)
                port.unstick()
                port.replug()
            await floor.goes_on()
            await floor.finish()
            expected = await figure(ledger_url)
            await eventually(lambda: board.state().text.strip() == expected, patience_s(60))
            await ends_well("a board is unplugged or hangs", floor, ledger_url, daemon)
