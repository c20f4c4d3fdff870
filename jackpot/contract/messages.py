"""What a link tells the outside, as the contract words it."""

from typing import Any, Literal, NotRequired, TypedDict

RankName = Literal["royal_flush", "straight_flush", "four_of_a_kind", "full_house", "flush", "straight", "none"]


class AwardMessage(TypedDict):
    award: str
    link: str
    table: str
    round: str
    position: int
    entry: int
    rank: RankName
    kind: Literal["percentage", "fixed"]
    amount_cents: int
    base_cents: int | None
    shared_by: int
    multiplier: int
    rules: list[str]
    decisions: list[str]
    at: str


class PendingClaim(TypedDict):
    """A round with a standing Royal or Straight Flush that is not paid yet."""

    table: str
    round: str
    rank: Literal["royal_flush", "straight_flush"]
    base_cents: int


class Meter(TypedDict):
    link: str
    currency: str
    displayed_cents: int
    reset_cents: int
    entry: int
    version: int
    pending: list[PendingClaim]
    at: str


class CurrentRound(TypedDict):
    id: str
    phase: Literal["open", "closed"]


class TableStateMessage(TypedDict):
    table: str
    next_seq: int
    round: CurrentRound | None
    pending: list[str]
    accepts_play: bool
    at: str


class AcceptedReply(TypedDict):
    reply_to: str
    seq: int
    status: Literal["accepted"]
    duplicate: bool
    round: NotRequired[str]
    result: dict[str, Any]


class RefusedReply(TypedDict):
    reply_to: str | None
    seq: int | None
    status: Literal["refused"]
    code: str
    rule: str | None
    message: str
    duplicate: bool
    round: NotRequired[str]
    next_seq: NotRequired[int]


class AwardNotice(TypedDict):
    notice: Literal["award"]
    award: AwardMessage


class Status(TypedDict):
    state: Literal["running", "stopped", "suspended", "lost"]
    link: NotRequired[str]
    reason: NotRequired[str]
    at: NotRequired[str]
