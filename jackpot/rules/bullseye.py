"""Megalink Bullseye (BE): Main, Tie, Bullseye and Suits, the House Way, and 3 and 6 for each other."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from itertools import combinations, product
from typing import Any, Final

from jackpot.rules.card_round import CardGame, CardRound, Position, read_card_round
from jackpot.rules.cards import PICTURES, RANKS, SUITS
from jackpot.rules.refusal import Code, RefusalError
from jackpot.rules.verdict import Lost, Pays, PayTable, Pushed, Verdict

GAME: Final = CardGame(
    name="bullseye",
    positions_max=6,
    cards=5,
    dealer_cards=5,
    community_cards=0,
    wagers=("main", "tie", "bullseye", "suits"),
    required=("main",),
    options=frozenset({"set", "declined"}),
    one_deck="BE 2.1",
    layout="BE 2.2",
    playing_areas="BE 2.2.1",
    initial_wager="BE 3.5",
    one_wager="BE 3.5.2",
    wrong_dealer_count="BE 5.3",
    wrong_player_count="BE 5.7",
    over_maximum="BE 5.14",
)

NO_THREE_CARD_HAND: Final = "none"
GNAU_TUNG_KU: Final = "gnau_tung_ku"
MIXED_PICTURES: Final = "mixed_pictures"
POINT_HANDS: Final = (  # BE 3.15, from the lowest
    NO_THREE_CARD_HAND,
    *(str(points) for points in range(1, 11)),
    MIXED_PICTURES,
    *(f"pair_{rank}" for rank in RANKS),
    GNAU_TUNG_KU,
)
_ORDER: Final = {name: place for place, name in enumerate(POINT_HANDS)}

MAIN: Final = PayTable(
    "main",
    "BE 4.1",
    {GNAU_TUNG_KU: Pays(5), "pair": Pays(3), MIXED_PICTURES: Pays(2), "point_total": Pays(1)},
    otherwise=Lost("BE 3.15"),
)
TIE: Final = PayTable(
    "tie",
    "BE 4.2",
    {"same_hand_ranking": Pays(8), "both_without_3_card_hand": Pays(8)},
    otherwise=Lost("BE 1.1.13"),
)
BULLSEYE: Final = PayTable(
    "bullseye",
    "BE 4.3",
    {"3_picture_cards": Pays(10), "4_picture_cards": Pays(20), "5_picture_cards": Pays(200)},
    otherwise=Lost("BE 1.1.3"),
)
SUITS_TABLE: Final = PayTable(
    "suits",
    "BE 4.4",
    {"3_suited_cards": Pays(1), "4_suited_cards": Pays(5), "5_suited_cards": Pays(20)},
    otherwise=Lost("BE 1.1.12"),
)
PAY_TABLES: Final = (MAIN, TIE, BULLSEYE, SUITS_TABLE)

_NOT_EXPOSED: Final = Lost("BE 3.17")
_PLAYER_WITHOUT_3_CARD_HAND: Final = Lost("BE 3.10.4")
_DEALER_WITHOUT_3_CARD_HAND: Final = Pushed("BE 3.14.1")
_EQUAL: Final = Pushed("BE 3.15")
_ONLY_DEALER_WITHOUT: Final = Lost("BE 3.14.2")


def _values(rank: str, picture: int) -> tuple[int, ...]:
    """What a card may count as, its face value first. BE 3.4.2: a 3 or a 6 is worth either."""
    if rank in PICTURES:
        return (picture,)
    if rank in "36":
        return (3, 6) if rank == "3" else (6, 3)
    return (1,) if rank == "A" else (10,) if rank == "T" else (int(rank),)


_IN_3_CARD_HAND: Final = {rank: _values(rank, picture=10) for rank in RANKS}  # BE 3.4.1
_IN_POINT_HAND: Final = {rank: _values(rank, picture=0) for rank in RANKS}


@cache
def _counted(a: str, b: str, c: str) -> tuple[int, ...] | None:
    ways = product(_IN_3_CARD_HAND[a], _IN_3_CARD_HAND[b], _IN_3_CARD_HAND[c])
    return next((values for values in ways if sum(values) % 10 == 0), None)


def counted_as(three: Sequence[str]) -> tuple[int, ...] | None:
    """What three cards count as to total 10, 20 or 30 (BE 1.1.1); None if they cannot."""
    a, b, c = three
    return _counted(a[0], b[0], c[0])


@cache
def point_hand(first: str, second: str) -> str:
    """Name what two cards are worth when the other three are a 3 Card Hand."""
    a, b = first[0], second[0]
    if (first == "As" and b in PICTURES) or (second == "As" and a in PICTURES):
        return GNAU_TUNG_KU
    if a == b:
        return f"pair_{a}"  # BE 3.4.3: never the sum of its cards; BE 3.4.2.1: a 3 and a 6 are no pair
    if a in PICTURES and b in PICTURES:
        return MIXED_PICTURES
    totals = (x + y for x in _IN_POINT_HAND[a] for y in _IN_POINT_HAND[b])
    return str(max(total if total <= 10 else total % 10 for total in totals))  # BE 3.11, 3.4.2: the highest


@dataclass(frozen=True, slots=True)
class Arrangement:
    three_card_hand: tuple[str, ...]
    other_two: tuple[str, str]

    @property
    def point_hand(self) -> str:
        return point_hand(*self.other_two)

    @property
    def order(self) -> int:
        return _ORDER[self.point_hand]


def arrange(cards: Sequence[str], three: Sequence[str]) -> Arrangement:
    first, second = (card for card in cards if card not in three)
    return Arrangement(tuple(three), (first, second))


def arrangements(cards: Sequence[str]) -> list[Arrangement]:
    """Every way to set five cards, the House Way first (BE 1.1.5): the highest Point Hand."""
    found = [arrange(cards, three) for three in combinations(cards, 3) if counted_as(three)]
    return sorted(found, key=lambda arrangement: -arrangement.order)


def house_way(cards: Sequence[str]) -> str:
    """Name the Point Hand of the House Way."""
    found = arrangements(cards)
    return found[0].point_hand if found else NO_THREE_CARD_HAND


def _point_hand_of(position: Position) -> str | None:
    """The position's Point Hand, as the player set it or by the House Way; None if it was not exposed."""
    chosen, cards = position.three_card_hand, position.cards
    if chosen is not None and (cards is None or len(set(chosen)) != 3 or len(chosen) != 3 or set(chosen) - set(cards)):
        message = f"position {position.number}: set must name three of the position's own cards"
        raise RefusalError(Code.BAD_SET, message, "BE 3.10.1")
    if cards is None or position.declined:
        return None
    if chosen is not None and counted_as(chosen):
        return arrange(cards, chosen).point_hand  # BE 3.10.1: best or not
    return house_way(cards)  # BE 3.12


def main_outcome(point: str) -> str:
    """The line of the Main pay table on which a Point Hand wins."""
    if point.startswith("pair_"):
        return "pair"
    return "point_total" if point.isdecimal() else point


def _main(player: str, dealer: str) -> Verdict:
    if player == NO_THREE_CARD_HAND:
        return _PLAYER_WITHOUT_3_CARD_HAND
    if dealer == NO_THREE_CARD_HAND:
        return _DEALER_WITHOUT_3_CARD_HAND
    if player == dealer:
        return _EQUAL
    return MAIN.verdict(main_outcome(player)) if _ORDER[player] > _ORDER[dealer] else MAIN.otherwise


def _tie(player: str, dealer: str) -> Verdict:
    if player == dealer:
        both_without = player == NO_THREE_CARD_HAND
        return TIE.verdict("both_without_3_card_hand" if both_without else "same_hand_ranking")
    return _ONLY_DEALER_WITHOUT if dealer == NO_THREE_CARD_HAND else TIE.otherwise


def bullseye_outcome(cards: Sequence[str]) -> str:
    return f"{sum(card[0] in PICTURES for card in cards)}_picture_cards"


def suits_outcome(cards: Sequence[str]) -> str:
    suits = [card[1] for card in cards]
    return f"{max(suits.count(suit) for suit in SUITS)}_suited_cards"


def _settle_position(table: CardRound, position: Position, dealer: str) -> dict[str, Any]:
    point = _point_hand_of(position)
    verdicts: dict[str, Verdict]
    if point is None or position.cards is None:
        verdicts = dict.fromkeys(position.wagers, _NOT_EXPOSED)
    else:
        every = {
            "main": _main(point, dealer),
            "tie": _tie(point, dealer),
            "bullseye": BULLSEYE.verdict(bullseye_outcome(position.cards)),
            "suits": SUITS_TABLE.verdict(suits_outcome(position.cards)),
        }
        verdicts = {wager: every[wager] for wager in position.wagers}
    return table.position_result(position, {"point_hand": point}, verdicts)


def settle(value: object) -> dict[str, Any]:
    table = read_card_round(GAME, value)
    dealer = house_way(table.dealer)  # BE 3.13
    return table.result(
        {"point_hand": dealer}, [_settle_position(table, position, dealer) for position in table.positions]
    )
