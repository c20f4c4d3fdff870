"""How things look on a page: money, cards, times and names, in one place."""

import datetime as dt
import json
from typing import Any, Final
from urllib.parse import quote
from zoneinfo import ZoneInfo

from markupsafe import Markup

from jackpot.link.money import MICROS_PER_CENT

MINUS: Final = "\N{MINUS SIGN}"
DASH: Final = "\N{EN DASH}"
_SUITS: Final = {"s": ("♠", "Spades"), "h": ("♥", "Hearts"), "d": ("♦", "Diamonds"), "c": ("♣", "Clubs")}
_RANKS: Final = {"A": "Ace", "K": "King", "Q": "Queen", "J": "Jack", "T": "10"}
_GAMES: Final = {"ultimate-texas-holdem": "Ultimate Texas Hold'em", "prosperity-3-pictures": "Prosperity 3 Pictures"}


def cents(amount: int | None) -> str:
    """123456 is 1,234.56; None, an amount there is not, a dash."""
    if amount is None:
        return DASH
    whole, part = divmod(abs(amount), 100)
    return f"{MINUS if amount < 0 else ''}{whole:,}.{part:02d}"


def micros(amount: int) -> Markup:
    """To the last micro: parts of a cent stand smaller behind the cents, and are left out if there are none."""
    whole, part = divmod(abs(amount), MICROS_PER_CENT)
    shown = cents(-whole if amount < 0 else whole)
    if amount < 0 and whole == 0:
        shown = f"{MINUS}{shown}"
    return Markup("{}<small>{}</small>").format(shown, f"{part:04d}") if part else Markup("{}").format(shown)


def percent(basis_points: int) -> str:
    whole, part = divmod(basis_points, 100)
    return f"{whole}.{part:02d} %"


def words(name: str) -> str:
    """`straight_flush` is "Straight flush"."""
    text = name.replace("_", " ").replace(".", " ")
    return text[:1].upper() + text[1:]


def game(name: str) -> str:
    return _GAMES.get(name, name.replace("-", " ").title())


def card(written: str) -> Markup:
    """`Td` as a small card that is read out as "10 of Diamonds"."""
    rank, suit = written[:-1], written[-1:]
    if suit not in _SUITS:
        return Markup('<span class="card">{}</span>').format(written)
    symbol, name = _SUITS[suit]
    colour = "red" if suit in "hd" else "black"
    shown = "10" if rank == "T" else rank
    return Markup('<span class="card {}" role="img" aria-label="{} of {}">{}{}</span>').format(
        colour, _RANKS.get(rank, rank), name, shown, symbol
    )


def path(part: str) -> str:
    """A name as one part of a URL's path, whatever is in it."""
    return quote(part, safe="")


def pretty(document: str | dict[str, Any]) -> str:
    """JSON to read; what is not JSON as it came."""
    if isinstance(document, str):
        try:
            return pretty(json.loads(document))
        except (ValueError, RecursionError):
            return document
    return json.dumps(document, indent=2, ensure_ascii=False)


class Clock:
    """Moments as the casino's own clock shows them."""

    def __init__(self, timezone: ZoneInfo) -> None:
        self._timezone = timezone

    def time(self, at: dt.datetime | None) -> Markup:
        return self._element(at, "%H:%M:%S")

    def moment(self, at: dt.datetime | None) -> Markup:
        return self._element(at, "%d %b %Y, %H:%M:%S")

    def short(self, at: dt.datetime) -> str:
        return at.astimezone(self._timezone).strftime("%H:%M")

    def _element(self, at: dt.datetime | None, form: str) -> Markup:
        if at is None:
            return Markup("{}").format(DASH)
        utc = at.astimezone(dt.UTC).isoformat(timespec="milliseconds")
        local = at.astimezone(self._timezone)
        return Markup('<time datetime="{}" title="{}">{}</time>').format(utc, utc, local.strftime(form))
