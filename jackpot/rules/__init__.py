"""The five rule sheets as code: cards, hand ranking, one module a game, the jackpot pay table.

Pure: what is decided here follows from its arguments alone. Files, clocks, logs and the pool live elsewhere.
"""
