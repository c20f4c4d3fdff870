"""What a module of the product logs while a test runs, whoever has set up logging in this process before."""

from types import ModuleType

import pytest
import structlog
from structlog.testing import LogCapture


def logged_by(module: ModuleType, patch: pytest.MonkeyPatch) -> list[structlog.typing.EventDict]:
    captured = LogCapture()
    patch.setattr(module, "log", structlog.wrap_logger(None, [captured], structlog.BoundLogger))
    return captured.entries
