"""One form for every line, whoever says it; and a logger outlives the stream it was set up with."""

import io
import json
import logging
import sys
from collections.abc import Iterator

import pytest
import structlog

from jackpot import logs


@pytest.fixture(autouse=True)
def _defaults_afterwards() -> Iterator[None]:
    handlers = logging.getLogger().handlers[:]
    yield
    logging.getLogger().handlers[:] = handlers
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


@pytest.mark.parametrize(("level", "told"), [(logging.WARNING, "error"), (logging.ERROR, "exception")])
def test_what_a_library_says_is_a_line_like_ours_and_its_warnings_have_no_traceback(
    monkeypatch: pytest.MonkeyPatch, level: int, told: str
) -> None:
    said = io.StringIO()
    monkeypatch.setattr(sys, "stderr", said)
    logs.set_up()
    away = ConnectionError("the database is away")
    logging.getLogger("asyncpg.pool").log(level, "Failed to restore %s", "the pool", exc_info=away)
    line = json.loads(said.getvalue())
    assert (line["event"], line["logger"]) == ("Failed to restore the pool", "asyncpg.pool")
    assert line[told] == "ConnectionError: the database is away"
    assert ("exception" in line) == (level == logging.ERROR)
