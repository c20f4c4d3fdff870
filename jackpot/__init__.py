"""A progressive jackpot link controller: wagers and hands in, awards out, every cent explained."""

__version__ = "0.1.0"
