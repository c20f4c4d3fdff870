"""The award slip for people, section by section, and as plain text."""

from collections.abc import Iterable, Iterator

from jackpot.finance.reconciliation.sheets import RANKS
from jackpot.finance.slips.data import Said, Slip, SlipHand, arithmetic
from jackpot.formatting.money import cents
from jackpot.rules.megalink import Rank

DECISIONS = {
    "D2": "the displayed amount is the pool truncated to the cent",
    "D5": "the base is the pool when the round's first percentage hand was entered",
    "D6": "first entered, first paid",
    "D7": "a shared Straight Flush is drawn for each winner, added up and divided",
    "D8": "a shared Royal Flush adds a reset amount for each further winner",
    "D9": "odd cents stay in the pool",
    "D10": "Straight Flushes are paid before Royal Flushes, from one base",
    "D11": "the reset is funded from the reserve first",
    "D12": "odds for 1 include the stake and are multiplied",
}

SUITS = {"c": "♣", "d": "♦", "h": "♥", "s": "♠"}
GAP = 2 * "\N{NO-BREAK SPACE}"

Section = tuple[str, list[tuple[str, str]]]


def sections(slip: Slip) -> Iterator[Section]:
    """What is printed, in order: each section its title, each line its label and its text."""
    award = slip.award
    hand = slip.winner
    yield (
        "Hand",
        [
            ("Table", f"{award['table']} ({slip.game}) of link {award['link']}"),
            ("Round", f"{award['round']}, position {award['position']}"),
            ("Hand", f"{RANKS[Rank(award['rank'])]}: {_cards(hand)}"),
            ("Wager", f"{hand.multiplier} x {cents(hand.unit_cents)} {slip.currency}"),
        ],
    )
    yield "Order", list(_order(slip))
    yield "Arithmetic", [("", text) for text in arithmetic(slip)]
    yield (
        "Rules",
        [
            ("Paragraphs", ", ".join(award["rules"])),
            *((decision, DECISIONS[decision]) for decision in award["decisions"]),
            ("Parameters", f"version {slip.parameters_version}: {_terms(slip)}"),
        ],
    )
    yield (
        "Record",
        [
            ("Confirmed", _said(slip.confirmed)),
            *([("Made with", _said(slip.made))] if slip.waited else []),
            ("Paid", "not yet" if slip.paid is None else _said(slip.paid)),
            ("Ledger", f"event {slip.made.n}, journal {slip.journal}"),
            ("Chain", slip.chain),
        ],
    )


def _order(slip: Slip) -> Iterator[tuple[str, str]]:
    yield "Entry", f"number {slip.award['entry']} of the link"
    if slip.base is not None:
        waited = "waited for rounds entered earlier" if slip.waited else "first in line when its round was settled"
        yield "Claim", waited
        for other in slip.hands:
            if other.position != slip.award["position"]:
                where = f"position {other.position}, entry {other.entry}"
                yield "Same round", f"{where}: {_cards(other)}"


def _cards(hand: SlipHand) -> str:
    return _signed(hand.cards) + (f" with {_signed(hand.community)}" if hand.community else "")


def _signed(cards: Iterable[str]) -> str:
    """`As Td` with their suits' signs."""
    return GAP.join(f"{'10' if card[0] == 'T' else card[0]}{SUITS[card[1]]}" for card in cards)


def _terms(slip: Slip) -> str:
    return ", ".join(f"{name} {value}" for name, value in slip.parameters.items() if value is not None)


def _said(said: Said) -> str:
    who = f"table {said.table}" if said.table else f"{said.by} ({said.reason})"
    return f"{who}, {said.type} at {said.at}, event {said.id}"


def as_text(slip: Slip) -> str:
    lines = [f"AWARD {slip.award['award']}", f"{cents(slip.award['amount_cents'])} {slip.currency}"]
    for title, rows in sections(slip):
        lines += ["", title]
        lines += [f"  {label:<13}{text}" if label else f"  {text}" for label, text in rows]
    return "\n".join(lines) + "\n"
