"""What the demonstration says: what runs where, what to try, and how amounts and hands are written."""

import datetime as dt
import re
import shutil
from collections.abc import Mapping
from shlex import quote
from typing import Any, Final

from jackpot.demo.people import LOGINS
from jackpot.demo.place import BY_HAND, Place, program
from jackpot.demo.stage import Stage
from jackpot.formatting.money import cents

_WORD: Final = re.compile(r"""(?:'[^']*'|"[^"]*"|\$\([^)]*\)|\S)+""")
"""Of a shell's line: what is quoted or is a command of its own stays together."""

SUITS: Final = {"s": "♠", "h": "♥", "d": "♦", "c": "♣"}


def amount(amount_cents: int, currency: str = "") -> str:
    return f"{currency} {cents(amount_cents)}".strip()


def rank_name(rank: str) -> str:
    return rank.replace("_", " ").title().replace(" Of A ", " of a ")


def award_line(award: Mapping[str, Any], currency: str) -> str:
    share = f", {award['shared_by']} share" if award["shared_by"] > 1 else ""
    return (
        f"{award['link']} {award['table']} position {award['position']}: {rank_name(award['rank'])}"
        f" wins {amount(award['amount_cents'], currency)}{share} ({award['rules'][0]})"
    )


def wrapped(line: str, columns: int) -> list[str]:
    """A command over several lines, so that it still works when they are pasted."""
    lines = [""]
    for word in _WORD.findall(line):
        if lines[-1] and len(lines[-1]) + len(word) + 3 > columns:
            lines[-1] += " \\"
            lines.append("  " + word)
        else:
            lines[-1] += f" {word}" if lines[-1] else word
    return lines


def where(stage: Stage) -> list[tuple[str, str]]:
    """What runs where."""
    base = f"http://{stage.config.http.listen}"
    signs = "  ".join(f"{base}/sign/{link.id}" for link in stage.config.links)
    return [
        ("console", f"{base}/"),
        ("sign in", f"{', '.join(LOGINS)}; password {stage.password}"),
        ("sign page", signs),
        ("broker", f"mqtt://{stage.broker}"),
        ("daemon", f"process {stage.daemon.pid}, log {stage.place.daemon_log}"),
        ("data", f"{stage.place.data_dir}; nothing outside it is touched"),
    ]


def to_try(stage: Stage) -> list[tuple[str, str]]:
    """What for, and a line that works when it is pasted into another terminal."""
    jackpot, config = program(), quote(str(stage.place.config))
    table = f"{jackpot} table --config {config} {BY_HAND}"
    found = [
        ("a Royal Flush by hand", f"{table} play --cards 'Ah Kh Qh Jh Th'"),
        ("one event at a time", f"{table} open"),
        ("what operations see", f"{jackpot} status --watch --config {config}"),
        ("kill the daemon", f"kill -9 $(cat {quote(str(stage.place.daemon_pid))})"),
        ("pull the board's cable", f"kill -USR1 $(cat {quote(str(stage.place.demo_pid))})"),
        ("is all as it should be", f"{jackpot} check --config {config}"),
        ("walk the whole ledger", f"{jackpot} verify --config {config}"),
        ("stop play on a link", f'{jackpot} suspend --config {config} --link grandlink --reason "a try"'),
        ("and let it go on", f'{jackpot} resume --config {config} --link grandlink --reason "tried"'),
    ]
    if shutil.which("mosquitto_sub"):
        listen = f"mosquitto_sub -h {stage.broker.host} -p {stage.broker.port} -v -t 'jackpot/v1/#'"
        found.insert(3, ("hear all that is said", listen))
    return found


def afterwards(place: Place, day: dt.date) -> list[tuple[str, str]]:
    """Lines that work when nothing runs any more."""
    jackpot, config = program(), quote(str(place.config))
    return [
        ("reconcile the day again", f"{jackpot} reconcile --config {config} --day {day}"),
        ("verify the ledger again", f"{jackpot} verify --config {config}"),
        ("remove all of it", f"rm -r {quote(str(place.data_dir))}"),
    ]
