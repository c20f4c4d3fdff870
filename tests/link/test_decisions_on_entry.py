"""D5 and D6: the base is fixed at entry, and first entered is first paid."""

from collections.abc import Callable

import pytest

from jackpot.link.changes import Accepted
from tests.link.link_driver import LinkDriver, of_the_examples

ONE = 125  # cents that one wager of one unit adds to the pool

ROYAL = "As Ks Qs Js Ts"
STRAIGHT_FLUSH = "9s 8s 7s 6s 5s"
ANOTHER = "9h 8h 7h 6h 5h"
FULL_HOUSE = "Kc Kd Kh 2c 2d"
FLUSH = "2c 4c 6c 8c Tc"
NOTHING = "2c 4d 6h Jd Tc"


@pytest.fixture
def pit() -> LinkDriver:
    return of_the_examples("BE-01", "BE-02", "BE-03", "BE-04", "UTH-01")


def contribute(pit: LinkDriver, wagers: int = 1) -> None:
    """A round of another table that closes and is settled without a winner."""
    pit.deal("UTH-01", dict.fromkeys(range(1, wagers + 1), 1))
    pit.settle("UTH-01")


def deal_all(pit: LinkDriver, *tables: str, displayed: int, positions: int = 2) -> None:
    for table in tables:
        pit.deal(table, dict.fromkeys(range(1, positions + 1), 1))
    pit.display(displayed)


# D5


@pytest.mark.parametrize(("cards", "expected"), [(ROYAL, 48_000_000), (STRAIGHT_FLUSH, 4_800_000)])
def test_d5_contributions_after_the_entry_feed_the_next_jackpot(pit: LinkDriver, cards: str, expected: int) -> None:
    deal_all(pit, "BE-01", displayed=48_000_000)
    pit.enter("BE-01", 1, cards)
    contribute(pit, 7)
    pit.settle("BE-01")
    assert pit.amounts() == [("BE-01", 1, expected)]
    left = 10_000_000 if cards == ROYAL else 43_200_000
    assert pit.pool_cents == left + 7 * ONE


def test_d5_the_rounds_first_percentage_hand_fixes_the_base_for_all_of_them(pit: LinkDriver) -> None:
    deal_all(pit, "BE-01", displayed=48_000_000)
    pit.enter("BE-01", 1, STRAIGHT_FLUSH)
    contribute(pit, 4)
    pit.enter("BE-01", 2, ROYAL.replace("s", "h"))
    pit.settle("BE-01")
    assert [(award.base_cents, award.amount_cents) for award in pit.awards] == [
        (48_000_000, 4_800_000),
        (43_200_000, 43_200_000),
    ]


@pytest.mark.parametrize("other", [FULL_HOUSE, FLUSH, NOTHING])
def test_d5_a_hand_that_is_not_paid_by_percentage_fixes_no_base(pit: LinkDriver, other: str) -> None:
    deal_all(pit, "BE-01", displayed=48_000_000)
    pit.enter("BE-01", 1, other)
    assert pit.pending == []
    contribute(pit, 4)
    pit.enter("BE-01", 2, STRAIGHT_FLUSH)
    assert pit.pending == [("BE-01", 48_000_000 + 4 * ONE)]


def test_d5_a_hand_entered_again_gets_a_new_number_and_a_new_base(pit: LinkDriver) -> None:
    deal_all(pit, "BE-01", displayed=48_000_000)
    assert pit.enter("BE-01", 1, STRAIGHT_FLUSH)["entry"] == 1
    pit.withdraw("BE-01", 1)
    contribute(pit, 4)
    assert pit.enter("BE-01", 1, STRAIGHT_FLUSH)["entry"] == 2
    pit.settle("BE-01")
    (award,) = pit.awards
    assert (award.entry, award.base_cents, award.amount_cents) == (2, 48_000_500, 4_800_050)


def test_d5_a_hand_entered_again_goes_behind_those_entered_meanwhile(pit: LinkDriver) -> None:
    deal_all(pit, "BE-01", "BE-02", displayed=48_000_000)
    pit.enter("BE-01", 1, STRAIGHT_FLUSH)
    pit.enter("BE-02", 1, ANOTHER)
    pit.withdraw("BE-01", 1)
    pit.enter("BE-01", 1, STRAIGHT_FLUSH)
    assert pit.pending == [("BE-02", 48_000_000), ("BE-01", 48_000_000)]
    assert pit.settle("BE-01").result == {"awards": [], "pending": [1]}
    pit.settle("BE-02")
    assert pit.amounts() == [("BE-02", 1, 4_800_000), ("BE-01", 1, 4_320_000)]


def test_d5_when_the_first_hand_is_withdrawn_the_second_gives_place_and_base(pit: LinkDriver) -> None:
    deal_all(pit, "BE-01", "BE-02", displayed=48_000_000)
    pit.enter("BE-01", 1, STRAIGHT_FLUSH)  # 1
    contribute(pit)
    pit.enter("BE-02", 1, ROYAL)  # 2, base + 125
    contribute(pit)
    pit.enter("BE-01", 2, ANOTHER)  # 3, base + 250
    assert pit.pending == [("BE-01", 48_000_000), ("BE-02", 48_000_125)]
    pit.withdraw("BE-01", 1)
    assert pit.pending == [("BE-02", 48_000_125), ("BE-01", 48_000_250)]
    pit.settle("BE-01")
    pit.settle("BE-02")
    assert [(award.entry, award.base_cents) for award in pit.awards] == [(2, 48_000_125), (3, 10_000_125)]


def test_d5_a_later_hand_may_be_withdrawn_without_moving_place_or_base(pit: LinkDriver) -> None:
    deal_all(pit, "BE-01", displayed=48_000_000)
    pit.enter("BE-01", 1, STRAIGHT_FLUSH)
    contribute(pit)
    pit.enter("BE-01", 2, ANOTHER)
    pit.withdraw("BE-01", 2)
    assert pit.pending == [("BE-01", 48_000_000)]


def test_d5_less_what_earlier_entered_rounds_took_also_from_later_hands_of_the_same_round(pit: LinkDriver) -> None:
    deal_all(pit, "BE-01", "BE-02", displayed=48_000_000)
    pit.enter("BE-01", 1, ROYAL)  # 1
    pit.enter("BE-02", 1, STRAIGHT_FLUSH.replace("s", "d"))  # 2
    contribute(pit, 4)
    pit.enter("BE-02", 2, ANOTHER)  # 3, base + 500
    pit.settle("BE-01")  # takes 480,000, puts 100,000 back
    assert pit.pending == [("BE-02", 10_000_000)]
    pit.withdraw("BE-02", 1)
    assert pit.pending == [("BE-02", 10_000_500)]


def test_d5_a_hand_entered_after_a_payment_sees_the_pool_as_it_is(pit: LinkDriver) -> None:
    deal_all(pit, "BE-01", "BE-02", displayed=48_000_000)
    pit.enter("BE-01", 1, STRAIGHT_FLUSH)
    pit.settle("BE-01")
    pit.enter("BE-02", 1, ANOTHER)
    assert pit.pending == [("BE-02", 43_200_000)]


# D6


def test_d6_every_hand_gets_the_links_next_number_in_the_order_of_commits(pit: LinkDriver) -> None:
    deal_all(pit, "BE-01", "BE-02", displayed=48_000_000)
    entered = [
        pit.enter("BE-01", 1, NOTHING),
        pit.enter("BE-02", 2, STRAIGHT_FLUSH),
        pit.enter("BE-01", 2, FULL_HOUSE.replace("2c", "2h")),
    ]
    assert [hand["entry"] for hand in entered] == [1, 2, 3]
    pit.refused_hand("BE-02", 1, "9s")
    assert pit.enter("BE-02", 1, NOTHING)["entry"] == 4


def test_d6_fixed_awards_never_wait(pit: LinkDriver) -> None:
    deal_all(pit, "BE-01", "BE-02", displayed=48_000_000, positions=3)
    pit.enter("BE-01", 1, STRAIGHT_FLUSH)
    pit.enter("BE-02", 1, FLUSH)
    pit.enter("BE-02", 2, ANOTHER)
    pit.enter("BE-02", 3, ROYAL)
    result = pit.settle("BE-02").result
    assert [(award["position"], award["rank"]) for award in result["awards"]] == [(1, "flush")]
    assert result["pending"] == [2, 3]


def test_d6_a_round_without_percentage_hands_does_not_wait(pit: LinkDriver) -> None:
    deal_all(pit, "BE-01", "BE-02", displayed=48_000_000)
    pit.enter("BE-01", 1, ROYAL)
    pit.enter("BE-02", 1, FULL_HOUSE)
    assert pit.settle("BE-02").result["pending"] == []
    assert pit.amounts() == [("BE-02", 1, 80 * 500)]


def test_d6_nobody_waits_for_a_later_entered_round(pit: LinkDriver) -> None:
    deal_all(pit, "BE-01", "BE-02", displayed=48_000_000)
    pit.enter("BE-01", 1, STRAIGHT_FLUSH)
    pit.enter("BE-02", 1, ANOTHER)
    assert pit.settle("BE-01").result["pending"] == []
    assert "D6" not in pit.awards[0].decisions


def test_d6_an_award_that_waited_says_so(pit: LinkDriver) -> None:
    deal_all(pit, "BE-01", "BE-02", displayed=48_000_000)
    pit.enter("BE-01", 1, STRAIGHT_FLUSH)
    pit.enter("BE-02", 1, ANOTHER)
    pit.settle("BE-02")
    pit.settle("BE-01")
    first, second = pit.awards
    assert (first.table, "D6" in first.decisions) == ("BE-01", False)
    assert (second.table, "D6" in second.decisions) == ("BE-02", True)
    assert "BE 3.19" in second.rules


def test_d6_awards_set_free_are_not_in_the_reply_of_the_round_that_freed_them(pit: LinkDriver) -> None:
    deal_all(pit, "BE-01", "BE-02", displayed=48_000_000)
    pit.enter("BE-01", 1, STRAIGHT_FLUSH)
    pit.enter("BE-02", 1, ANOTHER)
    pit.settle("BE-02")
    settled = pit.settle("BE-01")
    assert [award["table"] for award in settled.result["awards"]] == ["BE-01"]
    assert [award.table for award in settled.awards] == ["BE-01", "BE-02"]


LEAVE: dict[str, Callable[[LinkDriver], Accepted]] = {
    "voided": lambda pit: pit.void("BE-01"),
    "withdrawn": lambda pit: pit.withdraw("BE-01", 1),
    "returned": lambda pit: pit.return_wager("BE-01", 1),
}


@pytest.mark.parametrize("how", LEAVE)
def test_d6_a_chain_of_waiting_rounds_is_paid_at_once_when_the_first_leaves(pit: LinkDriver, how: str) -> None:
    deal_all(pit, "BE-01", "BE-02", "BE-03", "BE-04", displayed=48_000_000)
    pit.enter("BE-01", 1, ROYAL)
    for table in ("BE-02", "BE-03", "BE-04"):
        pit.enter(table, 1, STRAIGHT_FLUSH)
    for table in ("BE-04", "BE-02", "BE-03"):
        assert pit.settle(table).result == {"awards": [], "pending": [1]}
    freed = LEAVE[how](pit)
    assert [(award.table, award.amount_cents) for award in freed.awards] == [
        ("BE-02", 4_800_000),
        ("BE-03", 4_320_000),
        ("BE-04", 3_888_000),
    ]
    assert [award.id for award in freed.awards] == ["megalink-000001", "megalink-000002", "megalink-000003"]
    assert pit.pending == []
    assert pit.pool_cents == 48_000_000 - 4_800_000 - 4_320_000 - 3_888_000


def test_d6_a_chain_of_waiting_rounds_is_paid_at_once_when_the_first_is_settled(pit: LinkDriver) -> None:
    deal_all(pit, "BE-01", "BE-02", "BE-03", "BE-04", displayed=48_000_000)
    pit.enter("BE-01", 1, ROYAL)
    pit.enter("BE-02", 1, STRAIGHT_FLUSH)
    contribute(pit)
    pit.enter("BE-03", 1, ROYAL)
    contribute(pit)
    pit.enter("BE-04", 1, STRAIGHT_FLUSH)
    contribute(pit)
    for table in ("BE-04", "BE-03", "BE-02"):
        pit.settle(table)
    freed = pit.settle("BE-01")
    third_base = 10_000_000 - 1_000_000 + ONE
    fourth_base = 10_000_000 + ONE
    assert [(award.table, award.base_cents, award.amount_cents) for award in freed.awards] == [
        ("BE-01", 48_000_000, 48_000_000),
        ("BE-02", 10_000_000, 1_000_000),
        ("BE-03", third_base, third_base),
        ("BE-04", fourth_base, fourth_base // 10),
    ]
    assert pit.pool_cents == fourth_base - fourth_base // 10 + ONE


def test_d6_a_chain_stops_at_the_next_unfinished_round(pit: LinkDriver) -> None:
    deal_all(pit, "BE-01", "BE-02", "BE-03", "BE-04", displayed=48_000_000)
    for table in ("BE-01", "BE-02", "BE-03", "BE-04"):
        pit.enter(table, 1, STRAIGHT_FLUSH)
    pit.settle("BE-02")
    pit.settle("BE-04")
    assert [award.table for award in pit.settle("BE-01").awards] == ["BE-01", "BE-02"]
    assert [award.table for award in pit.settle("BE-03").awards] == ["BE-03", "BE-04"]


@pytest.mark.parametrize("how", ["withdrawn", "returned"])
def test_d6_a_round_keeps_its_place_if_only_a_later_hand_leaves(pit: LinkDriver, how: str) -> None:
    deal_all(pit, "BE-01", "BE-02", displayed=48_000_000)
    pit.enter("BE-01", 2, ANOTHER)
    pit.enter("BE-02", 1, STRAIGHT_FLUSH)
    pit.enter("BE-01", 1, ROYAL)
    pit.settle("BE-02")
    assert LEAVE[how](pit).awards == ()
    assert [table for table, _ in pit.pending] == ["BE-01", "BE-02"]


@pytest.mark.parametrize("how", ["withdrawn", "returned"])
def test_d6_a_waiting_round_is_paid_when_the_one_before_falls_behind_it(pit: LinkDriver, how: str) -> None:
    deal_all(pit, "BE-01", "BE-02", displayed=48_000_000)
    pit.enter("BE-01", 1, ROYAL)
    pit.enter("BE-02", 1, STRAIGHT_FLUSH)
    pit.enter("BE-01", 2, ANOTHER)
    pit.settle("BE-02")
    assert [award.table for award in LEAVE[how](pit).awards] == ["BE-02"]
    assert pit.pending == [("BE-01", 43_200_000)]


def test_d6_the_next_round_of_a_table_may_open_and_win_while_the_last_waits(pit: LinkDriver) -> None:
    deal_all(pit, "BE-01", "BE-02", displayed=48_000_000)
    pit.enter("BE-01", 1, STRAIGHT_FLUSH)
    pit.enter("BE-02", 1, STRAIGHT_FLUSH)
    first = pit.round_of("BE-02")
    pit.settle("BE-02")
    pit.deal("BE-02")
    pit.enter("BE-02", 1, STRAIGHT_FLUSH)
    second = pit.round_of("BE-02")
    pit.settle("BE-02")
    assert pit.table_state("BE-02")["pending"] == [first, second]
    pit.settle("BE-01")
    assert [(award.round, award.base_cents) for award in pit.awards[1:]] == [
        (first, 43_200_000),
        (second, 38_880_000 + ONE),
    ]


def test_d6_no_award_number_is_left_out_over_all_tables(pit: LinkDriver) -> None:
    deal_all(pit, "BE-01", "BE-02", displayed=48_000_000, positions=3)
    pit.enter("BE-02", 1, STRAIGHT_FLUSH)
    pit.enter("BE-01", 1, FULL_HOUSE)
    pit.enter("BE-01", 2, ANOTHER)
    pit.settle("BE-01")
    pit.enter("BE-02", 2, FLUSH)
    pit.settle("BE-02")
    assert [(award.number, award.rank) for award in pit.awards] == [
        (1, "full_house"),
        (2, "flush"),
        (3, "straight_flush"),
        (4, "straight_flush"),
    ]
