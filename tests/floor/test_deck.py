"""What the dealer deals: one deck, the right number of cards for each game, and rare hands rarely."""

import random
from collections import Counter

import pytest

from jackpot.floor.deck import deal, stacked
from jackpot.rules.cards import DECK
from jackpot.rules.megalink import GAMES, JackpotGame, Rank, jackpot_rank

ALL_GAMES = pytest.mark.parametrize("game", GAMES.values(), ids=GAMES)
WISHES = (Rank.ROYAL_FLUSH, Rank.STRAIGHT_FLUSH, Rank.FOUR_OF_A_KIND, Rank.FULL_HOUSE)


def ranks(game: JackpotGame, chance: random.Random, wish: Rank | None = None) -> list[Rank]:
    dealt = deal(game, range(1, game.positions_max + 1), chance, wish)
    return [jackpot_rank([*cards, *dealt.community]) for cards in dealt.hands.values()]


@ALL_GAMES
def test_2_1_a_round_is_dealt_from_one_deck(game: JackpotGame) -> None:
    dealt = deal(game, [1, 3, 6], random.Random(7))
    cards = [*dealt.community, *(card for hand in dealt.hands.values() for card in hand)]
    assert sorted(dealt.hands) == [1, 3, 6]
    assert {len(hand) for hand in dealt.hands.values()} == {game.cards}
    assert len(dealt.community) == game.community
    assert len(set(cards)) == len(cards)
    assert set(cards) <= DECK


@ALL_GAMES
@pytest.mark.parametrize("wish", WISHES)
def test_a_stacked_deck_holds_the_wished_hand(game: JackpotGame, wish: Rank) -> None:
    for seed in range(50):
        assert wish in ranks(game, random.Random(seed), wish)


@pytest.mark.parametrize("wish", WISHES)
def test_a_wished_hand_is_not_always_the_same(wish: Rank) -> None:
    hands = {tuple(sorted(stacked(wish, random.Random(seed)))) for seed in range(200)}
    assert len(hands) >= 4
    assert {jackpot_rank(hand) for hand in hands} == {wish}


def test_straight_flushes_are_stacked_with_the_ace_low_too() -> None:
    lowest = {tuple(sorted(stacked(Rank.STRAIGHT_FLUSH, random.Random(seed)))) for seed in range(400)}
    assert ("2s", "3s", "4s", "5s", "As") in lowest


def test_what_comes_by_itself_is_not_stacked() -> None:
    with pytest.raises(ValueError, match="often enough"):
        stacked(Rank.STRAIGHT, random.Random(0))


def test_without_a_wish_hands_come_as_often_as_the_deck_gives_them() -> None:
    """Of 2,598,960 hands 19,716 win something: 0.76 %. The seed is fixed, the band is five standard deviations."""
    chance = random.Random(42)
    found = Counter(rank for _ in range(4000) for rank in ranks(GAMES["bullseye"], chance))
    assert found.total() == 24_000
    assert 115 <= found.total() - found[Rank.NONE] <= 249
    assert found[Rank.ROYAL_FLUSH] + found[Rank.STRAIGHT_FLUSH] <= 3
