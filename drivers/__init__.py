"""Sign boards: frame codecs (pure bytes), what is said to a board (one talk a protocol), the serial line, the emulator.

A board shows what it is told. Which figure is true is decided elsewhere; nothing here knows a jackpot.
"""
