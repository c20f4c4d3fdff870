"""Sands Fast Action Roulette (FAR): forty numbers in ten links, ten Bonus Numbers a round."""

import secrets
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any, Final

from jackpot.rules.reading import a_list, an_object, an_object_with, malformed, shown
from jackpot.rules.refusal import Code, RefusalError
from jackpot.rules.stakes import Maximums, Stake, read_maximums, read_stake, settle_stake
from jackpot.rules.verdict import Lost, Pays, PayTable, Verdict

NAME: Final = "fast-action-roulette"
BONUS_NUMBERS: Final = 10  # FAR 1.1.1

LINKS: Final[Mapping[str, tuple[str, ...]]] = MappingProxyType(  # FAR Appendix C
    {"a": ("0", "00", "S", "MBS")}
    | {
        name: tuple(str(first + step) for step in range(4))
        for name, first in zip("bcdefghij", range(1, 37, 4), strict=True)
    }
)
NUMBERS: Final = tuple(number for link in LINKS.values() for number in link)

STRAIGHT_UP: Final = PayTable(
    "straight_up",
    "FAR 4.1",
    {"non_bonus_number": Pays(35), "bonus_number": Pays(40), "super_bonus_number": Pays(80)},
    otherwise=Lost("FAR 4.1"),
)
BONUS_WIN: Final = PayTable(
    "bonus_win",
    "FAR 4.2",
    {"bonus_number": Pays(2), "super_bonus_number": Pays(2)},  # FAR 1.1.2
    otherwise=Lost("FAR 4.2"),
)
SUPER_BONUS_WIN: Final = PayTable(
    "super_bonus_win", "FAR 4.2", {"super_bonus_number": Pays(350)}, otherwise=Lost("FAR 4.2")
)
SCATTER_BONUS: Final = PayTable("scatter_bonus", "FAR 4.2", {"scatter_bonus": Pays(700)}, otherwise=Lost("FAR 4.2"))
PAY_TABLES: Final = (STRAIGHT_UP, BONUS_WIN, SUPER_BONUS_WIN, SCATTER_BONUS)

BETS: Final = tuple(table.wager for table in PAY_TABLES)
_BET_FIELDS: Final = frozenset({"bet", "stake"})
_STRAIGHT_UP_FIELDS: Final = _BET_FIELDS | {"number"}
_OVER_MAXIMUM: Final = "FAR 5.17"


def draw_bonus_numbers() -> tuple[str, ...]:
    """Ten different numbers, each set of ten as likely as any other, from the system's cryptographic generator."""
    return tuple(secrets.SystemRandom().sample(NUMBERS, BONUS_NUMBERS))


def super_bonus_links(bonus: Collection[str]) -> tuple[str, ...]:
    """The links all of whose four numbers are Bonus Numbers (FAR 1.1.11)."""
    return tuple(name for name, link in LINKS.items() if all(number in bonus for number in link))


def is_scatter_bonus(bonus: Collection[str]) -> bool:
    return all(any(number in bonus for number in link) for link in LINKS.values())  # FAR 1.1.8


def winning_outcome(winning: str, bonus: Collection[str]) -> str:
    if any(winning in LINKS[link] for link in super_bonus_links(bonus)):
        return "super_bonus_number"
    return "bonus_number" if winning in bonus else "non_bonus_number"


@dataclass(frozen=True, slots=True)
class Bet:
    bet: str
    number: str | None
    stake: Stake


def read_number(value: object, where: str) -> str:
    if not isinstance(value, str):
        raise malformed(where, 'a number as text, like "17"', value)
    if value not in NUMBERS:
        message = f'{where}: no number {shown(value)}; there is "0", "00", "S", "MBS" and "1" to "36"'
        raise RefusalError(Code.UNKNOWN_NUMBER, message, "FAR 1.1.5")
    return value


def read_bonus(value: object) -> frozenset[str]:
    numbers = [read_number(number, "bonus") for number in a_list(value, "bonus")]
    different = frozenset(numbers)
    if len(different) < len(numbers):
        twice = next(number for number in numbers if numbers.count(number) > 1)
        raise RefusalError(Code.DUPLICATE_NUMBER, f"bonus: {twice} stands there twice", "FAR 1.1.1")
    if len(numbers) != BONUS_NUMBERS:
        message = f"bonus must be ten numbers, not {len(numbers)}"
        # FAR 5.11: with one that failed to illuminate the round is void.
        rule = "FAR 5.11" if len(numbers) < BONUS_NUMBERS else "FAR 1.1.1"
        raise RefusalError(Code.WRONG_BONUS_COUNT, message, rule)
    return different


def _bet(value: object, maximums: Maximums) -> Bet:
    name = an_object(value, "a bet").get("bet")
    straight_up = name == STRAIGHT_UP.wager
    fields = an_object_with(value, "a bet", _STRAIGHT_UP_FIELDS if straight_up else _BET_FIELDS)
    if not isinstance(name, str):
        raise malformed("bet", "text", name)
    if name not in BETS:
        raise RefusalError(Code.UNKNOWN_WAGER, f"no bet {shown(name)}; there is {', '.join(BETS)}", "FAR 3.4")
    number = read_number(fields["number"], name) if straight_up else None
    return Bet(name, number, read_stake(fields["stake"], f"{name}: stake", maximums.get(name)))


def verdicts_of_round(winning: str, bonus: frozenset[str]) -> dict[str, Verdict]:
    """What becomes of each bet; for a straight up bet, of one on the winning number."""
    number = winning_outcome(winning, bonus)
    scatter = "scatter_bonus" if is_scatter_bonus(bonus) else "no_scatter_bonus"
    return {table.wager: table.verdict(scatter if table is SCATTER_BONUS else number) for table in PAY_TABLES}


def _bet_result(bet: Bet, winning: str, verdicts: Mapping[str, Verdict]) -> dict[str, Any]:
    on_another_number = bet.number not in (None, winning)
    verdict = STRAIGHT_UP.otherwise if on_another_number else verdicts[bet.bet]
    number = {} if bet.number is None else {"number": bet.number}
    result = settle_stake(verdict, bet.stake, _OVER_MAXIMUM)
    return {"bet": bet.bet, **number, "stake": bet.stake.placed_cents, **result}


def settle(value: object) -> dict[str, Any]:
    fields = an_object_with(value, "the round", {"game", "winning", "bonus", "bets"}, {"limits"})
    maximums = read_maximums(fields.get("limits", {}), BETS)
    winning = read_number(fields["winning"], "winning")
    verdicts = verdicts_of_round(winning, read_bonus(fields["bonus"]))
    bets = [_bet(bet, maximums) for bet in a_list(fields["bets"], "bets")]
    if not bets:
        raise RefusalError(Code.MALFORMED, "bets must have at least one entry")
    results = [_bet_result(bet, winning, verdicts) for bet in bets]
    return {
        "game": NAME,
        "winning": winning,
        "bets": results,
        "net_cents": sum(result["net_cents"] for result in results),
    }
