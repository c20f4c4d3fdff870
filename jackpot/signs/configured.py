"""Boards as the configuration describes them."""

from jackpot.config import Sign
from jackpot.signs.board_task import SignBoard


def sign_board(sign: Sign) -> SignBoard:
    return SignBoard(sign.id, sign.link, sign.wiring, sign.stale_seconds)
