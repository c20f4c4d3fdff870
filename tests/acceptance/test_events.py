"""Every event type, accepted: what each answers, and what the table's state and the meter then say."""

import aiomqtt
import asyncpg
import pytest

from tests.acceptance.conftest import LINK, OTHER_LINK
from tests.acceptance.integrator import Integrator, Table, connected, encoded, event
from tests.acceptance.processes import Daemon


async def test_a_round_from_place_your_bets_to_its_end(pit: Integrator) -> None:
    uth = pit.table(OTHER_LINK, "UTH-503")  # on a link where nothing given back is owed first (D4)
    await pit.state(OTHER_LINK, uth.name, next_seq=1, round=None, pending=[], accepts_play=True)
    before = await pit.meter(OTHER_LINK, pending=[])

    name = await uth.open()
    await pit.state(OTHER_LINK, uth.name, next_seq=2, round={"id": name, "phase": "open"})
    await uth.wager(1)
    await uth.wager(2, multiplier=5)
    assert await uth.accepted("wager.placed", position=3, multiplier=2, amount_cents=1000) == {}
    assert await uth.accepted("wager.cancelled", position=3) == {}
    await uth.wager(4)

    # 500 + 2500 + 500 cents at 25 %; the figure on the sign goes up by what that is in whole cents.
    assert await uth.close() == {
        "wagers": 3,
        "wagered_cents": 3500,
        "contributed_micros": 8_750_000,
        "displayed_cents": before["displayed_cents"] + 875,
    }
    after = await pit.meter(OTHER_LINK, displayed_cents=before["displayed_cents"] + 875)
    assert after["version"] > before["version"]
    assert after.keys() >= {"link", "currency", "displayed_cents", "reset_cents", "entry", "version", "pending", "at"}
    await pit.state(OTHER_LINK, uth.name, next_seq=8, round={"id": name, "phase": "closed"})

    assert await uth.accepted("wager.returned", position=4, reason="5.12.2") == {"returned_cents": 500}
    nothing = await uth.enter(1, "2c 7d", "Qh Jh Th")
    assert nothing["rank"] == "none"
    assert await uth.accepted("hand.withdrawn", position=1, reason="entered in error") == {}
    again = await uth.enter(1, "2d 7c", "Qh Jh Th")
    assert again == {"rank": "none", "entry": nothing["entry"] + 1}
    assert await uth.accepted("hand.declined", position=2) == {}
    assert await uth.settle() == {"awards": [], "pending": []}
    await pit.state(OTHER_LINK, uth.name, next_seq=uth.seq, round=None)


async def test_a_void_round_gives_every_standing_wager_back(uth: Table) -> None:
    await uth.open()
    await uth.wager(1)
    await uth.wager(2, 3)
    await uth.accepted("wager.cancelled", position=1)
    assert await uth.void() == {"returned_cents": 1500}
    await uth.deal({1: 1, 2: 2, 3: 3})
    await uth.accepted("wager.returned", position=3, reason="5.9")
    assert await uth.void() == {"returned_cents": 1500}


async def test_a_withdrawn_hand_may_also_be_declined(uth: Table) -> None:
    await uth.deal()
    await uth.enter(1, "2c 7d", "Qh Jh Th")
    await uth.accepted("hand.withdrawn", position=1, reason="entered in error")
    assert await uth.accepted("hand.declined", position=1) == {}
    assert await uth.settle() == {"awards": [], "pending": []}


async def test_a_returned_wager_takes_its_hand_along(bullseye: Table) -> None:
    await bullseye.deal({1: 1, 2: 1})
    await bullseye.enter(1, "As Ad Ac Ah 2s")
    await bullseye.accepted("wager.returned", position=1, reason="5.9")
    await bullseye.enter(2, "As Ad Ac Ah 2s")
    settled = await bullseye.settle()
    assert [award["position"] for award in settled["awards"]] == [2]


@pytest.mark.parametrize(
    ("cards", "rank", "odds"),
    [
        ("As Ad Ac Ah 2s", "four_of_a_kind", 400),
        ("As Ad Ac 2h 2s", "full_house", 80),
        ("As Ks Qs Js 2s", "flush", 40),
        ("5s 4s 3s 2s Ah", "straight", 20),
        ("As Ad Ac Kh 2s", "none", 0),
    ],
)
async def test_the_cards_decide_the_rank_and_a_fixed_award_is_paid_for_1(
    bullseye: Table, cards: str, rank: str, odds: int
) -> None:
    await bullseye.deal()
    entered = await bullseye.enter(1, cards)
    assert entered["rank"] == rank
    settled = await bullseye.settle()
    assert [award["amount_cents"] for award in settled["awards"]] == ([odds * 500] if odds else [])
    for award in settled["awards"]:
        assert await bullseye.notice(award["award"]) == award
        await bullseye.pay(award)


async def test_an_award_in_the_reply_in_the_notice_and_for_signage(pit: Integrator, uth: Table) -> None:
    await uth.deal({3: 3})
    entered = await uth.enter(3, "Ah Ad", "Ac As 2d")
    (award,) = (await uth.settle())["awards"]
    number = int(award["award"].removeprefix(f"{LINK}-"))
    assert award == {
        "award": f"{LINK}-{number:06d}",
        "link": LINK,
        "table": uth.name,
        "round": uth.round,
        "position": 3,
        "entry": entered["entry"],
        "rank": "four_of_a_kind",
        "kind": "fixed",
        "amount_cents": 600_000,
        "base_cents": None,
        "shared_by": 1,
        "multiplier": 3,
        "rules": award["rules"],
        "decisions": award["decisions"],
        "at": award["at"],
    }
    assert "UTH 4.2" in award["rules"]
    assert "D12" in award["decisions"]
    assert award["at"].endswith("Z")
    assert await uth.notice(award["award"]) == award
    await pit.until(lambda: award in pit.on(f"{LINK}/awards"))
    said = pit.on(f"{LINK}/tables/{uth.name}/replies")
    reply = next(place for place, message in enumerate(said) if award in message.get("result", {}).get("awards", []))
    notice = next(place for place, message in enumerate(said) if message.get("notice"))
    assert reply < notice, "the reply comes first, then the notices"
    await uth.pay(award)


async def test_awards_are_numbered_without_holes(uth: Table, bullseye: Table, ledger: asyncpg.Connection) -> None:
    for table, cards in ((uth, ("Ah Ad", "Ac As 2d")), (bullseye, ("Ah Ad Ac As 2d", ""))):
        await table.deal()
        await table.enter(1, *cards)
        (award,) = (await table.settle())["awards"]
        await table.pay(award)
    numbers = [row["award"] for row in await ledger.fetch("SELECT award FROM awards WHERE link = $1", LINK)]
    assert sorted(numbers) == list(range(1, len(numbers) + 1))


async def test_award_paid_is_accepted_whatever_round_is_open(uth: Table) -> None:
    await uth.deal()
    await uth.enter(1, "Ah Ad", "Ac As 2d")
    (award,) = (await uth.settle())["awards"]
    await uth.open()
    await uth.pay(award)


async def test_meters_reported_has_no_round(uth: Table) -> None:
    reply = await uth.say("meters.reported", day="2026-11-16", wagers=3, wagered_cents=3500, awards=0, awarded_cents=0)
    assert (reply["status"], reply["result"]) == ("accepted", {})
    assert "round" not in reply


async def test_every_other_reply_names_its_round(uth: Table) -> None:
    reply = await uth.say("round.opened", round="20261116-0042")
    assert reply == {
        "reply_to": reply["reply_to"],
        "seq": 1,
        "status": "accepted",
        "duplicate": False,
        "round": "20261116-0042",
        "result": {},
    }


async def test_community_cards_may_be_given_in_any_order_and_anew_when_no_hand_stands(uth: Table) -> None:
    await uth.deal({1: 1, 2: 1})
    await uth.enter(1, "2c 7d", "Qh Jh Th")
    await uth.enter(2, "3c 8d", "Th Qh Jh")
    for position in (1, 2):
        await uth.accepted("hand.withdrawn", position=position, reason="wrong flop")
    assert (await uth.enter(1, "Qh Jh", "Kh 2s 3s"))["rank"] == "none"


async def test_three_card_poker_has_two_community_cards(tcx: Table) -> None:
    await tcx.deal({7: 5})
    assert (await tcx.enter(7, "2c 3d 4h", "5s Ac"))["rank"] == "straight"
    (award,) = (await tcx.settle())["awards"]
    assert (award["amount_cents"], award["multiplier"]) == (20 * 500 * 5, 5)
    assert "TCX 4.4" in award["rules"]
    await tcx.pay(award)


async def test_clients_of_mqtt_3_1_1_and_5_are_served_alike(
    daemon: Daemon, floor_broker: str, protocol: aiomqtt.ProtocolVersion
) -> None:
    name = "UTH-904" if protocol is aiomqtt.ProtocolVersion.V5 else "UTH-905"
    async with connected(floor_broker, protocol=protocol) as pit:
        table = pit.table(LINK, name)
        await pit.state(LINK, name, next_seq=1)
        await table.deal()
        await table.enter(1, "Ah Ad", "Ac As 2d")
        (award,) = (await table.settle())["awards"]
        assert await table.notice(award["award"]) == award
        await table.pay(award)
        assert (await pit.meter(LINK))["currency"] == "SGD"


async def test_up_to_64_events_may_be_on_their_way(pit: Integrator, uth: Table) -> None:
    wanted = [
        event(type_, nth + 1, round=f"r{nth // 2}", reason="5.1")
        for nth, type_ in enumerate(["round.opened", "round.voided"] * 32)
    ]
    for content in wanted:
        await pit.publish(LINK, uth.name, encoded(content))
    await pit.until(lambda: len(pit.replies(LINK, uth.name)) == 64)
    replies = pit.replies(LINK, uth.name)
    assert [reply["reply_to"] for reply in replies] == [content["id"] for content in wanted]
    assert {reply["status"] for reply in replies} == {"accepted"}
