"""Who asks, and whether he may. Every route but the public ones stands behind `may`."""

from dataclasses import dataclass
from typing import Annotated, Any, Final

from fastapi import Depends, Request

from jackpot.console.context import ConsoleDep
from jackpot.people import sessions, tokens
from jackpot.people.accounts import TO_BE_CONFIRMED, Person
from jackpot.people.audit import Actor
from jackpot.people.roles import Permission, may
from jackpot.people.sessions import Session

COOKIE: Final = "jackpot_session"
SAFE_METHODS: Final = frozenset({"GET", "HEAD", "OPTIONS"})
PIECES: Final = ("/parts/", "/stream")
"""What an open page asks for by itself, with nobody in front of it: it keeps no session from ending."""
PASSWORD_PAGES: Final = frozenset({"/password", "/logout"})


class NotSignedInError(Exception):
    """No session, or one that has ended; no token, or one that is not in use."""


class NotAllowedError(Exception):
    """The text says what the visitor's role lacks, or that the form was not ours."""


class PasswordChangeRequiredError(Exception):
    """Somebody else has set the password: choose one before anything else."""


@dataclass(frozen=True, slots=True)
class Visitor:
    person: Person
    address: str
    session: Session | None = None
    """None for a program with a token."""

    @property
    def actor(self) -> Actor:
        return Actor(self.person.name, self.address)

    def may(self, permission: Permission) -> bool:
        return self.person.may(permission)


def address_of(request: Request) -> str:
    return request.client.host if request.client else "unknown"


def wants_page(request: Request) -> bool:
    """A browser that goes to a page, not a script that fetches a piece of one."""
    return request.method == "GET" and "text/html" in request.headers.get("accept", "")


async def visitor(request: Request, console: ConsoleDep) -> Visitor:
    address = address_of(request)
    scheme, _, token = request.headers.get("authorization", "").partition(" ")
    if scheme.lower() == "bearer" and request.url.path.startswith("/api/"):
        person = await tokens.find(console.engine, token.strip())
        if person is None:
            raise NotSignedInError
        return Visitor(person, address)
    secret = request.cookies.get(COOKIE)
    by_itself = request.url.path.startswith(PIECES)
    session = await sessions.find(console.engine, secret, used=not by_itself) if secret else None
    if session is None:
        raise NotSignedInError
    if request.method not in SAFE_METHODS and not session.accepts(await _csrf(request)):
        raise NotAllowedError("This form is no longer valid. Load the page again, then repeat what you did.")
    if session.person.must_change and request.url.path not in PASSWORD_PAGES:
        raise PasswordChangeRequiredError
    if session.note is not None and wants_page(request):
        await sessions.leave_note(console.engine, session.secret, None)  # it is said once
    return Visitor(session.person, address, session)


async def _csrf(request: Request) -> str | None:
    """From the form, or from the header of a script: another site can set neither."""
    if header := request.headers.get("x-csrf-token"):
        return header
    if request.headers.get("content-type", "").startswith(("application/x-www-form-urlencoded", "multipart/form-data")):
        given = (await request.form()).get("csrf")
        return given if isinstance(given, str) else None
    return None


VisitorDep = Annotated[Visitor, Depends(visitor)]
"""Anyone who is signed in."""


class Permitted:
    """A dependency that lets those through whose role may do one of these; whatever the page showed."""

    def __init__(self, *permissions: Permission) -> None:
        self.permissions = permissions

    async def __call__(self, visitor: VisitorDep) -> Visitor:
        if not any(visitor.may(permission) for permission in self.permissions):
            if any(may(visitor.person.role, permission) for permission in self.permissions):
                raise NotAllowedError(TO_BE_CONFIRMED)
            role = visitor.person.role.value.replace("_", " ")
            raise NotAllowedError(f"Your role, {role}, may not do this ({self}).")
        return visitor

    def __str__(self) -> str:
        return " or ".join(permission.value.replace("_", " ") for permission in self.permissions)


def needs(*permissions: Permission) -> Any:
    """For a route that wants to know only that the visitor may."""
    return Depends(Permitted(*permissions))


Watches = Annotated[Visitor, Depends(Permitted(Permission.WATCH))]
SeesAwards = Annotated[Visitor, Depends(Permitted(Permission.SEE_AWARDS))]
SeesEvents = Annotated[Visitor, Depends(Permitted(Permission.SEE_EVENTS))]
SeesMoney = Annotated[Visitor, Depends(Permitted(Permission.SEE_MONEY))]
SeesAudit = Annotated[Visitor, Depends(Permitted(Permission.SEE_AUDIT))]
Suspends = Annotated[Visitor, Depends(Permitted(Permission.SUSPEND))]
Resumes = Annotated[Visitor, Depends(Permitted(Permission.RESUME))]
Concludes = Annotated[Visitor, Depends(Permitted(Permission.CONCLUDE_ROUNDS))]
ProposesAdjustments = Annotated[Visitor, Depends(Permitted(Permission.PROPOSE_ADJUSTMENTS))]
ApprovesAdjustments = Annotated[Visitor, Depends(Permitted(Permission.APPROVE_ADJUSTMENTS))]
ProposesParameters = Annotated[Visitor, Depends(Permitted(Permission.PROPOSE_PARAMETERS))]
ApprovesParameters = Annotated[Visitor, Depends(Permitted(Permission.APPROVE_PARAMETERS))]
DecidesAdjustments = Annotated[
    Visitor, Depends(Permitted(Permission.APPROVE_ADJUSTMENTS, Permission.PROPOSE_ADJUSTMENTS))
]
"""To reject as one who could approve, or to withdraw one's own."""
DecidesParameters = Annotated[Visitor, Depends(Permitted(Permission.APPROVE_PARAMETERS, Permission.PROPOSE_PARAMETERS))]
SeesPeople = Annotated[Visitor, Depends(Permitted(Permission.SEE_PEOPLE))]
ConfirmsPeople = Annotated[Visitor, Depends(Permitted(Permission.CONFIRM_PEOPLE))]
ManagesPeople = Annotated[Visitor, Depends(Permitted(Permission.MANAGE_PEOPLE))]
