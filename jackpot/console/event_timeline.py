"""An event's whole way, step by step: sent, decided, committed, replied, shown. Pure."""

import datetime as dt
from dataclasses import dataclass
from typing import Any

from jackpot.ledger.read.facts import EventFact

SKEW = dt.timedelta(minutes=1)
"""A table's clock that is off by more is worth a word."""


@dataclass(frozen=True, slots=True)
class Step:
    name: str
    done: bool
    text: str
    at: dt.datetime | None = None


def timeline_of(event: EventFact, shown_version: int | None, boards: list[dict[str, Any]]) -> list[Step]:
    return [
        _sent(event),
        _decided(event),
        Step("Committed", True, f"Event {event.n} of link {event.link}, gaming day {event.day}", event.at),
        _replied(event),
        _announced(event, shown_version),
        *(_shown(event, board) for board in boards),
    ]


def _sent(event: EventFact) -> Step:
    said = event.said
    if event.table is None:
        return Step("Ordered", True, f"By {said.get('by')}: {said.get('reason')}")
    try:
        at = dt.datetime.fromisoformat(str(said.get("at")))
    except ValueError:
        return Step("Sent", True, f"By table {event.table}, seq {event.seq}")
    late = event.at - at
    skew = f"; its clock and ours are {abs(late).total_seconds():.0f} s apart" if abs(late) > SKEW else ""
    return Step("Sent", True, f"By table {event.table}, seq {event.seq}, by its own clock{skew}", at)


def _decided(event: EventFact) -> Step:
    answer = event.answer
    if answer["status"] == "accepted":
        return Step("Decided", True, "Accepted")
    rule = f" ({answer['rule']})" if answer.get("rule") else ""
    return Step("Decided", True, f"Refused, {answer['code']}{rule}: {answer['message']}")


def _replied(event: EventFact) -> Step:
    if event.table is None:
        return Step("Replied", True, "To whoever ordered it")
    if event.replied:
        return Step("Replied", True, f"The answer to table {event.table} has reached the broker")
    return Step(
        "Replied", False, f"The answer waits to reach the broker; table {event.table} sends again until it has it"
    )


def _announced(event: EventFact, version: int | None) -> Step:
    if version is None:
        return Step("Announced", False, "No meter is announced now")
    if version >= event.n:
        return Step("Announced", True, f"The meter counts everything up to event {version}")
    return Step("Announced", False, f"The meter counts only up to event {version}")


def _shown(event: EventFact, board: dict[str, Any]) -> Step:
    name, acknowledged = f"Board {board['id']}", board["acknowledged_at"]
    if acknowledged is not None and acknowledged >= event.at:
        return Step(name, True, f"Acknowledged {board['shown_text']!r} after it", acknowledged)
    if board["shown_at"] is not None and board["shown_at"] >= event.at:
        return Step(
            name, True, f"Was told {board['shown_text']!r} after it and has not acknowledged", board["shown_at"]
        )
    return Step(name, False, board["fault"] or "Has not been told anything since")
