"""What a link's money runs by. Fixed when the link is first seen; changed only by an audited command."""

from dataclasses import dataclass
from enum import StrEnum

BASIS_POINTS = 10_000
UNIT_CENTS_MAX = 10**9
AMOUNT_CENTS_MAX = 10**13
"""Far above anything real, and far below what the ledger's columns hold in millionths."""


class Reading(StrEnum):
    """The two readings of a shared Straight Flush (D7)."""

    SUCCESSIVE = "successive"
    RESET_AMOUNT = "reset_amount"


@dataclass(frozen=True, slots=True, kw_only=True)
class Parameters:
    currency: str = "SGD"
    unit_cents: int = 500
    increment_bp: int = 2500
    reserve_bp: int = 310
    reset_cents: int = 10_000_000
    shared_straight_flush: Reading = Reading.SUCCESSIVE
    ceiling_cents: int | None = None

    def problems(self) -> list[str]:
        """What is wrong with these, each as one sentence; empty if nothing is."""
        found = []
        if not 1 <= self.unit_cents <= UNIT_CENTS_MAX:
            found.append(f"unit_cents must be 1 to {UNIT_CENTS_MAX}")
        if min(self.increment_bp, self.reserve_bp) < 0 or self.increment_bp + self.reserve_bp > BASIS_POINTS:
            found.append("increment_bp and reserve_bp must not be negative and together at most 10000")
        if not 0 <= self.reset_cents <= AMOUNT_CENTS_MAX:
            found.append(f"reset_cents must be 0 to {AMOUNT_CENTS_MAX}")
        if self.ceiling_cents is not None and self.ceiling_cents < self.reset_cents:
            found.append("ceiling_cents must not be below reset_cents (D14)")
        if self.ceiling_cents is not None and self.ceiling_cents > AMOUNT_CENTS_MAX:
            found.append(f"ceiling_cents must be at most {AMOUNT_CENTS_MAX}")
        if not (
            len(self.currency) == 3 and self.currency.isascii() and self.currency.isalpha() and self.currency.isupper()
        ):
            found.append("currency must be a three-letter code such as SGD")
        return found
