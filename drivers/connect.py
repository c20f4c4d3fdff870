"""From a board's wiring to a board that shows dashes and waits for a figure."""

from typing import assert_never

from drivers.alpha import AlphaBoard
from drivers.board import Board, ResolvedWiring
from drivers.ed400 import Ed400Board
from drivers.icpdas import IcpDasBoard
from drivers.line import Lines


async def connect(wiring: ResolvedWiring, lines: Lines) -> Board:
    """Opens the line and pushes the layout. Raises DriverError."""
    line = await lines.take(wiring)
    board: AlphaBoard | Ed400Board | IcpDasBoard
    match wiring.protocol:
        case "alpha":
            board = AlphaBoard(line, wiring)
        case "ed400":
            board = Ed400Board(line, wiring)
        case "icpdas":
            board = IcpDasBoard(line, wiring)
        case _:
            assert_never(wiring.protocol)
    try:
        await board.start()
    except BaseException:
        await board.close()
        raise
    return board
