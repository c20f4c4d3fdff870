"""Facts one by one: a round, an event's whole way, an award's slip, and the journals behind every amount."""

import asyncio
import importlib
from collections.abc import Callable
from typing import Annotated, Any, Final

import msgspec
from fastapi import APIRouter, HTTPException, Query, Response
from fastapi.responses import RedirectResponse

from jackpot.console.access import SeesAwards, SeesEvents, SeesMoney, Watches, needs
from jackpot.console.context import Console, ConsoleDep
from jackpot.console.event_timeline import timeline_of
from jackpot.console.inputs import AwardPath, Before, DayQuery, EventPath, LinkPath, Number, RoundPath, TablePath
from jackpot.console.pages import download
from jackpot.finance.slips.as_text import DECISIONS
from jackpot.finance.slips.data import Slip, arithmetic, problems
from jackpot.finance.slips.reading import read_slip
from jackpot.ledger.read import PAGE_ROWS, reading
from jackpot.ledger.read.facts import (
    AwardFact,
    EventFact,
    read_award,
    read_awards,
    read_event,
    read_event_number,
    read_journals,
    read_journals_of,
    read_round,
)
from jackpot.ledger.read.floor import read_floor
from jackpot.people.roles import Permission

router = APIRouter(include_in_schema=False)


def _as_pdf(slip: Slip) -> bytes:
    """What prints is large, and loaded when it is asked for."""
    printed: bytes = importlib.import_module("jackpot.finance.slips.as_pdf").as_pdf(slip)
    return printed


SLIP_FORMS: Final[dict[str, tuple[str, Callable[[Slip], bytes]]]] = {
    "pdf": ("application/pdf", _as_pdf),
    "json": ("application/json", msgspec.json.encode),
}


@router.get("/rounds/{table}/{round:path}")
async def round_page(table: TablePath, round: RoundPath, console: ConsoleDep, visitor: Watches) -> Response:  # noqa: A002 the sheets' word
    async with reading(console.engine) as connection:
        found = await read_round(connection, table, round)
        if found is None:
            raise HTTPException(404, f"Table {table} had no round {round}.")
        link = (await read_floor(connection, found.link))[0]
    claim = next((claim for claim in link.claims if (claim.table, claim.round) == (table, round)), None)
    return console.renderer.page(
        "round.html", visitor=visitor, here="/tables", round=found, claim=claim, currency=link.currency
    )


@router.get("/events/{id:path}")
async def event_page(id: EventPath, console: ConsoleDep, visitor: SeesEvents) -> Response:  # noqa: A002 the contract's word
    async with reading(console.engine) as connection:
        event = await read_event(connection, id)
        if event is None:
            raise HTTPException(404, f"No event {id} was recorded. If it came and was refused, look in quarantine.")
        journals = (
            await read_journals_of(connection, event.link, [event.n]) if visitor.may(Permission.SEE_MONEY) else []
        )
    boards = [board for board in console.boards() if board["link"] == event.link]
    way = timeline_of(event, console.shown_version(event.link), boards)
    return console.renderer.page("event.html", visitor=visitor, event=event, way=way, journals=journals)


@router.get("/awards")
async def awards_page(
    console: ConsoleDep,
    visitor: SeesAwards,
    link: Annotated[str | None, Query(max_length=64)] = None,
    before: Before = None,
) -> Response:
    async with reading(console.engine) as connection:
        links = await read_floor(connection)
        chosen = _chosen([known.link for known in links], link)
        found = await read_awards(connection, chosen, before=before) if chosen else []
    return console.renderer.page(
        "awards.html", visitor=visitor, here="/awards", links=links, link=chosen, found=found, more=_more(found)
    )


@router.get("/awards/{id}")
async def award_page(id: AwardPath, console: ConsoleDep, visitor: SeesAwards) -> Response:  # noqa: A002
    award, slip = await _award_and_slip(console, id)
    return console.renderer.page(
        "award.html",
        visitor=visitor,
        here="/awards",
        award=award,
        slip=slip,
        arithmetic=arithmetic(slip),
        problems=problems(slip),
        decisions=DECISIONS,
        forms=list(SLIP_FORMS),
    )


@router.get("/awards/{id}/{form}", dependencies=[needs(Permission.SEE_AWARDS)])
async def slip_file(id: AwardPath, form: str, console: ConsoleDep) -> Response:  # noqa: A002
    if form not in SLIP_FORMS:
        raise HTTPException(404, f"A slip is written as {', '.join(SLIP_FORMS)}.")
    media_type, render = SLIP_FORMS[form]
    _, slip = await _award_and_slip(console, id)
    return download(await asyncio.to_thread(render, slip), media_type, f"award-{id}.{form}")


async def _award_and_slip(console: Console, award_id: str) -> tuple[AwardFact, Slip]:
    async with reading(console.engine) as connection:
        award = await read_award(connection, award_id)
        if award is None:
            raise HTTPException(404, f"There is no award {award_id}.")
        return award, await read_slip(connection, award_id)


@router.get("/journals", dependencies=[needs(Permission.SEE_MONEY)])
async def journals_home(console: ConsoleDep) -> Response:
    async with reading(console.engine) as connection:
        links = await read_floor(connection)
    if not links:
        raise HTTPException(404, "No link has been opened yet.")
    return RedirectResponse(f"/journals/{links[0].link}", 303)


@router.get("/journals/{link}")
async def journals_page(
    link: LinkPath, console: ConsoleDep, visitor: SeesMoney, day: DayQuery = None, before: Before = None
) -> Response:
    async with reading(console.engine) as connection:
        links = await read_floor(connection)
        if link not in {known.link for known in links}:
            raise HTTPException(404, f"There is no link {link}.")
        found = await read_journals(connection, link, day=day, before=before)
    return console.renderer.page(
        "journals.html",
        visitor=visitor,
        here="/journals",
        links=links,
        link=link,
        day=day,
        found=found,
        more=_more(found),
    )


@router.get("/journals/{link}/{n}")
async def journals_of_event(link: LinkPath, n: Number, console: ConsoleDep, visitor: SeesMoney) -> Response:
    """All that one event posted."""
    async with reading(console.engine) as connection:
        cause = await _event_or_404(connection, link, n)
        found = await read_journals_of(connection, link, [n])
    return console.renderer.page("journal.html", visitor=visitor, here="/journals", cause=cause, found=found)


async def _event_or_404(connection: Any, link: str, n: int) -> EventFact:
    event = await read_event_number(connection, link, n)
    if event is None:
        raise HTTPException(404, f"Link {link} has no event {n}.")
    return event


def _chosen(known: list[str], asked: str | None) -> str | None:
    if asked is not None and asked not in known:
        raise HTTPException(404, f"There is no link {asked}.")
    return asked or next(iter(known), None)


def _more(found: list[Any]) -> bool:
    """Whether there may be another page."""
    return len(found) == PAGE_ROWS
