"""Which code wins: every event below has at least the fault named, and most have later ones too.

The stage: at UTH-01 the rounds "paid" (settled), "void" and "waits" (settled, behind BE-01) are over and "now" is
closed, with position 1 entered, 2 declined, 3 returned, 4 without a hand, 5 cancelled, 6 and 7 without a wager.
At UTH-02 the round "open" has a wager on position 1; position 2 was cancelled.
"""

import copy
from typing import Any

import pytest

from jackpot.contract.refusals import NOT_RECORDED, Code
from jackpot.link.commands import LinkResumed, LinkSuspended
from tests.link.link_driver import LinkDriver

FLOP = ["7h", "8h", "9h"]
GOOD = {"cards": ["Td", "Jd"], "community": FLOP}
BAD_CARDS: dict[str, Any] = {"cards": ["5h"], "community": ["xx"]}
WHY = {"reason": "5.7"}


def stage() -> LinkDriver:
    pit = LinkDriver("UTH-01", "UTH-02", "BE-01")
    pit.deal("BE-01")
    pit.enter("BE-01", 1, "Ah Kh Qh Jh Th")
    pit.open("UTH-01", "paid")
    pit.wager("UTH-01", 1)
    pit.close("UTH-01")
    pit.enter("UTH-01", 1, "As Ad", "Ac Ah 2d")
    pit.settle("UTH-01")
    pit.open("UTH-01", "void")
    pit.void("UTH-01")
    pit.open("UTH-01", "waits")
    pit.wager("UTH-01", 1)
    pit.close("UTH-01")
    pit.enter("UTH-01", 1, "5h 6h", "7h 8h 9h")
    pit.settle("UTH-01")
    pit.open("UTH-01", "now")
    for position in (1, 2, 3, 4, 5):
        pit.wager("UTH-01", position)
    pit.accepted("UTH-01", "wager.cancelled", position=5)
    pit.close("UTH-01")
    pit.enter("UTH-01", 1, "5h 6h", "7h 8h 9h")
    pit.decline("UTH-01", 2)
    pit.return_wager("UTH-01", 3)
    pit.open("UTH-02", "open")
    pit.wager("UTH-02", 1)
    pit.wager("UTH-02", 2)
    pit.accepted("UTH-02", "wager.cancelled", position=2)
    return pit


Row = tuple[str, str, dict[str, Any], str, str | None]

OPENING: list[Row] = [
    ("UTH-01", "round.opened", {"round": "now"}, "round_exists", None),
    ("UTH-01", "round.opened", {"round": "paid"}, "round_exists", None),
    ("UTH-01", "round.opened", {"round": "void"}, "round_exists", None),
    ("UTH-01", "round.opened", {"round": "waits"}, "round_exists", None),
    ("UTH-01", "round.opened", {"round": "next"}, "previous_round_open", None),
    ("UTH-02", "round.opened", {"round": "next"}, "previous_round_open", None),
]

PLACING: list[Row] = [
    ("UTH-01", "wager.placed", {"round": "never", "position": 9, "multiplier": 9}, "unknown_round", None),
    ("UTH-01", "wager.placed", {"round": "open", "position": 9, "multiplier": 9}, "unknown_round", None),
    ("UTH-01", "wager.placed", {"round": "paid", "position": 9, "multiplier": 9}, "round_concluded", "UTH 5.5"),
    ("UTH-01", "wager.placed", {"round": "void", "position": 9, "multiplier": 9}, "round_concluded", "UTH 5.5"),
    ("UTH-01", "wager.placed", {"round": "waits", "position": 9, "multiplier": 9}, "round_concluded", "UTH 5.5"),
    ("UTH-01", "wager.placed", {"round": "now", "position": 9, "multiplier": 9}, "bets_closed", "UTH 5.5"),
    ("UTH-01", "wager.placed", {"round": "now", "position": 6}, "bets_closed", "UTH 5.5"),
    ("UTH-02", "wager.placed", {"round": "open", "position": 8, "multiplier": 9}, "bad_position", None),
    ("UTH-02", "wager.placed", {"round": "open", "position": 0, "multiplier": 9}, "bad_position", None),
    ("UTH-02", "wager.placed", {"round": "open", "position": -1}, "bad_position", None),
    ("UTH-02", "wager.placed", {"round": "open", "position": 1, "multiplier": 6}, "position_taken", "UTH 3.4.2"),
    ("UTH-02", "wager.placed", {"round": "open", "position": 1}, "position_taken", "UTH 3.4.2"),
    (
        "UTH-02",
        "wager.placed",
        {"round": "open", "position": 2, "multiplier": 6, "amount_cents": 1},
        "bad_multiplier",
        "UTH 3.5.3",
    ),
    ("UTH-02", "wager.placed", {"round": "open", "position": 3, "multiplier": 0}, "bad_multiplier", "UTH 3.5.3"),
    ("UTH-02", "wager.placed", {"round": "open", "position": 3, "multiplier": -1}, "bad_multiplier", "UTH 3.5.3"),
    (
        "UTH-02",
        "wager.placed",
        {"round": "open", "position": 3, "multiplier": 2, "amount_cents": 500},
        "amount_mismatch",
        "UTH 3.5.3",
    ),
    ("UTH-02", "wager.placed", {"round": "open", "position": 3, "amount_cents": 0}, "amount_mismatch", "UTH 3.5.3"),
]

CANCELLING: list[Row] = [
    ("UTH-01", "wager.cancelled", {"round": "never", "position": 9}, "unknown_round", None),
    ("UTH-01", "wager.cancelled", {"round": "paid", "position": 9}, "round_concluded", None),
    ("UTH-01", "wager.cancelled", {"round": "now", "position": 9}, "bets_closed", "UTH 5.6"),
    ("UTH-01", "wager.cancelled", {"round": "now", "position": 1}, "bets_closed", "UTH 5.6"),
    ("UTH-02", "wager.cancelled", {"round": "open", "position": 8}, "bad_position", None),
    ("UTH-02", "wager.cancelled", {"round": "open", "position": 2}, "no_wager", None),
    ("UTH-02", "wager.cancelled", {"round": "open", "position": 7}, "no_wager", None),
]

CLOSING_SETTLING_VOIDING: list[Row] = [
    ("UTH-01", "round.closed", {"round": "never"}, "unknown_round", None),
    ("UTH-01", "round.closed", {"round": "waits"}, "round_concluded", None),
    ("UTH-01", "round.closed", {"round": "now"}, "round_not_open", None),
    ("UTH-01", "round.settled", {"round": "never"}, "unknown_round", None),
    ("UTH-01", "round.settled", {"round": "paid"}, "round_concluded", None),
    ("UTH-01", "round.settled", {"round": "void"}, "round_concluded", None),
    ("UTH-01", "round.settled", {"round": "waits"}, "round_concluded", None),
    ("UTH-02", "round.settled", {"round": "open"}, "round_not_closed", None),
    ("UTH-01", "round.voided", {"round": "never", **WHY}, "unknown_round", None),
    ("UTH-01", "round.voided", {"round": "paid", **WHY}, "round_concluded", None),
    ("UTH-01", "round.voided", {"round": "void", **WHY}, "round_concluded", None),
    ("UTH-01", "round.voided", {"round": "waits", **WHY}, "round_concluded", None),
]


def after_closing(type_: str, fields: dict[str, Any]) -> list[Row]:
    """What every event that comes after closing is refused for, first."""
    return [
        ("UTH-01", type_, {"round": "never", "position": 9, **fields}, "unknown_round", None),
        ("UTH-01", type_, {"round": "paid", "position": 9, **fields}, "round_concluded", None),
        ("UTH-01", type_, {"round": "waits", "position": 1, **fields}, "round_concluded", None),
        ("UTH-01", type_, {"round": "void", "position": 1, **fields}, "round_concluded", None),
        ("UTH-02", type_, {"round": "open", "position": 9, **fields}, "round_not_closed", None),
        ("UTH-02", type_, {"round": "open", "position": 1, **fields}, "round_not_closed", None),
        ("UTH-01", type_, {"round": "now", "position": 8, **fields}, "bad_position", None),
        ("UTH-01", type_, {"round": "now", "position": 0, **fields}, "bad_position", None),
        ("UTH-01", type_, {"round": "now", "position": 5, **fields}, "no_wager", None),
        ("UTH-01", type_, {"round": "now", "position": 6, **fields}, "no_wager", None),
        ("UTH-01", type_, {"round": "now", "position": 3, **fields}, "wager_returned", None),
    ]


HANDS: list[Row] = [
    *after_closing("wager.returned", WHY),
    *after_closing("hand.entered", BAD_CARDS),
    ("UTH-01", "hand.entered", {"round": "now", "position": 1, **BAD_CARDS}, "hand_exists", None),
    ("UTH-01", "hand.entered", {"round": "now", "position": 2, **BAD_CARDS}, "hand_declined", "UTH 3.10.1"),
    ("UTH-01", "hand.entered", {"round": "now", "position": 4, **BAD_CARDS}, "wrong_card_count", "UTH 5.7"),
    (
        "UTH-01",
        "hand.entered",
        {"round": "now", "position": 4, "cards": ["5h", "Jd"], "community": []},
        "wrong_card_count",
        "UTH 5.3",
    ),
    (
        "UTH-01",
        "hand.entered",
        {"round": "now", "position": 4, "cards": ["5h", "5h"], "community": ["xx", "8h", "9h"]},
        "unknown_card",
        "UTH 2.1",
    ),
    (
        "UTH-01",
        "hand.entered",
        {"round": "now", "position": 4, "cards": ["5h", "Jd"], "community": ["2c", "3c", "4c"]},
        "duplicate_card",
        "UTH 2.1",
    ),
    (
        "UTH-01",
        "hand.entered",
        {"round": "now", "position": 4, "cards": ["Td", "Jd"], "community": ["2c", "3c", "4c"]},
        "community_mismatch",
        "UTH 3.9.3",
    ),
    *after_closing("hand.withdrawn", WHY),
    ("UTH-01", "hand.withdrawn", {"round": "now", "position": 2, **WHY}, "hand_declined", "UTH 3.10.1"),
    ("UTH-01", "hand.withdrawn", {"round": "now", "position": 4, **WHY}, "no_hand", None),
    *after_closing("hand.declined", {}),
    ("UTH-01", "hand.declined", {"round": "now", "position": 1}, "hand_exists", None),
    ("UTH-01", "hand.declined", {"round": "now", "position": 2}, "hand_declined", "UTH 3.10.1"),
]

PAYING: list[Row] = [
    ("UTH-01", "award.paid", {"round": "paid", "award": "megalink-000099"}, "unknown_award", None),
    ("UTH-01", "award.paid", {"round": "never", "award": "megalink-000001"}, "unknown_award", None),
    ("UTH-01", "award.paid", {"round": "now", "award": "megalink-000001"}, "unknown_award", None),
    ("UTH-02", "award.paid", {"round": "paid", "award": "megalink-000001"}, "unknown_award", None),
    ("UTH-01", "award.paid", {"round": "paid", "award": "MEGALINK-000001"}, "unknown_award", None),
]

ROWS = [*OPENING, *PLACING, *CANCELLING, *CLOSING_SETTLING_VOIDING, *HANDS, *PAYING]


@pytest.fixture(scope="module")
def staged() -> LinkDriver:
    return stage()


def ident(row: Row) -> str:
    _, type_, fields, code, _ = row
    return f"{type_}-{fields['round']}-{fields.get('position', '')}-{code}"


@pytest.mark.parametrize("row", ROWS, ids=map(ident, ROWS))
def test_the_first_fault_in_the_contracts_order_is_the_answer(staged: LinkDriver, row: Row) -> None:
    table, type_, fields, code, rule = row
    pit = copy.deepcopy(staged)
    seq = pit.next_seq(table)
    refused = pit.refused(table, type_, **fields)
    assert (refused.code, refused.rule) == (code, rule)
    assert refused.message
    assert refused.recorded
    assert pit.next_seq(table) == seq + 1  # a refusal by the rules uses its seq up, and changes nothing else
    pit.state.next_seq[table] = seq
    assert pit.state == staged.state


@pytest.mark.parametrize("row", ROWS, ids=map(ident, ROWS))
def test_a_wrong_seq_goes_before_the_rules(staged: LinkDriver, row: Row) -> None:
    table, type_, fields, _, _ = row
    pit = copy.deepcopy(staged)
    seq = pit.next_seq(table)
    for wrong, code in (
        (seq - 1, "sequence_reused"),
        (0, "sequence_reused"),
        (-5, "sequence_reused"),
        (seq + 1, "sequence_gap"),
    ):
        refused = pit.refused(table, type_, **{**fields, "seq": wrong})
        assert (refused.code, refused.next_seq, refused.recorded) == (code, seq, False)
    assert pit.state == staged.state


@pytest.mark.parametrize("row", ROWS, ids=map(ident, ROWS))
def test_a_suspended_link_goes_before_the_seq(staged: LinkDriver, row: Row) -> None:
    table, type_, fields, code, _ = row
    pit = copy.deepcopy(staged)
    pit.command(LinkSuspended(id="s", by="manager", reason="audit"))
    for seq in (pit.next_seq(table), 0, 10**6):
        refused = pit.refused(table, type_, **{**fields, "seq": seq})
        if type_ == "award.paid":  # judged as ever, seq first
            expected = {0: "sequence_reused", 10**6: "sequence_gap"}.get(seq, code)
            assert refused.code == expected
        else:
            assert (refused.code, refused.recorded) == ("link_suspended", False)
    pit.command(LinkResumed(id="r", by="manager", reason="audited"))
    assert pit.state.current == staged.state.current


def test_award_already_paid_only_for_its_own_table_and_round(staged: LinkDriver) -> None:
    pit = copy.deepcopy(staged)
    pit.accepted("UTH-01", "award.paid", round="paid", award="megalink-000001")
    for table, round_, code in (
        ("UTH-01", "paid", "award_already_paid"),
        ("UTH-01", "waits", "unknown_award"),
        ("UTH-02", "paid", "unknown_award"),
    ):
        assert pit.refused(table, "award.paid", round=round_, award="megalink-000001").code == code


def test_what_is_refused_on_this_stage_may_be_said_rightly(staged: LinkDriver) -> None:
    for table, type_, fields in (
        ("UTH-02", "wager.placed", {"round": "open", "position": 2, "multiplier": 2, "amount_cents": 1_000}),
        ("UTH-02", "wager.placed", {"round": "open", "position": 7, "multiplier": 5}),
        ("UTH-02", "wager.cancelled", {"round": "open", "position": 1}),
        ("UTH-02", "round.closed", {"round": "open"}),
        ("UTH-02", "round.voided", {"round": "open", **WHY}),
        ("UTH-01", "hand.entered", {"round": "now", "position": 4, **GOOD}),
        ("UTH-01", "hand.withdrawn", {"round": "now", "position": 1, **WHY}),
        ("UTH-01", "hand.declined", {"round": "now", "position": 4}),
        ("UTH-01", "wager.returned", {"round": "now", "position": 1, **WHY}),
        ("UTH-01", "wager.returned", {"round": "now", "position": 2, **WHY}),
        ("UTH-01", "round.settled", {"round": "now"}),
        ("UTH-01", "round.voided", {"round": "now", **WHY}),
        ("UTH-01", "award.paid", {"round": "paid", "award": "megalink-000001"}),
    ):
        copy.deepcopy(staged).accepted(table, type_, **fields)


def test_the_stage_knows_every_refusal_the_link_can_give() -> None:
    outside = {"malformed", "unknown_type", "unknown_table", "not_linked", "wrong_link", "id_reused"}
    elsewhere = {"award_already_paid", "link_suspended", "sequence_gap", "sequence_reused"}
    assert {row[3] for row in ROWS} == {code.value for code in Code} - outside - elsewhere
    assert {code.value for code in NOT_RECORDED} == outside | elsewhere - {"award_already_paid"}
