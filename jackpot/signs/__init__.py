"""Keeps sign boards true: which face a board should show, one task a board, and what each was told.

Fed by the contract's messages (meter, award, status). How a board is spoken to belongs to `drivers`.
A process that is killed cannot blank its boards, and none of the protocols lets a board blank itself: boards that must
show dashes when the daemon dies are driven by a process of their own (`jackpot signs`), which hears of it.
"""

from jackpot.signs.agent import BoardAgent
from jackpot.signs.board_task import SignBoard
from jackpot.signs.history import Entry, History, JsonLinesHistory

__all__ = ["BoardAgent", "Entry", "History", "JsonLinesHistory", "SignBoard"]
