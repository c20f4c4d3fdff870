"""What several files of heads tell together: the same story, without gaps, and what of it is still to be proved."""

import datetime as dt
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from pathlib import Path

from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey

from jackpot.ledger.heads.file import read
from jackpot.ledger.heads.form import HeadMismatchError, SignedHead


@dataclass(frozen=True, slots=True)
class LinkHeads:
    """One link's, in the order in which they were signed."""

    heads: tuple[SignedHead, ...]

    @property
    def newest(self) -> SignedHead:
        return self.heads[-1]

    @property
    def accepted(self) -> tuple[SignedHead, ...]:
        """Those by which somebody went on from a ledger that was set back."""
        return tuple(head for head in self.heads if head.accepts is not None)

    def given_up_by(self, accepting: SignedHead) -> tuple[SignedHead, ...]:
        """What that cost: heads that were signed before, of events that the ledger did not have any more."""
        since = accepting.n if accepting.accepts is None else accepting.accepts.since
        before = self.heads[: self.heads.index(accepting)]
        return tuple(head for head in before if head.n > since)

    @property
    def standing(self) -> tuple[SignedHead, ...]:
        """All that the ledger must hold."""
        given_up = {head for accepting in self.accepted for head in self.given_up_by(accepting)}
        return tuple(head for head in self.heads if head not in given_up)

    @property
    def series(self) -> dict[str, tuple[int, int]]:
        """The first and the last number of each."""
        numbers: dict[str, list[int]] = defaultdict(list)
        for head in self.heads:
            numbers[head.series].append(head.number)
        return {series: (min(found), max(found)) for series, found in numbers.items()}


@dataclass(frozen=True, slots=True)
class Collection:
    links: dict[str, LinkHeads] = field(default_factory=dict)
    files: int = 0
    cut_short: tuple[Path, ...] = ()
    """Files whose last line is no whole one."""

    def __len__(self) -> int:
        return sum(len(found.heads) for found in self.links.values())

    def standing(self) -> Iterator[SignedHead]:
        """All that the ledger must hold."""
        for found in self.links.values():
            yield from found.standing


def collect(paths: Sequence[Path], keys: dict[str, Ed25519PublicKey]) -> Collection:
    """Every head of these files, each once. Raises HeadNotTrue if one is not true, is missing, or is contradicted."""
    of_links: dict[str, set[SignedHead]] = defaultdict(set)
    cut_short = []
    for path in paths:
        heads, is_cut_short = read(path, keys)
        for head in heads:
            of_links[head.link].add(head)
        if is_cut_short:
            cut_short.append(path)
    links = {link: LinkHeads(tuple(sorted(of_links[link], key=_when))) for link in sorted(of_links)}
    for found in links.values():
        _require_one_series(found.heads)
        _require_one_story(found.standing)
    return Collection(links, len(paths), tuple(cut_short))


def _when(head: SignedHead) -> tuple[dt.datetime, str, int]:
    return head.signed_at, head.series, head.number


def _require_one_series(heads: Iterable[SignedHead]) -> None:
    """The beginning may be in files that were not given; what lies between may not be missing."""
    of_series: dict[str, list[SignedHead]] = defaultdict(list)
    for head in heads:
        of_series[head.series].append(head)
    for series, found in of_series.items():
        for before, after in pairwise(sorted(found, key=lambda head: head.number)):
            if before.number == after.number:
                raise HeadMismatchError(
                    f"link {after.link}: two heads of series {series} have number {after.number}, signed at "
                    f"{_text(before)} and at {_text(after)}; the file was set back between"
                )
            if before.number + 1 < after.number:
                first, last = before.number + 1, after.number - 1
                missing = f"head {first} is" if first == last else f"heads {first} to {last} are"
                raise HeadMismatchError(
                    f"link {after.link}: {missing} missing in series {series}, between those signed at "
                    f"{_text(before)} and at {_text(after)}"
                )


def _require_one_story(heads: Iterable[SignedHead]) -> None:
    first: dict[int, SignedHead] = {}
    for head in heads:
        other = first.setdefault(head.n, head)
        if other.chain != head.chain:
            raise HeadMismatchError(
                f"link {head.link}, event {head.n}: one head was signed at {_text(other)}, another at {_text(head)}; "
                "what lies before it was rewritten between"
            )


def _text(head: SignedHead) -> str:
    return f"{head.signed_at:%Y-%m-%d %H:%M:%S}Z"
