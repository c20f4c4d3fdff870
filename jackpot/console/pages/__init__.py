"""The pages, rendered on the server: each reads one snapshot of the ledger, and forms lead to the desk."""

from fastapi import Request, Response
from fastapi.responses import RedirectResponse

from jackpot.console.access import Visitor
from jackpot.console.commands import Answer
from jackpot.console.context import Console
from jackpot.people import sessions


async def then(
    console: Console, visitor: Visitor, to: str, *, done: str | None = None, refused: str | None = None
) -> RedirectResponse:
    """After a form: on to a page that says first what came of it, and that may be loaded again."""
    if visitor.session is not None:
        text, kind = (done, "done") if refused is None else (refused, "refused")
        await sessions.leave_note(console.engine, visitor.session.secret, {"kind": kind, "text": text})
    return RedirectResponse(to, 303)


async def then_answered(console: Console, visitor: Visitor, to: str, answer: Answer, done: str) -> RedirectResponse:
    if answer.status == "accepted":
        return await then(console, visitor, to, done=done)
    return await then(console, visitor, to, refused=answer.message or "The desk refused it.")


def download(content: bytes, media_type: str, name: str) -> Response:
    return Response(content, media_type=media_type, headers={"Content-Disposition": f'attachment; filename="{name}"'})


def is_api(request: Request) -> bool:
    return request.url.path.startswith("/api/")
