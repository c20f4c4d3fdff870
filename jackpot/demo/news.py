"""What happens on the floor, as it happens: awards, and what befalls the programs."""

import datetime as dt
from collections import deque
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

KEPT_MAX: Final = 200


@dataclass(frozen=True, slots=True)
class Item:
    at: dt.datetime
    text: str = ""
    award: dict[str, Any] | None = None
    """As the contract has it; then there is no text."""
    cards: Sequence[str] = ()
    """The jackpot hand that won it, if it was seen."""


class News:
    def __init__(self) -> None:
        self.hand_of: Callable[[Mapping[str, Any]], Sequence[str]] = lambda _: ()
        """Asked for an award's cards, which the award itself does not tell."""
        self.items: deque[Item] = deque(maxlen=KEPT_MAX)
        """The newest last."""
        self._readers: list[Callable[[Item], None]] = []
        self._awards: set[str] = set()

    @property
    def awards(self) -> int:
        return len(self._awards)

    def read(self, reader: Callable[[Item], None]) -> None:
        self._readers.append(reader)

    def tell(self, text: str) -> None:
        self._add(Item(dt.datetime.now(dt.UTC), text))

    def hear(self, kind: str, _link: str, content: dict[str, Any], live: bool) -> None:
        """A listener of the feed. An award may be announced more than once."""
        if kind == "award" and live and content["award"] not in self._awards:
            self._awards.add(content["award"])
            self._add(Item(dt.datetime.now(dt.UTC), award=content, cards=self.hand_of(content)))

    def _add(self, item: Item) -> None:
        self.items.append(item)
        for reader in self._readers:
            reader(item)
