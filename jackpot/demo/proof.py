"""The proof at the end: the same commands that finance and auditors use, run on what was played."""

import asyncio
import datetime as dt
import json
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

from jackpot.demo.place import Place, command


@dataclass(frozen=True, slots=True)
class Finding:
    """What one command came to."""

    command: str
    holds: bool | None
    """None: it was not done in the time that was given."""
    says: str


async def reconciled(place: Place, day: dt.date, seconds_max: float) -> Finding:
    name = f"reconcile --day {day}"
    done = await _run(place, "reconcile", "--day", day.isoformat(), seconds_max=seconds_max)
    if done is None:
        return Finding(name, None, "not finished in time")
    code, found, complaint = done
    if found is None:
        return Finding(name, False, complaint)
    tables = found["tables"]
    wagers, awards = (sum(table[count] for table in tables) for count in ("wagers", "awards"))
    off = [table["table"] for table in tables if not table["balanced"]]
    links = ", ".join(link["link"] for link in found["links"])
    said = f"{links}: {wagers:,} wagers and {awards:,} awards of {len(tables)} tables"
    if code == 0 and found["balanced"]:
        return Finding(name, True, f"balanced; {said}, each as its table counted it")
    return Finding(name, False, f"does not balance; {said}; tables that differ: {', '.join(off) or 'none'}")


async def verified(place: Place, seconds_max: float) -> Finding:
    done = await _run(place, "verify", seconds_max=seconds_max)
    if done is None:
        return Finding("verify", None, "not finished in time")
    code, found, complaint = done
    if code != 0 or found is None:
        return Finding("verify", False, complaint)
    events = sum(link["events"] for link in found["links"])
    return Finding("verify", True, f"{events:,} events, each decided and chained again, come to the same")


async def _run(place: Place, *arguments: str, seconds_max: float) -> tuple[int, dict[str, Any] | None, str] | None:
    """Exit code, the document printed if there is one, and the last line of complaint."""
    process = await asyncio.create_subprocess_exec(
        *command(*arguments, "--config", place.config, "-o", "json"),
        stdin=asyncio.subprocess.DEVNULL,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.PIPE,
        start_new_session=True,
    )
    try:
        async with asyncio.timeout(seconds_max):
            printed, complained = await process.communicate()
    except TimeoutError:
        return None
    finally:
        if process.returncode is None:
            with suppress(ProcessLookupError):
                process.kill()
            await process.wait()
    try:
        document = json.loads(printed)
    except ValueError:
        document = None
    lines = complained.decode(errors="replace").strip().splitlines() or [f"exit code {process.returncode}"]
    return process.returncode or 0, document, lines[-1].removeprefix("jackpot: ")
