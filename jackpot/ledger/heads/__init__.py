"""Signed heads: where each link's chain stands leaves the database every minute, signed by a key it cannot read.

Whoever owns the database can rewrite all of history with its chain, but not what was signed and carried away before.
Here are their form, the daemon's file, what several files tell together, and the task that keeps them.
"""
