"""The three messages that a sign needs, read once from the contract's JSON."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Final

from drivers.board import Amount, Pending, Win
from jackpot.signs.feed import UnreadableError

RUNNING: Final = "running"
STATES: Final = frozenset({RUNNING, "stopped", "suspended", "lost"})


@dataclass(frozen=True, slots=True)
class Meter:
    link: str
    version: int
    displayed: Amount
    pending: Pending | None
    """The first to be paid, for which the displayed amount is held (D5, D6)."""
    at: datetime
    """When it was published, by the controller's clock."""


@dataclass(frozen=True, slots=True)
class Award:
    award: str
    link: str
    kind: str
    win: Win
    at: datetime


def read_meter(message: Mapping[str, Any]) -> Meter:
    displayed = _amount(message, "displayed_cents", _text(message, "currency"))
    waiting = message.get("pending")
    if not isinstance(waiting, list):
        raise UnreadableError("pending is no list")
    pending = Pending(_hand(waiting[0]), displayed) if waiting else None
    return Meter(_text(message, "link"), _integer(message, "version"), displayed, pending, _moment(message))


def read_award(message: Mapping[str, Any], currency: str) -> Award:
    win = Win(_text(message, "table"), _hand(message), _amount(message, "amount_cents", currency))
    return Award(_text(message, "award"), _text(message, "link"), _text(message, "kind"), win, _moment(message))


def read_state(message: Mapping[str, Any]) -> str:
    state = _text(message, "state")
    if state not in STATES:
        raise UnreadableError(f"state {state!r} is none of {', '.join(sorted(STATES))}")
    return state


def _hand(message: object) -> str:
    if not isinstance(message, Mapping):
        raise UnreadableError("a hand is no object")
    return _text(message, "rank").replace("_", " ").upper()


def _moment(message: Mapping[str, Any]) -> datetime:
    try:
        at = datetime.fromisoformat(_text(message, "at"))
    except ValueError as error:
        raise UnreadableError(f"at: {error}") from error
    if at.tzinfo is None:
        raise UnreadableError("at has no time zone")
    return at


def _amount(message: Mapping[str, Any], name: str, currency: str) -> Amount:
    cents = _integer(message, name)
    if cents < 0:
        raise UnreadableError(f"{name} is negative")
    return Amount(cents, currency)


def _integer(message: Mapping[str, Any], name: str) -> int:
    value = message.get(name)
    if type(value) is not int:
        raise UnreadableError(f"{name} is no integer")
    return value


def _text(message: Mapping[str, Any], name: str) -> str:
    value = message.get(name)
    if not isinstance(value, str) or not value:
        raise UnreadableError(f"{name} is no text")
    return value
