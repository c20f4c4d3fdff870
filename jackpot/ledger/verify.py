"""Walks a link's ledger from its first event: the chain, the numbers, the books, and every decision made again.

It reads in chunks, each in a short transaction of its own, and remembers nothing but the link's state, so a ledger of
any length is walked in the same memory and beside a daemon that writes. The first break is raised.
"""

import datetime as dt
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import partial

import msgspec

from jackpot.contract.gaming_day import GamingDay
from jackpot.ledger.compare import Difference, Expected, compare_head
from jackpot.ledger.connection import AnyConnection
from jackpot.ledger.errors import translated
from jackpot.ledger.load import award_number
from jackpot.ledger.post import Batch
from jackpot.ledger.record import Head, Record, chain
from jackpot.ledger.replay import Language, NotReplayableError, Replay, StoredEvent
from jackpot.link.awards import award_id
from jackpot.link.state import ClosedHistory, RoundKey

CHUNK = 2_000

_JOURNALS_AS_CHAINED = (
    "SELECT journal, kind, table_id, round, award, wagers, wagered, recoverable, pool, reserve, house, awarded, "
    "wagered_after, recoverable_after, pool_after, reserve_after, house_after, awarded_after "
    "FROM journals WHERE link = $1 AND n = $2 ORDER BY journal"
)


class BreakError(Exception):
    """The ledger is not what was committed, or not what the rules give. Says where, exactly."""

    def __init__(self, link: str, n: int | None, what: str) -> None:
        place = f"link {link}" if n is None else f"link {link}, event {n}"
        super().__init__(f"{place}: {what}")
        self.link = link
        self.n = n
        self.what = what


@dataclass(frozen=True, slots=True)
class Verified:
    """A link whose ledger holds from the first event to this head."""

    link: str
    n: int
    chain: bytes
    at: dt.datetime
    counts: dict[str, int] = field(default_factory=dict)
    """Rows of each kind that the events account for."""
    other_days: int = 0
    """Events that were committed in another gaming day than the configuration gives now: it was changed since."""


async def links_in(connection: AnyConnection) -> list[str]:
    """Every link that has a head or an event, by index look-ups alone."""
    with translated():
        rows = await connection.fetch(
            "WITH RECURSIVE seen AS (SELECT min(link) AS link FROM events UNION ALL "
            "SELECT (SELECT min(link) FROM events WHERE link > seen.link) FROM seen WHERE seen.link IS NOT NULL) "
            "SELECT link FROM seen WHERE link IS NOT NULL UNION SELECT link FROM links ORDER BY link"
        )
    return [row["link"] for row in rows]


async def verify(
    connection: AnyConnection,
    link: str,
    language: Language,
    *,
    kept_heads: dict[int, bytes] | None = None,
    gaming_day: GamingDay | None = None,
    progress: Callable[[int], None] = lambda _: None,
) -> Verified:
    """Raise BreakError at the first break.

    `kept_heads` are chain values, by event number, that were kept outside the database: who may rewrite the whole
    ledger may rewrite its chain, but not those.
    """
    walk = _Walk(connection, link, language, kept_heads or {}, gaming_day)
    more = True
    while more:
        with translated():
            async with connection.transaction(isolation="repeatable_read", readonly=True):
                more = await walk.chunk()
        progress(walk.replay.head.n)
    head = walk.replay.head
    return Verified(link, head.n, head.chain, head.at, dict(walk.counts), walk.other_days)


class _Walk:
    def __init__(
        self,
        connection: AnyConnection,
        link: str,
        language: Language,
        kept_heads: dict[int, bytes],
        gaming_day: GamingDay | None,
    ) -> None:
        self.connection = connection
        self.link = link
        self.replay = Replay(link, language)
        self.counts: Counter[str] = Counter()
        self.other_days = 0
        self._kept_heads = kept_heads
        self._gaming_day = gaming_day
        self._day = dt.date.min

    async def chunk(self) -> bool:
        """Walk the next chunk; False when it was the last, and the heads were compared."""
        rows = [
            StoredEvent(*row)
            for row in await self.connection.fetch(
                "SELECT n, id, table_id, seq, type, round, at, day, payload, answer, chain FROM events "
                "WHERE link = $1 AND n > $2 ORDER BY n LIMIT $3",
                self.link,
                self.replay.head.n,
                CHUNK,
            )
        ]
        self.replay.past = await self._past(rows)
        expected = Expected(self.link)
        broken: BreakError | None = None
        for row in rows:
            try:
                batch = await self._event(row)
            except BreakError as error:
                broken = error
                break
            expected.add(batch, self.replay.concluded(batch))
            self.counts["rounds"] += len(batch.opened)
        self.counts += expected.counts()
        self._raise_first(await expected.differences(self.connection), broken)
        if len(rows) == CHUNK:
            return True
        self._raise_first(await compare_head(self.connection, self.replay, self.counts), None)
        for n in self._kept_heads:
            if n > self.replay.head.n:
                raise BreakError(self.link, n, "its chain was kept outside the database, but it is not there")
        return False

    def _raise_first(self, found: list[Difference], broken: BreakError | None) -> None:
        first = min(found, key=lambda difference: difference.n, default=None)
        if first is not None and (broken is None or broken.n is None or first.n < broken.n):
            raise BreakError(self.link, first.n, first.what)
        if broken is not None:
            raise broken

    # -- one event ----------------------------------------------------------------------------------------------

    async def _event(self, row: StoredEvent) -> Batch:
        before = self.replay.head
        if row.n != before.n + 1:
            raise BreakError(self.link, before.n + 1, f"it is missing; after event {before.n} comes {row.n}")
        if row.at < before.at or row.day < self._day:
            raise BreakError(self.link, row.n, f"its time {row.at} or day {row.day} lies before that of the last event")
        self._day = row.day
        if self._gaming_day is not None and self._gaming_day.day(row.at) != row.day:
            self.other_days += 1
        await self._follow_table(row)
        try:
            batch = self.replay.take(row)
        except NotReplayableError as error:
            raise BreakError(self.link, row.n, await self._diagnose(before, row, None, str(error))) from error
        if batch.head.chain != row.chain or batch.records[0].answer != row.answer:
            raise BreakError(self.link, row.n, await self._diagnose(before, row, batch))
        if self._kept_heads.get(row.n, row.chain) != row.chain:
            raise BreakError(self.link, row.n, "its chain is not the one that was kept outside the database")
        return batch

    async def _diagnose(self, before: Head, row: StoredEvent, batch: Batch | None, otherwise: str = "") -> str:
        """Which of payload, answer and rules does not fit the chain."""
        if batch is not None and batch.head.chain == row.chain:
            return f"its answer was changed: it is {_text(row.answer)}, it was {_text(batch.records[0].answer)}"
        record = Record(row.id, row.table_id, row.seq, row.type, row.round, row.payload, row.answer, None)
        journals = [list(found) for found in await self.connection.fetch(_JOURNALS_AS_CHAINED, self.link, row.n)]
        chained = partial(chain, before.chain, link=self.link, n=row.n, record=record, at=row.at, journals=journals)
        if chained(day=row.day) != row.chain:
            true_day = row.day if self._gaming_day is None else self._gaming_day.day(row.at)
            if chained(day=true_day) == row.chain:
                return f"its gaming day was changed: it is {row.day}, it was {true_day}"
            return (
                "the chain breaks: its payload, id, type, table, seq, time, day, answer or journals are not those that "
                f"were committed after event {before.n}"
            )
        if batch is not None:
            same = batch.records[0].answer == row.answer
            answer = f"answer {_text(batch.records[0].answer)}, not {_text(row.answer)}"
            otherwise = "the rules give other journals" if same else f"the rules {answer}"
        return f"the chain holds, but {otherwise}"

    async def _follow_table(self, row: StoredEvent) -> None:
        """A table that was on another link meanwhile went on counting there."""
        if row.table_id is None or row.seq is None:
            return
        expected = self.replay.state.next_seq.get(row.table_id, 1)
        if row.seq == expected:
            return
        elsewhere = await self.connection.fetchval(
            "SELECT count(*) FROM events WHERE table_id = $1 AND seq >= $2 AND seq < $3 AND link <> $4",
            row.table_id,
            expected,
            row.seq,
            self.link,
        )
        if elsewhere != row.seq - expected:
            raise BreakError(
                self.link, row.n, f"it has seq {row.seq} of table {row.table_id}, but seq {expected} comes next"
            )
        self.replay.state.next_seq[row.table_id] = row.seq

    # -- what was before ----------------------------------------------------------------------------------------

    async def _past(self, rows: list[StoredEvent]) -> ClosedHistory:
        """The concluded rounds and paid awards that these events ask about, as they stood before the first of them."""
        found = ClosedHistory()
        if not rows:
            return found
        rounds = _rounds_asked_about(rows)
        asked = await self.connection.fetch(
            "SELECT rounds.table_id, rounds.round FROM rounds "
            "JOIN unnest($1::text[], $2::text[]) AS asked (table_id, round) USING (table_id, round) "
            "JOIN events ON events.link = rounds.link AND events.n = rounds.opened_n "
            "WHERE CASE WHEN rounds.link = $3 THEN rounds.opened_n < $4 ELSE events.at < $5 END",
            [table for table, _ in rounds],
            [round_ for _, round_ in rounds],
            self.link,
            rows[0].n,
            rows[-1].at,
        )
        found.rounds.update((row["table_id"], row["round"]) for row in asked)
        awards = _awards_asked_about(self.link, rows)
        if awards:
            made = await self.connection.fetch(
                "SELECT award, table_id, round FROM awards WHERE link = $1 AND award = ANY($2::bigint[]) AND n < $3",
                self.link,
                list(awards),
                rows[0].n,
            )
            found.awards.update((award_id(self.link, row["award"]), (row["table_id"], row["round"])) for row in made)
        return found


def _rounds_asked_about(rows: list[StoredEvent]) -> set[RoundKey]:
    """All but those that these events themselves open."""
    named = {(row.table_id, row.round) for row in rows if row.table_id is not None and row.round is not None}
    opened = {(row.table_id, row.round) for row in rows if row.type == "round.opened" and b'"accepted"' in row.answer}
    return {(table, round_) for table, round_ in named - opened if table is not None and round_ is not None}


def _awards_asked_about(link: str, rows: list[StoredEvent]) -> set[int]:
    numbers = set()
    for row in rows:
        if row.type == "award.paid":
            try:
                award = msgspec.json.decode(row.payload, type=_Paid).award
            except msgspec.DecodeError:
                continue  # its own turn will come, and then it is a break
            numbers.add(award_number(link, award))
    return {number for number in numbers if number is not None}


class _Paid(msgspec.Struct):
    award: str


def _text(answer: bytes) -> str:
    return answer.decode("utf-8", "backslashreplace")
