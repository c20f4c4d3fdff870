"""Where the daemon's processor time goes in a flood: what stands between it and its limits."""

import json

from jackpot.bench.ground import Ground, daemon
from jackpot.bench.run import TABLES, WINDOW, Say, tables_of


async def measure_profile(at: Ground, say: Say, seconds: float) -> dict[str, float]:
    """Microseconds an event by room, of a daemon that is looked at while it serves."""
    file = at.folder / "profile.json"
    async with daemon(at, 1, TABLES, profile=file) as serving, tables_of(at, 1, TABLES) as load:
        cpu = serving.cpu_seconds()
        flood = await load.flood(seconds, WINDOW)
        cpu_us = (serving.cpu_seconds() - cpu) * 1e6 / flood.events
    counted: dict[str, int] = json.loads(file.read_text())
    of_all = sum(counted.values()) or 1
    found = {room: cpu_us * count / of_all for room, count in sorted(counted.items(), key=lambda item: -item[1])}
    say(f"  {cpu_us:.0f} us of processor time an event, while it is looked at:")
    for room, microseconds in found.items():
        say(f"    {microseconds:>5.1f} us  {room}")
    return found
