"""The demonstration as plain lines, for a log or where there is no terminal."""

import asyncio
import datetime as dt
import sys
from typing import Final

from jackpot.demo import words
from jackpot.demo.news import Item
from jackpot.demo.stage import Stage
from jackpot.formatting.money import grouped

METERS_EVERY_S: Final = 2.0


class Plain:
    def say(self, text: str) -> None:
        sys.stdout.write(f"{dt.datetime.now(dt.UTC):%H:%M:%S}Z {text}\n")
        sys.stdout.flush()

    def introduce(self, stage: Stage) -> None:
        for name, value in words.where(stage):
            self.say(f"{name}: {value}")
        for name, line in words.to_try(stage):
            self.say(f"try: {line}   # {name}")
        self.say("stop: Ctrl-C")

    async def run(self, stage: Stage, stop: asyncio.Event) -> None:  # noqa: ARG002 nobody asks lines to stop
        currencies = {link.id: link.currency for link in stage.config.links}

        def read(item: Item) -> None:
            award = item.award
            self.say(item.text if award is None else words.award_line(award, currencies[award["link"]]))

        stage.news.read(read)
        while True:
            await asyncio.sleep(METERS_EVERY_S)
            self.say(summary(stage))


def summary(stage: Stage) -> str:
    meters = [
        f"{link.id} {words.amount(meter['displayed_cents'], link.currency)}"
        for link in stage.config.links
        if (meter := stage.feed.latest.get(("meter", link.id)))
    ]
    speed = stage.floor.speed()
    return (
        f"{'; '.join(meters)}; {stage.floor.rounds:,} rounds, {stage.news.awards} awards, "
        f"{speed.per_second:.0f} events/s, p50 {speed.median_ms:.1f} ms, p99 {speed.p99_ms:.1f} ms; {_books(stage)}"
    )


def _books(stage: Stage) -> str:
    """The line that must always hold, link by link."""
    return ", ".join(
        f"{link} debits {grouped(book.debits_micros)} {'=' if book.balanced else '≠'}"
        f" credits {grouped(book.credits_micros)}"
        for link, book in stage.books.links.items()
    )
