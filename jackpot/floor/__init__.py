"""Tables that play: for the demo, the benchmarks and the tests, and as an example for real table controllers.

A floor knows the contract and the rules of its games. It knows nothing of the daemon's inside.
"""
