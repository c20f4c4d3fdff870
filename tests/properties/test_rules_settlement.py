"""What holds for every round of every game, and every round beside a second reading of the sheets."""

import json
from itertools import combinations_with_replacement
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from jackpot.rules.bullseye import house_way
from jackpot.rules.cards import RANKS, SUITS
from tests.rules import second_reading
from tests.rules.rounds import refusal, settled
from tests.rules.strategies import card_rounds, roulette_rounds, rounds

SHEETS = {
    "bullseye": "BE ",
    "ultimate-texas-holdem": "UTH ",
    "three-card-poker-xtreme": "TCX ",
    "prosperity-3-pictures": "P3P ",
    "fast-action-roulette": "FAR ",
}
ODDS_MAX = {  # the highest line of each pay table
    "bullseye": {"main": 5, "tie": 8, "bullseye": 200, "suits": 20},
    "ultimate-texas-holdem": {"ante": 1, "blind": 500, "play": 1, "trips": 100},
    "three-card-poker-xtreme": {"ante": 1, "ante_bonus": 5, "play": 1, "pair_plus": 40, "six_card_bonus": 500},
    "prosperity-3-pictures": {
        "main": 1,
        "tie": 400,
        "player_prosperity": 250,
        "dealer_prosperity": 250,
        "picture_perfect": 500,
    },
    "fast-action-roulette": {"straight_up": 80, "bonus_win": 2, "super_bonus_win": 350, "scatter_bonus": 700},
}


def test_house_way_beside_brute_force_over_all_arrangements() -> None:
    """Every five ranks there are, with the Ace of Spades and without: suits matter nowhere else."""
    hands = 0
    for ranks in combinations_with_replacement(RANKS, 5):
        if ranks.count(ranks[0]) == 5:
            continue
        plain = [rank + SUITS[ranks[:place].count(rank)] for place, rank in enumerate(ranks)]
        for cards in {tuple(plain), tuple("As" if card == "Ac" else card for card in plain)}:
            if len(set(cards)) == 5:
                hands += 1
                assert house_way(cards) == second_reading.house_way(list(cards)), cards
    assert hands > 6_175


@given(card_rounds())
@settings(max_examples=250, deadline=None)
def test_card_games_beside_a_second_reading(round_: dict[str, Any]) -> None:
    result = settled(round_)
    for entry, found in zip(round_["positions"], result["positions"], strict=True):
        nets = {wager: outcome["net_cents"] for wager, outcome in found["wagers"].items()}
        assert nets == second_reading.CARD_GAMES[round_["game"]](round_, entry)


@given(roulette_rounds())
@settings(max_examples=150, deadline=None)
def test_roulette_beside_a_second_reading(round_: dict[str, Any]) -> None:
    nets = [bet["net_cents"] for bet in settled(round_)["bets"]]
    assert nets == second_reading.fast_action_roulette(round_)


@given(card_rounds())
@settings(max_examples=100, deadline=None)
def test_nobody_wins_or_loses_on_a_wager_not_placed(round_: dict[str, Any]) -> None:
    for entry, found in zip(round_["positions"], settled(round_)["positions"], strict=True):
        placed = set(entry["wagers"]) | ({"ante_bonus"} if "ante" in entry["wagers"] else set())
        if round_["game"] != "three-card-poker-xtreme":
            placed.discard("ante_bonus")
        assert found["wagers"].keys() == placed
        assert found["position"] == entry["position"]
        assert found["net_cents"] == sum(wager["net_cents"] for wager in found["wagers"].values())


@given(rounds())
@settings(max_examples=100, deadline=None)
def test_net_never_exceeds_the_odds_nor_a_loss_the_stake(round_: dict[str, Any]) -> None:
    game, result = round_["game"], settled(round_)
    settled_wagers = [(bet["bet"], bet["stake"], bet) for bet in result.get("bets", ())]
    for entry, found in zip(round_.get("positions", ()), result.get("positions", ()), strict=True):
        for wager, outcome in found["wagers"].items():
            stake = entry["wagers"]["ante" if wager == "ante_bonus" else wager]
            settled_wagers.append((wager, stake, outcome))
    for wager, stake, outcome in settled_wagers:
        assert -stake <= outcome["net_cents"] <= stake * ODDS_MAX[game][wager]
        assert outcome["rule"].startswith(SHEETS[game])


@given(rounds(), st.data())
@settings(max_examples=100, deadline=None)
def test_over_the_maximum_a_round_is_settled_as_if_the_maximum_were_staked(
    round_: dict[str, Any], data: st.DataObject
) -> None:
    wager = data.draw(st.sampled_from([wager for wager in ODDS_MAX[round_["game"]] if wager != "ante_bonus"]))
    maximum = data.draw(st.integers(1, 20_000))
    limited = settled({**round_, "limits": {wager: {"min_cents": 1, "max_cents": maximum}}})
    plain = settled(round_)
    for bet, before in zip(limited.get("bets", ()), plain.get("bets", ()), strict=True):
        factor = min(bet["stake"], maximum) if bet["bet"] == wager else bet["stake"]
        assert bet["net_cents"] * before["stake"] == before["net_cents"] * factor
    for entry, found, before in zip(
        round_.get("positions", ()), limited.get("positions", ()), plain.get("positions", ()), strict=True
    ):
        for name, outcome in found["wagers"].items():
            stake = entry["wagers"]["ante" if name == "ante_bonus" else name]
            bound = name == wager or (name == "ante_bonus" and wager == "ante")
            at_risk = min(stake, maximum) if bound else stake
            expected = before["wagers"][name]["net_cents"] * at_risk
            # Odds that leave a part of a cent are truncated on either stake.
            assert abs(outcome["net_cents"] * stake - expected) <= stake


@given(card_rounds(), st.data())
@settings(max_examples=100, deadline=None)
def test_the_order_of_positions_does_not_matter(round_: dict[str, Any], data: st.DataObject) -> None:
    shuffled = data.draw(st.permutations(round_["positions"]))
    by_position = {found["position"]: found for found in settled(round_)["positions"]}
    again = settled({**round_, "positions": shuffled})["positions"]
    assert [found["position"] for found in again] == [entry["position"] for entry in shuffled]
    assert {found["position"]: found for found in again} == by_position


@given(card_rounds(), st.data())
@settings(max_examples=150, deadline=None)
def test_a_card_twice_anywhere_is_always_refused(round_: dict[str, Any], data: st.DataObject) -> None:
    copy = json.loads(json.dumps(round_))
    for entry in copy["positions"]:
        entry.pop("set", None)
    places = [(cards, place) for cards in every_list_of_cards(copy) for place in range(len(cards))]
    (to, to_place), (source, source_place) = data.draw(st.permutations(places))[:2]
    to[to_place] = source[source_place]
    assert refusal(settled(copy)) == ("duplicate_card", SHEETS[copy["game"]] + "2.1")


def every_list_of_cards(round_: dict[str, Any]) -> list[list[str]]:
    lists = [round_["dealer"], round_.get("community", [])]
    return lists + [entry["cards"] for entry in round_["positions"] if "cards" in entry]
