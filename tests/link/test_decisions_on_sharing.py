"""D7 to D10: several winners in one round."""

import pytest

from jackpot.link.awards import Award, split_royal_flush, split_straight_flush
from jackpot.link.parameters import Parameters, Reading
from tests.link.link_driver import LinkDriver, of_the_examples

SUITS = "shdc"


def royal(suit: str) -> str:
    return " ".join(rank + suit for rank in "AKQJT")


def straight_flush(suit: str) -> str:
    return " ".join(rank + suit for rank in "98765")


def won(pit: LinkDriver, displayed: int, royals: int, flushes: int) -> list[Award]:
    """A Bullseye round with so many of each, entered Royals first, settled."""
    pit.deal("BE-01", dict.fromkeys(range(1, royals + flushes + 1), 1))
    pit.display(displayed)
    for position, suit in zip(range(1, royals + 1), SUITS, strict=False):
        pit.enter("BE-01", position, royal(suit))
    for position, suit in zip(range(royals + 1, royals + flushes + 1), SUITS, strict=False):
        pit.enter("BE-01", position, straight_flush(suit))
    pit.settle("BE-01")
    return pit.awards


# D7


@pytest.mark.parametrize(
    ("displayed", "winners", "draws"),
    [
        (48_000_000, 1, [4_800_000]),
        (48_000_000, 2, [4_800_000, 4_320_000]),
        (48_000_000, 3, [4_800_000, 4_320_000, 3_888_000]),
        (48_000_000, 4, [4_800_000, 4_320_000, 3_888_000, 3_499_200]),
        (199, 2, [19, 18]),  # each truncated by itself: 10 % of 199, then of 180
        (109, 2, [10, 9]),  # together 20.71 would give each 10
        (109, 3, [10, 9, 9]),
        (9, 2, [0, 0]),
        (10, 2, [1, 0]),
    ],
)
def test_d7_successive_draws_each_truncated_by_itself(displayed: int, winners: int, draws: list[int]) -> None:
    pit = of_the_examples("BE-01", reset_cents=1_000)
    awards = won(pit, displayed, royals=0, flushes=winners)
    each, odd = divmod(sum(draws), winners)
    assert [award.amount_cents for award in awards] == [each] * winners
    assert pit.pool_cents == displayed - sum(draws) + odd


@pytest.mark.parametrize("winners", [1, 2, 3, 4])
def test_d7_reset_amount_adds_ten_percent_of_the_reset_for_each_further_winner(winners: int) -> None:
    pit = of_the_examples("BE-01", shared_straight_flush=Reading.RESET_AMOUNT)
    reserve = pit.reserve_cents
    awards = won(pit, 48_000_000, royals=0, flushes=winners)
    each, odd = divmod(4_800_000 + (winners - 1) * 1_000_000, winners)
    assert [award.amount_cents for award in awards] == [each] * winners
    assert pit.pool_cents == 48_000_000 - 4_800_000 + odd
    contributed = winners * 500 * 310 // 10_000
    assert pit.reserve_cents == reserve + contributed - (winners - 1) * 1_000_000


def test_d7_reset_amount_is_funded_like_a_reset_the_house_pays_what_the_reserve_lacks() -> None:
    pit = LinkDriver("BE-01", reserve_bp=0, shared_straight_flush=Reading.RESET_AMOUNT)
    pit.deal("BE-01", {1: 1, 2: 1})
    pit.hold_reserve(400_000)
    pit.display(48_000_000)
    house = pit.balances.house
    pit.enter("BE-01", 1, straight_flush("s"))
    pit.enter("BE-01", 2, straight_flush("h"))
    pit.settle("BE-01")
    assert pit.amounts() == [("BE-01", 1, 2_900_000), ("BE-01", 2, 2_900_000)]
    assert pit.reserve_cents == 0
    assert pit.balances.house == house - 600_000 * 10_000


def test_d7_reset_amount_truncates_ten_percent_of_the_reset_by_itself() -> None:
    split = split_straight_flush(
        105, 3, Parameters(reset_cents=19, shared_straight_flush=Reading.RESET_AMOUNT)
    )  # 10 + 1 + 1
    assert (split.each_cents, split.odd_cents, split.funded_cents) == (4, 0, 2)


@pytest.mark.parametrize("reading", list(Reading))
def test_d7_is_on_the_awards_it_shaped_and_only_on_those(reading: Reading) -> None:
    alone = won(of_the_examples("BE-01", shared_straight_flush=reading), 48_000_000, royals=0, flushes=1)
    shared = won(of_the_examples("BE-01", shared_straight_flush=reading), 48_000_000, royals=0, flushes=2)
    assert [("D7" in award.decisions, award.shared_by) for award in alone] == [(False, 1)]
    assert [("D7" in award.decisions, award.shared_by) for award in shared] == [(True, 2), (True, 2)]
    assert all("BE 3.20.2" in award.rules for award in shared)
    assert "BE 3.20.2" not in alone[0].rules


def test_d7_both_readings_agree_on_a_single_winner() -> None:
    amounts = [
        won(of_the_examples("BE-01", shared_straight_flush=reading), 48_000_009, royals=0, flushes=1)[0].amount_cents
        for reading in Reading
    ]
    assert amounts == [4_800_000, 4_800_000]


# D8


@pytest.mark.parametrize("winners", [1, 2, 3, 4])
def test_d8_royals_share_the_displayed_amount_and_a_reset_for_each_further_winner(winners: int) -> None:
    pit = of_the_examples("BE-01")
    reserve = pit.reserve_cents
    awards = won(pit, 48_000_000, royals=winners, flushes=0)
    each, odd = divmod(48_000_000 + (winners - 1) * 10_000_000, winners)
    assert [award.amount_cents for award in awards] == [each] * winners
    assert {award.shared_by for award in awards} == {winners}
    assert {award.base_cents for award in awards} == {48_000_000}
    assert pit.pool_cents == 10_000_000 + odd
    contributed = winners * 500 * 310 // 10_000
    assert pit.reserve_cents == reserve + contributed - winners * 10_000_000  # reset so many times in all


def test_d8_is_on_shared_royals_only() -> None:
    alone = won(of_the_examples("BE-01"), 48_000_000, royals=1, flushes=0)
    shared = won(of_the_examples("BE-01"), 48_000_000, royals=2, flushes=0)
    assert "D8" not in alone[0].decisions
    assert "BE 3.20.1" not in alone[0].rules
    assert all("D8" in award.decisions and "BE 3.20.1" in award.rules for award in shared)


# D9


@pytest.mark.parametrize(("displayed", "odd"), [(48_000_000, 2), (48_000_001, 0), (48_000_002, 1)])
def test_d9_odd_cents_of_shared_royals_stay_in_the_pool(displayed: int, odd: int) -> None:
    pit = of_the_examples("BE-01")
    awards = won(pit, displayed, royals=3, flushes=0)
    assert sum(award.amount_cents for award in awards) == displayed + 20_000_000 - odd
    assert pit.pool_cents == 10_000_000 + odd
    assert all(("D9" in award.decisions) == bool(odd) for award in awards)


def test_d9_odd_cents_of_shared_straight_flushes_stay_in_the_pool() -> None:
    pit = of_the_examples("BE-01", reset_cents=1_000)
    awards = won(pit, 1_000, royals=0, flushes=4)  # 100 + 90 + 81 + 72 = 343: 85 each, 3 odd
    assert [award.amount_cents for award in awards] == [85] * 4
    assert pit.pool_cents == 1_000 - 343 + 3


@pytest.mark.parametrize(
    ("displayed", "flush_each", "royal"),
    [
        (1_990, 189, 1_612),  # 199 + 179 = 378, none odd
        (1_989, 188, 1_613),  # 198 + 179 = 377: the odd cent is shared by the Royal
    ],
)
def test_d9_odd_cents_of_the_straight_flushes_are_shared_by_the_royals_after_them(
    displayed: int, flush_each: int, royal: int
) -> None:
    pit = of_the_examples("BE-01", reset_cents=1_000)
    awards = won(pit, displayed, royals=1, flushes=2)
    assert [award.amount_cents for award in awards] == [flush_each, flush_each, royal]
    assert awards[-1].base_cents == royal
    assert pit.pool_cents == 1_000


def test_d9_ends_at_the_reset_amount_plus_odd_cents_parts_of_a_cent_and_late_contributions() -> None:
    pit = LinkDriver("BE-01", "BE-02", unit_cents=1, increment_bp=3_333, reserve_bp=0, reset_cents=1_000)
    pit.deal("BE-01", {1: 1, 2: 1})
    pit.display(1_001)  # and 6,666 micros
    pit.enter("BE-01", 1, royal("s"))
    pit.enter("BE-01", 2, royal("h"))
    pit.deal("BE-02")
    pit.settle("BE-01")
    assert [award.amount_cents for award in pit.awards] == [1_000, 1_000]
    assert pit.balances.pool == (1_000 + 1) * 10_000 + 6_666 + 3_333


# D10


@pytest.mark.parametrize("reading", list(Reading))
def test_d10_fixed_then_straight_flushes_then_royals_whatever_the_order_of_entry(reading: Reading) -> None:
    pit = of_the_examples("BE-01", shared_straight_flush=reading)
    pit.deal("BE-01", dict.fromkeys(range(1, 7), 1))
    pit.display(48_000_000)
    pit.enter("BE-01", 6, royal("s"))
    pit.enter("BE-01", 5, straight_flush("h"))
    pit.enter("BE-01", 4, "2c 2d 2h 2s 3c")
    pit.enter("BE-01", 3, royal("d"))
    pit.enter("BE-01", 2, straight_flush("c"))
    pit.enter("BE-01", 1, "Kc Kh Qc Qh 3d")
    awards = pit.settle("BE-01").result["awards"]
    assert [(award["rank"], award["position"], award["entry"]) for award in awards] == [
        ("four_of_a_kind", 4, 3),
        ("straight_flush", 5, 2),
        ("straight_flush", 2, 5),
        ("royal_flush", 6, 1),
        ("royal_flush", 3, 4),
    ]
    if reading is Reading.SUCCESSIVE:
        flush_total, funded = 4_800_000 + 4_320_000, 0
    else:
        flush_total, funded = 4_800_000 + 1_000_000, 1_000_000
    royal_base = 48_000_000 + funded - flush_total
    assert [award["base_cents"] for award in awards] == [None, 48_000_000, 48_000_000, royal_base, royal_base]
    assert [award["amount_cents"] for award in awards] == [
        200_000,
        *[flush_total // 2] * 2,
        *[(royal_base + 10_000_000) // 2] * 2,
    ]
    assert pit.pool_cents == 10_000_000


def test_d10_straight_flushes_lower_what_the_royals_share() -> None:
    awards = won(of_the_examples("BE-01"), 48_000_000, royals=2, flushes=1)
    assert [award.amount_cents for award in awards] == [4_800_000, 26_600_000, 26_600_000]
    assert all("BE 3.20.3" in award.rules for award in awards[1:])
    assert all("D10" in award.decisions for award in awards)
    alone = won(of_the_examples("BE-01"), 48_000_000, royals=1, flushes=0)
    assert "D10" not in alone[0].decisions


@pytest.mark.parametrize("base", [0, 1, 9, 10, 99])
@pytest.mark.parametrize("winners", [1, 2, 3, 4])
def test_d9_a_split_gives_out_no_more_than_there_is(base: int, winners: int) -> None:
    for reading in Reading:
        parameters = Parameters(reset_cents=7, shared_straight_flush=reading)
        for split in (
            split_straight_flush(base, winners, parameters),
            split_royal_flush(base, winners, parameters),
        ):
            assert 0 <= split.odd_cents < winners
            assert split.each_cents * winners <= base + split.funded_cents


# The working on an award's slip lets anybody do the sum again.


def test_the_slip_of_shared_straight_flushes_shows_each_draw() -> None:
    award = won(of_the_examples("BE-01"), 48_000_000, royals=0, flushes=3)[0]
    assert award.working["draws_cents"] == [4_800_000, 4_320_000, 3_888_000]
    assert (award.working["reading"], award.working["percent"]) == ("successive", 10)
    assert sum(award.working["draws_cents"]) == 3 * award.amount_cents + award.working["odd_cents"]


def test_the_slip_of_shared_royals_shows_the_reset_amounts_added() -> None:
    award = won(of_the_examples("BE-01"), 48_000_000, royals=3, flushes=0)[0]
    assert award.working["resets_cents"] == [10_000_000, 10_000_000]
    assert (award.working["percent"], award.working["odd_cents"]) == (100, 2)
    assert award.working["cards"] == royal("s").split()


def test_the_slip_of_a_fixed_award_shows_odds_and_stake() -> None:
    pit = of_the_examples("UTH-01")
    pit.deal("UTH-01", {1: 3})
    pit.enter("UTH-01", 1, "Ah Ad", "Ac As 2d")
    pit.settle("UTH-01")
    assert pit.awards[0].working == {
        "odds": 400,
        "stake_cents": 1_500,
        "cards": ["Ah", "Ad"],
        "community": ["Ac", "As", "2d"],
    }
