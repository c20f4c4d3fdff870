"""The checks of `jackpot check`: each looks at one part, changes nothing, and knows how to mend what it finds."""

from jackpot.cli.checks.examine import examine
from jackpot.cli.checks.finding import Finding, Verdict

__all__ = ["Finding", "Verdict", "examine"]
