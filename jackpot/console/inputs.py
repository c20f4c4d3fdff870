"""What people send, read once: the same models for a form of a page and for the JSON of the API."""

import datetime as dt
import re
from typing import Annotated, Any, Literal, TypeVar

from fastapi import Path, Query, Request
from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, StringConstraints, ValidationError

from jackpot.console.formatting import MINUS
from jackpot.link.commands import ADJUSTMENT_CENTS_MAX
from jackpot.link.parameters import AMOUNT_CENTS_MAX, BASIS_POINTS, UNIT_CENTS_MAX, Reading
from jackpot.people.roles import Role

_PRINTABLE = r"^[^\x00-\x1f\x7f-\x9f]*$"
_NAME = r"^[A-Za-z0-9][A-Za-z0-9._-]*$"

Name = Annotated[str, StringConstraints(min_length=1, max_length=64, pattern=_NAME)]
Id = Annotated[str, StringConstraints(min_length=1, max_length=64, pattern=_PRINTABLE)]
Reason = Annotated[str, StringConstraints(min_length=1, max_length=200, pattern=_PRINTABLE, strip_whitespace=True)]
BasisPoints = Annotated[int, Field(ge=0, le=BASIS_POINTS)]
Adjusted = Annotated[int, Field(ge=-ADJUSTMENT_CENTS_MAX, le=ADJUSTMENT_CENTS_MAX)]
Amount = Annotated[int, Field(ge=0, le=AMOUNT_CENTS_MAX)]

LinkPath = Annotated[str, Path(min_length=1, max_length=64, pattern=_NAME, description="The link's id.")]
TablePath = Annotated[str, Path(min_length=1, max_length=64, pattern=_NAME, description="The table's id.")]
RoundPath = Annotated[str, Path(min_length=1, max_length=64, pattern=_PRINTABLE, description="The table's round.")]
EventPath = Annotated[str, Path(min_length=1, max_length=64, pattern=_PRINTABLE, description="The event's id.")]
AwardPath = Annotated[str, Path(min_length=1, max_length=80, pattern=_NAME, description="Such as megalink-000123.")]


def _written_as_date(value: object) -> object:
    """Only as people write it: a plain number would pass for seconds since 1970."""
    if isinstance(value, str) and not re.fullmatch(r"\d{4}-\d{2}-\d{2}", value):
        raise ValueError("a day is written as 2026-11-16")
    return value


Day = Annotated[dt.date, BeforeValidator(_written_as_date), Field(ge=dt.date(2000, 1, 1), le=dt.date(2999, 12, 31))]
DayPath = Annotated[Day, Path(description="The gaming day.")]
DayQuery = Annotated[Day | None, Query(description="The gaming day.")]
PersonPath = Annotated[str, Path(pattern=r"^[a-z][a-z0-9._-]{1,63}$", description="The account's name.")]
Number = Annotated[int, Path(ge=1, le=2**62)]
Before = Annotated[int | None, Query(ge=1, le=2**62, description="Go on below this number: the next page.")]
BeforeEvent = Annotated[
    str | None,
    Query(min_length=1, max_length=64, pattern=_PRINTABLE, description="Go on before this event: the next page."),
]


class Input(BaseModel):
    model_config = ConfigDict(extra="forbid", strict=True)


class Grounds(Input):
    reason: Reason


class Conclusion(Input):
    """A pit manager ends a round that its table left behind."""

    table: Name
    round: Id
    outcome: Literal["settled", "void"]
    reason: Reason


class Adjustment(Input):
    """A correction of pool or reserve against the house; negative takes away."""

    link: Name
    account: Literal["pool", "reserve"]
    amount_cents: Adjusted
    reason: Reason
    to_link: Name | None = None
    """A transfer: what leaves this link's account goes to the same account of that one."""


class ParametersInput(Input):
    currency: Annotated[str, StringConstraints(pattern=r"^[A-Z]{3}$")]
    unit_cents: Annotated[int, Field(ge=1, le=UNIT_CENTS_MAX)]
    increment_bp: BasisPoints
    reserve_bp: BasisPoints
    reset_cents: Amount
    shared_straight_flush: Literal["successive", "reset_amount"] = Reading.SUCCESSIVE.value
    ceiling_cents: Amount | None = None


class ParametersChange(Input):
    link: Name
    effective: Literal["at_once", "next_win"]
    parameters: ParametersInput
    reason: Reason


class NewPerson(Input):
    name: Annotated[str, StringConstraints(pattern=r"^[a-z][a-z0-9._-]{1,63}$")]
    role: Annotated[Role, Field(strict=False)]
    password: Annotated[str, StringConstraints(min_length=1, max_length=256)]


class NewPassword(Input):
    password: Annotated[str, StringConstraints(min_length=1, max_length=256)]


class BadInputError(Exception):
    """One line that says what is wrong with what was sent."""


Model = TypeVar("Model", bound=BaseModel)


def read(model: type[Model], fields: dict[str, Any]) -> Model:
    try:
        return model.model_validate(fields)
    except ValidationError as error:
        first = error.errors(include_url=False, include_input=False, include_context=False)[0]
        where = " ".join(str(part) for part in first["loc"]).replace("_", " ")
        raise BadInputError(f"{where.capitalize()}: {first['msg'][:1].lower()}{first['msg'][1:]}.") from error


async def form(request: Request) -> dict[str, str]:
    """The fields of a form that were filled in."""
    fields = (await request.form()).multi_items()
    return {name: value for name, value in fields if isinstance(value, str) and value.strip() and name != "csrf"}


_AMOUNT = re.compile(r"([+\-\u2212]?)(\d{1,3}(?:,\d{3})+|\d{1,13})(?:\.(\d{1,2}))?")


def cents_of(text: str) -> int:
    """1,234.5 is 123450. Raises BadInput for anything that could be read in two ways."""
    found = _AMOUNT.fullmatch(text.strip())
    if found is None:
        raise BadInputError(f"{text!r} is no amount such as 1,234.56.")
    sign, whole, part = found.groups()
    amount = int(whole.replace(",", "")) * 100 + int((part or "0").ljust(2, "0"))
    return -amount if sign in ("-", MINUS) else amount


def basis_points_of(text: str) -> int:
    """25 or 3.1, in percent."""
    return cents_of(text.strip().removesuffix("%"))
