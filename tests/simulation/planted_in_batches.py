"""Bugs to be planted: what a hasty hand might have written in desk, leader, ledger or link.

Those under "found" are bugs that the simulation did find; they are kept here so that it goes on finding them.
"""

import asyncio
from contextlib import suppress
from typing import Any

import msgspec
import pytest

from jackpot.daemon import batch_attempt, batch_processor, lease_balancer, link_runner
from jackpot.daemon.batch_attempt import IncomingEvent
from jackpot.daemon.batch_processor import BatchProcessor
from jackpot.floor.table import TableController
from jackpot.ledger.errors import CommitUncertainError
from jackpot.ledger.load import RecordedEvent
from jackpot.ledger.store import Store
from jackpot.link import decide
from jackpot.link.changes import Accepted
from tests.properties import planted_in_money, planted_in_order
from tests.simulation.database import Database
from tests.simulation.planting import Bed, around, keeper

PLANTED: Bed = {}
shows = keeper(PLANTED)


class Same:
    """Equal to everything."""

    def __eq__(self, other: object) -> bool:
        return True

    __hash__ = None  # type: ignore[assignment]  # what is equal to everything has no hash


# The desk.


@shows(says="before anything is durable")
def answers_leave_before_the_commit(patch: pytest.MonkeyPatch) -> None:
    under_way = set()

    async def commit(inner: Any, self: Store, batch: Any, *args: Any, **kwargs: Any) -> None:
        if batch.records[0].table is None:
            await inner(self, batch, *args, **kwargs)
            return
        task = asyncio.create_task(inner(self, batch, *args, **kwargs))
        under_way.add(task)
        task.add_done_callback(lambda done: done.cancelled() or done.exception())

    around(patch, Store, "commit", commit)


@shows(says="never was at")
def what_was_decided_stays_in_the_state_when_the_commit_fails(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(BatchProcessor, "_start_again", lambda *_: None)


@shows(says="sequence_reused")
def resends_are_not_looked_up(patch: pytest.MonkeyPatch) -> None:
    async def look_up(inner: Any, *args: Any, **kwargs: Any) -> Any:
        _, past, new = await inner(*args, **kwargs)
        return {}, past, new

    around(patch, BatchProcessor, "_look_up", look_up)


@shows(says="the rogue waits for")
def another_content_under_a_known_id_gets_the_first_answer(patch: pytest.MonkeyPatch) -> None:
    same: Any = Same()

    async def look_up(inner: Any, *args: Any, **kwargs: Any) -> Any:
        seen, past, new = await inner(*args, **kwargs)
        return {id_: RecordedEvent(same, same, same, kept.answer) for id_, kept in seen.items()}, past, new

    around(patch, BatchProcessor, "_look_up", look_up)


@shows("set_a_clock", says="is older than the one before it")
def a_clock_that_goes_back_is_believed(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(batch_processor, "max", lambda now, _: now, raising=False)


@shows(says="unknown_round")
def an_unknown_round_is_not_looked_for_in_the_past(patch: pytest.MonkeyPatch) -> None:
    async def look_up(inner: Any, *args: Any, **kwargs: Any) -> Any:
        seen, past, new = await inner(*args, **kwargs)
        past.rounds.clear()
        return seen, past, new

    around(patch, BatchProcessor, "_look_up", look_up)


@shows("hold_a_batch_until_another_leads", says="never came to its end")
def events_are_acknowledged_before_they_are_committed(patch: pytest.MonkeyPatch) -> None:
    async def commit(inner: Any, self: Any, taken: Any) -> Any:
        self._outlet.acknowledge([item.token for item in taken if isinstance(item, IncomingEvent)])
        return await inner(self, taken)

    around(patch, BatchProcessor, "_commit", commit)


# The ledger, as if its SQL had been written so.


@shows("conflicts_and_lost_answers", says="before anything is durable")
def a_commit_without_an_answer_is_taken_for_done(patch: pytest.MonkeyPatch) -> None:
    async def commit(inner: Any, *args: Any, **kwargs: Any) -> None:
        with suppress(CommitUncertainError):
            await inner(*args, **kwargs)

    around(patch, Store, "commit", commit)


@shows("hold_a_batch_until_another_leads", says="has written")
def the_head_is_moved_whoever_leads(patch: pytest.MonkeyPatch) -> None:
    def post(inner: Any, database: Database, batch: Any, writer: str) -> None:
        batch.epoch = database.links[batch.link].epoch
        inner(database, batch, writer)

    around(patch, Database, "post", post)


@shows(seed=2, says="is recorded twice")
def event_ids_have_no_unique_index(patch: pytest.MonkeyPatch) -> None:
    def refuse(inner: Any, database: Database, row: Any, batch: Any) -> None:
        known, database.ids = database.ids, {}
        try:
            inner(database, row, batch)
        finally:
            database.ids = known

    around(patch, Database, "_refuse_what_is_there", refuse)


@shows("kill_a_daemon", says="never was at")
def rounds_that_wait_are_not_read_back(patch: pytest.MonkeyPatch) -> None:
    def load(inner: Any, database: Database, link: str) -> Any:
        head, state, sent = inner(database, link)
        for key in state.waiting:
            del state.claims[key]
        state.waiting.clear()
        return head, state, sent

    around(patch, Database, "load", load)


# The daemons that share the links.


@shows("restart_a_daemon_in_good_order", seed=6, says="handed to and fro")
def a_daemon_asks_for_a_link_when_it_leads_one_fewer(patch: pytest.MonkeyPatch) -> None:
    def worth(inner: Any, leases: Any, links: Any, me: str, mine: int) -> Any:
        return inner(leases, links, me, mine - 1)

    around(patch, lease_balancer, "worth_asking_for", worth)


@shows("restart_a_daemon_in_good_order", seed=3, says="not shared evenly")
def a_leader_that_is_asked_for_a_link_keeps_it(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(BatchProcessor, "pause", lambda _: None)


# The link.


@shows(seed=2, says="sequence_gap is due")
def a_seq_may_be_skipped(patch: pytest.MonkeyPatch) -> None:
    def skip(inner: Any, state: Any, table: str, event: Any, **more: Any) -> Any:
        expected = state.next_seq.get(table, 1)
        return inner(state, table, msgspec.structs.replace(event, seq=min(event.seq, expected)), **more)

    around(patch, decide, "decide", skip)


@shows("suspend_for_a_while", says="link_suspended is due")
def play_goes_on_while_the_link_is_suspended(patch: pytest.MonkeyPatch) -> None:
    def unaware(inner: Any, state: Any, *args: Any, **more: Any) -> Any:
        reason, state.suspended = state.suspended, None
        try:
            return inner(state, *args, **more)
        finally:
            state.suspended = reason

    around(patch, decide, "decide", unaware)


@shows(seed=2, says="unknown_award")
def any_table_may_pay_an_award(patch: pytest.MonkeyPatch) -> None:
    def paid(inner: Any, state: Any, table: Any, event: Any, past: Any) -> Any:
        award = state.unpaid.get(event.award)
        return inner(state, table, event, past) if award is None else Accepted(paid=award)

    around(patch, decide, "_award_paid", paid)


for bug, seed, says in (
    (planted_in_money.d4_recoverable_is_never_repaid, 1, "displayed_cents"),
    (planted_in_money.d9_odd_cents_go_to_the_house, 1, "displayed_cents"),
    (planted_in_money.d12_the_stake_comes_back_as_well, 1, "amount_cents"),
    (planted_in_order.d5_the_base_is_the_pool_at_the_time_of_payment, 1, "base_cents"),
    (planted_in_order.d6_who_settles_first_is_paid_first, 2, "base_cents"),
    (planted_in_order.d6_a_void_round_frees_nobody, 5, "pending"),
):
    shows(seed=seed, says=says)(bug)


# Found.


@shows("hold_a_batch_until_another_leads", seed=9, says="has written")
def found_a_desk_that_reads_again_adopts_another_leaders_epoch(patch: pytest.MonkeyPatch) -> None:
    async def read_again(self: Any) -> Any:
        _, state, _ = await self.open()
        return state

    patch.setattr(BatchProcessor, "_read_again", read_again)


@shows("stop_a_daemon_for_a_while", "cut_a_daemon_off_the_database", "slow_database", says="goes back from")
def found_a_leader_vouches_before_it_has_read_where_the_link_stands(patch: pytest.MonkeyPatch) -> None:
    async def take(inner: Any, self: Any, epoch: int) -> Any:
        self._epoch, self._renewed = epoch, asyncio.get_running_loop().time()
        return await inner(self, epoch)

    around(patch, link_runner.LinkRunner, "_open", take)


@shows("conclude_a_round", "slow_database", seed=5, says="unknown_round")
def found_a_round_ended_by_a_person_is_forgotten_within_the_batch(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(batch_attempt, "remember", lambda *_: None)


@shows("suspend_for_a_while", says="never answered")
def found_a_table_takes_anybodys_answer_with_its_seq_for_its_own(patch: pytest.MonkeyPatch) -> None:
    def on_reply(inner: Any, self: Any, reply: Any) -> None:
        mine = next((id_ for id_, seq in self._seqs.items() if seq == reply["seq"]), reply["reply_to"])
        inner(self, {**reply, "reply_to": mine})

    around(patch, TableController, "_on_reply", on_reply)


@shows("conclude_a_round", "conflicts_and_lost_answers", "crash_the_database", seed=2, says="carried out: True")
def found_an_order_is_judged_again_when_its_answer_was_lost(patch: pytest.MonkeyPatch) -> None:
    def carry_out(inner: Any, self: Any, order: Any) -> None:
        self.seen.pop(order.command.id, None)
        inner(self, order)

    around(patch, batch_attempt.BatchAttempt, "carry_out", carry_out)
