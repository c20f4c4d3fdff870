"""What people ask of a link in the middle of everything."""

import json
import random
from typing import TYPE_CHECKING, Any

import msgspec

from jackpot.link.commands import (
    AnyCommand,
    BalanceAdjusted,
    LinkResumed,
    LinkSuspended,
    ParametersChanged,
    RoundConcluded,
)
from tests.simulation.plan import terms

if TYPE_CHECKING:
    from collections.abc import Callable

    from tests.simulation.tables import Table
    from tests.simulation.world import World

PEOPLE = ("suspend_for_a_while", "change_parameters", "adjust_a_balance", "conclude_a_round")


class People:
    world: "World"
    chance: random.Random
    closing: bool
    _later: "Callable[[float, Callable[[], None]], None]"
    _table: "Callable[[], Table]"
    _commands = 0

    def _ask(self, link: str, kind: type[Any], **what: Any) -> None:
        self._commands += 1
        command: AnyCommand = kind(id=f"c{self._commands}", by="ann", reason="it had to be", **what)
        self.world.auditor.asked[command.id] = json.loads(msgspec.json.encode(command))
        self.world.database.leave_request(link, command)

    def _link(self) -> str:
        return self.chance.choice(list(self.world.auditor.files))

    def suspend_for_a_while(self) -> None:
        link = self._link()
        self.suspend(link)
        self._later(20, lambda: None if self.closing else self.resume(link))

    def suspend(self, link: str) -> None:
        self._ask(link, LinkSuspended)

    def resume(self, link: str) -> None:
        self._ask(link, LinkResumed)

    def change_parameters(self) -> None:
        effective = self.chance.choice(["at_once", "next_win"])
        self._ask(
            self._link(), ParametersChanged, approved_by="bob", effective=effective, parameters=terms(self.chance)
        )

    def adjust_a_balance(self) -> None:
        account, cents = self.chance.choice(["pool", "reserve"]), self.chance.choice([-900, -17, 1, 12_345])
        self._ask(self._link(), BalanceAdjusted, approved_by="bob", account=account, amount_cents=cents)

    def conclude_a_round(self) -> None:
        table = self._table()
        if table.rounds:
            outcome = self.chance.choice(["settled", "void"])
            self._ask(table.link, RoundConcluded, table=table.table, round=f"r{table.rounds}", outcome=outcome)
