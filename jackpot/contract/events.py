"""What a table can say: one frozen type for each event of the contract.

The wire decodes payloads straight into these types, so their annotations are the contract's own limits.
"""

import datetime as dt
from typing import Annotated

from msgspec import UNSET, Meta, Struct, UnsetType

SAFE_INTEGER = 2**53 - 1
_PRINTABLE = r"^[^\x00-\x1f\x7f-\x9f]*\Z"

Id = Annotated[str, Meta(min_length=1, max_length=64, pattern=_PRINTABLE)]
Reason = Annotated[str, Meta(min_length=1, max_length=200, pattern=_PRINTABLE)]
Integer = Annotated[int, Meta(ge=-SAFE_INTEGER, le=SAFE_INTEGER)]
Count = Annotated[int, Meta(ge=0, le=SAFE_INTEGER)]
Time = Annotated[str, Meta(pattern=r"^\d{4}-\d\d-\d\d[Tt ]\d\d:\d\d:\d\d(\.\d+)?(Z|\+00:00)\Z")]


class Event(Struct, frozen=True, kw_only=True, tag_field="type"):
    id: Id
    seq: Integer
    at: Time

    @property
    def type(self) -> str:
        return str(self.__struct_config__.tag)


class RoundEvent(Event, frozen=True, kw_only=True):
    round: Id


class PositionEvent(RoundEvent, frozen=True, kw_only=True):
    position: Integer


class RoundOpened(RoundEvent, frozen=True, kw_only=True, tag="round.opened"):
    """The dealer says "Place your bets, please"."""


class WagerPlaced(PositionEvent, frozen=True, kw_only=True, tag="wager.placed", omit_defaults=True):
    multiplier: Integer = 1
    amount_cents: Integer | UnsetType = UNSET


class WagerCancelled(PositionEvent, frozen=True, kw_only=True, tag="wager.cancelled"):
    """Before closing only (5.12.1)."""


class RoundClosed(RoundEvent, frozen=True, kw_only=True, tag="round.closed"):
    """The dealer says "No more bets": contributions are posted (D3)."""


class WagerReturned(PositionEvent, frozen=True, kw_only=True, tag="wager.returned"):
    reason: Reason


class HandEntered(PositionEvent, frozen=True, kw_only=True, tag="hand.entered"):
    cards: list[str]
    community: list[str]


class HandWithdrawn(PositionEvent, frozen=True, kw_only=True, tag="hand.withdrawn"):
    reason: Reason


class HandDeclined(PositionEvent, frozen=True, kw_only=True, tag="hand.declined"):
    """Not exposed: no jackpot."""


class RoundSettled(RoundEvent, frozen=True, kw_only=True, tag="round.settled"):
    """All hands of the round are in: pay."""


class RoundVoided(RoundEvent, frozen=True, kw_only=True, tag="round.voided"):
    reason: Reason


class AwardPaid(RoundEvent, frozen=True, kw_only=True, tag="award.paid"):
    award: Id


class MetersReported(Event, frozen=True, kw_only=True, tag="meters.reported"):
    day: dt.date
    wagers: Count
    wagered_cents: Count
    awards: Count
    awarded_cents: Count


TableEvent = (
    RoundOpened
    | WagerPlaced
    | WagerCancelled
    | RoundClosed
    | WagerReturned
    | HandEntered
    | HandWithdrawn
    | HandDeclined
    | RoundSettled
    | RoundVoided
    | AwardPaid
    | MetersReported
)
