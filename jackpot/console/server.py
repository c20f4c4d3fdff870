"""The web server around the console, with limits on how long and how many strangers can keep it."""

import asyncio
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Final

import uvicorn
from starlette.types import ASGIApp
from uvicorn.protocols.http.h11_impl import H11Protocol

CONNECTIONS_MAX: Final = 1000
"""Twice the streams there may be; each takes one of the files that the ledger and the broker need, too."""
HEAD_WITHIN_S: Final = 10.0
CLOSE_WITHIN_S: Final = 3
"""For requests that are not answered yet when the daemon stops."""


class Connection(H11Protocol):
    """A browser's connection. uvicorn bounds the size of a request's head; here its time, and their number."""

    _head: asyncio.TimerHandle | None = None

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]  # as uvicorn's own
        super().connection_made(transport)
        if len(self.connections) > CONNECTIONS_MAX:
            transport.abort()
        else:
            self._await_head()

    def data_received(self, data: bytes) -> None:
        super().data_received(data)
        if self.cycle is not None and not self.cycle.response_complete:
            self._stop_waiting()
        elif self._head is None:
            self._await_head()

    def connection_lost(self, exc: Exception | None) -> None:
        self._stop_waiting()
        super().connection_lost(exc)

    def _await_head(self) -> None:
        self._head = self.loop.call_later(HEAD_WITHIN_S, self.transport.close)

    def _stop_waiting(self) -> None:
        if self._head is not None:
            self._head.cancel()
            self._head = None


class HttpServer(uvicorn.Server):
    """uvicorn without its own signal handlers: the daemon has them."""

    def __init__(self, app: ASGIApp, trusted_proxies: Sequence[str] = ()) -> None:
        """What others say about where a visitor comes from is believed of `trusted_proxies`, up to the last of them."""
        config = uvicorn.Config(
            app,
            http=Connection,
            log_config=None,
            timeout_graceful_shutdown=CLOSE_WITHIN_S,
            proxy_headers=bool(trusted_proxies),
            forwarded_allow_ips=list(trusted_proxies),
        )
        super().__init__(config)

    @contextmanager
    def capture_signals(self) -> Iterator[None]:
        yield
