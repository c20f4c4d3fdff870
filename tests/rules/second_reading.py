"""The sheets read a second time: plain and slow, sharing nothing with the engine, to hold its results against.

Each function takes a round as JSON has it and gives the net of every wager, without limits.
"""

from collections import Counter
from itertools import combinations, permutations, product
from typing import Any

from phevaluator import evaluate_cards  # type: ignore[import-untyped]  # it ships without types

Nets = dict[str, int]
Round = dict[str, Any]

FACE = {**{str(number): number for number in range(2, 10)}, "T": 10, "J": 11, "Q": 12, "K": 13, "A": 14}

# The last of each kind in the library's order of 7,462 hands.
KINDS = [
    (1, "royal_flush"),
    (10, "straight_flush"),
    (166, "four_of_a_kind"),
    (322, "full_house"),
    (1599, "flush"),
    (1609, "straight"),
    (2467, "three_of_a_kind"),
    (3325, "two_pairs"),
    (6185, "pair"),
    (7462, "high_card"),
]
BLIND = {
    "royal_flush": (500, 1),
    "straight_flush": (50, 1),
    "four_of_a_kind": (10, 1),
    "full_house": (3, 1),
    "flush": (3, 2),
    "straight": (1, 1),
}
TRIPS = dict(zip((name for _, name in KINDS), (100, 40, 30, 8, 7, 4, 3), strict=False))
SIX_CARDS = dict(zip((name for _, name in KINDS), (500, 100, 50, 20, 15, 10, 7), strict=False))
PAIR_PLUS = {5: 40, 4: 30, 3: 5, 2: 4, 1: 1}
ANTE_BONUS = {5: 5, 4: 4, 3: 1}


def kind(rank: int) -> str:
    return next(name for last, name in KINDS if rank <= last)


def side(stake: int, odds: int | None) -> int:
    return -stake if odds is None else stake * odds


def ultimate_texas_holdem(round_: Round, entry: Round) -> Nets:
    wagers = entry["wagers"]
    ante, play = wagers["ante"], wagers.get("play", 0)
    community, declined = round_["community"], entry.get("declined", False)
    dealer = evaluate_cards(*round_["dealer"], *community)
    own = 9999 if declined else evaluate_cards(*entry["cards"], *community)  # the lower the better
    nets = {"ante": -ante, "blind": -ante}
    if not entry.get("fold", False):
        nets["play"] = -play
        if own < dealer:
            odds, to = BLIND.get(kind(own), (0, 1))
            nets = {"ante": ante, "blind": ante * odds // to, "play": play}
        elif own == dealer:
            nets = dict.fromkeys(nets, 0)
        if kind(dealer) == "high_card":
            nets["ante"] = 0
    if "trips" in wagers:
        nets["trips"] = side(wagers["trips"], None if declined else TRIPS.get(kind(own)))
    return nets


def three_of(cards: list[str]) -> tuple[int, list[int]]:
    high = sorted((FACE[card[0]] for card in cards), reverse=True)
    low = [3, 2, 1] if high == [14, 3, 2] else high
    run = low == list(range(low[0], low[0] - 3, -1))
    suited = len({card[1] for card in cards}) == 1
    by_number = sorted(high, key=lambda rank: (high.count(rank), rank), reverse=True)
    order = 5 if run and suited else 4 if len(set(high)) == 1 else 3 if run else 2 if suited else 0
    return (order, low) if run else (1, by_number) if len(set(high)) == 2 else (order, high)


def three_card_poker_xtreme(round_: Round, entry: Round) -> Nets:
    wagers, declined = entry["wagers"], entry.get("declined", False)
    dealer = three_of(round_["dealer"])
    own = (-1, [0]) if declined else three_of(entry["cards"])
    nets = {}
    if "ante" in wagers:
        ante = wagers["ante"]
        if entry.get("fold", False):
            nets = {"ante": -ante, "ante_bonus": 0}
        else:
            sign = (own > dealer) - (own < dealer)
            qualified = dealer[0] > 0 or dealer[1][0] >= 12
            bonus = ante * ANTE_BONUS.get(own[0], 0)
            nets = {"ante": ante * sign if qualified else ante, "play": ante * sign if qualified else 0}
            nets["ante_bonus"] = bonus
    if "pair_plus" in wagers:
        nets["pair_plus"] = side(wagers["pair_plus"], PAIR_PLUS.get(own[0]))
    if "six_card_bonus" in wagers:
        odds = None
        if not declined:
            odds = SIX_CARDS.get(kind(evaluate_cards(*entry["cards"], *round_["dealer"])))
        nets["six_card_bonus"] = side(wagers["six_card_bonus"], odds)
    return nets


POINT_HANDS = [
    "gnau_tung_ku",
    "pair_A",
    "pair_K",
    "pair_Q",
    "pair_J",
    "pair_T",
    "pair_9",
    "pair_8",
    "pair_7",
    "pair_6",
    "pair_5",
    "pair_4",
    "pair_3",
    "pair_2",
    "mixed_pictures",
    "10",
    "9",
    "8",
    "7",
    "6",
    "5",
    "4",
    "3",
    "2",
    "1",
    "none",
]


def worths(card: str, picture: int) -> list[int]:
    rank = card[0]
    return [3, 6] if rank in "36" else [picture] if rank in "JQK" else [1 if rank == "A" else FACE[rank]]


def totals_tens(three: tuple[str, ...] | list[str]) -> bool:
    return any(sum(ways) in (10, 20, 30) for ways in product(*(worths(card, 10) for card in three)))


def two_left(one: str, other: str) -> str:
    if one == "As" and other[0] in "JQK":
        return "gnau_tung_ku"
    if one[0] == other[0]:
        return "pair_" + one[0]
    if one[0] in "JQK" and other[0] in "JQK":
        return "mixed_pictures"
    best = 0
    for ways in product(worths(one, 0), worths(other, 0)):
        total = sum(ways)
        best = max(best, total if total <= 10 else int(str(total)[-1]))
    return str(best)


def house_way(cards: list[str]) -> str:
    """Brute force: every three of the five cards, the other two in either order."""
    best = "none"
    for three in combinations(cards, 3):
        if totals_tens(three):
            for order in permutations(set(cards) - set(three)):
                best = min(best, two_left(*order), key=POINT_HANDS.index)
    return best


def bullseye(round_: Round, entry: Round) -> Nets:
    wagers = entry["wagers"]
    if entry.get("declined", False):
        return {wager: -stake for wager, stake in wagers.items()}
    cards, dealer = entry["cards"], house_way(round_["dealer"])
    own = house_way(cards)
    if "set" in entry and totals_tens(entry["set"]):
        rest = [card for card in cards if card not in entry["set"]]
        own = min((two_left(*order) for order in permutations(rest)), key=POINT_HANDS.index)
    place, dealers = POINT_HANDS.index(own), POINT_HANDS.index(dealer)
    times = {"gnau": 5, "pair": 3, "mixed": 2}.get(own.split("_")[0], 1)
    main = -1 if own == "none" else 0 if dealer == "none" or place == dealers else times if place < dealers else -1
    suited = max(Counter(card[1] for card in cards).values())
    every = {
        "main": wagers["main"] * main,
        "tie": side(wagers.get("tie", 0), 8 if own == dealer else None),
        "bullseye": side(
            wagers.get("bullseye", 0), {3: 10, 4: 20, 5: 200}.get(sum(card[0] in "JQK" for card in cards))
        ),
        "suits": side(wagers.get("suits", 0), {3: 1, 4: 5, 5: 20}.get(suited)),
    }
    return {wager: every[wager] for wager in wagers}


def prosperity_3_pictures(round_: Round, entry: Round) -> Nets:
    wagers = entry["wagers"]

    def read(cards: list[str]) -> tuple[list[str], int, list[str]]:
        pictures = sorted(card[0] for card in cards if card[0] in "JQK")
        total = sum({"A": 1, "T": 0, "J": 0, "Q": 0, "K": 0}.get(card[0], FACE[card[0]]) for card in cards)
        return pictures, total % 10, sorted(card[0] for card in cards)

    (own, points, ranks), (theirs, dealers, dealers_ranks) = read(entry["cards"]), read(round_["dealer"])
    score = 1000 if len(own) == 3 else 10 * points + len(own)
    against = 1000 if len(theirs) == 3 else 10 * dealers + len(theirs)

    def prosperity(pictures: list[str]) -> int | None:
        if len(pictures) == 3:
            return 250 if len(set(pictures)) == 1 else 25
        return 15 if len(pictures) == 2 and len(set(pictures)) == 1 else None

    matching = sum((Counter(own) & Counter(theirs)).values())
    tie = None if score != against else 400 if ranks == dealers_ranks else 10
    main = wagers["main"]
    every = {
        "main": 0 if score == against else -main if score < against else main // 2 if points == 6 else main,
        "tie": side(wagers.get("tie", 0), tie),
        "player_prosperity": side(wagers.get("player_prosperity", 0), prosperity(own)),
        "dealer_prosperity": side(wagers.get("dealer_prosperity", 0), prosperity(theirs)),
        "picture_perfect": side(wagers.get("picture_perfect", 0), {1: 5, 2: 100, 3: 500}.get(matching)),
    }
    return {wager: every[wager] for wager in wagers}


ROWS = [["0", "00", "S", "MBS"], *([str(number) for number in range(low, low + 4)] for low in range(1, 37, 4))]


def fast_action_roulette(round_: Round) -> list[int]:
    winning, bonus = round_["winning"], set(round_["bonus"])
    supers = {number for row in ROWS for number in row if set(row) <= bonus}
    pays = {
        "straight_up": 80 if winning in supers else 40 if winning in bonus else 35,
        "bonus_win": 2 if winning in bonus else None,
        "super_bonus_win": 350 if winning in supers else None,
        "scatter_bonus": 700 if all(set(row) & bonus for row in ROWS) else None,
    }
    return [
        side(bet["stake"], pays[bet["bet"]] if bet.get("number", winning) == winning else None)
        for bet in round_["bets"]
    ]


CARD_GAMES = {
    "bullseye": bullseye,
    "ultimate-texas-holdem": ultimate_texas_holdem,
    "three-card-poker-xtreme": three_card_poker_xtreme,
    "prosperity-3-pictures": prosperity_3_pictures,
}


def board_wins_trips(community: list[str]) -> bool:
    """UTH 3.10.1.1: such a hand must not be declined with a Trips wager."""
    return any(kind(evaluate_cards(*five)) in TRIPS for five in combinations(community, 5))
