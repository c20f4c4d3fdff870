"""What the OpenAPI document says beyond the routes: who may, how to prove who one is, and how it is refused."""

from typing import Any, Final

from fastapi import FastAPI
from fastapi.dependencies.models import Dependant
from fastapi.openapi.utils import get_openapi
from fastapi.routing import APIRoute, iter_route_contexts
from pydantic import BaseModel

from jackpot.console.access import COOKIE, Permitted


class Refused(BaseModel):
    detail: str


RESPONSES: Final[dict[int | str, dict[str, Any]]] = {
    400: {"model": Refused, "description": "What was sent is no JSON"},
    401: {"model": Refused, "description": "Neither a session nor a token in use"},
    403: {"model": Refused, "description": "The role may not do this"},
    404: {"model": Refused, "description": "There is no such thing"},
    408: {"model": Refused, "description": "What was sent did not come in time"},
    409: {"model": Refused, "description": "It cannot be done as things stand"},
    413: {"model": Refused, "description": "What was sent is too long"},
    422: {"model": Refused, "description": "What was sent cannot be understood"},
    503: {"model": Refused, "description": "The database does not answer now"},
}
SECURITY: Final = {
    "token": {"type": "http", "scheme": "bearer"},
    "session": {"type": "apiKey", "in": "cookie", "name": COOKIE},
}


def describe(app: FastAPI) -> dict[str, Any]:
    if app.openapi_schema is None:
        document = get_openapi(title=app.title, version=app.version, routes=app.routes)
        document["components"]["securitySchemes"] = SECURITY
        document["security"] = [{name: []} for name in SECURITY]
        for route in iter_route_contexts(app.routes):
            if isinstance(route.original_route, APIRoute) and route.include_in_schema:
                for method in route.methods or ():
                    operation = document["paths"][route.path_format][method.lower()]
                    operation["x-permission"] = str(permitted(route.dependant) or "anyone who is signed in")
        app.openapi_schema = document
    return app.openapi_schema


def permitted(dependant: Dependant) -> Permitted | None:
    """What a route asks of its visitor's role; None if it asks nothing."""
    if isinstance(dependant.call, Permitted):
        return dependant.call
    return next((found for part in dependant.dependencies if (found := permitted(part))), None)
