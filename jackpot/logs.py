"""Structured logs: JSON lines for machines, colours for a terminal."""

import io
import logging
import sys
from typing import TextIO, cast

import structlog


class _Stderr(io.TextIOBase):
    """Standard error as it is now: a logger outlives a stream that was put in its place for a while."""

    def write(self, text: str, /) -> int:
        return sys.stderr.write(text)

    def flush(self) -> None:
        sys.stderr.flush()


def set_up(*, level: str = "info") -> None:
    common: list[structlog.typing.Processor] = [
        structlog.processors.add_log_level,
        structlog.processors.TimeStamper(fmt="iso", utc=True),
    ]
    rendered: list[structlog.typing.Processor] = (
        [structlog.dev.ConsoleRenderer()]
        if sys.stderr.isatty()
        else [structlog.processors.format_exc_info, structlog.processors.JSONRenderer()]
    )
    stderr = cast("TextIO", _Stderr())
    structlog.configure(
        processors=[structlog.contextvars.merge_contextvars, *common, *rendered],
        wrapper_class=structlog.make_filtering_bound_logger(logging.getLevelNamesMapping()[level.upper()]),
        logger_factory=structlog.PrintLoggerFactory(stderr),
        cache_logger_on_first_use=True,
    )
    libraries = logging.StreamHandler(stderr)
    libraries.setFormatter(
        structlog.stdlib.ProcessorFormatter(
            foreign_pre_chain=[*common, structlog.stdlib.add_logger_name, _in_one_line],
            processors=[structlog.stdlib.ProcessorFormatter.remove_processors_meta, *rendered],
        )
    )
    logging.basicConfig(level=logging.WARNING, handlers=[libraries], force=True)


def _in_one_line(_: object, __: str, event: structlog.typing.EventDict) -> structlog.typing.EventDict:
    """A library's warning, that of a database which is away, needs no traceback; an error keeps its own."""
    if event["level"] == "warning" and (about := event.pop("exc_info", None)):
        event["error"] = f"{about[0].__name__}: {about[1]}"
    return event
