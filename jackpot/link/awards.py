"""What a settled round is paid: odds from the house, shares from the pool, and the resets behind them."""

from dataclasses import dataclass
from typing import Any, Literal

from jackpot.contract.messages import AwardMessage
from jackpot.link.money import Journal, Kind, micros, post
from jackpot.link.parameters import Parameters, Reading
from jackpot.link.rounds import Hand, Round
from jackpot.link.state import LinkState
from jackpot.rules.megalink import ODDS, SHARE_PERCENT, Rank


@dataclass(frozen=True, slots=True, kw_only=True)
class Award:
    """One award, with all that is needed to work it out again by hand."""

    number: int
    link: str
    table: str
    round: str
    position: int
    entry: int
    rank: Rank
    kind: Literal["percentage", "fixed"]
    amount_cents: int
    base_cents: int | None
    shared_by: int
    multiplier: int
    rules: tuple[str, ...]
    decisions: tuple[str, ...]
    at: str
    parameters_version: int
    working: dict[str, Any]
    """Cards and arithmetic, as they go onto the award slip."""

    @property
    def id(self) -> str:
        return award_id(self.link, self.number)

    def document(self) -> AwardMessage:
        """The award as the contract shows it."""
        return {
            "award": self.id,
            "link": self.link,
            "table": self.table,
            "round": self.round,
            "position": self.position,
            "entry": self.entry,
            "rank": self.rank.value,
            "kind": self.kind,
            "amount_cents": self.amount_cents,
            "base_cents": self.base_cents,
            "shared_by": self.shared_by,
            "multiplier": self.multiplier,
            "rules": list(self.rules),
            "decisions": list(self.decisions),
            "at": self.at,
        }


def award_id(link: str, number: int) -> str:
    return f"{link}-{number:06d}"


@dataclass(frozen=True, slots=True)
class Split:
    """How a share is worked out: what each winner gets and what was put into the pool to pay it."""

    each_cents: int
    odd_cents: int
    funded_cents: int
    working: dict[str, Any]


def split_straight_flush(base_cents: int, winners: int, parameters: Parameters) -> Split:
    """D7: by successive draws, or by the reset amount. Each 10 % is truncated by itself."""
    percent = SHARE_PERCENT[Rank.STRAIGHT_FLUSH]
    draws, funded, left = [], 0, base_cents
    for drawn in range(winners):
        if drawn == 0 or parameters.shared_straight_flush is Reading.SUCCESSIVE:
            draw = left * percent // 100
            left -= draw
        else:
            draw = parameters.reset_cents * percent // 100
            funded += draw
        draws.append(draw)
    each, odd = divmod(sum(draws), winners)
    return Split(each, odd, funded, {"draws_cents": draws, "reading": parameters.shared_straight_flush.value})


def split_royal_flush(base_cents: int, winners: int, parameters: Parameters) -> Split:
    """D8: the displayed amount and a reset amount for each further winner, divided equally."""
    added = (winners - 1) * parameters.reset_cents
    each, odd = divmod(base_cents + added, winners)
    return Split(each, odd, added, {"resets_cents": [parameters.reset_cents] * (winners - 1)})


class Payout:
    """Pays awards one after another and keeps the books while it does."""

    def __init__(self, state: LinkState, at: str) -> None:
        self.link = state.link
        self.tables = state.tables
        self.parameters = state.parameters
        self.parameters_version = self.state_version = state.parameters_version
        self.parameters_next = state.parameters_next
        self.balances = state.balances
        self.number = state.award
        self.at = at
        self.journals: list[Journal] = []
        self.awards: list[Award] = []

    def post(self, kind: Kind, round_: Round, **postings: Any) -> None:
        journal = post(self.balances, kind, table=round_.table, round=round_.id, **postings)
        self.journals.append(journal)
        self.balances = journal.after

    def changed_parameters(self) -> tuple[int, Parameters, Parameters | None] | None:
        if self.parameters_version == self.state_version:
            return None
        return self.parameters_version, self.parameters, self.parameters_next

    def pay_odds(self, round_: Round) -> None:
        """D12: fixed awards come from the house, multiplied; the stake is part of them."""
        game = self.tables[round_.table].game
        for position, hand in _by_entry(round_, ODDS):
            wager = round_.wagers[position]
            amount = ODDS[hand.rank] * wager.stake_cents
            multiplied = (game.multiplied,) if game.multiplied and wager.multiplier > 1 else ()
            award = self._award(
                round_,
                position,
                hand,
                kind="fixed",
                amount_cents=amount,
                base_cents=None,
                shared_by=1,
                rules=(game.pay_table, *multiplied),
                decisions=("D12",),
                working={"odds": ODDS[hand.rank]},
            )
            self.post(Kind.ODDS, round_, award=award, house=-micros(amount), awarded=micros(amount))

    def pay_shares(self, round_: Round, *, waited: bool) -> int:
        """D10: Straight Flushes, then Royals, from one base. Returns by how many micros the pool changed."""
        game = self.tables[round_.table].game
        pool_before = self.balances.pool
        base = round_.base_cents
        flushes = _by_entry(round_, {Rank.STRAIGHT_FLUSH})
        royals = _by_entry(round_, {Rank.ROYAL_FLUSH})
        common_rules = (game.first_entered,) if waited else ()
        common = ("D2", "D5", *(("D6",) if waited else ()), *(("D10",) if flushes and royals else ()))
        if flushes:
            split = split_straight_flush(base, len(flushes), self.parameters)
            self._fund(Kind.FUNDING, round_, split.funded_cents)
            shared = len(flushes) > 1
            self._pay_split(
                round_,
                flushes,
                base,
                split,
                rules=(game.pay_table, *((game.shared_straight_flush,) if shared else ()), *common_rules),
                decisions=(*common, *(("D7",) if shared else ())),
            )
            base += split.funded_cents - split.each_cents * len(flushes)
        if royals:
            split = split_royal_flush(base, len(royals), self.parameters)
            self._fund(Kind.RESET, round_, split.funded_cents)
            shared_rule = (game.shared_royal,) if len(royals) > 1 and game.shared_royal else ()
            after_lower = (game.royal_after_lower,) if flushes else ()
            self._pay_split(
                round_,
                royals,
                base,
                split,
                rules=(game.pay_table, *shared_rule, *after_lower, *common_rules),
                decisions=(*common, *(("D8",) if len(royals) > 1 else ()), "D11"),
            )
            self._next_parameters()
            self._fund(Kind.RESET, round_, self.parameters.reset_cents)
        return self.balances.pool - pool_before

    def _pay_split(
        self,
        round_: Round,
        winners: list[tuple[int, Hand]],
        base_cents: int,
        split: Split,
        *,
        rules: tuple[str, ...],
        decisions: tuple[str, ...],
    ) -> None:
        odd = ("D9",) if split.odd_cents else ()
        for position, hand in winners:
            award = self._award(
                round_,
                position,
                hand,
                kind="percentage",
                amount_cents=split.each_cents,
                base_cents=base_cents,
                shared_by=len(winners),
                rules=rules,
                decisions=(*decisions, *odd),
                working={
                    "percent": SHARE_PERCENT[hand.rank],
                    "reset_cents": self.parameters.reset_cents,
                    "odd_cents": split.odd_cents,
                    **split.working,
                },
            )
            amount = micros(split.each_cents)
            self.post(Kind.SHARE, round_, award=award, pool=-amount, awarded=amount)

    def _award(self, round_: Round, position: int, hand: Hand, **what: Any) -> int:
        """Makes the award and returns its number."""
        self.number += 1
        what["decisions"] = tuple(sorted(what["decisions"], key=lambda decision: int(decision[1:])))
        wager = round_.wagers[position]
        what["working"] |= {
            "stake_cents": wager.stake_cents,
            "cards": list(hand.cards),
            "community": list(hand.community),
        }
        award = Award(
            number=self.number,
            link=self.link,
            table=round_.table,
            round=round_.id,
            position=position,
            entry=hand.entry,
            rank=hand.rank,
            multiplier=wager.multiplier,
            at=self.at,
            parameters_version=self.parameters_version,
            **what,
        )
        self.awards.append(award)
        return self.number

    def _fund(self, kind: Kind, round_: Round, cents: int) -> None:
        """D11: from the reserve first, the house pays the shortfall."""
        if cents:
            from_reserve = min(self.balances.reserve, micros(cents))
            from_house = micros(cents) - from_reserve
            self.post(kind, round_, pool=micros(cents), reserve=-from_reserve, house=-from_house)

    def _next_parameters(self) -> None:
        """Approved parameters that waited for a win are those of the next jackpot, its reset amount first."""
        if self.parameters_next is not None:
            self.parameters, self.parameters_next = self.parameters_next, None
            self.parameters_version += 1


def _by_entry(round_: Round, ranks: Any) -> list[tuple[int, Hand]]:
    """The standing hands of these ranks, in the order in which they were entered."""
    found = [(position, hand) for position, hand in round_.hands.items() if hand.rank in ranks]
    return sorted(found, key=lambda item: item[1].entry)
