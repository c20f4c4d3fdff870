"""How a bug is planted: one thing of the link is replaced by what a hasty reader of the rules might have written."""

from collections.abc import Callable
from typing import Any

import pytest

from jackpot.link.awards import Payout
from jackpot.link.money import Kind
from jackpot.link.rounds import Round

Plant = Callable[[pytest.MonkeyPatch], None]
Plants = dict[str, Plant]


def planter(plants: Plants) -> Callable[[Plant], Plant]:
    """Makes the decorator that puts a bug among these plants, under its own name."""

    def plant(bug: Plant) -> Plant:
        plants[bug.__name__] = bug
        return bug

    return plant


def wrapped(patch: pytest.MonkeyPatch, owner: Any, name: str, around: Callable[..., Any]) -> None:
    """`around` is called with what was there before, then with the arguments."""
    inner = getattr(owner, name)
    patch.setattr(owner, name, lambda *args, **kwargs: around(inner, *args, **kwargs))


def reposted(patch: pytest.MonkeyPatch, kind: Kind, change: Callable[[dict[str, int]], None]) -> None:
    """Every journal of this kind has its postings changed before they are posted."""

    def around(inner: Any, payout: Payout, posted: Kind, round_: Round, **postings: Any) -> None:
        if posted is kind:
            change(postings)
        inner(payout, posted, round_, **postings)

    wrapped(patch, Payout, "post", around)
