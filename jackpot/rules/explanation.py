"""Explains a hand: how it ranks, what it pays, and the paragraph that says so. For a dispute at the table."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from types import MappingProxyType
from typing import Final, assert_never

from jackpot.rules import (
    bullseye,
    fast_action_roulette,
    megalink,
    prosperity_3_pictures,
    three_card_poker_xtreme,
    ultimate_texas_holdem,
)
from jackpot.rules.card_round import CardGame
from jackpot.rules.cards import DECK
from jackpot.rules.poker import best_five, three_cards
from jackpot.rules.refusal import Code, RefusalError
from jackpot.rules.verdict import Lost, PayTable, Pushed, Verdict, Won


@dataclass(frozen=True, slots=True)
class Finding:
    """What the cards make, and how."""

    what: str
    found: str
    how: str
    rule: str


@dataclass(frozen=True, slots=True)
class PayLine:
    """What a wager pays on an outcome."""

    wager: str
    outcome: str
    pays: str
    rule: str


@dataclass(frozen=True, slots=True)
class Explanation:
    game: str
    hand: tuple[str, ...]
    findings: tuple[Finding, ...]
    pay_lines: tuple[PayLine, ...]


_PAY_TABLES: Final[Mapping[str, tuple[PayTable, ...]]] = MappingProxyType(
    {
        bullseye.GAME.name: bullseye.PAY_TABLES,
        ultimate_texas_holdem.GAME.name: ultimate_texas_holdem.PAY_TABLES,
        three_card_poker_xtreme.GAME.name: three_card_poker_xtreme.PAY_TABLES,
        fast_action_roulette.NAME: fast_action_roulette.PAY_TABLES,
        prosperity_3_pictures.GAME.name: prosperity_3_pictures.PAY_TABLES,
    }
)


def explain_game(game: str) -> Explanation:
    """Every pay table of a game."""
    lines = [line for table in _PAY_TABLES[game] for line in _pay_lines(table)]
    if game in megalink.GAMES:
        pay_table = megalink.GAMES[game].pay_table
        lines += [_jackpot_line(line.rank, pay_table) for line in megalink.PAY_TABLE]
    return Explanation(game, (), (), tuple(lines))


def _pay_lines(table: PayTable) -> tuple[PayLine, ...]:
    return tuple(PayLine(table.wager, outcome, str(pays), table.rule) for outcome, pays in table.pays.items())


def explain_hand(game: str, hand: Sequence[str]) -> Explanation:
    """What a hand of a game makes and pays; refused if it cannot be one."""
    return _EXPLAIN[game](tuple(hand))


def read_card(written: str, one_deck: str | None = None) -> str:
    """A card as people write it ("10h", "AS", "K♦") by its code."""
    code = written.strip().upper().replace("10", "T")
    code = code[:-1] + code[-1:].translate(str.maketrans("♣♦♥♠CDHS", "cdhscdhs"))
    if code not in DECK:
        message = f'no card "{written}"; a card is rank and suit, like As, Td, 9h, 2c'
        raise RefusalError(Code.UNKNOWN_CARD, message, one_deck)
    return code


def _cards(game: CardGame, hand: Sequence[str], counts: Mapping[int, str]) -> tuple[str, ...]:
    if len(hand) not in counts:
        ways = "; or ".join(f"{count}: {what}" for count, what in counts.items())
        raise RefusalError(Code.WRONG_CARD_COUNT, f"cards given: {len(hand)}; give {ways}", game.wrong_player_count)
    cards = tuple(read_card(card, game.one_deck) for card in hand)
    if len(set(cards)) < len(cards):
        twice = next(card for card in cards if cards.count(card) > 1)
        message = f"{twice} is given twice; the game is played with one deck"
        raise RefusalError(Code.DUPLICATE_CARD, message, game.one_deck)
    return cards


def _pays(table: PayTable, outcome: str, when: str = "") -> PayLine:
    return _line(table.wager, outcome, table.verdict(outcome), when)


def _line(wager: str, outcome: str, verdict: Verdict, when: str = "") -> PayLine:
    match verdict:
        case Won(pays, rule):
            return PayLine(wager, outcome, f"{pays}{when}", rule)
        case Lost(rule):
            return PayLine(wager, outcome, "loses", rule)
        case Pushed(rule):
            return PayLine(wager, outcome, f"pushes{when}", rule)
        case _:
            assert_never(verdict)


def _jackpot_line(rank: megalink.Rank, rule: str) -> PayLine:
    pays = "nothing"
    if rank in megalink.SHARE_PERCENT:
        pays = f"{megalink.SHARE_PERCENT[rank]} % of the pool"
    elif rank in megalink.ODDS:
        pays = f"{megalink.ODDS[rank]} for 1"
    return PayLine("progressive_jackpot", rank, pays, rule)


def _jackpot(game: str, cards: Sequence[str], how: str) -> tuple[Finding, PayLine]:
    linked, rank = megalink.GAMES[game], megalink.jackpot_rank(cards)
    return Finding("jackpot_hand", rank, how, linked.jackpot_hand), _jackpot_line(rank, linked.pay_table)


_IF_IT_WINS: Final = ", if the hand wins"


def _bullseye(hand: tuple[str, ...]) -> Explanation:
    cards = _cards(bullseye.GAME, hand, {5: "the position's own cards"})
    arrangements = bullseye.arrangements(cards)
    findings = [
        Finding(
            "also_possible" if place else "point_hand",
            arrangement.point_hand,
            _arranged(arrangement),
            "BE 3.10.1" if place else "BE 1.1.5",
        )
        for place, arrangement in enumerate(arrangements)
    ]
    if arrangements:
        main = _pays(bullseye.MAIN, bullseye.main_outcome(arrangements[0].point_hand), _IF_IT_WINS)
    else:
        none = bullseye.NO_THREE_CARD_HAND
        findings = [Finding("point_hand", none, "no three cards total 10, 20 or 30", "BE 3.10.4")]
        main = PayLine("main", none, "loses", "BE 3.10.4")
    jackpot, jackpot_line = _jackpot(bullseye.GAME.name, cards, "all five cards; a 3 or a 6 at face value")
    lines = (
        main,
        _pays(bullseye.BULLSEYE, bullseye.bullseye_outcome(cards)),
        _pays(bullseye.SUITS_TABLE, bullseye.suits_outcome(cards)),
        jackpot_line,
    )
    return Explanation(bullseye.GAME.name, cards, (*findings, jackpot), lines)


def _arranged(arrangement: bullseye.Arrangement) -> str:
    three = arrangement.three_card_hand
    counted = bullseye.counted_as(three) or ()
    parts = " + ".join(f"{card} ({value})" for card, value in zip(three, counted, strict=True))
    return f"{parts} = {sum(counted)}, which leaves {' '.join(arrangement.other_two)}"


def _ultimate_texas_holdem(hand: tuple[str, ...]) -> Explanation:
    ways = {5: "two hole cards and the flop", 7: "two hole cards and the five community cards"}
    cards = _cards(ultimate_texas_holdem.GAME, hand, ways)
    name = ultimate_texas_holdem.GAME.name
    jackpot, jackpot_line = _jackpot(name, cards[:5], f"hole cards and flop: {' '.join(cards[:5])}")
    if len(cards) == 5:
        return Explanation(name, cards, (jackpot,), (jackpot_line,))
    best = best_five(cards)
    five = next(five for five in combinations(cards, 5) if best_five(five).strength == best.strength)
    finding = Finding("hand", best.name, f"the best five: {' '.join(five)}", "UTH 3.10")
    lines = (
        _pays(ultimate_texas_holdem.ANTE, "ante_wins", _IF_IT_WINS + " and the dealer has a pair or better"),
        _pays(ultimate_texas_holdem.PLAY, "play_wins", _IF_IT_WINS),
        _pays(ultimate_texas_holdem.BLIND, best.name, _IF_IT_WINS),
        _pays(ultimate_texas_holdem.TRIPS, best.name),
        jackpot_line,
    )
    return Explanation(name, cards, (finding, jackpot), lines)


def _three_card_poker_xtreme(hand: tuple[str, ...]) -> Explanation:
    ways = {
        3: "the position's cards",
        5: "the same and the two community cards",
        6: "the position's cards and the dealer's three",
        8: "the position's cards, the two community cards and the dealer's three",
    }
    cards = _cards(three_card_poker_xtreme.GAME, hand, ways)
    name, own = three_card_poker_xtreme.GAME.name, cards[:3]
    three = three_cards(own)
    findings = [Finding("hand", three.name, f"the position's cards: {' '.join(own)}", "TCX 3.14")]
    lines = [
        _pays(three_card_poker_xtreme.ANTE, "ante_wins", _IF_IT_WINS + " or the dealer is below Queen high"),
        _pays(three_card_poker_xtreme.PLAY, "play_wins", _IF_IT_WINS + " and the dealer has Queen high or better"),
        _pays(three_card_poker_xtreme.PAIR_PLUS, three.name),
    ]
    if three.name in three_card_poker_xtreme.ANTE_BONUS.pays:
        lines.append(_pays(three_card_poker_xtreme.ANTE_BONUS, three.name, ", without a fold"))
    if len(cards) in (6, 8):
        six = (*own, *cards[-3:])
        best = best_five(six)
        findings.append(Finding("six_card_hand", best.name, f"the best five of {' '.join(six)}", "TCX 3.10.1"))
        lines.append(_pays(three_card_poker_xtreme.SIX_CARD_BONUS, best.name))
    if len(cards) in (5, 8):
        jackpot, jackpot_line = _jackpot(name, cards[:5], f"own and community cards: {' '.join(cards[:5])}")
        findings.append(jackpot)
        lines.append(jackpot_line)
    return Explanation(name, cards, tuple(findings), tuple(lines))


def _prosperity_3_pictures(hand: tuple[str, ...]) -> Explanation:
    game = prosperity_3_pictures
    cards = _cards(game.GAME, hand, {3: "the position's cards", 6: "the position's cards and the dealer's three"})
    player = game.picture_hand(cards[:3])
    if len(cards) == 3:
        return Explanation(
            game.GAME.name,
            cards,
            (_picture_finding("hand", cards),),
            (
                _pays(game.MAIN, game.main_outcome(player), _IF_IT_WINS),
                _pays(game.PLAYER_PROSPERITY, game.prosperity_outcome(player)),
            ),
        )
    dealer = game.picture_hand(cards[3:])
    tie = game.tie_outcome(player, dealer)
    wins = player.strength > dealer.strength
    return Explanation(
        game.GAME.name,
        cards,
        (_picture_finding("hand", cards[:3]), _picture_finding("dealer_hand", cards[3:])),
        (
            _line("main", game.main_outcome(player) if wins else tie, game.main_verdict(player, dealer)),
            _pays(game.TIE, tie),
            _pays(game.PLAYER_PROSPERITY, game.prosperity_outcome(player)),
            _pays(game.DEALER_PROSPERITY, game.prosperity_outcome(dealer)),
            _pays(game.PICTURE_PERFECT, game.picture_perfect_outcome(player, dealer)),
        ),
    )


def _picture_finding(what: str, cards: Sequence[str]) -> Finding:
    hand = prosperity_3_pictures.picture_hand(cards)
    found = "three_pictures" if hand.pictures == 3 else f"{hand.points}_points"
    rule = "P3P 3.11" if hand.pictures == 3 else "P3P 3.10"
    return Finding(what, found, f"{' '.join(cards)}: {hand.points} points, {hand.pictures} pictures", rule)


def _fast_action_roulette(hand: tuple[str, ...]) -> Explanation:
    game = fast_action_roulette
    winning, *bonus = (game.read_number(number.upper(), "explain") for number in hand)
    link = next(name for name, numbers in game.LINKS.items() if winning in numbers)
    of_link = Finding("link", link, f"{winning} stands with {' '.join(game.LINKS[link])}", "FAR 1.1.11")
    if not bonus:
        return Explanation(game.NAME, (winning,), (of_link,), _pay_lines(game.STRAIGHT_UP))
    drawn = game.read_bonus(bonus)
    outcome = game.winning_outcome(winning, drawn)
    among = "is among" if winning in drawn else "is not among"
    supers = " ".join(game.super_bonus_links(drawn)) or "none"
    scatter = game.is_scatter_bonus(drawn)
    findings = (
        of_link,
        Finding("winning_number", outcome, f"{winning} {among} the ten Bonus Numbers", "FAR 4.1"),
        Finding("super_bonus_links", supers, "links whose four numbers are all Bonus Numbers", "FAR 1.1.11"),
        Finding("scatter_bonus", "yes" if scatter else "no", "a Bonus Number in each of the ten links", "FAR 1.1.8"),
    )
    verdicts = game.verdicts_of_round(winning, drawn)
    scattered = game.SCATTER_BONUS.wager
    outcomes = {scattered: scattered if scatter else f"no_{scattered}"}
    lines = [_line(bet, outcomes.get(bet, outcome), verdict) for bet, verdict in verdicts.items()]
    return Explanation(game.NAME, (winning, *bonus), findings, tuple(lines))


_EXPLAIN: Final[Mapping[str, Callable[[tuple[str, ...]], Explanation]]] = MappingProxyType(
    {
        bullseye.GAME.name: _bullseye,
        ultimate_texas_holdem.GAME.name: _ultimate_texas_holdem,
        three_card_poker_xtreme.GAME.name: _three_card_poker_xtreme,
        fast_action_roulette.NAME: _fast_action_roulette,
        prosperity_3_pictures.GAME.name: _prosperity_3_pictures,
    }
)
