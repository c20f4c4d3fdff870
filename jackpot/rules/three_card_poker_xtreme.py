"""Megalink Three Card Poker Xtreme (TCX): Ante, Play, Ante Bonus, Pair Plus and Six Card Bonus."""

from typing import Any, Final

from jackpot.rules.card_round import CardGame, CardRound, Position, read_card_round
from jackpot.rules.cards import RANKS
from jackpot.rules.poker import FiveCard, Hand, ThreeCard, best_five, three_cards
from jackpot.rules.refusal import Code, RefusalError
from jackpot.rules.verdict import Lost, Pays, PayTable, Pushed, Verdict

GAME: Final = CardGame(
    name="three-card-poker-xtreme",
    positions_max=7,
    cards=3,
    dealer_cards=3,
    community_cards=2,
    wagers=("ante", "play", "pair_plus", "six_card_bonus"),
    required=(),
    options=frozenset({"fold", "declined"}),
    one_deck="TCX 2.1",
    layout="TCX 2.2",
    playing_areas="TCX 2.2.1",
    initial_wager="TCX 3.4",
    one_wager="TCX 3.4.2",
    wrong_dealer_count="TCX 5.3",
    wrong_player_count="TCX 5.7",
    over_maximum="TCX 5.14",
    paid_on={"ante_bonus": "ante"},  # TCX 1.1.2
)

ANTE: Final = PayTable("ante", "TCX 4.1", {"ante_wins": Pays(1)}, otherwise=Lost("TCX 3.12.2"))
PLAY: Final = PayTable("play", "TCX 4.1", {"play_wins": Pays(1)}, otherwise=Lost("TCX 3.12.2"))
ANTE_BONUS: Final = PayTable(
    "ante_bonus",
    "TCX 4.2",
    {
        ThreeCard.STRAIGHT_FLUSH: Pays(5),
        ThreeCard.THREE_OF_A_KIND: Pays(4),
        ThreeCard.STRAIGHT: Pays(1),
    },
    otherwise=Pushed("TCX 1.1.2"),
)
PAIR_PLUS: Final = PayTable(
    "pair_plus",
    "TCX 4.3",
    {
        ThreeCard.STRAIGHT_FLUSH: Pays(40),
        ThreeCard.THREE_OF_A_KIND: Pays(30),
        ThreeCard.STRAIGHT: Pays(5),
        ThreeCard.FLUSH: Pays(4),
        ThreeCard.PAIR: Pays(1),
    },
    otherwise=Lost("TCX 1.1.7"),
)
SIX_CARD_BONUS: Final = PayTable(
    "six_card_bonus",
    "TCX 4.5",
    {
        FiveCard.ROYAL_FLUSH: Pays(500),
        FiveCard.STRAIGHT_FLUSH: Pays(100),
        FiveCard.FOUR_OF_A_KIND: Pays(50),
        FiveCard.FULL_HOUSE: Pays(20),
        FiveCard.FLUSH: Pays(15),
        FiveCard.STRAIGHT: Pays(10),
        FiveCard.THREE_OF_A_KIND: Pays(7),
    },
    otherwise=Lost("TCX 1.1.11"),
)
PAY_TABLES: Final = (ANTE, PLAY, ANTE_BONUS, PAIR_PLUS, SIX_CARD_BONUS)

_FOLDED: Final = Lost("TCX 3.9.1")
_NO_BONUS_AFTER_A_FOLD: Final = Pushed("TCX 3.9.1")
_DEALER_BELOW_A_QUEEN: Final = Pushed("TCX 3.11.1")
_STAND_OFF: Final = Pushed("TCX 3.12.3")
_NOT_EXPOSED: Final = Lost("TCX 3.10.3")
_NO_BONUS_UNEXPOSED: Final = Pushed("TCX 3.10.3")
_QUEEN: Final = RANKS.index("Q")


def _check_wagers(position: Position) -> None:
    where = f"position {position.number}"
    ante, play = position.placed_cents("ante"), position.placed_cents("play")
    if not position.wagers.keys() - {"play"}:
        message = f"{where} needs an ante, pair_plus or six_card_bonus wager"
        raise RefusalError(Code.NO_WAGER, message, "TCX 3.4")
    if ante is None:
        if play is not None:
            raise RefusalError(Code.NO_WAGER, f"{where}: a play wager needs an ante", "TCX 1.1.8")
        return
    if (play is None) != position.fold:
        raise RefusalError(Code.PLAY_OR_FOLD, f"{where}: either a play wager or a fold", "TCX 3.9")
    if play not in (None, ante):
        raise RefusalError(Code.AMOUNT_MISMATCH, f"{where}: play must equal ante", "TCX 3.9.2")


def qualifies(dealer: Hand[ThreeCard]) -> bool:
    return dealer.name is not ThreeCard.HIGH_CARD or dealer.strength[1] >= _QUEEN  # TCX 3.11, 3.12


def _against_the_dealer(
    position: Position, hand: Hand[ThreeCard] | None, dealer: Hand[ThreeCard]
) -> dict[str, Verdict]:
    """What becomes of Ante, Ante Bonus and Play; `hand` is None if it was not exposed."""
    if position.fold:
        return {"ante": _FOLDED, "ante_bonus": _NO_BONUS_AFTER_A_FOLD}
    ante: Verdict
    play: Verdict
    if not qualifies(dealer):
        ante, play = ANTE.verdict("ante_wins"), _DEALER_BELOW_A_QUEEN
    elif hand is None:
        ante = play = _NOT_EXPOSED
    elif hand.strength > dealer.strength:
        ante, play = ANTE.verdict("ante_wins"), PLAY.verdict("play_wins")
    elif hand.strength == dealer.strength:
        ante = play = _STAND_OFF
    else:
        ante = play = PLAY.otherwise
    bonus = ANTE_BONUS.verdict(hand.name) if hand else _NO_BONUS_UNEXPOSED
    return {"ante": ante, "ante_bonus": bonus, "play": play}


def _settle_position(table: CardRound, position: Position, dealer: Hand[ThreeCard]) -> dict[str, Any]:
    hand = six = None
    if position.cards is not None and not position.declined:
        hand, six = three_cards(position.cards), best_five(position.cards + table.dealer)
    verdicts = _against_the_dealer(position, hand, dealer) if "ante" in position.wagers else {}
    if "pair_plus" in position.wagers:
        verdicts["pair_plus"] = PAIR_PLUS.verdict(hand.name) if hand else _NOT_EXPOSED
    if "six_card_bonus" in position.wagers:
        verdicts["six_card_bonus"] = SIX_CARD_BONUS.verdict(six.name) if six else _NOT_EXPOSED
    outcome = {"hand": hand and hand.name, "six_card_hand": six and six.name}
    return table.position_result(position, outcome, verdicts)


def settle(value: object) -> dict[str, Any]:
    table = read_card_round(GAME, value)
    for position in table.positions:
        _check_wagers(position)
    dealer = three_cards(table.dealer)
    return table.result(
        {"hand": dealer.name, "qualifies": qualifies(dealer)},
        [_settle_position(table, position, dealer) for position in table.positions],
    )
