"""Rounds of every game as hypothesis draws them, all of them good."""

from typing import Any

from hypothesis import strategies as st

from jackpot.rules.cards import DECK
from tests.rules.second_reading import ROWS, board_wins_trips

NUMBERS = [number for row in ROWS for number in row]
SHAPES = {  # own, dealer's and community cards, positions
    "bullseye": (5, 5, 0, 6),
    "ultimate-texas-holdem": (2, 2, 5, 7),
    "three-card-poker-xtreme": (3, 3, 2, 7),
    "prosperity-3-pictures": (3, 3, 0, 7),
}
SIDE_WAGERS = {
    "bullseye": ["tie", "bullseye", "suits"],
    "ultimate-texas-holdem": ["trips"],
    "three-card-poker-xtreme": ["pair_plus", "six_card_bonus"],
    "prosperity-3-pictures": ["tie", "player_prosperity", "dealer_prosperity", "picture_perfect"],
}
STAKES = st.integers(1, 10_000) | st.integers(1, 250_000_000_000)
FLAG = st.sampled_from([False, False, False, True])


@st.composite
def card_rounds(draw: st.DrawFn, games: tuple[str, ...] = tuple(SHAPES)) -> dict[str, Any]:
    game = draw(st.sampled_from(games))
    own, dealer, community, positions_max = SHAPES[game]
    deck = draw(st.randoms(use_true_random=False)).sample(sorted(DECK), 52)
    deal = iter(deck)
    round_: dict[str, Any] = {"game": game, "dealer": [next(deal) for _ in range(dealer)]}
    if community:
        round_["community"] = [next(deal) for _ in range(community)]
    numbers = draw(st.lists(st.integers(1, positions_max), min_size=1, max_size=positions_max, unique=True))
    round_["positions"] = [
        draw(positions(game, number, [next(deal) for _ in range(own)], round_)) for number in numbers
    ]
    return round_


@st.composite
def positions(draw: st.DrawFn, game: str, number: int, cards: list[str], round_: dict[str, Any]) -> dict[str, Any]:
    entry: dict[str, Any] = {"position": number, "cards": cards}
    stake = draw(STAKES)
    wagers = {wager: draw(STAKES) for wager in SIDE_WAGERS[game] if draw(st.booleans())}
    declined = game != "prosperity-3-pictures" and draw(FLAG)
    if game in ("bullseye", "prosperity-3-pictures"):
        wagers["main"] = stake
    elif game == "ultimate-texas-holdem" or draw(st.booleans()) or not wagers:
        wagers["ante"] = stake
        if game == "ultimate-texas-holdem":
            wagers["blind"] = stake
        if draw(FLAG):
            entry["fold"] = True
        else:
            wagers["play"] = stake * (draw(st.integers(1, 4)) if game == "ultimate-texas-holdem" else 1)
    if game == "bullseye" and draw(st.booleans()):
        entry["set"] = draw(st.permutations(cards))[:3]
    if declined and not ("trips" in wagers and board_wins_trips(round_["community"])):
        entry["declined"] = True
        if "set" not in entry and draw(st.booleans()):
            del entry["cards"]
    return {**entry, "wagers": wagers}


@st.composite
def roulette_rounds(draw: st.DrawFn) -> dict[str, Any]:
    straight_up = st.fixed_dictionaries(
        {"bet": st.just("straight_up"), "number": st.sampled_from(NUMBERS), "stake": STAKES}
    )
    other = st.fixed_dictionaries(
        {"bet": st.sampled_from(["bonus_win", "super_bonus_win", "scatter_bonus"]), "stake": STAKES}
    )
    bonus = draw(st.one_of(tens_of_any_kind(), tens_of_whole_links(), tens_of_each_link()))
    return {
        "game": "fast-action-roulette",
        "winning": draw(st.sampled_from(NUMBERS)),
        "bonus": bonus,
        "bets": draw(st.lists(straight_up | other, min_size=1, max_size=8)),
    }


def tens_of_any_kind() -> st.SearchStrategy[list[str]]:
    return st.permutations(NUMBERS).map(lambda numbers: numbers[:10])


def tens_of_whole_links() -> st.SearchStrategy[list[str]]:
    return st.permutations(ROWS).map(lambda rows: [number for row in rows for number in row][:10])


@st.composite
def tens_of_each_link(draw: st.DrawFn) -> list[str]:
    return [draw(st.sampled_from(row)) for row in ROWS]


def rounds() -> st.SearchStrategy[dict[str, Any]]:
    return card_rounds() | roulette_rounds()
