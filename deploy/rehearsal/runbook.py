"""What is typed of a runbook, step by step. The rehearsal of the install and the tests type the very same.

runbook.py RUNBOOK.md NUMBER     the block of that number, from 1, with what its README says before
"""

import re
import sys
from pathlib import Path

RUNBOOKS = Path(__file__).resolve().parents[1] / "runbooks"
TYPED = re.compile(r"^ *```sh\n(.*?)^ *```", re.MULTILINE | re.DOTALL)


def blocks(runbook: str) -> list[str]:
    return TYPED.findall((RUNBOOKS / runbook).read_text("utf-8"))


def typed(block: str) -> str:
    """With the shorthand that all of them use."""
    (shorthand,) = blocks("README.md")
    return shorthand + block


if __name__ == "__main__":
    sys.stdout.write(typed(blocks(sys.argv[1])[int(sys.argv[2]) - 1]))
