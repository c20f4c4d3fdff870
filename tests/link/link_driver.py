"""A pit speaks to the real link: each call is one event of the contract, decided and applied.

A verb that should be accepted fails the test if it is refused; `refused` is the other way round.
"""

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from msgspec import convert

from jackpot.contract.events import TableEvent
from jackpot.contract.refusals import Refused
from jackpot.link.changes import Accepted, Decision, remember
from jackpot.link.commands import AnyCommand, BalanceAdjusted, LinkOpened, ParametersChanged, carry_out
from jackpot.link.commands import parameters_document as document_of
from jackpot.link.decide import step
from jackpot.link.money import Balances
from jackpot.link.parameters import Parameters
from jackpot.link.state import ClosedHistory, LinkState, Table, meter, table_state
from jackpot.rules.megalink import GAMES

if TYPE_CHECKING:
    from jackpot.link.awards import Award

AT = "2026-11-16T02:00:00.000Z"

GAME_OF_PREFIX = {"BE": "bullseye", "UTH": "ultimate-texas-holdem", "TCX": "three-card-poker-xtreme"}

TABLES = ("BE-01", "BE-02", "UTH-01", "UTH-02", "TCX-01", "TCX-02")


class LinkDriver:
    """Tables named after their sheet ("BE-01") on one link, opened with these parameters."""

    def __init__(self, *tables: str, **parameters: Any) -> None:
        self.state = LinkState(
            "megalink",
            {name: _table(name) for name in tables or TABLES},
            Parameters(),
        )
        self.past = ClosedHistory()
        self.awards: list[Award] = []
        self._names = 0
        self.command(
            LinkOpened(
                id="open", by="installer", reason="first start", parameters=document_of(Parameters(**parameters))
            )
        )

    # What the tables say.

    def say(self, table: str, type_: str, **fields: Any) -> Decision:
        """One event with the table's next seq; the round is the table's current one unless given."""
        document = {"id": self._name("event"), "seq": self.next_seq(table), "type": type_, "at": AT, **fields}
        if "round" not in document and type_ != "meters.reported":
            document["round"] = self.round_of(table)
        event: TableEvent = convert(document, TableEvent)
        decision = step(self.state, table, event, at=AT, past=self.past)
        if isinstance(decision, Accepted):
            self.awards += decision.awards
        return decision

    def accepted(self, table: str, type_: str, **fields: Any) -> Accepted:
        decision = self.say(table, type_, **fields)
        assert isinstance(decision, Accepted), decision
        return decision

    def refused(self, table: str, type_: str, **fields: Any) -> Refused:
        decision = self.say(table, type_, **fields)
        assert isinstance(decision, Refused), decision
        return decision

    def open(self, table: str, name: str | None = None) -> str:
        name = name or self._name("round")
        self.accepted(table, "round.opened", round=name)
        return name

    def wager(self, table: str, position: int, multiplier: int = 1) -> None:
        self.accepted(table, "wager.placed", position=position, multiplier=multiplier)

    def close(self, table: str) -> dict[str, Any]:
        return self.accepted(table, "round.closed").result

    def deal(self, table: str, wagers: Mapping[int, int] | None = None) -> dict[str, Any]:
        """A round from "Place your bets" to "No more bets"; `wagers` is position to multiplier."""
        self.open(table)
        for position, multiplier in (wagers or {1: 1}).items():
            self.wager(table, position, multiplier)
        return self.close(table)

    def enter(self, table: str, position: int, cards: str, community: str = "") -> dict[str, Any]:
        return self.accepted(
            table, "hand.entered", position=position, cards=cards.split(), community=community.split()
        ).result

    def refused_hand(self, table: str, position: int, cards: str, community: str = "") -> Refused:
        return self.refused(table, "hand.entered", position=position, cards=cards.split(), community=community.split())

    def withdraw(self, table: str, position: int) -> Accepted:
        return self.accepted(table, "hand.withdrawn", position=position, reason="entered in error")

    def decline(self, table: str, position: int) -> None:
        self.accepted(table, "hand.declined", position=position)

    def return_wager(self, table: str, position: int, reason: str = "5.12.2") -> Accepted:
        return self.accepted(table, "wager.returned", position=position, reason=reason)

    def settle(self, table: str) -> Accepted:
        return self.accepted(table, "round.settled")

    def void(self, table: str, reason: str = "5.1") -> Accepted:
        return self.accepted(table, "round.voided", reason=reason)

    # What people do to the link.

    def command(self, command: AnyCommand) -> Accepted:
        accepted = carry_out(self.state, command, at=AT)
        remember(self.past, accepted)
        self.awards += accepted.awards
        return accepted

    def adjust(self, account: Any, amount_cents: int) -> Accepted:
        return self.command(
            BalanceAdjusted(
                id=self._name("command"),
                by="fiona",
                approved_by="felix",
                reason="set the scene",
                account=account,
                amount_cents=amount_cents,
            )
        )

    def change_parameters(self, effective: Any, **parameters: Any) -> Accepted:
        return self.command(
            ParametersChanged(
                id=self._name("command"),
                by="fiona",
                approved_by="mona",
                reason="new terms",
                effective=effective,
                parameters=document_of(self.state.parameters) | parameters,
            )
        )

    def display(self, cents: int) -> None:
        """Bring the meter to this figure, exactly, parts of a cent apart."""
        self.adjust("pool", cents - self.displayed_cents)
        assert self.displayed_cents == cents

    def hold_reserve(self, cents: int) -> None:
        self.adjust("reserve", cents - self.reserve_cents)

    # What can be seen.

    @property
    def balances(self) -> Balances:
        return self.state.balances

    @property
    def pool_cents(self) -> int:
        return self.balances.pool // 10_000

    @property
    def reserve_cents(self) -> int:
        return self.balances.reserve // 10_000

    @property
    def meter(self) -> dict[str, Any]:
        return {**meter(self.state, version=1, at=AT)}

    @property
    def displayed_cents(self) -> int:
        shown: int = self.meter["displayed_cents"]
        return shown

    @property
    def pending(self) -> list[tuple[str, int]]:
        """Table and base of each round that holds a percentage hand, in the order of payment."""
        return [(claim["table"], claim["base_cents"]) for claim in self.meter["pending"]]

    def table_state(self, table: str) -> dict[str, Any]:
        return {**table_state(self.state, table, at=AT)}

    def round_of(self, table: str) -> str:
        return self.state.current[table].id

    def next_seq(self, table: str) -> int:
        return self.state.next_seq.get(table, 1)

    def amounts(self) -> list[tuple[str, int, int]]:
        """Table, position and cents of every award so far, in the order made."""
        return [(award.table, award.position, award.amount_cents) for award in self.awards]

    def _name(self, kind: str) -> str:
        self._names += 1
        return f"{kind}-{self._names}"


def _table(name: str) -> Table:
    game = GAMES[GAME_OF_PREFIX[name.partition("-")[0]]]
    return Table(name, game, game.positions_max)


def of_the_examples(*tables: str, **parameters: Any) -> LinkDriver:
    """Unit S$5, increment 25 %, reserve 3.1 %, reset S$100,000, reserve ample."""
    terms = {"unit_cents": 500, "increment_bp": 2500, "reserve_bp": 310, "reset_cents": 10_000_000}
    pit = LinkDriver(*tables, **{**terms, **parameters})
    pit.hold_reserve(100_000_000)
    return pit


def moved(before: Balances, after: Balances) -> dict[str, int]:
    """What each account gained, in micros; those left alone are not named."""
    accounts = ("wagered", "recoverable", "pool", "reserve", "house", "awarded")
    gains = {account: getattr(after, account) - getattr(before, account) for account in accounts}
    return {account: gain for account, gain in gains.items() if gain}
