"""`jackpot table`: single events by hand, against a real daemon."""

import json
import time
from collections.abc import Callable
from functools import partial

import pytest

from tests.acceptance.processes import Daemon
from tests.cli.conftest import Jackpot, Said
from tests.waiting import patience_s

Table = Callable[..., Said]


@pytest.fixture
def uth(jackpot: Jackpot, daemon: Daemon, request: pytest.FixtureRequest) -> Table:
    """A table of its own for each test."""
    names = request.config.stash.setdefault(_NAMES, [f"UTH-{number:02d}" for number in range(1, 10)])
    return partial(jackpot, "table", "--config", daemon.config, names.pop())


_NAMES = pytest.StashKey[list[str]]()


def test_a_round_by_hand_from_place_your_bets_to_paid(uth: Table) -> None:
    assert json.loads(uth("state").out)["next_seq"] == 1
    assert "<- accepted" in uth("open").out
    assert "<- accepted" in uth("wager", "3", "-x", "5").out
    assert "<- accepted" in uth("wager", "4").out
    assert "<- accepted" in uth("cancel", "4").out
    assert '"wagered_cents": 2500' in uth("close").out
    assert '"rank": "four_of_a_kind"' in uth("hand", "3", "Ah Ad", "--community", "Ac As 2d").out
    assert "<- accepted" in uth("withdraw", "3").out
    assert '"rank": "full_house"' in uth("hand", "3", "Ah Ad", "--community", "Ac 2s 2d").out
    settled = uth("settle")
    assert '"amount_cents": 200000' in settled.out
    award = json.loads(settled.out.rpartition("<- accepted ")[2])["awards"][0]
    paid = uth("paid", award["award"], "--round", award["round"])
    assert (paid.code, "<- accepted" in paid.out) == (0, True)
    deadline = time.monotonic() + patience_s(20)
    while json.loads(uth("state").out)["round"] is not None:  # the contract gives it a second
        assert time.monotonic() < deadline


def test_a_refusal_names_code_and_paragraph_and_exits_1(uth: Table) -> None:
    uth("open")
    uth("close")
    refused = uth("wager", "1")
    assert refused.code == 1
    assert refused.complaint.startswith("refused (bets_closed, UTH 5.5): ")
    uth("void")


def test_for_programs_the_answer_is_json_and_a_refusal_exits_1_too(jackpot: Jackpot, daemon: Daemon) -> None:
    table = partial(jackpot, "table", "--config", daemon.config, "-o", "json", "BE-01")
    (opened,) = table("open").documents
    assert (opened["status"], opened["seq"]) == ("accepted", 1)
    wrong = table("wager", "9")
    assert (wrong.code, wrong.documents[0]["code"]) == (1, "bad_position")
    table("void")


def test_a_resend_is_the_same_id_and_seq(jackpot: Jackpot, daemon: Daemon) -> None:
    table = partial(jackpot, "table", "--config", daemon.config, "--id", "by-hand-1", "--seq", "1", "-o", "json")
    event = '{"type": "round.opened", "round": "r1", "at": "2026-11-16T02:00:00Z"}'
    assert [table("BE-02", "say", event).documents[0]["duplicate"] for _ in range(2)] == [False, True]
    other = '{"type": "round.opened", "round": "r2", "at": "2026-11-16T02:00:00Z"}'
    assert table("BE-02", "say", other).documents[0]["code"] == "id_reused"


def test_anything_at_all_can_be_sent_exactly(uth: Table) -> None:
    assert "to send it all the same add --exactly" in uth("say", '{"type": ').complaint
    assert uth("say", "--exactly", '{"type": ').complaint.startswith("refused (malformed)")


def test_a_whole_round_with_the_cards_given_or_from_a_shuffled_deck(jackpot: Jackpot, daemon: Daemon) -> None:
    table = partial(jackpot, "table", "--config", daemon.config, "BE-03")
    royal = table("play", "--cards", "As Ks Qs Js Ts")
    assert '"rank": "royal_flush"' in royal.out
    assert "-> award.paid" in royal.out
    shuffled = table("play")
    assert (shuffled.code, "-> round.settled" in shuffled.out) == (0, True)


def test_the_days_counters_can_be_reported(uth: Table) -> None:
    reported = uth("report", "--day", "2026-11-16", "--wagers", "3", "--wagered-cents", "3500")
    assert (reported.code, "<- accepted {}" in reported.out) == (0, True)


def test_a_table_that_is_not_linked_is_named_before_anything_is_sent(jackpot: Jackpot, daemon: Daemon) -> None:
    said = jackpot("table", "--config", daemon.config, "FAR-01", "open")
    assert said.code == 2
    assert "FAR-01 is no linked table" in said.complaint
    forced = jackpot("table", "--config", daemon.config, "--link", "megalink", "FAR-01", "open")
    assert (forced.code, forced.complaint[:20]) == (1, "refused (not_linked)")


def test_without_a_configuration_broker_and_link_are_enough(jackpot: Jackpot, daemon: Daemon, mqtt_url: str) -> None:
    said = jackpot("table", "--mqtt", mqtt_url, "--link", "megalink", "UTH-77", "open")
    assert said.complaint.startswith("refused (unknown_table)")
    assert jackpot("table", "UTH-01", "state").code == 2


def test_nobody_at_the_broker_is_one_line(jackpot: Jackpot) -> None:
    said = jackpot("table", "--mqtt", "mqtt://127.0.0.1:1", "--link", "megalink", "UTH-01", "open")
    assert said.code == 1
    assert "127.0.0.1:1 cannot be reached" in said.complaint


def test_no_daemon_behind_the_broker_is_said(jackpot: Jackpot, nats: str) -> None:
    said = jackpot("table", "--mqtt", nats, "--link", "megalink", "--wait", "0.2", "UTH-01", "open")
    assert said.code == 1
    assert said.complaint == "no answer within 0.2 s; link megalink has no status: does its daemon run?"


def test_a_round_that_is_not_open_cannot_be_wagered_on(uth: Table) -> None:
    said = uth("wager", "1")
    assert said.code == 2
    assert "has no round under way" in said.complaint
