"""Refusals are values: a code of the contract, the paragraph behind it, and what to do next."""

from dataclasses import dataclass
from enum import StrEnum


class Code(StrEnum):
    MALFORMED = "malformed"
    UNKNOWN_TYPE = "unknown_type"
    UNKNOWN_TABLE = "unknown_table"
    NOT_LINKED = "not_linked"
    WRONG_LINK = "wrong_link"
    ID_REUSED = "id_reused"
    LINK_SUSPENDED = "link_suspended"
    SEQUENCE_GAP = "sequence_gap"
    SEQUENCE_REUSED = "sequence_reused"
    ROUND_EXISTS = "round_exists"
    PREVIOUS_ROUND_OPEN = "previous_round_open"
    UNKNOWN_ROUND = "unknown_round"
    ROUND_CONCLUDED = "round_concluded"
    BETS_CLOSED = "bets_closed"
    ROUND_NOT_OPEN = "round_not_open"
    ROUND_NOT_CLOSED = "round_not_closed"
    BAD_POSITION = "bad_position"
    POSITION_TAKEN = "position_taken"
    BAD_MULTIPLIER = "bad_multiplier"
    AMOUNT_MISMATCH = "amount_mismatch"
    NO_WAGER = "no_wager"
    WAGER_RETURNED = "wager_returned"
    HAND_EXISTS = "hand_exists"
    HAND_DECLINED = "hand_declined"
    NO_HAND = "no_hand"
    WRONG_CARD_COUNT = "wrong_card_count"
    UNKNOWN_CARD = "unknown_card"
    DUPLICATE_CARD = "duplicate_card"
    COMMUNITY_MISMATCH = "community_mismatch"
    UNKNOWN_AWARD = "unknown_award"
    AWARD_ALREADY_PAID = "award_already_paid"


NOT_RECORDED = frozenset(
    {
        Code.MALFORMED,
        Code.UNKNOWN_TYPE,
        Code.UNKNOWN_TABLE,
        Code.NOT_LINKED,
        Code.WRONG_LINK,
        Code.ID_REUSED,
        Code.SEQUENCE_GAP,
        Code.SEQUENCE_REUSED,
        Code.LINK_SUSPENDED,
    }
)
"""Refusals that leave no trace in the ledger: the `seq` is free to be used again."""


@dataclass(frozen=True, slots=True)
class Refused:
    code: Code
    message: str
    rule: str | None = None
    next_seq: int | None = None

    @property
    def recorded(self) -> bool:
        return self.code not in NOT_RECORDED
