"""What can be done. Every deed goes into the audit trail; money is changed by the desk alone."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Literal

from fastapi import APIRouter, HTTPException

from jackpot.console.access import (
    ApprovesAdjustments,
    ApprovesParameters,
    Concludes,
    ConfirmsPeople,
    DecidesAdjustments,
    DecidesParameters,
    ManagesPeople,
    ProposesAdjustments,
    ProposesParameters,
    Resumes,
    Suspends,
    Visitor,
    needs,
)
from jackpot.console.commands import Answer, command_from, order
from jackpot.console.context import Console, ConsoleDep
from jackpot.console.inputs import (
    Adjustment,
    Conclusion,
    Grounds,
    LinkPath,
    NewPassword,
    NewPerson,
    Number,
    ParametersChange,
    PersonPath,
)
from jackpot.console.pages.floor import link_of, require_link
from jackpot.console.proposals import (
    APPROVAL,
    Kind,
    NotFoundError,
    ProposalRefusedError,
    approve,
    propose_adjustment,
    propose_parameters,
    reject,
)
from jackpot.people import accounts
from jackpot.people.accounts import Account, AccountRefusedError
from jackpot.people.roles import Permission

router = APIRouter()


@dataclass(frozen=True, slots=True)
class Proposed:
    proposals: list[int]


@dataclass(frozen=True, slots=True)
class Done:
    status: Literal["done"] = "done"


@contextmanager
def _told() -> Iterator[None]:
    """What cannot be done is 404 if it is not there, else 409, with the reason."""
    try:
        yield
    except NotFoundError as error:
        raise HTTPException(404, str(error)) from error
    except (ProposalRefusedError, AccountRefusedError) as error:
        raise HTTPException(409, str(error)) from error


@router.post("/links/{link}/suspend")
async def suspend(link: LinkPath, grounds: Grounds, console: ConsoleDep, visitor: Suspends) -> Answer:
    """Stop play on a link."""
    return await _order(console, visitor, link, "link.suspended", grounds)


@router.post("/links/{link}/resume")
async def resume(link: LinkPath, grounds: Grounds, console: ConsoleDep, visitor: Resumes) -> Answer:
    """Let play on a link go on."""
    return await _order(console, visitor, link, "link.resumed", grounds)


async def _order(console: Console, visitor: Visitor, link: str, type_: str, grounds: Grounds) -> Answer:
    await require_link(console, link)
    command = command_from(visitor.actor, type=type_, reason=grounds.reason)
    return await order(console.engine, visitor.actor, link, command)


@router.post("/conclusions")
async def conclude(conclusion: Conclusion, console: ConsoleDep, visitor: Concludes) -> Answer:
    """Settle or void a round that its table left behind."""
    link = await link_of(console, conclusion.table)
    command = command_from(visitor.actor, type="round.concluded", **conclusion.model_dump())
    return await order(console.engine, visitor.actor, link, command)


@router.post("/adjustments", status_code=201)
async def propose_an_adjustment(wanted: Adjustment, console: ConsoleDep, visitor: ProposesAdjustments) -> Proposed:
    """Propose a correction of pool or reserve; somebody else must approve it."""
    with _told():
        return Proposed(await propose_adjustment(console.engine, visitor.actor, wanted))


@router.post("/parameters", status_code=201)
async def propose_new_parameters(
    wanted: ParametersChange, console: ConsoleDep, visitor: ProposesParameters
) -> Proposed:
    """Propose other parameters of a link; a pit manager must approve them."""
    with _told():
        return Proposed([await propose_parameters(console.engine, visitor.actor, wanted)])


@router.post("/adjustments/{number}/approve")
async def approve_adjustment(number: Number, console: ConsoleDep, visitor: ApprovesAdjustments) -> Answer:
    return await _approve(console, visitor, "adjustment", number)


@router.post("/parameters/{number}/approve")
async def approve_parameters(number: Number, console: ConsoleDep, visitor: ApprovesParameters) -> Answer:
    return await _approve(console, visitor, "parameters", number)


async def _approve(console: Console, visitor: Visitor, kind: Kind, number: int) -> Answer:
    with _told():
        return await approve(console.engine, visitor.actor, kind, number)


@router.post("/adjustments/{number}/reject")
async def reject_adjustment(number: Number, console: ConsoleDep, visitor: DecidesAdjustments) -> Done:
    return await _reject(console, visitor, "adjustment", number)


@router.post("/parameters/{number}/reject")
async def reject_parameters(number: Number, console: ConsoleDep, visitor: DecidesParameters) -> Done:
    return await _reject(console, visitor, "parameters", number)


async def _reject(console: Console, visitor: Visitor, kind: Kind, number: int) -> Done:
    with _told():
        await reject(console.engine, visitor.actor, kind, number, may_approve=visitor.may(APPROVAL[kind]))
    return Done()


@router.get("/people", dependencies=[needs(Permission.SEE_PEOPLE)])
async def people(console: ConsoleDep) -> list[Account]:
    return await accounts.listed(console.engine)


@router.post("/people", status_code=201)
async def add_person(new: NewPerson, console: ConsoleDep, visitor: ManagesPeople) -> Done:
    """Add an account; its password must be changed at the first login."""
    with _told():
        await accounts.add(console.engine, visitor.actor, new.name, new.role, new.password)
    return Done()


@router.post("/people/{name}/disable")
async def disable_person(name: PersonPath, console: ConsoleDep, visitor: ManagesPeople) -> Done:
    """End the account with all its sessions and tokens."""
    with _told():
        await accounts.disable(console.engine, visitor.actor, name)
    return Done()


@router.post("/people/{name}/confirm")
async def confirm_person(name: PersonPath, console: ConsoleDep, visitor: ConfirmsPeople) -> Done:
    """Say that the account is in the hands of the person it is named after; from now on it may change money."""
    with _told():
        await accounts.confirm(console.engine, visitor.actor, name)
    return Done()


@router.post("/people/{name}/password")
async def set_password(name: PersonPath, new: NewPassword, console: ConsoleDep, visitor: ManagesPeople) -> Done:
    """Set a password that must be changed at the next login."""
    with _told():
        await accounts.set_password(console.engine, visitor.actor, name, new.password)
    return Done()
