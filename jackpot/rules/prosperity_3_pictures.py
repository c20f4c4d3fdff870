"""Prosperity 3 Pictures (P3P): Main, Tie, Player and Dealer Prosperity Pictures, Picture Perfect."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Final

from jackpot.rules.card_round import CardGame, CardRound, Position, read_card_round
from jackpot.rules.cards import PICTURES
from jackpot.rules.verdict import Lost, Pays, PayTable, Pushed, Verdict

GAME: Final = CardGame(
    name="prosperity-3-pictures",
    positions_max=7,
    cards=3,
    dealer_cards=3,
    community_cards=0,
    wagers=("main", "tie", "player_prosperity", "dealer_prosperity", "picture_perfect"),
    required=("main",),
    options=frozenset(),
    one_deck="P3P 2.1",
    layout=None,
    playing_areas="P3P 2.2",
    initial_wager="P3P 3.4",
    one_wager=None,
    wrong_dealer_count="P3P 5.4",
    wrong_player_count="P3P 5.3",
    over_maximum=None,
    every_hand_shown="P3P 3.6",
)

MAIN: Final = PayTable(
    "main",
    "P3P 4.1",
    {"wins_on_six_points": Pays(1, to=2), "wins_on_other_points": Pays(1)},
    otherwise=Lost("P3P 3.12"),
)
TIE: Final = PayTable("tie", "P3P 4.1", {"perfect_tie": Pays(400), "tie": Pays(10)}, otherwise=Lost("P3P 3.13"))
_PROSPERITY: Final = {
    "three_kings": Pays(250),
    "three_queens": Pays(250),
    "three_jacks": Pays(250),
    "three_mixed_pictures": Pays(25),
    "any_picture_pair": Pays(15),
}
PLAYER_PROSPERITY: Final = PayTable("player_prosperity", "P3P 4.2", _PROSPERITY, otherwise=Lost("P3P 1.1.4"))
DEALER_PROSPERITY: Final = PayTable("dealer_prosperity", "P3P 4.2", _PROSPERITY, otherwise=Lost("P3P 1.1.4"))
PICTURE_PERFECT: Final = PayTable(
    "picture_perfect",
    "P3P 4.3",
    {"1_matching_picture": Pays(5), "2_matching_pictures": Pays(100), "3_matching_pictures": Pays(500)},
    otherwise=Lost("P3P 1.1.3"),
)
PAY_TABLES: Final = (MAIN, TIE, PLAYER_PROSPERITY, DEALER_PROSPERITY, PICTURE_PERFECT)

_THREE_OF: Final = {"K": "three_kings", "Q": "three_queens", "J": "three_jacks"}
_BOTH_THREE_PICTURES: Final = Pushed("P3P 3.11.1")
_PERFECT_TIE: Final = Pushed("P3P 3.13.2")
_TIE: Final = Pushed("P3P 3.13.1")
_BELOW_THREE_PICTURES: Final = Lost("P3P 3.11")
_FEWER_PICTURES: Final = Lost("P3P 3.13")


@dataclass(frozen=True, slots=True)
class PictureHand:
    points: int
    pictures: int
    ranks: str
    """The three ranks in one order, so that hands alike except for suit are equal."""

    @property
    def strength(self) -> tuple[bool, int, int]:
        return (self.pictures == 3, self.points, self.pictures)  # P3P 3.11, 3.12, 3.13

    def fields(self) -> dict[str, int]:
        return {"points": self.points, "pictures": self.pictures}


def picture_hand(cards: Sequence[str]) -> PictureHand:
    ranks = "".join(sorted(card[0] for card in cards))
    total = sum(1 if rank == "A" else int(rank) for rank in ranks if rank not in "TJQK")  # P3P 3.9.1
    return PictureHand(total % 10, sum(rank in PICTURES for rank in ranks), ranks)


def prosperity_outcome(hand: PictureHand) -> str:
    pictures = [rank for rank in hand.ranks if rank in PICTURES]
    if hand.pictures == 3:
        return _THREE_OF[pictures[0]] if len(set(pictures)) == 1 else "three_mixed_pictures"
    return "any_picture_pair" if hand.pictures == 2 and pictures[0] == pictures[1] else "no_picture_pair"


def picture_perfect_outcome(player: PictureHand, dealer: PictureHand) -> str:
    matching = sum(min(player.ranks.count(rank), dealer.ranks.count(rank)) for rank in PICTURES)
    return f"{matching}_matching_picture{'s' if matching != 1 else ''}"


def main_outcome(hand: PictureHand) -> str:
    """The line of the pay table on which a hand wins."""
    return "wins_on_six_points" if hand.points == 6 else "wins_on_other_points"


def tie_outcome(player: PictureHand, dealer: PictureHand) -> str:
    if player.strength != dealer.strength:
        return "no_tie"
    return "perfect_tie" if player.ranks == dealer.ranks else "tie"


def main_verdict(player: PictureHand, dealer: PictureHand) -> Verdict:
    if player.strength > dealer.strength:
        return MAIN.verdict(main_outcome(player))
    if player.strength == dealer.strength:
        if player.ranks == dealer.ranks:
            return _PERFECT_TIE
        return _BOTH_THREE_PICTURES if player.pictures == 3 else _TIE
    if dealer.pictures == 3:
        return _BELOW_THREE_PICTURES
    return _FEWER_PICTURES if player.points == dealer.points else MAIN.otherwise


def _settle_position(table: CardRound, position: Position, dealer: PictureHand) -> dict[str, Any]:
    player = picture_hand(position.cards or ())
    every = {
        "main": main_verdict(player, dealer),
        "tie": TIE.verdict(tie_outcome(player, dealer)),
        "player_prosperity": PLAYER_PROSPERITY.verdict(prosperity_outcome(player)),
        "dealer_prosperity": DEALER_PROSPERITY.verdict(prosperity_outcome(dealer)),
        "picture_perfect": PICTURE_PERFECT.verdict(picture_perfect_outcome(player, dealer)),
    }
    verdicts = {wager: every[wager] for wager in position.wagers}
    return table.position_result(position, player.fields(), verdicts)


def settle(value: object) -> dict[str, Any]:
    table = read_card_round(GAME, value)
    dealer = picture_hand(table.dealer)
    return table.result(dealer.fields(), [_settle_position(table, position, dealer) for position in table.positions])
