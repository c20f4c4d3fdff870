"""A gaming day's reconciliation, to look at and to take away."""

import asyncio
import datetime as dt

from fastapi import APIRouter, HTTPException, Response
from fastapi.responses import RedirectResponse

from jackpot.console.access import SeesMoney, needs
from jackpot.console.context import Console, ConsoleDep
from jackpot.console.inputs import DayPath
from jackpot.console.pages import download
from jackpot.finance.reconciliation.data import Reconciliation
from jackpot.finance.reconciliation.export import MEDIA_TYPES, render
from jackpot.finance.reconciliation.read_day import reconcile
from jackpot.finance.reconciliation.sheets import sheets
from jackpot.people.roles import Permission

router = APIRouter(include_in_schema=False)


async def read_day(console: Console, day: dt.date) -> Reconciliation:
    if day > console.today():
        raise HTTPException(404, f"Gaming day {day} has not begun.")
    if day.year < 2000:
        raise HTTPException(404, f"There was no gaming day {day}.")
    return await reconcile(console.engine, console.gaming_day, day, console.find_head)


@router.get("/days", dependencies=[needs(Permission.SEE_MONEY)])
async def today(console: ConsoleDep) -> Response:
    return RedirectResponse(f"/days/{console.today()}", 303)


@router.get("/days/{day}")
async def day_page(day: DayPath, console: ConsoleDep, visitor: SeesMoney) -> Response:
    found = await read_day(console, day)
    return console.renderer.page(
        "day.html",
        visitor=visitor,
        here="/days",
        day=found,
        sheets=sheets(found),
        forms=list(MEDIA_TYPES),
        before=day - dt.timedelta(days=1),
        after=day + dt.timedelta(days=1) if day < console.today() else None,
    )


@router.get("/days/{day}/{form}", dependencies=[needs(Permission.SEE_MONEY)])
async def export(day: DayPath, form: str, console: ConsoleDep) -> Response:
    if form not in MEDIA_TYPES:
        raise HTTPException(404, f"A day is exported as {', '.join(MEDIA_TYPES)}.")
    content = await asyncio.to_thread(render, await read_day(console, day), form)
    return download(content, MEDIA_TYPES[form], f"reconciliation-{day}.{form}")
