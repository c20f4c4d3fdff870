"""What the data path must reach beside its limits, whatever the machine."""

from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True, slots=True)
class Required:
    what: str
    figure: str
    least: float | None = None
    most: float | None = None
    goal: float | None = None

    def holds(self, found: float) -> bool:
        return (self.least is None or found >= self.least) and (self.most is None or found <= self.most)

    @property
    def bound(self) -> str:
        bound = f"at least {self.least:g}" if self.least is not None else f"at most {self.most:g}"
        return bound if self.goal is None else f"{bound}, the goal is {self.goal:g}"


REQUIRED = (
    Required("wagers, to one transaction each", "wagers_to_one_transaction_a_wager", least=4, goal=10),
    Required("events, to the smaller of bare batches and echo", "events_to_smaller_limit", least=0.5),
    Required("p50 at 10 events/s, to echo and commit", "p50_at_10_to_echo_and_commit", most=2),
    Required("p50 at 1,000 events/s, to echo and commit", "p50_at_1000_to_echo_and_commit", most=2),
    Required("seconds to a board after the commit, less the time on the wire", "board_after_commit_s", most=1),
    Required("memory after the last minute, to the first", "memory_after_to_before", most=1.05),
)


def judged(figures: dict[str, float]) -> list[dict[str, Any]]:
    """What is required of these figures, and whether it holds."""
    return [
        {"what": one.what, "found": figures[one.figure], "required": one.bound, "holds": one.holds(figures[one.figure])}
        for one in REQUIRED
        if one.figure in figures
    ]
