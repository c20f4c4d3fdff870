"""Every cent explained: the reconciliation of a gaming day, award slips, and a link's economics played forward.

It reads the ledger and changes nothing. How a report is asked for (terminal, console) belongs elsewhere.
"""
