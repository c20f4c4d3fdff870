"""Boards as the configuration describes them."""

from drivers.board import Wiring
from jackpot.config import Sign
from jackpot.signs.keeper import SignBoard


def sign_board(sign: Sign) -> SignBoard:
    wiring = Wiring(sign.protocol, sign.port, sign.baud, sign.address, sign.format, sign.width, sign.decimals)
    return SignBoard(sign.id, sign.link, wiring, sign.stale_seconds)
