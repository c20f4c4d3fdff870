"""How fast, and beside what: the data path and its limits, measured in one run on the same servers.

Figures depend on the machine; ratios hold better. Nothing here is used by the daemon.
"""
