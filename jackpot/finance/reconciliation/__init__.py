"""The reconciliation of a gaming day: its data, how it is read, how it is written."""
