"""A stake, the table's limits on it, and what it wins or loses (BE, UTH, TCX 5.13 to 5.15, FAR 5.16 to 5.18)."""

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from typing import Any, Final

from jackpot.rules.reading import INTEGER_MAX, an_integer, an_object, an_object_with, shown
from jackpot.rules.refusal import Code, RefusalError
from jackpot.rules.verdict import Pushed, Verdict, net_cents

STAKE_CENTS_MAX: Final = 1_000_000_000_000
_LIMIT_FIELDS: Final = frozenset({"min_cents", "max_cents"})

Maximums = Mapping[str, int]
"""Each limited wager's maximum. A minimum changes no settlement: such a wager stands this once (5.13)."""


@dataclass(frozen=True, slots=True)
class Stake:
    placed_cents: int
    at_risk_cents: int
    """Won or lost on this: the stake, but no more than the table's maximum (5.14)."""


def read_maximums(value: object, wagers: Collection[str]) -> Maximums:
    maximums = {}
    for wager, limits in an_object(value, "limits").items():
        if wager not in wagers:
            raise RefusalError(Code.UNKNOWN_WAGER, f"limits: no wager {shown(wager)}; there is {', '.join(wagers)}")
        where = f"limits of {wager}"
        fields = an_object_with(limits, where, _LIMIT_FIELDS)
        min_cents = an_integer(fields["min_cents"], f"{where}: min_cents")
        max_cents = an_integer(fields["max_cents"], f"{where}: max_cents")
        if max_cents > INTEGER_MAX:
            raise RefusalError(Code.BAD_LIMITS, f"{where}: max_cents must be at most {INTEGER_MAX:,}")
        if not 0 <= min_cents <= max_cents:
            raise RefusalError(Code.BAD_LIMITS, f"{where}: min_cents must lie between 0 and max_cents")
        maximums[wager] = max_cents
    return maximums


def read_stake(value: object, where: str, max_cents: int | None) -> Stake:
    placed_cents = an_integer(value, where)
    if not 1 <= placed_cents <= STAKE_CENTS_MAX:
        raise RefusalError(Code.BAD_STAKE, f"{where} must be 1 to {STAKE_CENTS_MAX:,} cents")
    if max_cents is None or placed_cents <= max_cents:
        return Stake(placed_cents, placed_cents)
    return Stake(placed_cents, max_cents)


def settle_stake(verdict: Verdict, stake: Stake, over_maximum: str | None) -> dict[str, Any]:
    """A wager's result. `over_maximum` is the paragraph to cite if the table's maximum shaped the amount."""
    net = net_cents(verdict, stake.at_risk_cents)
    rule = verdict.rule
    if over_maximum and stake.at_risk_cents < stake.placed_cents and not isinstance(verdict, Pushed):
        rule = over_maximum
    return {"net_cents": net, "rule": rule}
