"""Megalink Ultimate Texas Hold'em (UTH): Ante, Blind, Play and Trips."""

from typing import Any, Final

from jackpot.rules.card_round import CardGame, CardRound, Position, read_card_round
from jackpot.rules.poker import FiveCard, Hand, best_five
from jackpot.rules.refusal import Code, RefusalError
from jackpot.rules.verdict import Lost, Pays, PayTable, Pushed, Verdict

GAME: Final = CardGame(
    name="ultimate-texas-holdem",
    positions_max=7,
    cards=2,
    dealer_cards=2,
    community_cards=5,
    wagers=("ante", "blind", "play", "trips"),
    required=("ante", "blind"),
    options=frozenset({"fold", "declined"}),
    one_deck="UTH 2.1",
    layout="UTH 2.2",
    playing_areas="UTH 2.2.1",
    initial_wager="UTH 3.4",
    one_wager="UTH 3.4.2",
    wrong_dealer_count="UTH 5.3",
    wrong_player_count="UTH 5.7",
    over_maximum="UTH 5.14",
)

ANTE: Final = PayTable("ante", "UTH 4.1.1", {"ante_wins": Pays(1)}, otherwise=Lost("UTH 3.10.5"))
PLAY: Final = PayTable("play", "UTH 4.1.1", {"play_wins": Pays(1)}, otherwise=Lost("UTH 3.10.5"))
BLIND: Final = PayTable(
    "blind",
    "UTH 4.1.1",
    {
        FiveCard.ROYAL_FLUSH: Pays(500),
        FiveCard.STRAIGHT_FLUSH: Pays(50),
        FiveCard.FOUR_OF_A_KIND: Pays(10),
        FiveCard.FULL_HOUSE: Pays(3),
        FiveCard.FLUSH: Pays(3, to=2),
        FiveCard.STRAIGHT: Pays(1),
    },
    otherwise=Pushed("UTH 3.10.4"),
)
TRIPS: Final = PayTable(
    "trips",
    "UTH 4.1.1",
    {
        FiveCard.ROYAL_FLUSH: Pays(100),
        FiveCard.STRAIGHT_FLUSH: Pays(40),
        FiveCard.FOUR_OF_A_KIND: Pays(30),
        FiveCard.FULL_HOUSE: Pays(8),
        FiveCard.FLUSH: Pays(7),
        FiveCard.STRAIGHT: Pays(4),
        FiveCard.THREE_OF_A_KIND: Pays(3),
    },
    otherwise=Lost("UTH 1.1.14"),
)
PAY_TABLES: Final = (ANTE, PLAY, BLIND, TRIPS)

_FOLDED: Final = Lost("UTH 3.9.6.1")
_DEALER_BELOW_A_PAIR: Final = Pushed("UTH 3.10.2")
_EQUAL: Final = Pushed("UTH 3.10.8")
_NOT_EXPOSED: Final = Lost("UTH 3.10.1")


def _check_wagers(position: Position, community: tuple[str, ...]) -> None:
    where = f"position {position.number}"
    ante, play = position.wagers["ante"].placed_cents, position.placed_cents("play")
    if position.placed_cents("blind") != ante:
        raise RefusalError(Code.AMOUNT_MISMATCH, f"{where}: blind must equal ante", "UTH 1.1.2")
    if (play is None) != position.fold:
        raise RefusalError(Code.PLAY_OR_FOLD, f"{where}: either a play wager or a fold", "UTH 3.9.6")
    if play is not None and play not in (ante, 2 * ante, 3 * ante, 4 * ante):
        raise RefusalError(Code.AMOUNT_MISMATCH, f"{where}: play must be 1, 2, 3 or 4 times the ante", "UTH 3.9")
    if position.declined and "trips" in position.wagers and best_five(community).name in TRIPS.pays:
        message = f"{where}: trips wins on the community cards, so the hand must not be declined"
        raise RefusalError(Code.MUST_NOT_DECLINE, message, "UTH 3.10.1.1")


def qualifies(dealer: Hand[FiveCard]) -> bool:
    return dealer.name is not FiveCard.HIGH_CARD  # UTH 3.10.2


def _against_the_dealer(position: Position, hand: Hand[FiveCard] | None, dealer: Hand[FiveCard]) -> dict[str, Verdict]:
    """What becomes of Ante, Blind and Play; `hand` is None if it was not exposed."""
    if position.fold:
        return {"ante": _FOLDED, "blind": _FOLDED}
    ante: Verdict
    blind: Verdict
    play: Verdict
    if hand is None:
        ante = blind = play = _NOT_EXPOSED
    elif hand.strength > dealer.strength:
        ante, blind, play = ANTE.verdict("ante_wins"), BLIND.verdict(hand.name), PLAY.verdict("play_wins")
    elif hand.strength == dealer.strength:
        ante = blind = play = _EQUAL
    else:
        ante = blind = play = PLAY.otherwise
    if not qualifies(dealer):
        ante = _DEALER_BELOW_A_PAIR  # UTH 3.10.2 goes before 3.10.5
    return {"ante": ante, "blind": blind, "play": play}


def _settle_position(table: CardRound, position: Position, dealer: Hand[FiveCard]) -> dict[str, Any]:
    hand = None
    if position.cards is not None and not position.declined:
        hand = best_five(position.cards + table.community)
    verdicts = _against_the_dealer(position, hand, dealer)
    if "trips" in position.wagers:
        verdicts["trips"] = TRIPS.verdict(hand.name) if hand else _NOT_EXPOSED
    return table.position_result(position, {"hand": hand and hand.name}, verdicts)


def settle(value: object) -> dict[str, Any]:
    table = read_card_round(GAME, value)
    for position in table.positions:
        _check_wagers(position, table.community)
    dealer = best_five(table.dealer + table.community)
    return table.result(
        {"hand": dealer.name, "qualifies": qualifies(dealer)},
        [_settle_position(table, position, dealer) for position in table.positions],
    )
