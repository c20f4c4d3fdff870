"""Award slips: what an award was and how it was calculated."""
