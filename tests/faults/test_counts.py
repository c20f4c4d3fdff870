"""The table at the end of `make faults` leaves nothing out: what could not be run is in it, and fails the run."""

import os
import subprocess
import sys

import pytest

from tests.acceptance.processes import environment
from tests.servers import ROOT
from tests.waiting import patience_s

ONE = "tests/faults/test_clocks.py::test_the_daemons_clock_jumps"


@pytest.mark.timeout(600)
def test_what_cannot_be_run_is_told_and_fails_the_run() -> None:
    argv = [sys.executable, "-m", "pytest", "-p", "no:cacheprovider", "-p", "tests.faults.without_faketime", ONE]
    done = subprocess.run(
        argv,
        cwd=ROOT,
        env={**environment(), "JACKPOT_KILLS": "1", "PYTHONPATH": os.fspath(ROOT)},
        capture_output=True,
        text=True,
        check=False,
        timeout=patience_s(120),
    )
    assert done.returncode == 1, done.stdout
    assert f"NOT RUN: libfaketime is not installed: run `make setup`  {ONE}" in done.stdout
