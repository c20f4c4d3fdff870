"""The real link and the naive one hear the same, and must agree on everything after each event."""

import copy
import json
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from msgspec import convert

from jackpot.contract.events import TableEvent
from jackpot.contract.refusals import Refused
from jackpot.link import commands, decide
from jackpot.link.changes import remember
from jackpot.link.money import Balances
from jackpot.link.parameters import Parameters
from jackpot.link.rounds import Round, from_document, to_document
from jackpot.link.state import ClosedHistory, LinkState, Table, meter, table_state
from jackpot.rules.megalink import GAMES
from tests.copying import replace
from tests.properties.naive_link import Answer, NaiveLink
from tests.properties.naive_messages import Json

if TYPE_CHECKING:
    from jackpot.link.awards import Award
    from jackpot.link.changes import Accepted

AT = "2026-11-16T02:00:00.000Z"
ACCOUNTS = ("wagered", "recoverable", "pool", "reserve", "house", "awarded")
PAY_TABLE = {"BE": "BE 4.5", "UTH": "UTH 4.2", "TCX": "TCX 4.4"}


class TwinLinks:
    """`tables` is table to game and number of positions."""

    def __init__(self, tables: dict[str, tuple[str, int]], terms: Json) -> None:
        self.tables = list(tables)
        self.names = 0
        self.sent: list[tuple[str, Json]] = []
        self.naive = NaiveLink("megalink", tables)
        self.naive.obey({"type": "link.opened", "parameters": terms})
        self.past = ClosedHistory()
        self.state = LinkState(
            "megalink",
            {name: Table(name, GAMES[game], positions) for name, (game, positions) in tables.items()},
            Parameters(),
        )
        opened = commands.LinkOpened(id="open", by="installer", reason="new", parameters=terms)
        self.journals = [*commands.carry_out(self.state, opened, at=AT).journals]
        """Every journal since the link began."""
        self.agree()

    def say(self, table: str, kind: str, **fields: Any) -> None:
        document = {"id": self.name("e"), "seq": self.naive.next_seq(table), "type": kind, "at": AT, **fields}
        if kind != "meters.reported":
            document.setdefault("round", self.round_of(table))
        event = event_of(document)
        before, past, shown = copied(self.state), copy.deepcopy(self.past), self.state.displayed_cents()
        decided = [decide.decide(self.state, table, event, at=AT, past=self.past) for _ in range(2)]
        assert decided[0] == decided[1], "deciding twice gives two answers"
        assert (self.state, self.past) == (before, past), "deciding changed the state"
        decision = decide.step(self.state, table, event, at=AT, past=self.past)
        assert decision == decided[0]
        answer = self.naive.hear(table, document)
        if isinstance(decision, Refused):
            assert decision.code.value == answer.code, f"{kind}: {decision} but {answer.code} was expected"
            uses_seq_up = {**before.next_seq, table: document["seq"] + 1} if decision.recorded else before.next_seq
            assert self.state == replace(before, next_seq=uses_seq_up), "a refusal changed something"
        else:
            assert answer.code is None, f"{kind} was accepted but {answer.code} was expected"
            assert decision.opens == (kind == "round.opened")
            self.same_accepted(decision, answer, before.balances)
            assert decision.awards or self.state.displayed_cents() >= shown, "D4: the meter went down without a win"
        if decision.recorded:
            self.sent.append((table, document))
        self.agree()

    def obey(self, kind: Any, command: Json) -> None:
        before = copied(self.state)
        fields = {name: value for name, value in command.items() if name != "type"}
        answer = self.naive.obey(command)
        try:
            accepted = commands.carry_out(self.state, kind(id="c", by="manager", reason="why", **fields), at=AT)
        except commands.CommandRefusedError:
            assert answer.code == "not_possible"
            assert self.state == before
            return
        assert answer.code is None
        remember(self.past, accepted)
        self.same_accepted(accepted, answer, before.balances)
        self.agree()

    def resend(self, table: str, document: Json) -> None:
        """The ledger answers it again; should it come to the link none the less, it changes nothing."""
        before = copied(self.state)
        decision = decide.step(self.state, table, event_of(document), at=AT, past=self.past)
        assert isinstance(decision, Refused)
        assert decision.code == "sequence_reused"
        assert self.state == before

    def read_back(self) -> None:
        """As the ledger does after a restart: rounds from their documents, claims from the rounds."""
        read = replace(self.state, current={}, waiting={}, claims={})
        for round_ in (*self.state.current.values(), *self.state.waiting.values()):
            read.put(written_and_read(round_))
        assert read == self.state
        self.state = read

    def same_accepted(self, accepted: "Accepted", answer: Answer, before: Balances) -> None:
        result, expected = dict(accepted.result), dict(answer.result)
        if "awards" in expected:
            own = {award["award"] for award in expected.pop("awards")}
            assert result.pop("awards") == [award.document() for award in accepted.awards if award.id in own]
        assert result == expected
        assert [award.id for award in accepted.awards] == [due["award"] for due in answer.awards]
        for award, due in zip(accepted.awards, answer.awards, strict=True):
            same_award(award, due)
        for journal in accepted.journals:
            assert journal.postings.closes
            before = Balances(*(a + b for a, b in zip(before.amounts(), journal.postings.amounts(), strict=True)))
            assert journal.after == before
        assert self.state.balances == before
        self.journals += accepted.journals
        for round_ in accepted.rounds:
            assert written_and_read(round_) == round_

    def agree(self) -> None:
        """Both links are in the same place, and the money is all there."""
        balances, now = self.state.balances, self.naive.now
        assert {account: getattr(balances, account) for account in ACCOUNTS} == now.money
        assert balances.wagered + balances.recoverable == (
            balances.pool + balances.reserve + balances.house + balances.awarded
        )
        assert balances.awarded == sum(award["amount_cents"] for award in now.awards.values()) * 10_000
        assert meter(self.state, version=1, at=AT) == {**self.naive.meter(), "version": 1, "at": AT}
        for claim in self.state.claims_in_order():
            for hand in claim.hands.values():
                assert 0 <= (hand.base_micros or 0) <= balances.pool, "a base above the pool"
        for table in self.tables:
            state = {**self.naive.table_state(table), "accepts_play": not now.suspended, "at": AT}
            assert table_state(self.state, table, at=AT) == state
        assert set(self.state.claims) == set(now.line())
        assert set(self.state.waiting) == {key for key in now.line() if now.phase[key] == "settled"}
        assert set(self.state.unpaid) == now.awards.keys() - now.handed_over

    def name(self, prefix: str) -> str:
        self.names += 1
        return f"{prefix}{self.names}"

    def round_of(self, table: str) -> str:
        current = self.naive.now.table_round(table)
        return "none" if current is None else str(current["id"])

    def tables_in(self, phase: str | None) -> Sequence[str]:
        """Those whose round is in this phase; None: those that have no round."""
        rounds = {table: self.naive.now.table_round(table) for table in self.tables}
        return [table for table, round_ in rounds.items() if (round_ and round_["phase"]) == phase]


def event_of(document: Json) -> TableEvent:
    event: TableEvent = convert(document, TableEvent)
    return event


def written_and_read(round_: Round) -> Round:
    document = json.loads(json.dumps(to_document(round_)))
    return from_document(round_.table, round_.id, round_.phase.value, document)


def same_award(award: "Award", due: Json) -> None:
    document: Json = {**award.document()}
    assert due["why"] <= set(document.pop("decisions"))
    assert PAY_TABLE[award.table.partition("-")[0]] in document.pop("rules")
    assert document.pop("at") == AT
    assert document == {name: value for name, value in due.items() if name != "why"}


def copied(state: LinkState) -> LinkState:
    """Deep where something could be changed in place."""
    return replace(
        state,
        next_seq=dict(state.next_seq),
        current=copy.deepcopy(state.current),
        waiting=copy.deepcopy(state.waiting),
        claims=dict(state.claims),
        unpaid=dict(state.unpaid),
    )
