"""Why a round is not settled."""

from enum import StrEnum


class Code(StrEnum):
    MALFORMED = "malformed"
    """Not JSON, a wrong type, a field missing, a key given twice."""
    UNKNOWN_FIELD = "unknown_field"
    UNKNOWN_GAME = "unknown_game"

    BAD_POSITION = "bad_position"
    POSITION_TAKEN = "position_taken"

    WRONG_CARD_COUNT = "wrong_card_count"
    UNKNOWN_CARD = "unknown_card"
    DUPLICATE_CARD = "duplicate_card"
    BAD_SET = "bad_set"

    UNKNOWN_WAGER = "unknown_wager"
    NO_WAGER = "no_wager"
    BAD_STAKE = "bad_stake"
    AMOUNT_MISMATCH = "amount_mismatch"
    PLAY_OR_FOLD = "play_or_fold"
    MUST_NOT_DECLINE = "must_not_decline"
    BAD_LIMITS = "bad_limits"

    UNKNOWN_NUMBER = "unknown_number"
    DUPLICATE_NUMBER = "duplicate_number"
    WRONG_BONUS_COUNT = "wrong_bonus_count"


class RefusalError(Exception):
    """A round that cannot be settled: a code for programs, a message for people, the paragraph if a sheet says so."""

    def __init__(self, code: Code, message: str, rule: str | None = None) -> None:
        super().__init__(message)
        self.code = code
        self.message = message
        self.rule = rule
