"""The checks of `jackpot check`: each looks at one part, changes nothing, and knows how to mend what it finds."""

from jackpot.cli.doctor.examine import examine
from jackpot.cli.doctor.finding import Finding, Verdict

__all__ = ["Finding", "Verdict", "examine"]
