"""A link between two events: its balances, what is still open on it, and what others are told of it."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Literal

from jackpot.contract.messages import Meter, TableStateMessage
from jackpot.link.money import Balances, whole_cents
from jackpot.link.parameters import Parameters
from jackpot.link.rounds import Phase, Round
from jackpot.rules.megalink import JackpotGame, Rank

if TYPE_CHECKING:
    from jackpot.link.awards import Award

RoundKey = tuple[str, str]
"""Table and round."""


@dataclass(frozen=True, slots=True)
class Table:
    id: str
    game: JackpotGame
    positions: int


def tables_document(tables: Iterable[Table]) -> list[dict[str, Any]]:
    return [{"id": table.id, "game": table.game.name, "positions": table.positions} for table in tables]


@dataclass(slots=True)
class LinkState:
    """Everything a decision needs. Only `apply` changes it."""

    link: str
    tables: dict[str, Table]
    parameters: Parameters
    parameters_version: int = 0
    """0 until it is opened."""
    parameters_next: Parameters | None = None
    """Approved, and in force from the next win of the whole jackpot on."""
    balances: Balances = field(default_factory=Balances)
    entry: int = 0
    award: int = 0
    suspended: str | None = None
    """Why, or None while the link is in play."""
    next_seq: dict[str, int] = field(default_factory=dict)
    current: dict[str, Round] = field(default_factory=dict)
    """The open or closed round of each table that has one."""
    waiting: dict[RoundKey, Round] = field(default_factory=dict)
    """Settled rounds whose percentage hands wait for an earlier-entered round (D6)."""
    claims: dict[RoundKey, int] = field(default_factory=dict)
    """Rounds with a standing percentage hand, and that hand's entry number."""
    unpaid: dict[str, "Award"] = field(default_factory=dict)

    def tables_document(self) -> list[dict[str, Any]]:
        return tables_document(self.tables.values())

    def unfinished(self) -> set[str]:
        """Tables with a round that is not settled and paid, nor void."""
        return {*self.current, *(table for table, _ in self.waiting)}

    def find(self, key: RoundKey) -> Round | None:
        current = self.current.get(key[0])
        return current if current is not None and current.id == key[1] else self.waiting.get(key)

    def put(self, round_: Round) -> None:
        key = round_.key
        match round_.phase:
            case Phase.OPEN | Phase.CLOSED:
                self.current[round_.table] = round_
            case _:
                current = self.current.get(round_.table)
                if current is not None and current.id == round_.id:
                    del self.current[round_.table]
                self.waiting.pop(key, None)
                if round_.phase is Phase.WAITING:
                    self.waiting[key] = round_
        entry = claim_entry(round_)
        if entry is None:
            self.claims.pop(key, None)
        else:
            self.claims[key] = entry

    def claims_in_order(self) -> list[Round]:
        return in_order(self.claims, self.find)

    def displayed_cents(self) -> int:
        return displayed_cents(self.claims_in_order(), self.balances.pool)


@dataclass(slots=True)
class ClosedHistory:
    """What has left the state but still decides: concluded rounds and paid awards that a batch asks about."""

    rounds: set[RoundKey] = field(default_factory=set)
    awards: dict[str, RoundKey] = field(default_factory=dict)


def claim_entry(round_: Round) -> int | None:
    """The entry number that gives the round its place in line; None if nothing in it waits for a share."""
    if round_.phase in (Phase.SETTLED, Phase.VOIDED):
        return None
    first = round_.first_percentage_hand
    return None if first is None else first.entry


def in_order(claims: dict[RoundKey, int], find: Callable[[RoundKey], Round | None]) -> list[Round]:
    """D6: first entered is paid first."""
    rounds = (find(key) for key in sorted(claims, key=claims.__getitem__))
    return [round_ for round_ in rounds if round_ is not None]


def displayed_cents(claims: list[Round], pool_micros: int) -> int:
    """What the sign shows: the pool, or the first claim's base while one stands (D2, D5)."""
    return claims[0].base_cents if claims else whole_cents(pool_micros)


def meter(state: LinkState, *, version: int, at: str) -> Meter:
    return {
        "link": state.link,
        "currency": state.parameters.currency,
        "displayed_cents": state.displayed_cents(),
        "reset_cents": state.parameters.reset_cents,
        "entry": state.entry,
        "version": version,
        "pending": [
            {
                "table": round_.table,
                "round": round_.id,
                "rank": _highest_percentage_rank(round_),
                "base_cents": round_.base_cents,
            }
            for round_ in state.claims_in_order()
        ],
        "at": at,
    }


def _highest_percentage_rank(round_: Round) -> Literal["royal_flush", "straight_flush"]:
    ranks = {hand.rank for hand in round_.hands.values()}
    return "royal_flush" if Rank.ROYAL_FLUSH in ranks else "straight_flush"


def table_state(state: LinkState, table: str, *, at: str) -> TableStateMessage:
    current = state.current.get(table)
    return {
        "table": table,
        "next_seq": state.next_seq.get(table, 1),
        "round": None
        if current is None
        else {"id": current.id, "phase": "open" if current.phase is Phase.OPEN else "closed"},
        "pending": [round_.id for round_ in _waiting_in_order(state) if round_.table == table],
        "accepts_play": state.suspended is None and table in state.tables,
        "at": at,
    }


def _waiting_in_order(state: LinkState) -> Iterable[Round]:
    return (round_ for round_ in state.claims_in_order() if round_.phase is Phase.WAITING)
