"""Pages from templates, with what every page needs: who is there, where he may go, and what was just done."""

import hashlib
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final
from zoneinfo import ZoneInfo

from fastapi.responses import HTMLResponse
from jinja2 import Environment, PackageLoader, StrictUndefined

from jackpot.console import formatting
from jackpot.people.accounts import TO_BE_CONFIRMED
from jackpot.people.roles import Permission

if TYPE_CHECKING:
    from jackpot.console.access import Visitor

STATIC: Final = Path(str(files("jackpot.console").joinpath("static")))


@dataclass(frozen=True, slots=True)
class Place:
    path: str
    label: str
    permission: Permission


NAVIGATION: Final = (
    Place("/", "Floor", Permission.WATCH),
    Place("/tables", "Tables", Permission.WATCH),
    Place("/awards", "Awards", Permission.SEE_AWARDS),
    Place("/journals", "Journals", Permission.SEE_MONEY),
    Place("/days", "Day", Permission.SEE_MONEY),
    Place("/adjustments", "Adjustments", Permission.SEE_MONEY),
    Place("/parameters", "Parameters", Permission.SEE_MONEY),
    Place("/quarantine", "Quarantine", Permission.SEE_EVENTS),
    Place("/audit", "Audit", Permission.SEE_AUDIT),
    Place("/people", "People", Permission.SEE_PEOPLE),
)


class Renderer:
    def __init__(self, timezone: str) -> None:
        clock = formatting.Clock(ZoneInfo(timezone))
        self._environment = Environment(
            loader=PackageLoader("jackpot.console"),
            autoescape=True,
            undefined=StrictUndefined,
            trim_blocks=True,
            lstrip_blocks=True,
            auto_reload=False,
        )
        self._environment.filters |= {
            "cents": formatting.cents,
            "micros": formatting.micros,
            "percent": formatting.percent,
            "words": formatting.words,
            "game": formatting.game,
            "card": formatting.card,
            "path": formatting.path,
            "pretty": formatting.pretty,
            "time": clock.time,
            "moment": clock.moment,
            "short": clock.short,
        }
        self._environment.globals |= {
            "May": Permission,
            "to_be_confirmed": TO_BE_CONFIRMED,
            "static": _static,
            "timezone": timezone,
        }

    def page(
        self, template: str, *, visitor: "Visitor | None" = None, here: str = "", status: int = 200, **content: Any
    ) -> HTMLResponse:
        session = visitor.session if visitor else None
        html = self._environment.get_template(template).render(
            visitor=visitor,
            here=here,
            csrf=session.csrf if session else "",
            note=session.note if session else None,
            places=[place for place in NAVIGATION if visitor and visitor.may(place.permission)],
            **content,
        )
        return HTMLResponse(html, status)


@cache
def _static(name: str) -> str:
    """Named by its content, so that a browser may keep it for ever and never shows an old one."""
    version = hashlib.sha256((STATIC / name).read_bytes()).hexdigest()[:12]
    return f"/static/{name}?v={version}"
