"""A table that is given another link, game or number of positions: it ends what it began as it was, then it changes."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest

from jackpot.cli.verify import LANGUAGE
from jackpot.daemon import batch_processor
from jackpot.daemon.batch_processor import BatchProcessor
from jackpot.ledger.connection import connect_writer
from jackpot.ledger.errors import TransactionConflictError
from jackpot.ledger.store import Store
from jackpot.ledger.verify import verify
from jackpot.link.commands import LinkSuspended
from tests.ledger.processors import Counter, desk_at
from tests.logged import logged_by

TABLE = "UTH-01"
AS_IT_WAS = {"id": TABLE, "game": "ultimate-texas-holdem", "positions": 7}
MOVED: dict[str, str | None] = {TABLE: "other"}


async def win(counter: Counter, round_: str = "won") -> dict[str, Any]:
    await deal(counter, round_)
    cards = {"cards": ["Ah", "Ad"], "community": ["Ac", "As", "2d"]}
    await counter.accepted(TABLE, "hand.entered", round=round_, position=1, **cards)
    (award,) = (await counter.accepted(TABLE, "round.settled", round=round_))["awards"]
    return {"award": award["award"], "round": award["round"]}


async def deal(counter: Counter, round_: str, position: int = 1) -> None:
    await counter.accepted(TABLE, "round.opened", round=round_)
    await counter.accepted(TABLE, "wager.placed", round=round_, position=position)
    await counter.accepted(TABLE, "round.closed", round=round_)


async def proved(url: str, *links: str) -> None:
    reader = await connect_writer(url)
    try:
        for link in links:
            await verify(reader, link, LANGUAGE)
    finally:
        await reader.close()


def tables(processor: BatchProcessor) -> list[dict[str, Any]]:
    assert processor.state is not None
    return processor.state.tables_document()


@pytest.mark.parametrize("home", ["other", None])
async def test_an_award_is_paid_on_the_link_that_made_it(ledger_url: str, home: str | None) -> None:
    seqs: dict[str, int] = {}
    async with desk_at(ledger_url, AS_IT_WAS, seqs=seqs) as before:
        award, second = await win(before), await win(before, "won again")
    async with desk_at(ledger_url, directory={TABLE: home, "UTH-02": "megalink"}, seqs=seqs) as old:
        assert tables(old.processor) == []
        stranger = await old.send(
            "UTH-02", {"id": "x", "seq": 1, "type": "award.paid", "at": "2026-11-16T02:00:00Z", **award}
        )
        assert stranger["code"] == "unknown_award"
        await old.accepted(TABLE, "award.paid", **award)
        refused = "wrong_link" if home else "not_linked"
        assert (await old.say(TABLE, "award.paid", **award))["code"] == refused
        assert (await old.say(TABLE, "round.opened", round="next"))["code"] == refused
        # The table's counter goes on wherever it speaks.
        async with desk_at(ledger_url, AS_IT_WAS, link="other", seqs=seqs) as new:
            await deal(new, "at home")
            paid = {"id": "paid", "seq": seqs[TABLE] + 1, "type": "award.paid", "at": "2026-11-16T02:00:00Z", **second}
            first = await old.send(TABLE, paid)
            assert (first["status"], first["duplicate"]) == ("accepted", False)
            assert await old.send(TABLE, paid) == first | {"duplicate": True}
            reused = {
                "id": "reused",
                "seq": seqs[TABLE] + 1,
                "type": "round.settled",
                "round": "at home",
                "at": paid["at"],
            }
            assert (await new.send(TABLE, reused))["code"] == "sequence_reused"
            seqs[TABLE] += 1
            await new.accepted(TABLE, "round.settled", round="at home")
    await proved(ledger_url, "megalink", "other")


async def test_a_round_ends_on_the_link_where_it_began_and_then_the_table_has_left(ledger_url: str) -> None:
    seqs: dict[str, int] = {}
    async with desk_at(ledger_url, AS_IT_WAS, seqs=seqs) as before:
        await deal(before, "begun")
    async with (
        desk_at(ledger_url, directory=MOVED, seqs=seqs) as old,
        desk_at(ledger_url, AS_IT_WAS, link="other", seqs=seqs) as new,
    ):
        assert tables(old.processor) == [AS_IT_WAS]
        assert (await old.say(TABLE, "round.opened", round="next"))["code"] == "wrong_link"
        await old.accepted(TABLE, "hand.declined", round="begun", position=1)
        await old.accepted(TABLE, "round.settled", round="begun")
        assert tables(old.processor) == []
        await deal(new, "at home")
    await proved(ledger_url, "megalink", "other")


async def test_a_table_no_longer_configured_is_unknown_whatever_it_began(ledger_url: str) -> None:
    seqs: dict[str, int] = {}
    async with desk_at(ledger_url, AS_IT_WAS, seqs=seqs) as before:
        award = await win(before)
    async with desk_at(ledger_url, seqs=seqs) as after:
        assert (await after.say(TABLE, "award.paid", **award))["code"] == "unknown_table"


async def test_a_changed_table_changes_when_its_round_has_ended(ledger_url: str) -> None:
    seqs: dict[str, int] = {}
    changed = {**AS_IT_WAS, "positions": 5}
    async with desk_at(ledger_url, AS_IT_WAS, seqs=seqs) as before:
        await before.accepted(TABLE, "round.opened", round="begun")
    async with desk_at(ledger_url, changed, seqs=seqs) as after:
        assert tables(after.processor) == [AS_IT_WAS]
        await after.accepted(TABLE, "wager.placed", round="begun", position=7)
        await after.accepted(TABLE, "round.closed", round="begun")
        await after.accepted(TABLE, "round.settled", round="begun")
        assert tables(after.processor) == [changed]
        n = after.processor.n
        await after.accepted(TABLE, "round.opened", round="next")
        assert (await after.say(TABLE, "wager.placed", round="next", position=7))["code"] == "bad_position"
        assert after.processor.n == n + 2, "the tables are configured once"
    async with desk_at(ledger_url, changed, seqs=seqs) as again:
        assert again.processor.n == n + 2, "and not again"
    await proved(ledger_url, "megalink")


@contextmanager
def one_conflict(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """The next batch must be decided a second time."""
    commit = Store.commit

    async def conflict(*_: object, **__: object) -> None:
        monkeypatch.setattr(Store, "commit", commit)
        raise TransactionConflictError("40001")

    monkeypatch.setattr(Store, "commit", conflict)
    yield
    assert Store.commit is commit


async def test_what_was_done_is_logged_once_it_is_committed(ledger_url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    async with desk_at(ledger_url, AS_IT_WAS) as counter:
        await deal(counter, "won")
        cards = {"cards": ["Ah", "Ad"], "community": ["Ac", "As", "2d"]}
        await counter.accepted(TABLE, "hand.entered", round="won", position=1, **cards)
        logged = logged_by(batch_processor, monkeypatch)
        with one_conflict(monkeypatch):
            await counter.accepted(TABLE, "round.settled", round="won")
        with one_conflict(monkeypatch):
            await counter.order(LinkSuspended(id="s", by="shift manager", reason="fire alarm"))
    told = [entry["event"] for entry in logged]
    assert told == ["commit_retried", "award_made", "commit_retried", "command_carried_out"]
