"""The sign: a full-screen board for any screen. Public, and it says nothing that is not on the floor's signs."""

from collections.abc import AsyncIterator

from fastapi import APIRouter, Depends, HTTPException, Response
from fastapi.sse import EventSourceResponse, ServerSentEvent

from jackpot.config import Link
from jackpot.console.context import ConsoleDep, room_for_one_more
from jackpot.console.inputs import LinkPath

router = APIRouter(prefix="/sign", include_in_schema=False)


def _configured(link: LinkPath, console: ConsoleDep) -> Link:
    """From the configuration: a public page asks nothing of the database."""
    for known in console.config.links:
        if known.id == link:
            return known
    raise HTTPException(404, f"There is no link {link}.")


@router.get("/{link}")
async def sign(console: ConsoleDep, link: Link = Depends(_configured)) -> Response:  # noqa: B008, FAST002 ruff reads Annotated[Link] as a body
    return console.renderer.page("sign.html", link=link.id, currency=link.currency)


@router.get("/{link}/stream", response_class=EventSourceResponse, dependencies=[Depends(room_for_one_more)])
async def sign_stream(console: ConsoleDep, link: Link = Depends(_configured)) -> AsyncIterator[ServerSentEvent]:  # noqa: B008, FAST002
    async for event in console.watchers.watch(link.id):
        yield event
