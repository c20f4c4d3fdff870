"""Every refusal code, in the order of the contract: what is wrong in two ways is refused for the first of them."""

from collections.abc import Callable
from typing import Any

import pytest

from tests.acceptance.conftest import LINK, OTHER_LINK
from tests.acceptance.integrator import Integrator, Table, encoded, event

FLOP = "Qh Jh Th"


async def test_an_unknown_type_in_a_good_envelope_whatever_else_it_holds(pit: Integrator, uth: Table) -> None:
    for fields in ({}, {"round": 5}, {"round": "r", "position": "three", "cards": None}):
        content = event("wager.doubled", 1, **fields)
        reply = await pit.send(LINK, uth.name, content)
        assert (reply["code"], reply["reply_to"], reply["seq"]) == ("unknown_type", content["id"], 1)
        assert (reply["rule"], reply["duplicate"]) == (None, False)
        assert "wager.doubled" in reply["message"]
    await uth.open()


async def test_malformed_goes_before_unknown_type(pit: Integrator, uth: Table) -> None:
    reply = await pit.send(LINK, uth.name, event("wager.doubled", 1) | {"seq": True})
    assert (reply["code"], reply["seq"]) == ("malformed", None)


@pytest.mark.parametrize("link", [LINK, "nolink"])
async def test_unknown_table_on_a_known_and_on_an_unknown_link(pit: Integrator, link: str) -> None:
    content = event("round.opened", 1, round="r")
    reply = await pit.send(link, "UTH-999", content)
    assert (reply["code"], reply["reply_to"], reply["seq"]) == ("unknown_table", content["id"], 1)
    assert reply["message"]
    assert (await pit.send(link, "UTH-999", event("wager.doubled", 1)))["code"] == "unknown_type"
    assert (await pit.answer_to(link, "UTH-999", b"{"))["code"] == "malformed"


@pytest.mark.parametrize("table", ["FAR-01", "P3P-01"])
@pytest.mark.parametrize("link", [LINK, "nolink"])
async def test_a_table_without_progressive_is_not_linked(pit: Integrator, link: str, table: str) -> None:
    content = event("round.opened", 7, round="r")
    reply = await pit.send(link, table, content)
    assert (reply["status"], reply["code"], reply["reply_to"]) == ("refused", "not_linked", content["id"])


@pytest.mark.parametrize("link", [OTHER_LINK, "nolink"])
async def test_wrong_link_goes_before_ids_and_seq(pit: Integrator, uth: Table, link: str) -> None:
    content = event("round.opened", 1, round="r")
    await pit.send(LINK, uth.name, content)
    for wrong in (content, event("round.opened", 99, round="r")):
        reply = await pit.send(link, uth.name, wrong)
        assert (reply["code"], reply["reply_to"]) == ("wrong_link", wrong["id"])
        assert LINK in reply["message"]


async def test_sequence_goes_before_the_rules(uth: Table) -> None:
    await uth.deal()
    uth.seq = 3
    assert (await uth.refused("sequence_reused", "wager.placed", round="?", position=0))["next_seq"] == 4
    uth.seq = 5
    assert (await uth.refused("sequence_gap", "wager.placed", round="?", position=0))["next_seq"] == 4
    for never in (0, -1):
        uth.seq = never
        assert (await uth.refused("sequence_reused", "round.settled"))["next_seq"] == 4
    uth.seq = 4
    await uth.settle()


async def test_round_exists_goes_before_previous_round_open(uth: Table) -> None:
    first = await uth.open()
    await uth.refused("round_exists", "round.opened", round=first)
    await uth.void()
    await uth.refused("round_exists", "round.opened", round=first)
    await uth.open()
    await uth.refused("round_exists", "round.opened", round=first)
    await uth.refused("previous_round_open", "round.opened", round="another")
    await uth.close()
    await uth.refused("round_exists", "round.opened", round=first)
    await uth.refused("previous_round_open", "round.opened", round="another")


async def test_round_exists_goes_before_previous_round_open_also_among_many_on_their_way(
    pit: Integrator, uth: Table
) -> None:
    first = await uth.open()
    await uth.void()
    on_their_way = [
        event("round.opened", uth.seq, round="second"),
        event("round.opened", uth.seq + 1, round=first),
        event("wager.placed", uth.seq + 2, round=first, position=1),
        event("wager.placed", uth.seq + 3, round="second", position=1),
    ]
    before = len(pit.replies(LINK, uth.name))
    for content in on_their_way:
        await pit.publish(LINK, uth.name, encoded(content))
    await pit.until(lambda: len(pit.replies(LINK, uth.name)) == before + 4)
    answers = [reply.get("code") for reply in pit.replies(LINK, uth.name)[before:]]
    assert answers == [None, "round_exists", "round_concluded", None]


IN_A_ROUND: list[tuple[str, dict[str, Any]]] = [
    ("wager.placed", {"position": 1}),
    ("wager.cancelled", {"position": 1}),
    ("round.closed", {}),
    ("wager.returned", {"position": 1, "reason": "5.9"}),
    ("hand.entered", {"position": 1, "cards": ["2c", "7d"], "community": ["Qh", "Jh", "Th"]}),
    ("hand.withdrawn", {"position": 1, "reason": "entered in error"}),
    ("hand.declined", {"position": 1}),
    ("round.settled", {}),
    ("round.voided", {"reason": "5.1"}),
]


@pytest.mark.parametrize("ending", ["round.settled", "round.voided"])
async def test_a_concluded_round_goes_before_its_phase_and_an_unknown_one_before_all(uth: Table, ending: str) -> None:
    await uth.deal()
    await uth.accepted(ending, reason="5.1")
    for type_, fields in IN_A_ROUND:
        wrong = {**fields, **({"position": 99} if "position" in fields else {})}
        await uth.refused("round_concluded", type_, **wrong)
        await uth.refused("unknown_round", type_, round="never opened", **wrong)


async def test_before_closing(uth: Table) -> None:
    await uth.open()
    await uth.wager(1)
    for type_, fields in IN_A_ROUND:
        if type_ in ("wager.returned", "round.settled") or type_.startswith("hand."):
            wrong = {**fields, **({"position": 99} if "position" in fields else {})}
            await uth.refused("round_not_closed", type_, **wrong)


async def test_after_closing(new_table: Callable[[str], Table]) -> None:
    for sheet in ("UTH", "BE", "TCX"):
        table = new_table(sheet)
        await table.deal()
        placed = await table.refused("bets_closed", "wager.placed", position=99, multiplier=77)
        assert placed["rule"] == f"{sheet} 5.5"
        cancelled = await table.refused("bets_closed", "wager.cancelled", position=99)
        assert cancelled["rule"] == f"{sheet} 5.6"
        assert (await table.refused("round_not_open", "round.closed"))["rule"] is None


@pytest.mark.parametrize(("sheet", "positions"), [("UTH", 7), ("BE", 6), ("TCX", 7)])
async def test_bad_position(new_table: Callable[[str], Table], sheet: str, positions: int) -> None:
    table = new_table(sheet)
    await table.open()
    for position in (0, -1, positions + 1, 2**53 - 1):
        await table.refused("bad_position", "wager.placed", position=position, multiplier=6, amount_cents=1)
        await table.refused("bad_position", "wager.cancelled", position=position)
    await table.wager(positions)
    await table.close()
    for type_, fields in IN_A_ROUND:
        if type_ == "wager.returned" or type_.startswith("hand."):
            await table.refused("bad_position", type_, **{**fields, "position": 0})


@pytest.mark.parametrize(
    ("sheet", "one_wager", "multipliers"),
    [("UTH", "UTH 3.4.2", "UTH 3.5.3"), ("BE", "BE 3.5.2", None), ("TCX", "TCX 3.4.2", "TCX 3.5.3")],
)
async def test_a_wager_in_its_order(
    new_table: Callable[[str], Table], sheet: str, one_wager: str, multipliers: str | None
) -> None:
    table = new_table(sheet)
    await table.open()
    await table.wager(1)
    taken = await table.refused("position_taken", "wager.placed", position=1, multiplier=0, amount_cents=1)
    assert taken["rule"] == one_wager
    for multiplier in (0, -1, 6) if sheet != "BE" else (0, 2):
        bad = await table.refused("bad_multiplier", "wager.placed", position=2, multiplier=multiplier, amount_cents=1)
        assert bad["rule"] == multipliers
    for amount_cents in (0, -500, 499, 2500):
        await table.refused("amount_mismatch", "wager.placed", position=2, amount_cents=amount_cents)
    await table.accepted("wager.placed", position=2, amount_cents=500)
    await table.refused("no_wager", "wager.cancelled", position=3)
    await table.accepted("wager.cancelled", position=2)
    await table.refused("no_wager", "wager.cancelled", position=2)
    await table.wager(2)


async def test_hands_in_their_order(uth: Table) -> None:
    await uth.open()
    for position in (1, 2, 3, 4, 5):
        await uth.wager(position)
    await uth.accepted("wager.cancelled", position=5)
    await uth.close()
    await uth.accepted("wager.returned", position=2, reason="5.9")
    await uth.enter(3, "2c 7d", FLOP)
    await uth.accepted("hand.declined", position=4)
    bad_cards: dict[str, Any] = {"cards": ["?"], "community": []}
    for type_, fields in (
        ("wager.returned", {"reason": "5.9"}),
        ("hand.entered", bad_cards),
        ("hand.withdrawn", {"reason": "entered in error"}),
        ("hand.declined", {}),
    ):
        for position in (5, 6):
            await uth.refused("no_wager", type_, position=position, **fields)
        await uth.refused("wager_returned", type_, position=2, **fields)
    await uth.refused("hand_exists", "hand.entered", position=3, **bad_cards)
    await uth.refused("hand_exists", "hand.declined", position=3)
    for type_, fields in (
        ("hand.entered", bad_cards),
        ("hand.declined", {}),
        ("hand.withdrawn", {"reason": "entered in error"}),
    ):
        assert (await uth.refused("hand_declined", type_, position=4, **fields))["rule"] == "UTH 3.10.1"
    await uth.refused("no_hand", "hand.withdrawn", position=1, reason="entered in error")


async def test_a_declined_position_may_still_have_its_wager_returned(uth: Table) -> None:
    await uth.deal()
    await uth.accepted("hand.declined", position=1)
    assert await uth.accepted("wager.returned", position=1, reason="5.9") == {"returned_cents": 500}


async def test_cards_in_their_order(uth: Table) -> None:
    await uth.deal({1: 1, 2: 1})
    for cards, community in (("?? Ah Ah", FLOP), ("?? ", FLOP), ("?? Ah", "Qh Qh"), ("", ""), ("Ah Kh Qh Jh Th", "")):
        await _refused_hand(uth, "wrong_card_count", cards, community)
    for cards, community in (("Ah 1h", "Ah Qh Qh"), ("10d Ah", FLOP), ("td Ah", FLOP), ("Ah Ah", "Qh Jh tH")):
        await _refused_hand(uth, "unknown_card", cards, community)
    for cards, community in (("Ah Ah", FLOP), ("Qh 2c", FLOP), ("2c 3c", "Qh Qh Jh")):
        await _refused_hand(uth, "duplicate_card", cards, community)
    await uth.enter(1, "Ah Kh", FLOP)
    for cards, community in (("Ah 2c", FLOP), ("Ah 2c", "Qd Jd Td"), ("Qh 2c", "Qd Jd Td"), ("2c 3c", "Ah Jh Th")):
        await _refused_hand(uth, "duplicate_card", cards, community, position=2)
    await _refused_hand(uth, "community_mismatch", "2c 3c", "Qh Jh 9h", position=2)
    await uth.accepted("hand.withdrawn", position=1, reason="entered in error")
    await uth.enter(2, "Ah Kh", "2c 3c 4c")


async def _refused_hand(table: Table, code: str, cards: str, community: str, position: int = 1) -> None:
    await table.refused(code, "hand.entered", position=position, cards=cards.split(), community=community.split())


async def test_bullseye_has_no_community_cards(bullseye: Table) -> None:
    await bullseye.deal()
    await _refused_hand(bullseye, "wrong_card_count", "As Ks", "Qs Js Ts")
    await _refused_hand(bullseye, "wrong_card_count", "As Ks Qs Js", "")
    await bullseye.enter(1, "2s 4d 6c 8h Ts")


async def test_awards_in_their_order(uth: Table, new_table: Callable[[str], Table]) -> None:
    await uth.deal()
    await uth.enter(1, "Ah Ad", "Ac As 2d")
    (award,) = (await uth.settle())["awards"]
    other = new_table("UTH")
    await other.open(award["round"])
    await other.refused("unknown_award", "award.paid", award=award["award"])
    await uth.refused("unknown_award", "award.paid", award=award["award"], round="another round")
    for unknown in (f"{LINK}-999999", f"{LINK}-{award['award'][-6:].lstrip('0')}", "x", f"{LINK}-", "-1", "٣" * 6):
        await uth.refused("unknown_award", "award.paid", award=unknown)
    await uth.pay(award)
    await uth.refused("award_already_paid", "award.paid", award=award["award"])
    await uth.refused("unknown_award", "award.paid", award=award["award"], round="another round")
    await other.refused("unknown_award", "award.paid", award=award["award"])


async def test_a_refusal_by_the_rules_uses_its_seq_up_and_is_repeated_as_it_was(pit: Integrator, uth: Table) -> None:
    content = event("wager.placed", 1, round="nowhere", position=1)
    first = await pit.send(LINK, uth.name, content)
    assert (first["code"], first["round"]) == ("unknown_round", "nowhere")
    uth.seq = 2
    await uth.open("nowhere")
    assert await pit.send(LINK, uth.name, content) == first | {"duplicate": True}
    uth.seq = 1
    assert (await uth.refused("sequence_reused", "round.closed"))["next_seq"] == 3
