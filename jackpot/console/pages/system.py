"""For machines: is it alive, is it ready, and its metrics. Public, and without a word about money or people."""

from typing import Any

from fastapi import APIRouter, Response
from prometheus_client import CONTENT_TYPE_LATEST, generate_latest

from jackpot.console.context import ConsoleDep

router = APIRouter(include_in_schema=False)


# Some ask with HEAD whether anyone is there.
@router.api_route("/healthz", methods=["GET", "HEAD"])
async def healthz() -> dict[str, str]:
    return {"status": "alive"}


@router.api_route("/readyz", methods=["GET", "HEAD"])
async def readyz(console: ConsoleDep, response: Response) -> dict[str, Any]:
    found = console.ready()
    response.status_code = 200 if found["ready"] else 503
    return found


@router.api_route("/metrics", methods=["GET", "HEAD"])
async def metrics(console: ConsoleDep) -> Response:
    return Response(generate_latest(console.registry), media_type=CONTENT_TYPE_LATEST)
