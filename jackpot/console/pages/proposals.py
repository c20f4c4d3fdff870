"""Adjustments and parameter changes: proposed by one, approved by another."""

from typing import Any

from fastapi import APIRouter, Request, Response
from sqlalchemy import select

from jackpot.console.access import (
    ApprovesAdjustments,
    ApprovesParameters,
    DecidesAdjustments,
    DecidesParameters,
    ProposesAdjustments,
    ProposesParameters,
    SeesMoney,
    Visitor,
)
from jackpot.console.context import Console, ConsoleDep
from jackpot.console.inputs import (
    Adjustment,
    BadInputError,
    Before,
    Number,
    ParametersChange,
    basis_points_of,
    cents_of,
    form,
    read,
)
from jackpot.console.pages import then, then_answered
from jackpot.console.proposals import (
    APPROVAL,
    Kind,
    ProposalRefusedError,
    approve,
    propose_adjustment,
    propose_parameters,
    read_decided,
    read_waiting,
    reject,
)
from jackpot.ledger.read import reading
from jackpot.ledger.schema import links

router = APIRouter(include_in_schema=False)
PARAMETERS = (
    "currency",
    "unit_cents",
    "increment_bp",
    "reserve_bp",
    "reset_cents",
    "shared_straight_flush",
    "ceiling_cents",
)


async def _content(console: Console, kind: Kind, before: int | None) -> dict[str, Any]:
    async with reading(console.engine) as connection:
        waiting = await read_waiting(connection, kind)
        decided = await read_decided(connection, kind, before)
        rows = (await connection.execute(select(links).where(links.c.parameters.is_not(None)).limit(100))).all()
    return {"waiting": waiting, "decided": decided, "links": {row.link: row for row in rows}}


@router.get("/adjustments")
async def adjustments(console: ConsoleDep, visitor: SeesMoney, before: Before = None) -> Response:
    content = await _content(console, "adjustment", before)
    return console.renderer.page("adjustments.html", visitor=visitor, here="/adjustments", **content)


@router.get("/parameters")
async def parameters(console: ConsoleDep, visitor: SeesMoney, before: Before = None) -> Response:
    content = await _content(console, "parameters", before)
    return console.renderer.page("parameters.html", visitor=visitor, here="/parameters", names=PARAMETERS, **content)


@router.post("/adjustments")
async def post_adjustment(request: Request, console: ConsoleDep, visitor: ProposesAdjustments) -> Response:
    fields: dict[str, Any] = dict(await form(request))
    try:
        fields["amount_cents"] = cents_of(fields.pop("amount", ""))
        await propose_adjustment(console.engine, visitor.actor, read(Adjustment, fields))
    except (BadInputError, ProposalRefusedError) as error:
        return await then(console, visitor, "/adjustments", refused=str(error))
    return await then(console, visitor, "/adjustments", done="Proposed. Somebody else must approve it.")


@router.post("/parameters")
async def post_parameters(request: Request, console: ConsoleDep, visitor: ProposesParameters) -> Response:
    fields: dict[str, Any] = dict(await form(request))
    try:
        parameters = _parameters(fields)
        change = read(ParametersChange, {**fields, "parameters": parameters})
        await propose_parameters(console.engine, visitor.actor, change)
    except (BadInputError, ProposalRefusedError) as error:
        return await then(console, visitor, "/parameters", refused=str(error))
    return await then(console, visitor, "/parameters", done="Proposed. A pit manager must approve it.")


def _parameters(fields: dict[str, Any]) -> dict[str, Any]:
    """Takes the form's amounts and percentages out of `fields`."""
    found: dict[str, Any] = {"currency": fields.pop("currency", "")}
    for name in ("unit", "reset", "ceiling"):
        if name in fields:
            found[f"{name}_cents"] = cents_of(fields.pop(name))
    for name in ("increment", "reserve"):
        if name in fields:
            found[f"{name}_bp"] = basis_points_of(fields.pop(name))
    if "shared_straight_flush" in fields:
        found["shared_straight_flush"] = fields.pop("shared_straight_flush")
    return found


@router.post("/adjustments/{number}/approve")
async def approve_adjustment(number: Number, console: ConsoleDep, visitor: ApprovesAdjustments) -> Response:
    return await _approve(console, visitor, "adjustment", number, "/adjustments")


@router.post("/parameters/{number}/approve")
async def approve_parameters(number: Number, console: ConsoleDep, visitor: ApprovesParameters) -> Response:
    return await _approve(console, visitor, "parameters", number, "/parameters")


async def _approve(console: Console, visitor: Visitor, kind: Kind, number: int, to: str) -> Response:
    try:
        answer = await approve(console.engine, visitor.actor, kind, number)
    except ProposalRefusedError as error:
        return await then(console, visitor, to, refused=str(error))
    return await then_answered(console, visitor, to, answer, f"Proposal {number} is approved and carried out.")


@router.post("/adjustments/{number}/reject")
async def reject_adjustment(number: Number, console: ConsoleDep, visitor: DecidesAdjustments) -> Response:
    return await _reject(console, visitor, "adjustment", number, "/adjustments")


@router.post("/parameters/{number}/reject")
async def reject_parameters(number: Number, console: ConsoleDep, visitor: DecidesParameters) -> Response:
    return await _reject(console, visitor, "parameters", number, "/parameters")


async def _reject(console: Console, visitor: Visitor, kind: Kind, number: int, to: str) -> Response:
    try:
        await reject(console.engine, visitor.actor, kind, number, may_approve=visitor.may(APPROVAL[kind]))
    except ProposalRefusedError as error:
        return await then(console, visitor, to, refused=str(error))
    return await then(console, visitor, to, done=f"Proposal {number} will not be carried out.")
