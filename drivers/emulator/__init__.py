"""Sign boards without boards: the other side of each protocol, with its quirks, and how they look.

Used by the tests, the demo and `jackpot signs emulate`; a driver cannot tell it from a real port.
"""

from drivers.emulator.boards import EmulatedBoard, emulate
from drivers.emulator.picture import save_png
from drivers.emulator.port import EmulatedPort, Faults
from drivers.emulator.state import BoardState
from drivers.emulator.terminal import render

__all__ = ["BoardState", "EmulatedBoard", "EmulatedPort", "Faults", "emulate", "render", "save_png"]
