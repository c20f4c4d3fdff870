"""How a bug is planted into the product."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import pytest

Plant = Callable[[pytest.MonkeyPatch], None]


@dataclass(frozen=True)
class Planted:
    plant: Plant
    weather: tuple[str, ...]
    """The faults under which it shows; all of them if none is named."""
    seed: int
    """Of a world in which it was seen: the first to look at."""
    says: str
    """What the auditor says of it."""


Bed = dict[str, Planted]


def keeper(bed: Bed) -> Callable[..., Callable[[Plant], Plant]]:
    def shows(*weather: str, says: str, seed: int = 1) -> Callable[[Plant], Plant]:
        def keep(bug: Plant) -> Plant:
            bed[bug.__name__] = Planted(bug, weather, seed, says)
            return bug

        return keep

    return shows


def around(patch: pytest.MonkeyPatch, owner: Any, name: str, wrapper: Callable[..., Any]) -> None:
    """`wrapper` is called with what was there before, then with the arguments."""
    inner = getattr(owner, name)
    patch.setattr(owner, name, lambda *args, **kwargs: wrapper(inner, *args, **kwargs))
