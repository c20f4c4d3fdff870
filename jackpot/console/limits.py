"""What anybody may send before we know who it is: little, and soon. The links' money is kept by the same process."""

import asyncio
from collections.abc import Callable
from typing import Final

from fastapi import Request, Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

BODY_BYTES_MAX: Final = 64 * 1024
"""The longest form is a fraction of it."""
BODY_WITHIN_S: Final = 10.0


class _TooLong(Exception):
    pass


class BodyLimit:
    """The body is taken in before anything else looks at the request; who sends too much is answered and cut off."""

    def __init__(self, app: ASGIApp, answer: Callable[[Request, int, str], Response]) -> None:
        self._app = app
        self._answer = answer

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        request = Request(scope)
        try:
            async with asyncio.timeout(BODY_WITHIN_S):
                first = await _whole(request, receive)
        except _TooLong:
            response = self._answer(request, 413, f"A request has {BODY_BYTES_MAX // 1024} KiB at most.")
        except TimeoutError:
            response = self._answer(request, 408, f"A request must be here within {BODY_WITHIN_S:.0f} seconds.")
        else:
            await self._app(scope, _after(first, receive), send)
            return
        response.headers["Connection"] = "close"
        await response(scope, receive, send)


async def _whole(request: Request, receive: Receive) -> Message:
    """One message with all of the body, or that whoever sent it is gone."""
    if int(request.headers.get("content-length", "0")) > BODY_BYTES_MAX:
        raise _TooLong
    body = bytearray()
    while True:
        message = await receive()
        if message["type"] != "http.request":
            return message
        body += message.get("body", b"")
        if len(body) > BODY_BYTES_MAX:
            raise _TooLong
        if not message.get("more_body", False):
            return {"type": "http.request", "body": bytes(body), "more_body": False}


def _after(first: Message, receive: Receive) -> Receive:
    messages = [first]

    async def receive_next() -> Message:
        return messages.pop() if messages else await receive()

    return receive_next
