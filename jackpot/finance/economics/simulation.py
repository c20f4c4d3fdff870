"""Plays a link's economics forward, from share to share: what lies between is drawn at once, not wager by wager.

Money is exact: every micro that is wagered lands in the pool, the reserve, the house or an award. How many wagers of
which multiplier fall between two shares, and how many hands win at fixed odds, is random by the seed; large numbers
of them are drawn from the normal distribution. Each share is won by one hand.
"""

import math
import random
from dataclasses import dataclass, field

from jackpot.finance.economics.expected_value import PROBABILITY, Floor
from jackpot.link.awards import split_royal_flush, split_straight_flush
from jackpot.link.money import micros, whole_cents
from jackpot.link.parameters import Parameters
from jackpot.rules.megalink import ODDS, Rank

FEW = 100
"""Up to so many, each is drawn by itself."""

SAMPLES = 2_000
"""How often the meter is looked at."""


@dataclass(frozen=True, slots=True)
class Royal:
    wagers: int
    """How many were placed since the one before."""
    amount_cents: int


@dataclass(slots=True)
class Played:
    """What came of it."""

    days: int
    wagers: int = 0
    wagered_micros: int = 0
    pool_micros: int = 0
    reserve_micros: int = 0
    house_micros: int = 0
    royals: list[Royal] = field(default_factory=list)
    straight_flushes: int = 0
    straight_flush_cents: int = 0
    by_odds: dict[Rank, tuple[int, int]] = field(default_factory=dict)
    """How many hands of each rank, and their cents."""
    from_reserve_micros: int = 0
    from_house_micros: int = 0
    """What funded the resets (D11)."""
    meter_cents: list[int] = field(default_factory=list)
    """At regular times."""

    @property
    def awarded_cents(self) -> int:
        by_odds = sum(cents for _, cents in self.by_odds.values())
        return by_odds + self.straight_flush_cents + sum(royal.amount_cents for royal in self.royals)

    @property
    def return_to_player(self) -> float:
        return micros(self.awarded_cents) / self.wagered_micros

    @property
    def closes(self) -> bool:
        held = self.pool_micros + self.reserve_micros + self.house_micros
        return self.wagered_micros == held + micros(self.awarded_cents)


def simulate(parameters: Parameters, floor: Floor, *, days: int, seed: int) -> Played:
    return _Simulation(parameters, floor, days, random.Random(seed)).run()  # noqa: S311 it must be repeatable


class _Simulation:
    def __init__(self, parameters: Parameters, floor: Floor, days: int, chance: random.Random) -> None:
        self._parameters = parameters
        self._floor = floor
        self._chance = chance
        reset = micros(parameters.reset_cents)
        self.played = Played(days, pool_micros=reset, house_micros=-reset)

    def run(self) -> Played:
        played, total = self.played, self._floor.wagers_per_day * self.played.days
        p_royal, p_flush = PROBABILITY[Rank.ROYAL_FLUSH], PROBABILITY[Rank.STRAIGHT_FLUSH]
        p_share, royal_of_shares = float(p_royal + p_flush), float(p_royal / (p_royal + p_flush))
        last_royal = 0
        next_share = self._gap(p_share)
        looks = [total * look // SAMPLES for look in range(1, SAMPLES + 1)]
        for look in looks:
            while next_share <= look:
                self._wager(next_share - played.wagers)
                if self._chance.random() < royal_of_shares:
                    self._pay_royal(next_share - last_royal)
                    last_royal = next_share
                else:
                    self._pay_straight_flush()
                next_share += self._gap(p_share)
            self._wager(look - played.wagers)
            played.meter_cents.append(whole_cents(played.pool_micros))
        self._pay_odds()
        return played

    def _gap(self, probability: float) -> int:
        """How many wagers until the next hit, that one included."""
        return int(math.log(1.0 - self._chance.random()) / math.log1p(-probability)) + 1

    def _wager(self, count: int) -> None:
        """D3 and D14, for all of them at once: the order in which they fill the pool does not matter."""
        if not count:
            return
        played, parameters = self.played, self._parameters
        cents = self._units(count) * parameters.unit_cents
        increment, reserve = cents * parameters.increment_bp, cents * parameters.reserve_bp
        lift = increment
        if parameters.ceiling_cents is not None:
            lift = min(lift, max(0, micros(parameters.ceiling_cents) - played.pool_micros))
        played.wagers += count
        played.wagered_micros += micros(cents)
        played.pool_micros += lift
        played.reserve_micros += reserve + increment - lift
        played.house_micros += micros(cents) - increment - reserve

    def _units(self, count: int) -> int:
        """How many units these wagers are together."""
        weights = self._floor.multipliers
        if sum(1 for weight in weights if weight) == 1:
            return count * next(multiplier for multiplier, weight in enumerate(weights, start=1) if weight)
        if count <= FEW:
            return sum(self._chance.choices(range(1, 6), weights, k=count))
        mean = float(self._floor.units_per_wager)
        squares = sum(weight * multiplier**2 for multiplier, weight in enumerate(weights, start=1)) / sum(weights)
        drawn = round(self._chance.gauss(count * mean, math.sqrt(count * (squares - mean**2))))
        return min(max(drawn, count), 5 * count)

    def _pay_royal(self, wagers: int) -> None:
        played, parameters = self.played, self._parameters
        amount = split_royal_flush(whole_cents(played.pool_micros), 1, parameters).each_cents
        played.pool_micros -= micros(amount)
        played.royals.append(Royal(wagers, amount))
        reset = micros(parameters.reset_cents)
        from_reserve = min(played.reserve_micros, reset)
        played.reserve_micros -= from_reserve
        played.house_micros -= reset - from_reserve
        played.from_reserve_micros += from_reserve
        played.from_house_micros += reset - from_reserve
        played.pool_micros += reset

    def _pay_straight_flush(self) -> None:
        played = self.played
        amount = split_straight_flush(whole_cents(played.pool_micros), 1, self._parameters).each_cents
        played.pool_micros -= micros(amount)
        played.straight_flushes += 1
        played.straight_flush_cents += amount

    def _pay_odds(self) -> None:
        """D12: from the house, whenever they came."""
        for rank, odds in ODDS.items():
            hands = self._binomial(self.played.wagers, float(PROBABILITY[rank]))
            cents = odds * (self._units(hands) if hands else 0) * self._parameters.unit_cents
            self.played.by_odds[rank] = (hands, cents)
            self.played.house_micros -= micros(cents)

    def _binomial(self, trials: int, probability: float) -> int:
        mean = trials * probability
        if mean > FEW:
            drawn = round(self._chance.gauss(mean, math.sqrt(mean * (1 - probability))))
            return min(max(drawn, 0), trials)
        hits, at = 0, self._gap(probability)
        while at <= trials:
            hits += 1
            at += self._gap(probability)
        return hits
