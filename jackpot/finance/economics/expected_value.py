"""What a link's rates and reset lead to in the long run, worked out exactly from the odds of five cards."""

from dataclasses import dataclass
from fractions import Fraction

from jackpot.link.parameters import BASIS_POINTS, Parameters
from jackpot.rules.megalink import ODDS, SHARE_PERCENT, Rank

HANDS = 2_598_960
WAYS = {
    Rank.ROYAL_FLUSH: 4,
    Rank.STRAIGHT_FLUSH: 36,
    Rank.FOUR_OF_A_KIND: 624,
    Rank.FULL_HOUSE: 3_744,
    Rank.FLUSH: 5_108,
    Rank.STRAIGHT: 10_200,
}
"""Every jackpot hand is five cards of one deck, so all three games have these odds."""

PROBABILITY = {rank: Fraction(ways, HANDS) for rank, ways in WAYS.items()}


@dataclass(frozen=True, slots=True)
class Floor:
    """How much is played."""

    tables: int = 10
    rounds_per_hour: int = 30
    wagers_per_round: int = 4
    hours_per_day: int = 24
    multipliers: tuple[int, ...] = (100, 0, 0, 0, 0)
    """How often wagers are 1x to 5x, as weights."""

    @property
    def wagers_per_day(self) -> int:
        return self.tables * self.rounds_per_hour * self.wagers_per_round * self.hours_per_day

    @property
    def units_per_wager(self) -> Fraction:
        units = sum(multiplier * weight for multiplier, weight in enumerate(self.multipliers, start=1))
        return Fraction(units, sum(self.multipliers))


@dataclass(frozen=True, slots=True)
class Outlook:
    """Without a ceiling, and with each share won by one hand: what follows from the odds alone."""

    parameters: Parameters
    floor: Floor

    @property
    def stake_cents(self) -> Fraction:
        return self.parameters.unit_cents * self.floor.units_per_wager

    @property
    def return_by_odds(self) -> Fraction:
        """Fixed awards are multiplied as the stake is, so the multipliers do not matter here."""
        return sum((odds * PROBABILITY[rank] for rank, odds in ODDS.items()), Fraction(0))

    @property
    def return_by_increment(self) -> Fraction:
        """All that is contributed to the pool is paid out of it in the end."""
        return Fraction(self.parameters.increment_bp, BASIS_POINTS)

    @property
    def return_by_resets(self) -> Fraction:
        """And so is all that resets put into it."""
        return PROBABILITY[Rank.ROYAL_FLUSH] * self.parameters.reset_cents / self.stake_cents

    @property
    def return_to_player(self) -> Fraction:
        return self.return_by_odds + self.return_by_increment + self.return_by_resets

    @property
    def reserve_bp_needed(self) -> Fraction:
        """The reserve rate that pays for the resets, no more and no less."""
        return self.return_by_resets * BASIS_POINTS

    @property
    def royal_cents(self) -> Fraction:
        """The pool when a Royal Flush takes it, on average.

        Between two Royals the pool's mean m grows by c a wager and loses a share s with probability q, so that over a
        cycle that ends with probability p a wager: m = (p * reset + c) / (p + q * s).
        """
        p, q = PROBABILITY[Rank.ROYAL_FLUSH], PROBABILITY[Rank.STRAIGHT_FLUSH]
        share = Fraction(SHARE_PERCENT[Rank.STRAIGHT_FLUSH], 100)
        contribution = self.stake_cents * self.return_by_increment
        return (p * self.parameters.reset_cents + contribution) / (p + q * share)

    def days_between(self, rank: Rank) -> Fraction:
        return 1 / (PROBABILITY[rank] * self.floor.wagers_per_day)

    def break_even_cents(self, multiplier: int) -> Fraction:
        """The displayed amount at which such a wager returns its stake on average: shares are not multiplied (D12)."""
        missing = self.parameters.unit_cents * multiplier * (1 - self.return_by_odds)
        drawn = sum(PROBABILITY[rank] * Fraction(percent, 100) for rank, percent in SHARE_PERCENT.items())
        return missing / drawn
