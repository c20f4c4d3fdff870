"""Sign boards: frame codecs (pure bytes), the serial line, one driver a protocol, and the emulator.

A board shows what it is told. Which figure is true is decided elsewhere; nothing here knows a jackpot.
"""
