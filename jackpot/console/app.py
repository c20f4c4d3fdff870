"""Puts the console together. Pure wiring: whoever calls it has built the parts and runs the server."""

from collections.abc import Callable
from typing import Any

import structlog
from fastapi import FastAPI, Request, Response
from fastapi.exceptions import RequestValidationError
from fastapi.responses import JSONResponse, RedirectResponse
from fastapi.staticfiles import StaticFiles
from prometheus_client import REGISTRY, CollectorRegistry
from sqlalchemy.exc import DBAPIError, InterfaceError
from sqlalchemy.exc import TimeoutError as PoolTimeoutError
from sqlalchemy.ext.asyncio import AsyncEngine
from starlette.exceptions import HTTPException

import jackpot
from jackpot.config import Config
from jackpot.console.access import NotAllowedError, NotSignedInError, PasswordChangeRequiredError, wants_page
from jackpot.console.api import actions, description, queries
from jackpot.console.context import Console
from jackpot.console.formatting import path
from jackpot.console.headers import HEADERS, SecurityHeaders
from jackpot.console.inputs import BadInputError
from jackpot.console.limits import BodyLimit
from jackpot.console.live import TooManyWatchersError, Watchers
from jackpot.console.pages import days, docs, facts, floor, is_api, login, people, proposals, sign, system
from jackpot.console.render import STATIC, Renderer
from jackpot.contract.gaming_day import GamingDay
from jackpot.finance.reconciliation.day_head import Finder
from jackpot.signs.feed import Feed

log = structlog.get_logger()


def create_app(
    *,
    engine: AsyncEngine,
    feed: Feed,
    config: Config,
    boards: Callable[[], list[dict[str, Any]]] = list,
    ready: Callable[[], dict[str, Any]],
    registry: CollectorRegistry = REGISTRY,
    find_head: Finder | None = None,
) -> FastAPI:
    """`app.state.console.watchers.close()` ends the open streams before the server stops."""
    app = FastAPI(title="jackpot", version=jackpot.__version__, docs_url=None, redoc_url=None, openapi_url=None)
    app.state.console = Console(
        engine=engine,
        feed=feed,
        config=config,
        boards=boards,
        ready=ready,
        registry=registry,
        watchers=Watchers(feed),
        renderer=Renderer(config.gaming_day.timezone),
        gaming_day=GamingDay.of(config.gaming_day.timezone, config.gaming_day.starts_at),
        find_head=find_head,
    )
    for pages in (system, sign, login, docs, floor, facts, days, proposals, people):
        app.include_router(pages.router)
    for part in (queries, actions):
        app.include_router(part.router, prefix="/api", responses=description.RESPONSES)
    app.openapi = lambda: description.describe(app)  # type: ignore[method-assign]  # FastAPI's own way to extend it
    app.mount("/static", StaticFiles(directory=STATIC), name="static")
    app.add_middleware(BodyLimit, answer=_wrong)
    app.add_middleware(SecurityHeaders)
    _say_what_is_wrong(app)
    return app


def _say_what_is_wrong(app: FastAPI) -> None:
    @app.exception_handler(NotSignedInError)
    async def not_signed_in(request: Request, _: Exception) -> Response:
        if is_api(request):
            return JSONResponse({"detail": "Sign in, or send a token."}, 401, {"WWW-Authenticate": "Bearer"})
        if wants_page(request):
            return RedirectResponse(f"/login?next={path(request.url.path)}", 303)
        return _wrong(request, 401, "Sign in first.")

    @app.exception_handler(PasswordChangeRequiredError)
    async def password_must_change(request: Request, _: Exception) -> Response:
        if is_api(request):
            return _wrong(request, 403, "Choose a password of your own first, on the page /password.")
        return RedirectResponse("/password", 303)

    @app.exception_handler(NotAllowedError)
    async def not_allowed(request: Request, error: Exception) -> Response:
        return _wrong(request, 403, str(error))

    @app.exception_handler(HTTPException)
    async def http(request: Request, error: Exception) -> Response:
        status, detail = (error.status_code, error.detail) if isinstance(error, HTTPException) else (500, "")
        return _wrong(request, status, "There is no such page." if detail == "Not Found" else detail)

    @app.exception_handler(RequestValidationError)
    async def bad_request(request: Request, error: Exception) -> Response:
        found = error.errors() if isinstance(error, RequestValidationError) else []
        problems = [f"{'.'.join(str(part) for part in problem['loc'])}: {problem['msg']}" for problem in found]
        return _wrong(request, 422, "; ".join(problems))

    @app.exception_handler(BadInputError)
    async def bad_input(request: Request, error: Exception) -> Response:
        return _wrong(request, 422, str(error))

    @app.exception_handler(TooManyWatchersError)
    async def too_many(request: Request, _: Exception) -> Response:
        return _wrong(request, 503, "Too many screens watch already; try again later.")

    @app.exception_handler(DBAPIError)
    @app.exception_handler(PoolTimeoutError)
    @app.exception_handler(OSError)
    async def no_database(request: Request, error: Exception) -> Response:
        if isinstance(error, DBAPIError) and not _passes(error):
            raise error
        log.warning("database_unreachable", path=request.url.path, error=str(error))
        return _wrong(request, 503, "The database does not answer now. Play is not affected by this page; try again.")

    @app.exception_handler(Exception)
    async def our_fault(request: Request, _: Exception) -> Response:
        response = _wrong(request, 500, "This is a fault of ours. It has been written to the log.")
        response.headers.update(HEADERS)  # made outside the middleware that adds them everywhere else
        return response


def _passes(error: DBAPIError) -> bool:
    """Whether the database is away, full or too slow now; everything else is a fault of ours."""
    state = str(getattr(error.orig, "sqlstate", "") or "")
    return error.connection_invalidated or isinstance(error, InterfaceError) or state[:2] in ("08", "53", "57")


def _wrong(request: Request, status: int, message: str) -> Response:
    if is_api(request):
        return JSONResponse({"detail": message}, status)
    console: Console = request.app.state.console
    return console.renderer.page("wrong.html", status=status, code=status, message=message)
