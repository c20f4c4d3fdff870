"""What the four card games have in common: a dealer, positions with cards and wagers, one deck."""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final, TypeVar

from jackpot.rules.cards import DECK
from jackpot.rules.reading import a_list, an_integer, an_object, an_object_with, malformed, shown, true_or_false
from jackpot.rules.refusal import Code, RefusalError
from jackpot.rules.stakes import Maximums, Stake, read_maximums, read_stake, settle_stake
from jackpot.rules.verdict import Verdict

_ROUND_FIELDS: Final = frozenset({"game", "dealer", "positions"})
_POSITION_FIELDS: Final = frozenset({"position", "wagers"})

T = TypeVar("T", int, str)


@dataclass(frozen=True, slots=True)
class CardGame:
    """A card game's shape, with the paragraphs that say so."""

    name: str
    positions_max: int
    cards: int
    dealer_cards: int
    community_cards: int
    wagers: tuple[str, ...]
    required: tuple[str, ...]
    options: frozenset[str]
    """Fields that a position may have: `set`, `fold`, `declined`."""

    one_deck: str
    layout: str | None
    """None where the sheet does not count its positions."""
    playing_areas: str
    initial_wager: str
    one_wager: str | None
    wrong_dealer_count: str
    wrong_player_count: str
    over_maximum: str | None
    every_hand_shown: str | None = None
    """The paragraph by which no hand can be declined."""

    paid_on: Mapping[str, str] = field(default_factory=dict)
    """A payment that is no wager of its own, and the wager whose stake it is paid on."""


@dataclass(frozen=True, slots=True)
class Position:
    number: int
    cards: tuple[str, ...] | None
    """None: the hand was declined and its cards are not known."""
    wagers: Mapping[str, Stake]
    three_card_hand: tuple[str, ...] | None
    """The player's own `set` (Bullseye)."""
    fold: bool
    declined: bool

    def placed_cents(self, wager: str) -> int | None:
        return self.wagers[wager].placed_cents if wager in self.wagers else None


@dataclass(frozen=True, slots=True)
class CardRound:
    game: CardGame
    dealer: tuple[str, ...]
    community: tuple[str, ...]
    positions: tuple[Position, ...]

    def result(self, dealer: Mapping[str, Any], positions: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
        return {"game": self.game.name, "dealer": dealer, "positions": positions}

    def position_result(
        self, position: Position, outcome: Mapping[str, Any], verdicts: Mapping[str, Verdict]
    ) -> dict[str, Any]:
        wagers = {}
        for name, verdict in verdicts.items():
            stake = position.wagers[self.game.paid_on.get(name, name)]
            wagers[name] = settle_stake(verdict, stake, self.game.over_maximum)
        net_cents = sum(wager["net_cents"] for wager in wagers.values())
        return {"position": position.number, **outcome, "net_cents": net_cents, "wagers": wagers}


def read_card_round(game: CardGame, value: object) -> CardRound:
    required = _ROUND_FIELDS | {"community"} if game.community_cards else _ROUND_FIELDS
    fields = an_object_with(value, "the round", required, {"limits"})
    maximums = read_maximums(fields.get("limits", {}), game.wagers)
    dealer = _read_cards(fields["dealer"], "dealer", game.dealer_cards, game.wrong_dealer_count, game)
    community = _read_cards(
        fields.get("community", []), "community", game.community_cards, game.wrong_dealer_count, game
    )
    entries = a_list(fields["positions"], "positions")
    if not entries:
        raise RefusalError(Code.MALFORMED, "positions must have at least one entry")
    positions = tuple(_read_position(game, entry, maximums) for entry in entries)
    if taken := _first_repeated([position.number for position in positions]):
        raise RefusalError(Code.POSITION_TAKEN, f"position {taken} stands there twice", game.one_wager)
    cards = [*dealer, *community, *(card for position in positions for card in position.cards or ())]
    if twice := _first_repeated(cards):
        message = f"{twice} stands there twice; the game is played with one deck"
        raise RefusalError(Code.DUPLICATE_CARD, message, game.one_deck)
    return CardRound(game, dealer, community, positions)


def _read_position(game: CardGame, value: object, maximums: Maximums) -> Position:
    if game.every_hand_shown and "declined" in an_object(value, "a position"):
        message = "declined: in this game every hand is shown"
        raise RefusalError(Code.UNKNOWN_FIELD, message, game.every_hand_shown)
    fields = an_object_with(value, "a position", _POSITION_FIELDS, game.options | {"cards"})
    number = an_integer(fields["position"], "position")
    if not 1 <= number <= game.positions_max:
        message = f"position must be 1 to {game.positions_max}, not {shown(number)}"
        raise RefusalError(Code.BAD_POSITION, message, game.layout)
    where = f"position {number}"
    declined = true_or_false(fields.get("declined", False), f"{where}: declined")
    cards = None
    if "cards" in fields:
        cards = _read_cards(fields["cards"], f"{where}: cards", game.cards, game.wrong_player_count, game)
    elif not declined:
        raise RefusalError(Code.MALFORMED, f'{where}: "cards" is missing')
    return Position(
        number=number,
        cards=cards,
        wagers=_read_wagers(game, fields["wagers"], where, maximums),
        three_card_hand=_read_set(game, fields["set"], where) if "set" in fields else None,
        fold=true_or_false(fields.get("fold", False), f"{where}: fold"),
        declined=declined,
    )


def _read_cards(value: object, where: str, count: int, wrong_count: str, game: CardGame) -> tuple[str, ...]:
    cards = a_list(value, where)
    if len(cards) != count:
        raise RefusalError(Code.WRONG_CARD_COUNT, f"{where} must be {count} cards, not {len(cards)}", wrong_count)
    return tuple(_read_card(card, where, game.one_deck) for card in cards)


def _read_card(value: object, where: str, one_deck: str) -> str:
    if not isinstance(value, str):
        raise malformed(f"{where}: a card", 'text like "As"', value)
    if value not in DECK:
        message = f'{where}: no card {shown(value)}; a card is rank and suit, like "As", "Td", "9h", "2c"'
        raise RefusalError(Code.UNKNOWN_CARD, message, one_deck)
    return value


def _read_wagers(game: CardGame, value: object, where: str, maximums: Maximums) -> dict[str, Stake]:
    placed = an_object(value, f"{where}: wagers")
    for wager in game.required:
        if wager not in placed:
            raise RefusalError(Code.NO_WAGER, f"{where} has no {wager} wager", game.initial_wager)
    for wager in placed:
        if wager not in game.wagers:
            message = f"{where}: no wager {shown(wager)}; there is {', '.join(game.wagers)}"
            raise RefusalError(Code.UNKNOWN_WAGER, message, game.playing_areas)
    return {
        wager: read_stake(placed[wager], f"{where}: {wager}", maximums.get(wager))
        for wager in game.wagers
        if wager in placed
    }


def _read_set(game: CardGame, value: object, where: str) -> tuple[str, ...]:
    return tuple(_read_card(card, f"{where}: set", game.one_deck) for card in a_list(value, f"{where}: set"))


def _first_repeated(values: Sequence[T]) -> T | None:
    if len(set(values)) == len(values):
        return None
    return next(value for value, times in Counter(values).items() if times > 1)
