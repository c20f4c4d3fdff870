"""The API's description as a page of our own: the usual ones load their scripts from elsewhere."""

from typing import Any

from fastapi import APIRouter, Depends, Request, Response

from jackpot.console.access import VisitorDep, visitor
from jackpot.console.context import ConsoleDep

router = APIRouter(include_in_schema=False)


@router.get("/api/openapi.json", dependencies=[Depends(visitor)])
async def openapi(request: Request) -> dict[str, Any]:
    description: dict[str, Any] = request.app.openapi()
    return description


@router.get("/api/docs")
async def docs(request: Request, console: ConsoleDep, visitor: VisitorDep) -> Response:
    description = request.app.openapi()
    operations = [
        {"path": path, "method": method.upper(), **operation}
        for path, methods in description["paths"].items()
        for method, operation in methods.items()
    ]
    return console.renderer.page(
        "docs.html",
        visitor=visitor,
        here="/api/docs",
        operations=operations,
        schemas=description["components"]["schemas"],
        title=description["info"]["title"],
        version=description["info"]["version"],
    )
