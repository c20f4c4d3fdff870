"""What a world is made from: a seed, and what it decides of the house before anything happens."""

import datetime as dt
import random
import traceback
from collections import Counter
from dataclasses import dataclass
from typing import Any

from jackpot import config as configuration
from jackpot.link.parameters import Reading
from tests.simulation.cards import CARDS

START = dt.datetime(2026, 11, 16, 21, 59, tzinfo=dt.UTC)
"""A minute before a gaming day ends."""
DAY_S, SHORT_DAY_S = 86_400.0, 120.0
"""Of most days two minutes are played, and all calendars skip the rest; the product's own timers never know."""
DEALERS_PACE = 20.0
"""Of whole days: a round takes minutes."""
SHARED = 0.3
"""How many of the worlds have three daemons that share the links; in the others one of two leads and one stands by."""
BOARDS = 0.4
"""How many of the worlds with short days have boards; in the others somebody listens to the feed."""
TRUSTING = 0.25
"""In so many the broker forgets nothing, nothing is lost behind it, and tables trust it."""


@dataclass(frozen=True, slots=True)
class Plan:
    """Of one world: it comes out the same whenever it is played."""

    seed: int
    days: float = 1.0
    only: tuple[str, ...] = ()
    """The faults that may happen, if not all."""
    whole: bool = False
    """Days of 24 hours, at a dealer's true pace: what is held back may come a day later, to a lease of four seconds."""

    def chance(self, name: str) -> random.Random:
        """A source of chance for each part, so that none disturbs another."""
        return random.Random(f"{self.seed} {name}")

    @property
    def shared(self) -> bool:
        return self.chance("share").random() < SHARED

    @property
    def boards(self) -> bool:
        return not self.whole and self.chance("boards").random() < BOARDS

    @property
    def trusting(self) -> bool:
        return self.chance("trust").random() < TRUSTING

    @property
    def day_s(self) -> float:
        """How much of a day is played."""
        return DAY_S if self.whole else SHORT_DAY_S

    @property
    def pace(self) -> float:
        """How many seconds a dealer's second has."""
        return DEALERS_PACE if self.whole else 1.0

    def calendar(self, played_s: float) -> dt.datetime:
        days, seconds = divmod(played_s, self.day_s)
        return START + dt.timedelta(days=days, seconds=seconds)

    def configuration(self, chance: random.Random) -> configuration.Config:
        links = ["megalink", "minor"][: chance.choice([1, 1, 2])]
        if self.shared:
            links = ["megalink", "minor", "third", "fourth"][: chance.randint(2, 4)]
        tables = []
        for number in range(chance.randint(len(links) + 1, 5)):
            game = chance.choice(list(CARDS))
            tables.append(
                configuration.Table(
                    id=f"T-{number}", link=links[number % len(links)], game=game, positions_given=chance.randint(2, 6)
                )
            )
        tables.append(configuration.Table(id="FAR-01", game="fast-action-roulette"))
        return configuration.Config(
            leases=configuration.Leases(share=self.shared),
            links=tuple(_link(name, chance) for name in links),
            tables=tuple(tables),
        )


def terms(chance: random.Random) -> dict[str, Any]:
    """What a link runs by: small resets and odd rates, so that reserves run dry and cents are left over."""
    reset = chance.choice([10_000_000, 50_000, 1_009, 101, 0])
    return {
        "currency": "SGD",
        "unit_cents": chance.choice([500, 500, 3]),
        "increment_bp": chance.choice([2_500, 9_000, 333, 1]),
        "reserve_bp": chance.choice([310, 1_000, 17, 0]),
        "reset_cents": reset,
        "shared_straight_flush": chance.choice(["successive", "reset_amount"]),
        "ceiling_cents": chance.choice([None, None, reset + 1, reset + 9_000]),
    }


def _link(name: str, chance: random.Random) -> configuration.Link:
    agreed = terms(chance)
    return configuration.Link(id=name, **{**agreed, "shared_straight_flush": Reading(agreed["shared_straight_flush"])})


@dataclass
class Verdict:
    plan: Plan
    complaints: list[str]
    last: list[str]
    """The end of the trace, if there are complaints."""
    trace: str
    """The hash of all that happened."""
    counts: Counter[str]
    played_s: float
    """By the product's own timers."""
    latest_s: float
    """The longest time that a message was held back on its way."""

    @classmethod
    def broken(cls, plan: Plan, error: Exception) -> "Verdict":
        """The simulation itself failed in this world."""
        said = traceback.format_exception(error)
        return cls(plan, [f"the world broke: {error!r}"], said, "none", Counter(), 0.0, 0.0)
