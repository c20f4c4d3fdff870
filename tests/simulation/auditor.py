"""The auditor: stands beside the broker and the disk, and believes nobody.

His truth is what the tables sent, what they were told and in which order events became durable; the rest he works out
in his own model. He never looks into the product.
"""

import json
from collections import defaultdict
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any

from tests.properties.naive_link import Answer, NaiveLink
from tests.properties.naive_messages import Json
from tests.simulation.wording import Wording, faults_of_award, faults_of_refusal, faults_of_reply, faults_of_status

NOT_RECORDED = {
    "malformed",
    "unknown_type",
    "unknown_table",
    "not_linked",
    "wrong_link",
    "id_reused",
    "sequence_gap",
    "sequence_reused",
    "link_suspended",
}
MISDIRECTED = {"unknown_table", "not_linked", "wrong_link"}


@dataclass
class Recorded:
    """An event that became durable, and what its table must be told."""

    link: str
    table: str
    event: Json
    answer: Answer


@dataclass
class LinkFile:
    """What he keeps of a link beside its model."""

    model: NaiveLink
    n: int = 0
    meters: dict[int, Json] = field(default_factory=dict)
    """What the meter must show, by version."""
    displayed: set[int] = field(default_factory=set)
    """Every amount that it ever showed, in cents."""
    climb: range = range(0)
    """Between the lowest and the highest of them lately: a figure may be on its way there."""
    wins: list[int] = field(default_factory=list)
    """The events that made the meter go down: awards from the pool, and corrections by people."""
    states: dict[str, set[str]] = field(default_factory=lambda: defaultdict(set))
    """Everything that was ever true of a table."""
    status: str = "lost"
    """What its controller said last."""
    suspended_once: bool = False
    commands: dict[str, Json] = field(default_factory=dict)
    last_meter: Json | None = None
    on_sign: int = 0
    """The version that a sign shows."""
    last_next_seq: dict[str, int] = field(default_factory=dict)


class Auditor:
    def __init__(
        self,
        links: dict[str, dict[str, tuple[str, int]]],
        complain: Callable[[str], None],
        now: Callable[[], float] = lambda: 0.0,
    ) -> None:
        """`links` is link to table to game and number of positions."""
        self.complain = complain
        self._now = now
        self.files = {link: LinkFile(NaiveLink(link, tables)) for link, tables in links.items()}
        self.sent: dict[str, set[tuple[str, str, bytes]]] = defaultdict(set)
        """By event id: link, table and payload of whatever was sent under it."""
        self.awaited: dict[str, bytes] = {}
        """By event id: what tables themselves sent, and must be answered in the end."""
        self.recorded: dict[str, Recorded] = {}
        self.told: dict[str, Json] = {}
        """By event id: the first answer that its table got."""
        self.noticed: dict[str, list[float]] = defaultdict(list)
        """By award: when its table was told of it."""
        self.made_at: dict[str, float] = {}
        self.paid_at: dict[str, float] = {}
        self._wording = Wording()
        self.asked: dict[str, Json] = {}
        """By command id: what a person asked for."""
        self.events = self.awards = 0

    # What he hears.

    def published(self, client: str, topic: str, payload: bytes) -> None:
        """A client's message has come to the broker."""
        _, _, link, *rest = topic.split("/")
        if rest[-1] == "events":
            self._sent(client, link, rest[1], payload)
        elif client != f"jackpot-{link}":
            return
        elif rest == ["meter"]:
            self._meter(link, json.loads(payload))
        elif rest == ["awards"]:
            self._award(link, json.loads(payload))
        elif rest == ["status"]:
            self._status(link, json.loads(payload))
        elif rest[-1] == "state":
            self._state(link, rest[1], json.loads(payload))

    def delivered(self, client: str, topic: str, payload: bytes) -> None:
        """A message has reached a client."""
        _, _, link, *rest = topic.split("/")
        if rest[-1] != "replies" or not client.startswith("table-"):
            return
        message = json.loads(payload)
        if "notice" in message:
            award = message["award"]
            self._award(link, award)
            if award["table"] != rest[1]:
                self.complain(f"{rest[1]} is told of an award of {award['table']}: {award}")
            self.noticed[award["award"]].append(self._now())
        elif message.get("code") in NOT_RECORDED:
            self._passing(link, rest[1], message)
        else:
            self._reply(link, rest[1], message)

    def committed(self, link: str, rows: list[Json]) -> None:
        """These events have become durable, in this order."""
        file = self.files[link]
        model = file.model
        for row in rows:
            file.n += 1
            pool, awards = model.now.money["pool"], len(model.now.awards)
            if row["n"] != file.n:
                self.complain(f"{link}: event {row['n']} comes after {file.n - 1}")
            if row["table_id"] is None:
                self._command(file, row)
            else:
                self._event(link, row)
            made = list(model.now.awards.values())[awards:] if len(model.now.awards) > awards else []
            self.made_at.update((award["award"], self._now()) for award in made)
            if model.now.money["pool"] < pool or any(award["kind"] == "percentage" for award in made):
                file.wins.append(file.n)
            if sum(model.now.money[name] for name in ("wagered", "recoverable")) != sum(
                model.now.money[name] for name in ("pool", "reserve", "house", "awarded")
            ):
                raise AssertionError("the auditor's own books do not balance")
        file.meters[file.n] = model.meter()
        file.displayed.add(model.now.displayed())
        lately = [file.meters[n]["displayed_cents"] for n in range(max(1, file.n - 50), file.n + 1) if n in file.meters]
        file.climb = range(min(lately), max(lately) + 1)
        for table in model.tables:
            file.states[table].add(json.dumps({**model.table_state(table), "accepts_play": not model.now.suspended}))

    # What tables send and are told.

    def _sent(self, client: str, link: str, table: str, payload: bytes) -> None:
        try:
            id_ = json.loads(payload)["id"]
        except (ValueError, KeyError, TypeError):
            return
        if isinstance(id_, str):
            self.sent[id_].add((link, table, payload))
            if client == f"table-{link}-{table}":
                self.awaited.setdefault(id_, payload)

    def _event(self, link: str, row: Json) -> None:
        id_, table, payload = row["id"], row["table_id"], row["payload"]
        self.events += 1
        if (link, table, payload) not in self.sent[id_]:
            self.complain(f"{link}: {table} never sent {payload!r}")
        if id_ in self.recorded:
            self.complain(f"{link}: {id_} is recorded twice")
        event = json.loads(payload)
        answer = self.files[link].model.hear(table, event)
        if answer.code in NOT_RECORDED:
            self.complain(f"{link}: {table} is recorded but {answer.code} is due: {payload!r}")
        if answer.code is None and event["type"] == "award.paid":
            self.paid_at[event["award"]] = self._now()
        self.recorded[id_] = Recorded(link, table, event, answer)

    def _reply(self, link: str, table: str, reply: Json) -> None:
        id_ = reply["reply_to"]
        record = self.recorded.get(id_)
        if record is None:
            self.complain(f"{table} is answered before anything is durable: {reply}")
            return
        if (record.link, record.table) != (link, table):
            self.complain(f"{table} of {link} gets the answer of {record.table} of {record.link}: {reply}")
        first = self.told.setdefault(id_, {**reply, "duplicate": False})
        if {**reply, "duplicate": False} != first:
            self.complain(f"{table} was told {first}, and is told {reply}")
        due = record.answer
        if (reply.get("code"), reply["seq"]) != (due.code, record.event["seq"]):
            self.complain(f"{table} is told {reply} where {due} is due for {record.event}")
        elif due.code is None and not same_result(reply["result"], due.result):
            self.complain(f"{table} is told {reply['result']} where {due.result} is due for {record.event}")
        game, _ = self.files[link].model.tables[table]
        self._examine(table, reply, faults_of_reply(reply, record.event, game))

    def _examine(self, table: str, reply: Json, faults: Iterator[str]) -> None:
        wording = self._wording.faults(reply) if reply.get("message") else ()
        for fault in (*faults, *wording):
            self.complain(f"the answer {reply} to {table} {fault}")

    def _passing(self, link: str, table: str, reply: Json) -> None:
        """A refusal that leaves no trace."""
        self._examine(table, reply, faults_of_refusal(reply))
        code, id_, file = reply["code"], reply["reply_to"], self.files.get(link)
        record = self.recorded.get(id_)
        at_home = file is not None and table in file.model.tables
        if at_home == (code in MISDIRECTED):
            self.complain(f"{table} of {link} is told {reply}")
        if record is not None and code in ("malformed", "unknown_type"):
            self.complain(f"{table} is told {reply} of an event that is recorded")
        if code == "id_reused" and (record is None or len(self.sent[id_]) < 2):
            self.complain(f"{table} is told {reply}, but nothing else has that id")
        if code == "link_suspended" and file is not None and not file.suspended_once:
            self.complain(f"{table} is told {reply}, but {link} was never suspended")
        if code in ("sequence_gap", "sequence_reused") and file is not None:
            seq, next_seq = reply["seq"], reply["next_seq"]
            if next_seq > file.model.next_seq(table) or (seq < next_seq) != (code == "sequence_reused"):
                self.complain(f"{table} is told {reply}, but {file.model.next_seq(table)} comes next")
            if code == "sequence_reused" and record is not None and record.event["seq"] == seq:
                self.complain(f"{table} is told {reply} of an event that is recorded under this seq")

    def _command(self, file: LinkFile, row: Json) -> None:
        command = json.loads(row["payload"])
        file.suspended_once |= command["type"] == "link.suspended"
        if command["by"] != "controller" and self.asked.get(command["id"]) != command:
            self.complain(f"{file.model.link}: nobody asked for {command}")
        if command["by"] == "controller" and command["type"] not in ("link.opened", "tables.configured"):
            self.complain(f"{file.model.link}: the controller gave up: {command}")
        if command["id"] in file.commands:
            self.complain(f"{file.model.link}: {command} is carried out twice")
        file.commands[command["id"]] = command
        if file.model.obey(command).code:
            self.complain(f"{file.model.link}: {command} must be refused")

    # What is shown.

    def _award(self, link: str, award: Json) -> None:
        due = self.files[link].model.now.awards.get(award["award"])
        if due is None or not same_award(award, due):
            self.complain(f"{link}: award {award} where {due} is due")
            return
        game, _ = self.files[link].model.tables[award["table"]]
        for fault in faults_of_award(award, game):
            self.complain(f"{link}: award {award} {fault}")

    def shown(self, link: str, meter: Json) -> None:
        """A sign shows this."""
        version, last = meter["version"], self.files[link].on_sign
        self.files[link].on_sign = version
        if version < last or meter["displayed_cents"] != self.files[link].meters[version]["displayed_cents"]:
            self.complain(f"{link}: after version {last} a sign shows {meter}")

    def _meter(self, link: str, meter: Json) -> None:
        file = self.files[link]
        version, shown = meter.pop("version"), meter["displayed_cents"]
        del meter["at"]
        if meter != file.meters.get(version):
            self.complain(f"{link}: the meter of version {version} is {meter}, not {file.meters.get(version)}")
        last, file.last_meter = file.last_meter, {"version": version, "shown": shown}
        if last is None:
            return
        if version < last["version"]:
            self.complain(f"{link}: the meter's version goes back from {last['version']} to {version}")
        won = any(last["version"] < n <= version for n in file.wins[-50:])
        if shown < last["shown"] and not won:
            self.complain(f"{link}: the meter goes down from {last['shown']} to {shown} without a win")

    def _status(self, link: str, status: Json) -> None:
        for fault in faults_of_status(status, link):
            self.complain(f"{link}: {status} {fault}")
        self.files[link].status = status["state"]

    def _state(self, link: str, table: str, state: Json) -> None:
        """A state is of one moment of the link; on top of that, nobody plays unless the link's status is running."""
        file = self.files[link]
        accepts, running = state["accepts_play"], file.status == "running"
        del state["at"]
        known = {said: json.dumps({**state, "accepts_play": said}) in file.states[table] for said in (True, False)}
        if not (known[True] or known[False]):
            self.complain(f"{link}: {table} never was at {state}")
        elif accepts and not (known[True] and running):
            self.complain(f"{link}: {table} may not play: {state}, status {file.status}")
        elif not accepts and running and not known[False]:
            self.complain(f"{link}: {table} may play: {state}, status {file.status}")
        last = file.last_next_seq.get(table, 0)
        if state["next_seq"] < last:
            self.complain(f"{link}: {table} is sent back from seq {last} to {state['next_seq']}")
        file.last_next_seq[table] = state["next_seq"]


def same_result(told: Json, due: Json) -> bool:
    if "awards" not in due:
        return told == due
    return (
        told["pending"] == due["pending"]
        and len(told["awards"]) == len(due["awards"])
        and all(same_award(award, expected) for award, expected in zip(told["awards"], due["awards"], strict=True))
    )


def same_award(told: Json, due: Json) -> bool:
    """Each names at least the decisions that it must name."""
    facts: dict[str, Any] = {name: value for name, value in due.items() if name != "why"}
    return {name: told.get(name) for name in facts} == facts and due["why"] <= set(told["decisions"])
