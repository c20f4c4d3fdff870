"""The floor: live links, claims and who blocks whom, tables and boards, and what resolves it."""

import datetime as dt
from collections.abc import AsyncIterator
from typing import Annotated, Any

from fastapi import APIRouter, Depends, HTTPException, Query, Request, Response
from fastapi.responses import RedirectResponse
from fastapi.sse import EventSourceResponse, ServerSentEvent
from sqlalchemy.ext.asyncio import AsyncConnection

from jackpot.console.access import Concludes, Resumes, SeesEvents, Suspends, Visitor, Watches, needs
from jackpot.console.chart import draw
from jackpot.console.commands import Answer, command_from, order
from jackpot.console.context import Console, ConsoleDep, room_for_one_more
from jackpot.console.formatting import path
from jackpot.console.inputs import Conclusion, Grounds, LinkPath, form, read
from jackpot.console.pages import then_answered
from jackpot.ledger.read import reading
from jackpot.ledger.read.facts import read_award, read_event
from jackpot.ledger.read.floor import read_floor
from jackpot.ledger.read.history import read_history
from jackpot.ledger.read.records import read_quarantine
from jackpot.people import sessions
from jackpot.people.roles import Permission

router = APIRouter(include_in_schema=False)


async def _floor(console: Console, connection: AsyncConnection, *, charts: bool) -> dict[str, Any]:
    found = await read_floor(connection)
    now, today = dt.datetime.now(dt.UTC), console.today()
    drawn = {link.link: draw(await read_history(connection, link.link, today), now) for link in found if charts}
    return {
        "links": found,
        "charts": drawn,
        "states": {link.link: console.state_of(link.link, link.suspended) for link in found},
        "boards": console.boards(),
        "connected": console.feed.connected,
        "signs": {link.id for link in console.config.links},
    }


@router.get("/")
async def floor(console: ConsoleDep, visitor: Watches) -> Response:
    async with reading(console.engine) as connection:
        content = await _floor(console, connection, charts=True)
    return console.renderer.page("floor.html", visitor=visitor, here="/", **content)


@router.get("/parts/{part}")
async def part(part: str, console: ConsoleDep, visitor: Watches) -> Response:
    """A piece of the page as it stands now, fetched again when the feed says that something changed."""
    if part not in ("links", "claims", "tables", "boards"):
        raise HTTPException(404)
    async with reading(console.engine) as connection:
        content = await _floor(console, connection, charts=part == "links")
    return console.renderer.page(f"parts/{part}.html", visitor=visitor, **content)


@router.get("/tables")
async def tables(console: ConsoleDep, visitor: Watches) -> Response:
    async with reading(console.engine) as connection:
        content = await _floor(console, connection, charts=False)
    linked = {table.id for link in content["links"] for table in link.tables}
    others = [table for table in console.config.tables if table.id not in linked]
    return console.renderer.page("tables.html", visitor=visitor, here="/tables", others=others, **content)


@router.get("/stream", response_class=EventSourceResponse, dependencies=[Depends(room_for_one_more)])
async def stream(console: ConsoleDep, visitor: Watches) -> AsyncIterator[ServerSentEvent]:
    async for event in console.watchers.watch(still_allowed=lambda: _still_allowed(console, visitor)):
        yield event


async def _still_allowed(console: Console, visitor: Visitor) -> bool:
    """A page left open does not outlive its session, nor keep it alive."""
    session = visitor.session
    return session is not None and await sessions.find(console.engine, session.secret, used=False) is not None


@router.post("/links/{link}/suspend")
async def suspend(link: LinkPath, request: Request, console: ConsoleDep, visitor: Suspends) -> Response:
    answer = await _with_reason(request, console, visitor, link, "link.suspended")
    return await then_answered(console, visitor, "/", answer, f"{link} is suspended.")


@router.post("/links/{link}/resume")
async def resume(link: LinkPath, request: Request, console: ConsoleDep, visitor: Resumes) -> Response:
    answer = await _with_reason(request, console, visitor, link, "link.resumed")
    return await then_answered(console, visitor, "/", answer, f"{link} is in play again.")


async def _with_reason(request: Request, console: Console, visitor: Visitor, link: str, type_: str) -> Answer:
    await require_link(console, link)
    reason = read(Grounds, await form(request)).reason
    return await order(console.engine, visitor.actor, link, command_from(visitor.actor, type=type_, reason=reason))


@router.post("/conclusions")
async def conclude(request: Request, console: ConsoleDep, visitor: Concludes) -> Response:
    what = read(Conclusion, dict(await form(request)))
    link = await link_of(console, what.table)
    command = command_from(visitor.actor, type="round.concluded", **what.model_dump())
    answer = await order(console.engine, visitor.actor, link, command)
    return await then_answered(console, visitor, "/", answer, f"Round {what.round} of {what.table} is {what.outcome}.")


async def link_of(console: Console, table: str) -> str:
    async with reading(console.engine) as connection:
        for link in await read_floor(connection):
            if any(known.id == table for known in link.tables):
                return link.link
    raise HTTPException(404, f"No link has a table {table}.")


async def require_link(console: Console, link: str) -> None:
    async with reading(console.engine) as connection:
        if not await read_floor(connection, link):
            raise HTTPException(404, f"There is no link {link}.")


@router.get("/find", dependencies=[needs(Permission.SEE_EVENTS)])
async def find(console: ConsoleDep, q: Annotated[str, Query(max_length=80)] = "") -> Response:
    """An award, an event or a table, by what is printed on a slip or stands in a log."""
    wanted = q.strip()
    readable = wanted.isprintable() and wanted
    async with reading(console.engine) as connection:
        if readable and await read_award(connection, wanted):
            return RedirectResponse(f"/awards/{path(wanted)}", 303)
        if readable and await read_event(connection, wanted):
            return RedirectResponse(f"/events/{path(wanted)}", 303)
    raise HTTPException(404, f"There is no event and no award {wanted!r}.")


@router.get("/quarantine")
async def quarantine(
    console: ConsoleDep, visitor: SeesEvents, before: Annotated[int | None, Query(ge=1, le=2**62)] = None
) -> Response:
    async with reading(console.engine) as connection:
        found = await read_quarantine(connection, before)
    return console.renderer.page("quarantine.html", visitor=visitor, here="/quarantine", found=found)
