"""What must hold within one link's day: its journals follow from each other, and its awards from its journals."""

from collections.abc import Iterable, Mapping
from typing import Any

from sqlalchemy import RowMapping, text
from sqlalchemy.ext.asyncio import AsyncConnection

from jackpot.finance.reconciliation.data import Movement
from jackpot.ledger.schema import ACCOUNTS
from jackpot.link.awards import award_id
from jackpot.link.money import MICROS_PER_CENT, Balances

NAMED_MAX = 5
"""How many problems of one kind are named; one is enough to keep a day from closing."""

_BEFORE = ", ".join(
    f"lag({name}_after, 1, CAST(:{name} AS bigint)) OVER (ORDER BY journal) AS {name}_before" for name in ACCOUNTS
)
_LEAPS = " OR ".join(f"{name}_before + {name} <> {name}_after" for name in ACCOUNTS)
_WRONG_JOURNALS = text(
    f"SELECT * FROM (SELECT *, {_BEFORE} FROM journals WHERE link = :link AND day = :day) AS steps "  # noqa: S608 ours
    f"WHERE {_LEAPS} OR wagered + recoverable <> pool + reserve + house + awarded ORDER BY journal LIMIT :most"
)

_WRONG_AWARDS = text(
    "SELECT coalesce(made.award, posted.award) AS award, made.amount_cents, posted.awarded FROM "
    "(SELECT award, amount_cents FROM awards WHERE link = :link AND day = :day) AS made FULL JOIN "
    "(SELECT award, sum(awarded)::bigint AS awarded FROM journals WHERE link = :link AND day = :day "
    "AND kind IN ('share', 'odds') GROUP BY award) AS posted ON posted.award = made.award "
    "WHERE made.amount_cents * :micros_per_cent IS DISTINCT FROM posted.awarded ORDER BY 1 LIMIT :most"
)

_WRONG_PAYMENTS = text(
    "SELECT made.award, paid.award IS NOT NULL AS paid FROM awards AS made "
    "LEFT JOIN payments AS paid ON paid.link = made.link AND paid.award = made.award "
    "LEFT JOIN unpaid ON unpaid.link = made.link AND unpaid.award = made.award "
    "WHERE made.link = :link AND made.day = :day AND (paid.award IS NULL) <> (unpaid.award IS NOT NULL) "
    "ORDER BY 1 LIMIT :most"
)


async def check_rows(connection: AsyncConnection, where: Mapping[str, Any], opening: Balances) -> list[str]:
    """`where` names link and day."""
    limited = {**where, "most": NAMED_MAX}
    before = dict(zip(ACCOUNTS, opening.amounts(), strict=True))
    found: list[str] = []
    for row in (await connection.execute(_WRONG_JOURNALS, limited | before)).mappings():
        found += _wrong_journal(row)
    for row in (await connection.execute(_WRONG_AWARDS, {**limited, "micros_per_cent": MICROS_PER_CENT})).mappings():
        found.append(_wrong_award(award_id(where["link"], row["award"]), row))
    for row in (await connection.execute(_WRONG_PAYMENTS, limited)).mappings():
        state = "paid, yet listed as unpaid" if row["paid"] else "not paid, yet not listed as unpaid"
        found.append(f"award {award_id(where['link'], row['award'])} is {state}")
    return found


def check_balances(opening: Balances, movements: Iterable[Movement], closing: Balances) -> list[str]:
    """The equation: what the day opened with, and what it moved, is what it closed with."""
    totals = list(opening.amounts())
    for move in movements:
        totals = [total + amount for total, amount in zip(totals, move.postings.amounts(), strict=True)]
    found = differences("the day's journals do not lead from opening to closing", closing, Balances(*totals))
    if not closing.closes:
        found.append("the closing balances do not close: wagered + recoverable is not pool + reserve + house + awarded")
    return found


def differences(what: str, there: Balances, due: Balances) -> list[str]:
    pairs = zip(ACCOUNTS, there.amounts(), due.amounts(), strict=True)
    return [f"{what}: {name} is {actual} micros, not {wanted}" for name, actual, wanted in pairs if actual != wanted]


def _wrong_journal(row: RowMapping) -> list[str]:
    place = f"journal {row['journal']} ({row['kind']}, event {row['n']})"
    postings = Balances(*(row[name] for name in ACCOUNTS))
    found = [] if postings.closes else [f"{place} does not balance"]
    for name, posted in zip(ACCOUNTS, postings.amounts(), strict=True):
        before, after = row[f"{name}_before"], row[f"{name}_after"]
        if before + posted != after:
            found.append(
                f"{place}: {name} was {before} micros, {posted} were posted, and {after} is what it says after"
            )
    return found


def _wrong_award(name: str, row: RowMapping) -> str:
    if row["amount_cents"] is None:
        return f"award {name} has a journal of {row['awarded']} micros on this day, but is no award of it"
    if row["awarded"] is None:
        return f"award {name} of {row['amount_cents']} cents has no journal on this day"
    return f"award {name} is {row['amount_cents']} cents, its journal {row['awarded']} micros"
