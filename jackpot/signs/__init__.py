"""Keeps sign boards true: which face a board should show, one task a board, and what each was told.

Fed by the contract's messages (meter, award, status). How a board is spoken to belongs to `drivers`.
"""

from jackpot.signs.agent import BoardAgent
from jackpot.signs.history import Entry, History, JsonLinesHistory
from jackpot.signs.keeper import SignBoard

__all__ = ["BoardAgent", "Entry", "History", "JsonLinesHistory", "SignBoard"]
