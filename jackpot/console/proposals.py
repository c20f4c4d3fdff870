"""Changes of money and of its parameters: one person proposes, another approves, and only then the desk is asked.

The same rule stands in the server (here), in the database (checks and triggers of `proposals` and `requests`), with the
link's leader (`people/approvals.py`) and in the ledger, which keeps both names.
"""

import datetime as dt
import uuid
from dataclasses import dataclass
from typing import Any, Final, Literal

import msgspec
from sqlalchemy import Row, func, insert, select, update
from sqlalchemy.ext.asyncio import AsyncConnection, AsyncEngine

from jackpot.console.commands import Answer, answer_to, leave
from jackpot.console.inputs import Adjustment, ParametersChange
from jackpot.ledger.read import PAGE_ROWS
from jackpot.ledger.schema import links, proposals, requests
from jackpot.ledger.seal import seal_of
from jackpot.link.commands import CommandRefusedError, MoneyCommand, parameters_from
from jackpot.people.audit import Actor, note
from jackpot.people.roles import Permission

Kind = Literal["adjustment", "parameters"]
APPROVAL: Final[dict[Kind, Permission]] = {
    "adjustment": Permission.APPROVE_ADJUSTMENTS,
    "parameters": Permission.APPROVE_PARAMETERS,
}
WAITING_MAX: Final = 200


class ProposalRefusedError(Exception):
    """The text says why."""


class NotFoundError(ProposalRefusedError):
    """No such proposal, or no such link."""


@dataclass(frozen=True, slots=True)
class Proposal:
    number: int
    kind: str
    link: str
    command: dict[str, Any]
    by: str
    at: dt.datetime
    approved_by: str | None
    rejected_by: str | None
    decided_at: dt.datetime | None
    request: str | None
    answer: dict[str, Any] | None
    """What the desk said, once it was asked."""


async def propose_adjustment(engine: AsyncEngine, actor: Actor, wanted: Adjustment) -> list[int]:
    """One proposal; for a transfer two, each posted as its own journal on its own link."""
    if wanted.amount_cents == 0:
        raise ProposalRefusedError("An adjustment of nothing changes nothing.")
    what = {"type": "balance.adjusted", "account": wanted.account, "reason": wanted.reason}
    async with engine.begin() as connection:
        if wanted.to_link is None:
            amount = {"amount_cents": wanted.amount_cents}
            return [await _propose(connection, actor, "adjustment", wanted.link, {**what, **amount})]
        if wanted.to_link == wanted.link or wanted.amount_cents < 0:
            raise ProposalRefusedError("A transfer goes to another link, and its amount is what that link gets.")
        taken = {**what, "amount_cents": -wanted.amount_cents}
        given = {**what, "amount_cents": wanted.amount_cents}
        return [
            await _propose(connection, actor, "adjustment", wanted.link, taken),
            await _propose(connection, actor, "adjustment", wanted.to_link, given),
        ]


async def propose_parameters(engine: AsyncEngine, actor: Actor, wanted: ParametersChange) -> int:
    parameters = wanted.parameters.model_dump()
    try:
        parameters_from(parameters)
    except CommandRefusedError as error:
        raise ProposalRefusedError(f"{error}.") from error
    what = {"type": "parameters.changed", "effective": wanted.effective, "reason": wanted.reason}
    async with engine.begin() as connection:
        return await _propose(connection, actor, "parameters", wanted.link, {**what, "parameters": parameters})


async def _propose(connection: AsyncConnection, actor: Actor, kind: Kind, link: str, command: dict[str, Any]) -> int:
    opened = select(links.c.link).where(links.c.link == link, links.c.parameters.is_not(None))
    if (await connection.execute(opened)).first() is None:
        raise NotFoundError(f"There is no link {link}.")
    # Its id is the order's: what was proposed once is ordered once.
    proposed = {**command, "by": actor.name, "id": str(uuid.uuid4())}
    added = await connection.execute(
        insert(proposals)
        .values(
            kind=kind,
            link=link,
            by=actor.name,
            command=proposed,
            seal=seal_of(connection).of("proposals", kind, link, proposed),
        )
        .returning(proposals.c.number)
    )
    number = int(added.scalar_one())
    await note(connection, actor, f"{kind}.proposed", link, proposal=number, **command)
    return number


async def approve(engine: AsyncEngine, actor: Actor, kind: Kind, number: int) -> Answer:
    async with engine.begin() as connection:
        row = await _undecided(connection, kind, number)
        if row.by == actor.name:
            raise ProposalRefusedError("You proposed this yourself; somebody else must approve it.")
        if not seal_of(engine).fits(row.seal, "proposals", kind, row.link, row.command):
            raise ProposalRefusedError(
                f"No console has written proposal {number}. Do not approve it; tell the auditor."
            )
        command: MoneyCommand = msgspec.convert({**row.command, "approved_by": actor.name}, MoneyCommand)
        await leave(connection, row.link, command)
        await _decide(connection, number, approved_by=actor.name, request=command.id)
        await note(connection, actor, f"{kind}.approved", row.link, proposal=number, request=command.id)
    return await answer_to(engine, command.id)


async def reject(engine: AsyncEngine, actor: Actor, kind: Kind, number: int, *, may_approve: bool) -> None:
    async with engine.begin() as connection:
        row = await _undecided(connection, kind, number)
        if not may_approve and row.by != actor.name:
            raise ProposalRefusedError("Only its proposer may withdraw this, or one who may approve it reject it.")
        await _decide(connection, number, rejected_by=actor.name)
        action = "withdrawn" if row.by == actor.name else "rejected"
        await note(connection, actor, f"{kind}.{action}", row.link, proposal=number)


async def read_waiting(connection: AsyncConnection, kind: Kind) -> list[Proposal]:
    query = _proposals().where(proposals.c.kind == kind, proposals.c.decided_at.is_(None))
    rows = await connection.execute(query.order_by(proposals.c.number).limit(WAITING_MAX))
    return [Proposal(*row) for row in rows]


async def read_decided(connection: AsyncConnection, kind: Kind, before: int | None = None) -> list[Proposal]:
    """A page, newest first."""
    query = _proposals().where(proposals.c.kind == kind, proposals.c.decided_at.is_not(None))
    if before is not None:
        query = query.where(proposals.c.number < before)
    rows = await connection.execute(query.order_by(proposals.c.number.desc()).limit(PAGE_ROWS))
    return [Proposal(*row) for row in rows]


def _proposals() -> Any:
    return select(
        proposals.c.number,
        proposals.c.kind,
        proposals.c.link,
        proposals.c.command,
        proposals.c.by,
        proposals.c.at,
        proposals.c.approved_by,
        proposals.c.rejected_by,
        proposals.c.decided_at,
        proposals.c.request,
        requests.c.answer,
    ).outerjoin(requests, requests.c.id == proposals.c.request)


async def _undecided(connection: AsyncConnection, kind: Kind, number: int) -> Row[Any]:
    query = select(proposals).where(proposals.c.number == number, proposals.c.kind == kind).with_for_update()
    row = (await connection.execute(query)).first()
    if row is None:
        raise NotFoundError(f"There is no proposal {number}.")
    if row.decided_at is not None:
        raise ProposalRefusedError(f"Proposal {number} was decided before, by {row.approved_by or row.rejected_by}.")
    return row


async def _decide(connection: AsyncConnection, number: int, **decision: Any) -> None:
    await connection.execute(
        update(proposals).where(proposals.c.number == number).values(decided_at=func.now(), **decision)
    )
