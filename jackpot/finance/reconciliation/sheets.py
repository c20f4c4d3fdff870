"""The reconciliation as sheets of rows, in the words of the rule sheets, for whatever prints them."""

import datetime as dt
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from typing import Any

from jackpot.finance.reconciliation.data import LinkDay, Reconciliation, TableDay
from jackpot.formatting.money import grouped
from jackpot.link.money import Balances, Kind, micros
from jackpot.rules.megalink import Rank


@dataclass(frozen=True, slots=True)
class Money:
    micros: int


Cell = str | int | Money
Row = tuple[Cell, ...]


@dataclass(frozen=True, slots=True)
class Sheet:
    title: str
    columns: tuple[str, ...]
    rows: tuple[Row, ...]
    strong: frozenset[int] = field(default=frozenset())
    """Rows that are a result."""
    note: str = ""


DOES_NOT_BALANCE = "What does not balance"
METERS = "Tables' meters"

KINDS = {
    Kind.OPENING: "Link opened",
    Kind.CONTRIBUTION: "Contributions",
    Kind.RETURN: "Wagers returned",
    Kind.SHARE: "Awards, share of the pool",
    Kind.ODDS: "Awards, odds for 1",
    Kind.FUNDING: "Funding of shared awards",
    Kind.RESET: "Resets",
    Kind.ADJUSTMENT: "Adjustments",
}

RANKS = {
    Rank.ROYAL_FLUSH: "Royal Flush",
    Rank.STRAIGHT_FLUSH: "Straight Flush",
    Rank.FOUR_OF_A_KIND: "Four of a Kind",
    Rank.FULL_HOUSE: "Full House",
    Rank.FLUSH: "Flush",
    Rank.STRAIGHT: "Straight",
}


def sheets(day: Reconciliation) -> list[Sheet]:
    """Those that have something to say, the result first."""
    found = [
        _does_not_balance(day),
        _links(day),
        _meters(day),
        *(_books(link) for link in day.links),
        _wagers(day),
        _awards(day),
        _fundings(day),
        _adjustments(day),
        _parameters(day),
        _unpaid(day),
        _numbers(day),
        _heads(day),
    ]
    return [sheet for sheet in found if sheet.rows]


def _does_not_balance(day: Reconciliation) -> Sheet:
    return Sheet(DOES_NOT_BALANCE, ("Problem",), tuple((problem,) for problem in day.problems))


def _links(day: Reconciliation) -> Sheet:
    columns = ("Link", "Currency", "Jackpot as displayed", "Pool", "Reserve", "Recoverable", "House", "State")
    return Sheet(
        "Progressive Jackpot at the day's end",
        columns,
        tuple(
            (
                link.link,
                link.currency,
                Money(micros(link.displayed_cents)),
                Money(link.closing.pool),
                Money(link.closing.reserve),
                Money(link.closing.recoverable),
                Money(link.closing.house),
                "does not balance" if link.problems else "balanced",
            )
            for link in day.links
        ),
        note="; ".join(f"{link.link}: held for the claim of {link.held_by}" for link in day.links if link.held_by),
    )


def _books(link: LinkDay) -> Sheet:
    columns = ("Movement", "Journals", "Wagered", "Recoverable", "Pool", "Reserve", "House", "Awarded")
    rows: list[Row] = [("Opening balance", "", *_balances(link.opening))]
    rows += [(KINDS[move.kind], move.journals, *_balances(move.postings)) for move in link.movements]
    rows.append(("Closing balance", "", *_balances(link.closing)))
    closing = link.closing
    equation = (
        f"Wagered {grouped(closing.wagered)} + Recoverable {grouped(closing.recoverable)} = "
        f"Pool {grouped(closing.pool)} + Reserve {grouped(closing.reserve)} + House {grouped(closing.house)} + "
        f"Awarded {grouped(closing.awarded)}; difference {grouped(link.difference_micros)}"
    )
    return Sheet(f"Books of {link.link}", columns, tuple(rows), frozenset({0, len(rows) - 1}), equation)


def _wagers(day: Reconciliation) -> Sheet:
    multipliers = tuple(f"{multiplier}x" for multiplier in range(1, 6))
    columns = ("Link", "Table", *multipliers, "Wagers", "Wagered", "Returned", "Returned amount", "Net wagered")
    return Sheet(
        "Progressive Jackpot wagers",
        columns,
        tuple(
            (
                link.link,
                table.table,
                *table.taken,
                sum(table.taken),
                Money(micros(table.taken_cents)),
                sum(table.returned),
                Money(micros(table.returned_cents)),
                Money(micros(table.taken_cents - table.returned_cents)),
            )
            for link in day.links
            for table in link.wagers
        ),
    )


def _awards(day: Reconciliation) -> Sheet:
    rows: list[Row] = []
    strong = set()
    for link in day.links:
        of_link = link.awards_by_rank
        rows += [(link.link, RANKS[rank], count, Money(micros(cents))) for rank, (count, cents) in of_link.items()]
        if of_link:
            strong.add(len(rows))
            counts, amounts = zip(*of_link.values(), strict=True)
            rows.append((link.link, "All awards", sum(counts), Money(micros(sum(amounts)))))
            rows.append((link.link, "Paid out on this day", link.payments, Money(micros(link.paid_cents))))
    return Sheet("Awards", ("Link", "Hand", "Awards", "Amount"), tuple(rows), frozenset(strong))


def _fundings(day: Reconciliation) -> Sheet:
    return Sheet(
        "Resets and who funded them",
        ("Link", "Journal", "What", "Time", "Table", "Round", "From the reserve", "From the house"),
        tuple(
            (
                link.link,
                funding.journal,
                KINDS[funding.kind],
                _local(day, funding.at),
                funding.table or "",
                funding.round or "",
                Money(funding.reserve_micros),
                Money(funding.house_micros),
            )
            for link in day.links
            for funding in link.fundings
        ),
    )


def _adjustments(day: Reconciliation) -> Sheet:
    return Sheet(
        "Adjustments",
        ("Link", "Journal", "Time", "Account", "Amount", "By", "Approved by", "Reason"),
        tuple(
            (
                link.link,
                adjustment.journal,
                _local(day, adjustment.at),
                adjustment.account,
                Money(adjustment.micros),
                adjustment.by,
                adjustment.approved_by,
                adjustment.reason,
            )
            for link in day.links
            for adjustment in link.adjustments
        ),
    )


def _parameters(day: Reconciliation) -> Sheet:
    return Sheet(
        "Parameters that came into force",
        ("Link", "Version", "Time", "Terms"),
        tuple(
            (link.link, changed.version, _local(day, changed.at), _terms(changed.parameters))
            for link in day.links
            for changed in link.parameters
        ),
    )


def _terms(parameters: Mapping[str, Any]) -> str:
    return ", ".join(f"{name} {value}" for name, value in parameters.items() if value is not None)


def _unpaid(day: Reconciliation) -> Sheet:
    return Sheet(
        "Awards made and not yet paid",
        ("Award", "Table", "Round", "Position", "Hand", "Amount", "Made"),
        tuple(
            (
                award.award,
                award.table,
                award.round,
                award.position,
                RANKS[award.rank],
                Money(micros(award.amount_cents)),
                _local(day, award.at),
            )
            for link in day.links
            for award in link.unpaid
        ),
    )


def _numbers(day: Reconciliation) -> Sheet:
    rows: list[Row] = []
    for link in day.links:
        for name, series in link.numbers.items():
            missing = ", ".join(f"{first} to {last}" if last > first else f"{first}" for first, last in series.missing)
            first, last = (str(series.first), str(series.last)) if series.count else ("", "")
            rows.append((link.link, name.capitalize(), first, last, series.count, missing or "none"))
    return Sheet("Numbers without holes", ("Link", "Series", "First", "Last", "Count", "Missing"), tuple(rows))


def _heads(day: Reconciliation) -> Sheet:
    rows: list[Row] = []
    for link in day.links:
        if (head := link.head) is not None:
            signed = "not found" if head.signed_at is None else _local(day, head.signed_at)
            rows.append((link.link, head.n, head.chain, signed, head.key or "", head.signature or ""))
    return Sheet(
        "Audit chain at the day's end",
        ("Link", "Event", "Chain", "Signed", "Key", "Signature"),
        tuple(rows),
        note="What lies before this event cannot change any more without changing its chain.",
    )


def _meters(day: Reconciliation) -> Sheet:
    columns = ["Table"]
    for counter in ("Wagers", "Wagered", "Awards", "Awarded"):
        columns += [counter, f"{counter} reported", f"{counter} variance"]
    return Sheet(
        METERS,
        (*columns, "State"),
        tuple(_meter_row(table) for table in day.tables),
        note="Variance is what the table reported less what the ledger says.",
    )


def _meter_row(table: TableDay) -> Row:
    cells: list[Cell] = [table.table]
    reported = None if table.reported is None else asdict(table.reported)
    for name, ours in asdict(table.ours).items():
        amounts: list[int | None] = [ours, None, None]
        if reported is not None:
            amounts = [ours, reported[name], table.variances.get(name, 0)]
        money = name.endswith("_cents")
        cells += ["" if amount is None else Money(micros(amount)) if money else amount for amount in amounts]
    return (*cells, table.state)


def _balances(balances: Balances) -> tuple[Money, ...]:
    return tuple(Money(amount) for amount in balances.amounts())


def _local(day: Reconciliation, at: dt.datetime) -> str:
    return f"{at.astimezone(day.starts.tzinfo):%Y-%m-%d %H:%M:%S}"
