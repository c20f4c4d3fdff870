"""An award slip: everything an award was worked out from, so that anyone can do it again with nothing but the slip."""

from collections.abc import Iterator
from typing import Any

import msgspec
from msgspec import Struct

from jackpot.formatting.money import cents, grouped
from jackpot.link.awards import Award, Payout
from jackpot.link.commands import CommandRefusedError, parameters_from
from jackpot.link.money import Balances, whole_cents
from jackpot.link.parameters import Reading
from jackpot.link.rounds import PERCENTAGE, Hand, Round, Wager
from jackpot.link.state import LinkState, Table
from jackpot.rules.cards import DECK
from jackpot.rules.megalink import GAMES, JackpotGame, Rank, jackpot_rank


class SlipHand(Struct, frozen=True, forbid_unknown_fields=True):
    position: int
    entry: int
    multiplier: int
    stake_cents: int
    """As it was placed: the unit may have changed since."""
    cards: tuple[str, ...]
    community: tuple[str, ...]

    @property
    def unit_cents(self) -> int:
        return self.stake_cents // self.multiplier


class Move(Struct, frozen=True, forbid_unknown_fields=True):
    """What an earlier-entered round took from the pool, or what was put in for it, after this claim's entry (D5)."""

    journal: int
    kind: str
    award: str | None
    table: str
    micros: int


class Base(Struct, frozen=True, forbid_unknown_fields=True):
    """The pool when the round's first percentage hand was entered, and how it moved before the award was made."""

    entry: int
    at: str
    pool_micros: int
    moved: tuple[Move, ...]

    @property
    def micros(self) -> int:
        return self.pool_micros + sum(move.micros for move in self.moved)


class Said(Struct, frozen=True, forbid_unknown_fields=True):
    """An event of the ledger: a table said it, or a person."""

    n: int
    id: str
    type: str
    at: str
    table: str | None
    by: str | None
    reason: str | None


class Slip(Struct, frozen=True, forbid_unknown_fields=True):
    award: dict[str, Any]
    """As the contract shows it."""
    currency: str
    game: str
    parameters_version: int
    parameters: dict[str, Any]
    hands: tuple[SlipHand, ...]
    """The hand that won; of a percentage award, all percentage hands of its round, for they are paid together."""
    base: Base | None
    working: dict[str, Any]
    confirmed: Said
    """What settled the round."""
    made: Said
    """What the award was made with: the same, or what ended the round that it waited for (D6)."""
    paid: Said | None
    journal: int
    chain: str

    @property
    def winner(self) -> SlipHand:
        return next(hand for hand in self.hands if hand.position == self.award["position"])

    @property
    def waited(self) -> bool:
        return self.made.n != self.confirmed.n


class NotWorkableError(Exception):
    """The slip cannot be worked out; the text says what on it is impossible."""


def problems(slip: Slip) -> list[str]:
    """What on the slip does not follow from the rest of it; empty if it is right."""
    try:
        award = work_out(slip)
    except NotWorkableError as error:
        return [str(error)]
    due = {**award.document(), "award": slip.award.get("award")}
    found = [
        f"{name} is {slip.award.get(name)!r}, it works out as {value!r}"
        for name, value in due.items()
        if slip.award.get(name) != value
    ]
    if slip.working != msgspec.to_builtins(award.working):
        found.append(f"the working is {slip.working!r}, it works out as {award.working!r}")
    return found


def work_out(slip: Slip) -> Award:
    """Make the award again, by the rules alone."""
    shown = slip.award
    game = GAMES.get(slip.game)
    if game is None:
        raise NotWorkableError(f"{slip.game!r} has no progressive jackpot")
    try:
        parameters = parameters_from(slip.parameters)
        position, table, at = int(shown["position"]), str(shown["table"]), str(shown["at"])
        round_ = Round(table, str(shown["round"]), wagers=_wagers(slip), hands=_hands(slip, game))
        link = str(shown["link"])
    except (CommandRefusedError, msgspec.ValidationError, KeyError, TypeError, ValueError) as error:
        raise NotWorkableError(f"it cannot be read: {error}") from error
    pool = 0 if slip.base is None else slip.base.micros
    state = LinkState(
        link,
        {table: Table(table, game, game.positions_max)},
        parameters,
        slip.parameters_version,
        balances=Balances(pool=pool, house=-pool),
    )
    payout = Payout(state, at)
    if slip.base is None:
        payout.pay_odds(round_)
    else:
        payout.pay_shares(round_, waited=slip.waited)
    award = next((award for award in payout.awards if award.position == position), None)
    if award is None:
        raise NotWorkableError(f"the hand of position {position} wins no such award")
    return award


def _wagers(slip: Slip) -> dict[int, Wager]:
    for hand in slip.hands:
        if hand.multiplier < 1 or hand.stake_cents != hand.multiplier * hand.unit_cents:
            raise NotWorkableError(f"{cents(hand.stake_cents)} is no wager at {hand.multiplier}x")
    return {hand.position: Wager(hand.multiplier, hand.stake_cents) for hand in slip.hands}


def _hands(slip: Slip, game: JackpotGame) -> dict[int, Hand]:
    """D13: the cards decide, and each is there once."""
    hands: dict[int, Hand] = {}
    seen: list[str] = []
    for hand in slip.hands:
        cards = (*hand.cards, *hand.community)
        if (len(hand.cards), len(hand.community)) != (game.cards, game.community) or not DECK.issuperset(cards):
            raise NotWorkableError(f"{' '.join(cards)} is no jackpot hand of {game.name}")
        seen += hand.cards
        rank = jackpot_rank(cards)
        base = slip.base.micros if slip.base is not None and rank in PERCENTAGE else None
        hands[hand.position] = Hand(hand.entry, hand.cards, hand.community, rank, base)
    seen += slip.hands[0].community if slip.hands else ()
    if len(set(seen)) != len(seen):
        raise NotWorkableError("a card is in the round twice")
    first = min((hand.entry for hand in hands.values() if hand.base_micros is not None), default=None)
    if slip.base is not None and slip.base.entry != first:
        raise NotWorkableError(f"the base is that of entry {slip.base.entry}, the first percentage hand is {first}")
    return hands


def arithmetic(slip: Slip) -> Iterator[str]:
    """The sum, line by line, as it is done by hand."""
    award, working = slip.award, slip.working
    if slip.base is None:
        units = f"{slip.winner.multiplier} x {cents(slip.winner.unit_cents)}"
        yield f"Stake: {units} = {cents(working['stake_cents'])}"
        yield f"{working['odds']} for 1 x {cents(working['stake_cents'])} = {cents(award['amount_cents'])}"
        return
    base = slip.base
    yield f"Pool when entry {base.entry} was made: {grouped(base.pool_micros)}"
    for move in base.moved:
        what = f"award {move.award}" if move.award else f"{move.kind} of the pool"
        yield f"Since then, table {move.table}, {what}: {grouped(move.micros)}"
    yield f"As displayed, truncated to the cent: {cents(whole_cents(base.micros))}"
    if whole_cents(base.micros) != award["base_cents"]:
        yield f"After the round's Straight Flushes: {cents(award['base_cents'])}"
    yield from _split(slip)


def _split(slip: Slip) -> Iterator[str]:
    award, working = slip.award, slip.working
    total, left = award["base_cents"], award["base_cents"]
    if award["rank"] == Rank.STRAIGHT_FLUSH:
        for nth, draw in enumerate(working["draws_cents"]):
            from_reset = nth > 0 and working["reading"] == Reading.RESET_AMOUNT
            source = f"the reset amount {cents(working['reset_cents'])}" if from_reset else cents(left)
            yield f"{working['percent']} % of {source} = {cents(draw)}"
            left -= 0 if from_reset else draw
        total = sum(working["draws_cents"])
    else:
        for reset in working["resets_cents"]:
            yield f"{cents(total)} + reset amount {cents(reset)} = {cents(total + reset)}"
            total += reset
    if award["shared_by"] > 1:
        yield (
            f"{cents(total)} / {award['shared_by']} = {cents(award['amount_cents'])}, "
            f"odd cents left in the pool: {working['odd_cents']}"
        )
    elif award["rank"] == Rank.ROYAL_FLUSH:
        yield f"{working['percent']} % of {cents(total)} = {cents(award['amount_cents'])}"
