"""The progressive as a state machine: `decide(state, event)` says what an event does, `apply` makes it so.

Pure: no I/O, clock, randomness, async or logging. Everything it needs is passed in, time too.
"""
