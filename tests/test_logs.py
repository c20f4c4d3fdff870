"""A logger outlives the stream it was set up with."""

import io
import sys
from collections.abc import Iterator

import pytest
import structlog

from jackpot import logs


@pytest.fixture(autouse=True)
def _defaults_afterwards() -> Iterator[None]:
    yield
    structlog.reset_defaults()


def test_lines_go_to_standard_error_as_it_is_now(monkeypatch: pytest.MonkeyPatch) -> None:
    first, second = io.StringIO(), io.StringIO()
    monkeypatch.setattr(sys, "stderr", first)
    logs.set_up()
    log = structlog.get_logger()
    log.warning("before")
    first.close()
    monkeypatch.setattr(sys, "stderr", second)
    log.warning("after")
    assert '"event": "after"' in second.getvalue()
