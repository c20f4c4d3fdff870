"""What becomes of a wager: won, lost or pushed, by which paragraph, and for how much."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import assert_never


@dataclass(frozen=True, slots=True)
class Pays:
    """Odds as the sheets print them: `Pays(3, to=2)` is "3 to 2". The stake comes back besides."""

    gain: int
    to: int = 1

    def __str__(self) -> str:
        return f"{self.gain} to {self.to}"


@dataclass(frozen=True, slots=True)
class Won:
    pays: Pays
    rule: str


@dataclass(frozen=True, slots=True)
class Lost:
    rule: str


@dataclass(frozen=True, slots=True)
class Pushed:
    rule: str


Verdict = Won | Lost | Pushed


def net_cents(verdict: Verdict, stake_cents: int) -> int:
    """What the player gains or loses; a part of a cent is truncated."""
    match verdict:
        case Won(pays):
            return stake_cents * pays.gain // pays.to
        case Lost():
            return -stake_cents
        case Pushed():
            return 0
        case _:
            assert_never(verdict)


@dataclass(frozen=True, slots=True)
class PayTable:
    """One pay table of a sheet: what each outcome pays, and what becomes of the wager without one of them."""

    wager: str
    rule: str
    pays: Mapping[str, Pays]
    otherwise: Verdict

    def verdict(self, outcome: str) -> Verdict:
        return Won(self.pays[outcome], self.rule) if outcome in self.pays else self.otherwise
