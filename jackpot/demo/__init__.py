"""The whole product alive on one machine: `jackpot demo`.

Here belongs the stage: embedded servers, the real daemon as a process of its own, tables that play, a board to look
at, and a screen that shows them. What is shown is the product's own doing, seen from outside.
"""
