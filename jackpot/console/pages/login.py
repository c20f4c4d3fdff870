"""In and out: login, logout, and a password of one's own."""

import secrets
from typing import Annotated

from fastapi import APIRouter, Query, Request, Response
from fastapi.responses import RedirectResponse

from jackpot.console.access import COOKIE, NotAllowedError, VisitorDep, address_of
from jackpot.console.context import ConsoleDep
from jackpot.console.inputs import BadInputError, NewPassword, form, read
from jackpot.people import accounts, passwords, sessions
from jackpot.people.audit import note

LOGIN_COOKIE = "jackpot_login"
router = APIRouter(include_in_schema=False)


def inside(path: str | None) -> str:
    """Where to go after login: a page of ours, whatever a link from elsewhere says."""
    plain = path is not None and path.startswith("/") and path[1:2] not in ("/", "\\") and path.isprintable()
    return path if plain and path is not None else "/"


@router.get("/login")
async def login_page(
    request: Request, console: ConsoleDep, onward: Annotated[str, Query(alias="next", max_length=500)] = "/"
) -> Response:
    return _login_page(request, console, inside(onward))


def _login_page(
    request: Request, console: ConsoleDep, onward: str, problem: str | None = None, status: int = 200
) -> Response:
    """The form's own token comes by form and by cookie: another site can send neither the same."""
    token = secrets.token_urlsafe(16)
    page = console.renderer.page("login.html", status=status, onward=onward, problem=problem, token=token)
    _set_cookie(request, page, LOGIN_COOKIE, token)
    return page


@router.post("/login")
async def login(request: Request, console: ConsoleDep) -> Response:
    fields = await form(request)
    token = request.cookies.get(LOGIN_COOKIE)
    onward = inside(fields.get("next"))
    if token is None or not secrets.compare_digest(token.encode(), fields.get("token", "").encode()):
        return _login_page(request, console, onward, "This form was no longer valid. Please try again.", 403)
    try:
        secret = await sessions.log_in(
            console.engine, fields.get("name", "").strip(), fields.get("password", ""), address_of(request)
        )
    except sessions.TooManyAttemptsError as limited:
        return _login_page(request, console, onward, str(limited), 429)
    except sessions.LoginRefusedError as refused:
        return _login_page(request, console, onward, str(refused), 401)
    response = RedirectResponse(onward, 303)
    response.delete_cookie(LOGIN_COOKIE)
    _set_cookie(request, response, COOKIE, secret)
    return response


@router.post("/logout")
async def logout(console: ConsoleDep, visitor: VisitorDep) -> Response:
    if visitor.session is None:
        raise NotAllowedError("A token has no session to end.")
    await sessions.end(console.engine, visitor.session.secret)
    async with console.engine.begin() as connection:
        await note(connection, visitor.actor, "logout", visitor.person.name)
    response = RedirectResponse("/login", 303)
    response.delete_cookie(COOKIE)
    return response


@router.get("/password")
async def password_page(console: ConsoleDep, visitor: VisitorDep) -> Response:
    return console.renderer.page("password.html", visitor=visitor, least=passwords.LENGTH_MIN, problem=None)


@router.post("/password")
async def change_password(request: Request, console: ConsoleDep, visitor: VisitorDep) -> Response:
    """The old one is asked for too: a browser left open is no way to take an account over."""
    fields = await form(request)
    name = visitor.person.name
    try:
        await sessions.check_password(console.engine, name, fields.get("old", ""), visitor.address)
        chosen = _chosen_password(fields)
        await accounts.set_password(console.engine, visitor.actor, name, chosen)
        secret = await sessions.log_in(console.engine, name, chosen, visitor.address)
    except (sessions.LoginRefusedError, accounts.AccountRefusedError, BadInputError) as refused:
        problem = "The present password is wrong." if type(refused) is sessions.LoginRefusedError else str(refused)
        return console.renderer.page(
            "password.html", visitor=visitor, status=422, least=passwords.LENGTH_MIN, problem=problem
        )
    response = RedirectResponse("/", 303)
    _set_cookie(request, response, COOKIE, secret)
    return response


def _chosen_password(fields: dict[str, str]) -> str:
    if fields.get("password") != fields.get("again"):
        raise BadInputError("The new password was not typed the same way twice.")
    if fields.get("password") == fields.get("old"):
        raise BadInputError("Choose a password other than the one you have.")
    return read(NewPassword, {"password": fields.get("password", "")}).password


def _set_cookie(request: Request, response: Response, name: str, value: str) -> None:
    """Lives with the browser; for us alone, never for scripts or other sites."""
    secure = request.url.scheme == "https"
    response.set_cookie(name, value, httponly=True, samesite="strict", secure=secure, path="/")
