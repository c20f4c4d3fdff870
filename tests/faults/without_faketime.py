"""A plugin for pytest: this machine has no libfaketime."""

from tests.faults import faked_time

faked_time.LIBRARIES = []
