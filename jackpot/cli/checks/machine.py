"""This machine: is its clock kept right, and does a daemon run on it?"""

import asyncio
import socket
from contextlib import suppress

from jackpot.cli.checks.finding import Finding, bad, good, odd
from jackpot.config import Config
from jackpot.daemon import probe

ASK_SECONDS_MAX = 5.0


async def synchronised() -> Finding:
    said = await _asked("timedatectl", "show", "--property=NTPSynchronized", "--value")
    if said is None:
        return odd("clock", "nobody here says whether it is synchronised", "see to it with chrony or systemd-timesyncd")
    if said != "yes":
        return odd("clock", "it is not synchronised", "timedatectl set-ntp true, or chrony")
    return good("clock", "synchronised")


async def _asked(*argv: str) -> str | None:
    try:
        process = await asyncio.create_subprocess_exec(
            *argv, stdout=asyncio.subprocess.PIPE, stderr=asyncio.subprocess.DEVNULL
        )
    except OSError:
        return None
    try:
        async with asyncio.timeout(ASK_SECONDS_MAX):
            printed, _ = await process.communicate()
    except TimeoutError:
        process.kill()
        await process.wait()
        return None
    return printed.decode().strip() if process.returncode == 0 else None


async def daemon(config: Config) -> Finding:
    http = config.http
    found = await asyncio.to_thread(probe.readiness, http.host, http.port)
    if found.ready:
        return good("daemon", f"ready at {http.listen}")
    if found.answers:
        parts = [
            f"{link} has no {' and no '.join(missing)}"
            for link, has in (found.links or {}).items()
            if (missing := [part for part, there in has.items() if not there])
        ]
        return bad(
            "daemon", f"at {http.listen}, but not ready: {'; '.join(parts)}", "see what is said above, and its log"
        )
    if not await asyncio.to_thread(_is_free, http.host, http.port):
        return bad("daemon", f"another program holds {http.listen}", "end it, or choose another listen in [http]")
    return odd("daemon", f"none answers at {http.listen}", "start it: jackpot serve")


def _is_free(host: str, port: int) -> bool:
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    with socket.socket(family) as place, suppress(OSError):
        place.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        place.bind((host, port))
        return True
    return False
