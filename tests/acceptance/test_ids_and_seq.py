"""Ids are for ever, a resend is byte for byte the same, and a seq is used up only by what was recorded."""

import json
from typing import Any

import asyncpg
import pytest

from tests.acceptance.conftest import LINK, OTHER_LINK
from tests.acceptance.integrator import Integrator, Table, encoded, event
from tests.acceptance.processes import Daemon


async def test_a_resend_gets_the_first_answer_again_and_changes_nothing(
    pit: Integrator, uth: Table, ledger: asyncpg.Connection
) -> None:
    await uth.open()
    wager = event("wager.placed", 2, round=uth.round, position=1, multiplier=5)
    first = await pit.send(LINK, uth.name, wager)
    uth.seq = 3
    closed = await uth.close()
    hand = event("hand.entered", 4, round=uth.round, position=1, cards=["Ah", "Ad"], community=["Ac", "As", "2d"])
    entered = await pit.send(LINK, uth.name, hand)
    settle = event("round.settled", 5, round=uth.round)
    settled = await pit.send(LINK, uth.name, settle)
    before = await ledger.fetchrow("SELECT * FROM links WHERE link = $1", LINK)
    for content, answer in ((wager, first), (hand, entered), (settle, settled)):
        for _ in range(2):
            assert await pit.send(LINK, uth.name, content) == answer | {"duplicate": True}
    assert await ledger.fetchrow("SELECT * FROM links WHERE link = $1", LINK) == before
    assert closed["wagers"] == 1
    uth.seq = 6
    await uth.pay(settled["result"]["awards"][0])


async def test_a_resend_among_many_on_their_way(pit: Integrator, uth: Table) -> None:
    content = event("round.opened", 1, round="r")
    for _ in range(5):
        await pit.publish(LINK, uth.name, encoded(content))
    await pit.until(lambda: len(pit.replies(LINK, uth.name, content["id"])) == 5)
    first, *again = pit.replies(LINK, uth.name, content["id"])
    assert (first["status"], first["duplicate"]) == ("accepted", False)
    assert again == [first | {"duplicate": True}] * 4


async def test_the_same_id_with_another_content_is_id_reused(pit: Integrator, uth: Table, daemon: Daemon) -> None:
    content = event("round.opened", 1, round="r", note="first")
    answer = await pit.send(LINK, uth.name, content)
    others: list[dict[str, Any]] = [
        content | {"seq": 2},
        content | {"note": "unknown fields are content too"},
        content | {"at": "2026-11-16T02:00:00.001Z"},
        content | {"type": "round.closed", "seq": 2},
        {key: content[key] for key in reversed(content)},
    ]
    for other in others:
        reply = await pit.send(LINK, uth.name, other)
        assert (reply["code"], reply["reply_to"], reply["duplicate"]) == ("id_reused", content["id"], False)
        assert reply["message"]
    spaced = json.dumps(content, separators=(",", ":")).encode()
    assert (await pit.answer_to(LINK, uth.name, spaced))["code"] == "id_reused"
    assert await pit.send(LINK, uth.name, content) == answer | {"duplicate": True}
    alarms = [line for line in daemon.get("/metrics")[1].splitlines() if line.startswith("jackpot_ids_reused_total{")]
    assert any(LINK in line and float(line.split()[-1]) >= 6 for line in alarms), alarms
    uth.seq = 2
    uth.round = "r"
    await uth.close()


async def test_an_id_of_another_table_or_link_is_id_reused(pit: Integrator, uth: Table, bullseye: Table) -> None:
    content = event("round.opened", 1, round="r")
    await pit.send(LINK, uth.name, content)
    reply = await pit.send(LINK, bullseye.name, content)
    assert (reply["code"], reply["reply_to"]) == ("id_reused", content["id"])
    elsewhere = pit.table(OTHER_LINK, "UTH-501")
    reply = await pit.send(OTHER_LINK, elsewhere.name, content)
    assert (reply["code"], reply["reply_to"]) == ("id_reused", content["id"])
    await bullseye.open()
    await elsewhere.open()


async def test_id_reused_goes_before_the_sequence(pit: Integrator, uth: Table) -> None:
    content = event("round.opened", 1, round="r")
    await pit.send(LINK, uth.name, content)
    for seq in (1, 2, 50):
        reply = await pit.send(LINK, uth.name, content | {"seq": seq, "round": "s"})
        assert reply["code"] == "id_reused"


@pytest.mark.parametrize("number_of_events", [2, 3])
async def test_id_reused_goes_before_the_sequence_also_among_many_on_their_way(
    pit: Integrator, uth: Table, number_of_events: int
) -> None:
    """The first takes an id of before, so that what follows it is not where its seq says."""
    known = [event("round.opened", 1, round="r"), event("round.closed", 2, round="r")]
    for content in known:
        await pit.send(LINK, uth.name, content)
    before = len(pit.replies(LINK, uth.name))
    wrong = [known[nth % 2] | {"seq": 3 + nth, "at": "2026-11-16T03:00:00Z"} for nth in range(number_of_events)]
    for content in wrong:
        await pit.publish(LINK, uth.name, encoded(content))
    await pit.until(lambda: len(pit.replies(LINK, uth.name)) == before + number_of_events)
    assert [reply["code"] for reply in pit.replies(LINK, uth.name)[before:]] == ["id_reused"] * number_of_events


async def test_the_id_of_an_event_that_was_not_recorded_is_judged_afresh(pit: Integrator, uth: Table) -> None:
    early = event("round.closed", 2, round="r")
    gap = await pit.send(LINK, uth.name, early)
    assert (gap["code"], gap["next_seq"], gap["duplicate"]) == ("sequence_gap", 1, False)
    wrong_topic = await pit.send("nolink", uth.name, early)
    assert wrong_topic["code"] == "wrong_link"
    malformed = await pit.send(LINK, uth.name, early | {"seq": "2"})
    assert (malformed["code"], malformed["reply_to"], malformed["seq"]) == ("malformed", early["id"], None)
    unknown = await pit.send(LINK, uth.name, early | {"type": "round.paused"})
    assert unknown["code"] == "unknown_type"
    await uth.open("r")
    accepted = await pit.send(LINK, uth.name, early)
    assert (accepted["status"], accepted["duplicate"]) == ("accepted", False)


async def test_a_gap_says_from_where_to_go_on_and_the_rest_is_taken_then(pit: Integrator, uth: Table) -> None:
    events = [event("round.opened", 1, round="r"), event("wager.placed", 2, round="r", position=1)]
    events.append(event("round.closed", 3, round="r"))
    for content in (events[0], events[2]):
        await pit.publish(LINK, uth.name, encoded(content))
    await pit.until(lambda: len(pit.replies(LINK, uth.name)) == 2)
    gap = pit.replies(LINK, uth.name)[1]
    assert (gap["code"], gap["next_seq"], gap["seq"]) == ("sequence_gap", 2, 3)
    for content in events[1:]:
        assert (await pit.send(LINK, uth.name, content))["status"] == "accepted"


async def test_a_new_id_with_an_old_seq_is_sequence_reused(pit: Integrator, uth: Table) -> None:
    await uth.deal()
    for seq in (1, 3):
        content = event("round.opened", seq, round="s")
        for _ in range(2):  # it is not recorded, so that it is no duplicate the second time
            reply = await pit.send(LINK, uth.name, content)
            assert (reply["code"], reply["next_seq"], reply["duplicate"]) == ("sequence_reused", 4, False)


async def test_the_retain_flag_of_an_event_is_ignored(pit: Integrator, uth: Table) -> None:
    content = event("round.opened", 1, round="r")
    try:
        first = await pit.answer_to(LINK, uth.name, encoded(content), retain=True)
        assert (first["status"], first["duplicate"]) == ("accepted", False)
        again = await pit.answer_to(LINK, uth.name, encoded(content), retain=True)
        assert again == first | {"duplicate": True}
    finally:
        await pit.clear_retained(LINK, uth.name)
