"""Runs the demonstration from the first round to the proof."""

import asyncio
import datetime as dt
import random
import signal
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Final, Protocol

from jackpot.config import Config
from jackpot.contract.gaming_day import GamingDay
from jackpot.demo import words
from jackpot.demo.place import Place
from jackpot.demo.proof import Finding, reconciled, verified
from jackpot.demo.stage import Stage, stage

FINISH_SECONDS_MAX: Final = 15.0
PROOF_SECONDS_MAX: Final = 300.0
MARKS: Final = {True: "✓", False: "✗", None: "…"}
PATIENCE_SECONDS: Final = 10.0
"""Whoever wants to leave waits no longer for the proof."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Wanted:
    data_dir: Path
    port: int | None = None
    seconds: float | None = None
    """How long it runs; None: until somebody stops it."""
    lucky: bool = False
    seed: int | None = None


class Front(Protocol):
    """What people see of it."""

    def say(self, text: str) -> None:
        """Before the first round and after the last."""

    def introduce(self, stage: Stage) -> None:
        """Tell what runs where."""

    async def run(self, stage: Stage, stop: asyncio.Event) -> None:
        """Show it until cancelled; `stop` is set by whoever wants to leave."""


async def show(wanted: Wanted, front: Front) -> list[Finding]:
    """What the proof found; nothing if somebody could not wait for it."""
    chance = random.SystemRandom() if wanted.seed is None else random.Random(wanted.seed)  # noqa: S311 cards to look at
    stop, leave = asyncio.Event(), asyncio.Event()
    async with stage(wanted.data_dir, wanted.port, chance, front.say) as on_stage, asyncio.TaskGroup() as tasks:
        _heed_signals(on_stage, stop, leave)
        first_day = _today(on_stage.config)
        beside = (
            on_stage.daemon.keep_running(),
            on_stage.feed.run(),
            on_stage.books.run(),
            on_stage.by_hand.session.run(),
        )
        running = [tasks.create_task(work) for work in beside]
        playing = tasks.create_task(on_stage.floor.run(lucky=wanted.lucky))
        front.introduce(on_stage)
        watching = tasks.create_task(front.run(on_stage, stop))
        with suppress(TimeoutError):
            async with asyncio.timeout(wanted.seconds):
                await stop.wait()
        watching.cancel()
        await asyncio.wait([watching])
        patience = PATIENCE_SECONDS if stop.is_set() else PROOF_SECONDS_MAX
        concluding = tasks.create_task(_conclude(on_stage, front, playing, first_day, patience))
        leaving = tasks.create_task(leave.wait())
        await asyncio.wait([concluding, leaving], return_when=asyncio.FIRST_COMPLETED)
        findings = concluding.result() if concluding.done() else []
        for task in (*running, playing, concluding, leaving):
            task.cancel()
    front.say(f"stopped: no process and no port is left; the data stays in {wanted.data_dir}")
    for name, line in words.afterwards(Place(wanted.data_dir), first_day):
        front.say(f"{line}   # {name}")
    return findings


async def _conclude(
    on_stage: Stage, front: Front, playing: asyncio.Task[None], first_day: dt.date, patience: float
) -> list[Finding]:
    """The tables finish, pay and report; then the day must reconcile and the ledger verify."""
    floor, place = on_stage.floor, on_stage.place
    front.say("the tables finish their rounds, pay what is due and report their counters")
    floor.finish()
    done, _ = await asyncio.wait([playing], timeout=FINISH_SECONDS_MAX)
    if not done:
        waiting = ", ".join(dealer.table.id for dealer in floor.dealers if dealer.waited_s() > 1)
        front.say(f"some tables get no answer and could not finish: {waiting}; is a link suspended?")
    awards = on_stage.news.awards
    front.say(f"{floor.rounds:,} rounds were played, {floor.answered:,} events answered, {awards} awards made")
    with suppress(TimeoutError):
        await on_stage.by_hand.report()
    days = {first_day, _today(on_stage.config)}
    proofs = [*(reconciled(place, day, patience) for day in sorted(days)), verified(place, patience)]
    findings = list(await asyncio.gather(*proofs))
    for finding in findings:
        front.say(f"{MARKS[finding.holds]} {finding.command}: {finding.says}")
    return findings


def _heed_signals(on_stage: Stage, stop: asyncio.Event, leave: asyncio.Event) -> None:
    def asked_to_stop() -> None:
        (leave if stop.is_set() else stop).set()

    loop = asyncio.get_running_loop()
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        loop.add_signal_handler(number, asked_to_stop)
    loop.add_signal_handler(signal.SIGUSR1, on_stage.board.toggle)


def _today(config: Config) -> dt.date:
    day = GamingDay.of(config.gaming_day.timezone, config.gaming_day.starts_at)
    return day.day(dt.datetime.now(dt.UTC))
