from dataclasses import dataclass
from enum import StrEnum


class Verdict(StrEnum):
    GOOD = "good"
    ODD = "odd"
    """It works, but somebody should know."""
    BAD = "bad"


@dataclass(frozen=True, slots=True)
class Finding:
    part: str
    verdict: Verdict
    found: str
    fix: str | None = None


def good(part: str, found: str) -> Finding:
    return Finding(part, Verdict.GOOD, found)


def odd(part: str, found: str, fix: str) -> Finding:
    return Finding(part, Verdict.ODD, found, fix)


def bad(part: str, found: str, fix: str) -> Finding:
    return Finding(part, Verdict.BAD, found, fix)
