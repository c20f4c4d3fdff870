"""What can be read."""

from dataclasses import dataclass
from typing import Annotated, Any, Literal

from fastapi import APIRouter, HTTPException, Query

from jackpot.console.access import VisitorDep, needs
from jackpot.console.context import ConsoleDep, LinkState
from jackpot.console.event_timeline import Step, timeline_of
from jackpot.console.inputs import (
    AwardPath,
    Before,
    BeforeEvent,
    DayPath,
    DayQuery,
    EventPath,
    LinkPath,
    Number,
    RoundPath,
    TablePath,
)
from jackpot.console.pages.days import read_day
from jackpot.console.proposals import Proposal, read_decided, read_waiting
from jackpot.ledger.read import reading
from jackpot.ledger.read.facts import (
    AwardFact,
    EventFact,
    JournalFact,
    RoundFact,
    read_award,
    read_awards,
    read_commands,
    read_event,
    read_journals,
    read_journals_of,
    read_round,
)
from jackpot.ledger.read.floor import Claim, LinkNow, TableNow, read_floor
from jackpot.ledger.read.history import Point, read_history
from jackpot.ledger.read.records import AuditEntry, Quarantined, read_quarantine, read_trail
from jackpot.people.roles import Permission

router = APIRouter()


@dataclass(frozen=True, slots=True)
class Me:
    name: str
    role: str
    permissions: list[str]


@dataclass(frozen=True, slots=True)
class LinkStatus:
    state: LinkState
    now: LinkNow


@dataclass(frozen=True, slots=True)
class EventTimeline:
    event: EventFact
    way: list[Step]


@router.get("/me")
async def me(visitor: VisitorDep) -> Me:
    """Who I am here, and what I may do."""
    permissions = sorted(permission for permission in Permission if visitor.may(permission))
    return Me(visitor.person.name, visitor.person.role.value, [permission.value for permission in permissions])


@router.get("/links", dependencies=[needs(Permission.WATCH)])
async def links(console: ConsoleDep) -> list[LinkStatus]:
    """Every link with its claims and tables, as they stand now."""
    async with reading(console.engine) as connection:
        found = await read_floor(connection)
    return [LinkStatus(console.state_of(link.link, link.suspended), link) for link in found]


@router.get("/links/{link}", dependencies=[needs(Permission.WATCH)])
async def link(link: LinkPath, console: ConsoleDep) -> LinkStatus:
    async with reading(console.engine) as connection:
        found = await read_floor(connection, link)
    if not found:
        raise HTTPException(404, f"There is no link {link}.")
    return LinkStatus(console.state_of(link, found[0].suspended), found[0])


@router.get("/links/{link}/claims", dependencies=[needs(Permission.WATCH)])
async def claims(link: LinkPath, console: ConsoleDep) -> list[Claim]:
    """Rounds with an unpaid Royal or Straight Flush, in the order of payment, and who waits for whom."""
    async with reading(console.engine) as connection:
        found = await read_floor(connection, link)
    return found[0].claims if found else []


@router.get("/links/{link}/history", dependencies=[needs(Permission.WATCH)])
async def history(link: LinkPath, console: ConsoleDep, day: DayQuery = None) -> list[Point]:
    """The pool over a gaming day, today if none is given."""
    async with reading(console.engine) as connection:
        return await read_history(connection, link, day or console.today())


@router.get("/links/{link}/journals", dependencies=[needs(Permission.SEE_MONEY)])
async def journals(
    link: LinkPath, console: ConsoleDep, day: DayQuery = None, before: Before = None
) -> list[JournalFact]:
    """A page of journals, newest first."""
    async with reading(console.engine) as connection:
        return await read_journals(connection, link, day=day, before=before)


@router.get("/links/{link}/awards", dependencies=[needs(Permission.SEE_AWARDS)])
async def awards(link: LinkPath, console: ConsoleDep, before: Before = None) -> list[AwardFact]:
    """A page of awards, newest first."""
    async with reading(console.engine) as connection:
        return await read_awards(connection, link, before=before)


@router.get("/tables", dependencies=[needs(Permission.WATCH)])
async def tables(console: ConsoleDep) -> list[TableNow]:
    async with reading(console.engine) as connection:
        return [table for link in await read_floor(connection) for table in link.tables]


@router.get("/boards", dependencies=[needs(Permission.WATCH)])
async def boards(console: ConsoleDep) -> list[dict[str, Any]]:
    """Every board with the figure it was told last and when it acknowledged."""
    return console.boards()


@router.get("/awards/{award}", dependencies=[needs(Permission.SEE_AWARDS)])
async def award(award: AwardPath, console: ConsoleDep) -> AwardFact:
    async with reading(console.engine) as connection:
        found = await read_award(connection, award)
    if found is None:
        raise HTTPException(404, f"There is no award {award}.")
    return found


@router.get("/journals/{link}/{n}", dependencies=[needs(Permission.SEE_MONEY)])
async def journals_of(link: LinkPath, n: Number, console: ConsoleDep) -> list[JournalFact]:
    """All that event `n` of the link posted."""
    async with reading(console.engine) as connection:
        return await read_journals_of(connection, link, [n])


@router.get("/rounds/{table}/{round:path}", dependencies=[needs(Permission.WATCH)])
async def round_(table: TablePath, round: RoundPath, console: ConsoleDep) -> RoundFact:  # noqa: A002 the sheets' word
    async with reading(console.engine) as connection:
        found = await read_round(connection, table, round)
    if found is None:
        raise HTTPException(404, f"Table {table} had no round {round}.")
    return found


@router.get("/events/{event:path}", dependencies=[needs(Permission.SEE_EVENTS)])
async def event(event: EventPath, console: ConsoleDep) -> EventTimeline:
    """An event and its whole way: sent, decided, committed, replied, shown."""
    async with reading(console.engine) as connection:
        found = await read_event(connection, event)
    if found is None:
        raise HTTPException(404, f"No event {event} was recorded.")
    boards = [board for board in console.boards() if board["link"] == found.link]
    return EventTimeline(found, timeline_of(found, console.shown_version(found.link), boards))


@router.get("/days/{day}", dependencies=[needs(Permission.SEE_MONEY)])
async def day(day: DayPath, console: ConsoleDep) -> dict[str, Any]:
    """The gaming day's reconciliation, as `jackpot reconcile -o json` prints it."""
    return (await read_day(console, day)).document()


@router.get("/quarantine", dependencies=[needs(Permission.SEE_EVENTS)])
async def quarantine(console: ConsoleDep, before: Before = None) -> list[Quarantined]:
    """A page of what could not be read, newest first."""
    async with reading(console.engine) as connection:
        return await read_quarantine(connection, before)


@router.get("/audit", dependencies=[needs(Permission.SEE_AUDIT)])
async def audit(console: ConsoleDep, before: Before = None) -> list[AuditEntry]:
    """A page of what people did here, newest first."""
    async with reading(console.engine) as connection:
        return await read_trail(connection, before=before)


@router.get("/commands", dependencies=[needs(Permission.SEE_AUDIT)])
async def commands(console: ConsoleDep, before: BeforeEvent = None) -> list[EventFact]:
    """A page of commands to the links, from the ledger, newest first."""
    async with reading(console.engine) as connection:
        last = await read_event(connection, before) if before is not None else None
        return await read_commands(connection, last)


@router.get("/proposals", dependencies=[needs(Permission.SEE_MONEY)])
async def proposals(
    console: ConsoleDep,
    kind: Literal["adjustment", "parameters"],
    state: Annotated[Literal["waiting", "decided"], Query()] = "waiting",
    before: Before = None,
) -> list[Proposal]:
    """Proposals that wait for approval, oldest first; or a page of decided ones, newest first."""
    async with reading(console.engine) as connection:
        if state == "waiting":
            return await read_waiting(connection, kind)
        return await read_decided(connection, kind, before)
