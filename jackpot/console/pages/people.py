"""People: an engineer adds, disables and helps them, another confirms them; an auditor sees what everyone did."""

from typing import Annotated

from fastapi import APIRouter, Query, Request, Response

from jackpot.console.access import ConfirmsPeople, ManagesPeople, SeesAudit, SeesPeople, Visitor
from jackpot.console.context import Console, ConsoleDep
from jackpot.console.inputs import BadInputError, Before, BeforeEvent, NewPassword, NewPerson, PersonPath, form, read
from jackpot.console.pages import then
from jackpot.ledger.read import PAGE_ROWS, reading
from jackpot.ledger.read.facts import read_commands, read_event
from jackpot.ledger.read.records import read_trail
from jackpot.people import accounts
from jackpot.people.accounts import AccountRefusedError
from jackpot.people.passwords import LENGTH_MIN
from jackpot.people.roles import PERMISSIONS, Role

router = APIRouter(include_in_schema=False)


@router.get("/people")
async def people(console: ConsoleDep, visitor: SeesPeople) -> Response:
    return console.renderer.page(
        "people.html",
        visitor=visitor,
        here="/people",
        people=await accounts.listed(console.engine),
        roles=list(Role),
        permissions=PERMISSIONS,
        least=LENGTH_MIN,
    )


@router.post("/people")
async def add(request: Request, console: ConsoleDep, visitor: ManagesPeople) -> Response:
    try:
        new = read(NewPerson, dict(await form(request)))
        await accounts.add(console.engine, visitor.actor, new.name, new.role, new.password)
    except (BadInputError, AccountRefusedError) as error:
        return await _then(console, visitor, refused=str(error))
    return await _then(console, visitor, done=f"{new.name} is added and must choose a password at the first login.")


@router.post("/people/{name}/confirm")
async def confirm(name: PersonPath, console: ConsoleDep, visitor: ConfirmsPeople) -> Response:
    try:
        await accounts.confirm(console.engine, visitor.actor, name)
    except AccountRefusedError as error:
        return await _then(console, visitor, refused=str(error))
    return await _then(console, visitor, done=f"{name} is confirmed.")


@router.post("/people/{name}/disable")
async def disable(name: PersonPath, console: ConsoleDep, visitor: ManagesPeople) -> Response:
    try:
        await accounts.disable(console.engine, visitor.actor, name)
    except AccountRefusedError as error:
        return await _then(console, visitor, refused=str(error))
    return await _then(console, visitor, done=f"{name} is disabled; all sessions and tokens have ended.")


@router.post("/people/{name}/password")
async def set_password(name: PersonPath, request: Request, console: ConsoleDep, visitor: ManagesPeople) -> Response:
    try:
        new = read(NewPassword, dict(await form(request)))
        await accounts.set_password(console.engine, visitor.actor, name, new.password)
    except (BadInputError, AccountRefusedError) as error:
        return await _then(console, visitor, refused=str(error))
    return await _then(console, visitor, done=f"{name} must choose a new password at the next login.")


async def _then(console: Console, visitor: Visitor, *, done: str | None = None, refused: str | None = None) -> Response:
    return await then(console, visitor, "/people", done=done, refused=refused)


@router.get("/audit")
async def audit(
    console: ConsoleDep,
    visitor: SeesAudit,
    by: Annotated[str | None, Query(max_length=64)] = None,
    before: Before = None,
) -> Response:
    person = by.strip() if by and by.isprintable() else None
    async with reading(console.engine) as connection:
        audit_entries = await read_trail(connection, by=person or None, before=before)
    more = len(audit_entries) == PAGE_ROWS
    return console.renderer.page(
        "audit.html", visitor=visitor, here="/audit", audit_entries=audit_entries, by=person, more=more
    )


@router.get("/audit/commands")
async def commands(console: ConsoleDep, visitor: SeesAudit, before: BeforeEvent = None) -> Response:
    """What people and the controller did to the links, from the ledger itself."""
    async with reading(console.engine) as connection:
        last = await read_event(connection, before) if before is not None else None
        found = await read_commands(connection, last)
    more = len(found) == PAGE_ROWS
    return console.renderer.page("commands.html", visitor=visitor, here="/audit", found=found, more=more)
