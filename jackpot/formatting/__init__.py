"""How amounts, cards and times are written for people."""
