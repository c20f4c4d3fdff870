"""The last audit: everybody has had his say, nothing is under way, and now everything must be there."""

import json
from itertools import pairwise

from jackpot.cli.verify import LANGUAGE
from jackpot.ledger.replay import Replay, StoredEvent
from tests.simulation.auditor import Auditor, LinkFile
from tests.simulation.broker import Broker
from tests.simulation.database import Database
from tests.simulation.ledger import LinkRow

REMINDED_S = 10.0 + 2.0
"""How often a table must hear of an award that is not paid, and what may come on top of it."""
ACCOUNTS = ("wagered", "recoverable", "pool", "reserve", "house", "awarded")


def close_audit(auditor: Auditor, broker: Broker, database: Database, calm_since: float) -> None:
    everything_is_answered(auditor)
    tables_are_reminded(auditor, calm_since)
    nothing_is_left_behind(auditor, broker)
    for link, file in auditor.files.items():
        claims_are_paid(auditor, file)
        what_is_retained_is_true(auditor, broker, file)
        ledger_agrees(auditor, database.links[link], file)
        ledger_can_be_verified(auditor, database.links[link], link)
    orders_are_carried_out(auditor, database)


def everything_is_answered(auditor: Auditor) -> None:
    for id_, payload in auditor.awaited.items():
        if id_ not in auditor.told:
            auditor.complain(f"never answered: {payload!r}")
    for id_, record in auditor.recorded.items():
        if id_ not in auditor.told:
            auditor.complain(f"{record.table} was never told what became of {record.event}")


def tables_are_reminded(auditor: Auditor, since: float) -> None:
    """Of every award, until it is paid."""
    for award, paid_at in auditor.paid_at.items():
        made_at = max(since, auditor.made_at[award])
        heard = [at for at in auditor.noticed[award] if made_at <= at < paid_at]
        silence_s = max((later - at for at, later in pairwise([made_at, *heard, paid_at])), default=0.0)
        if silence_s > REMINDED_S:
            auditor.complain(f"nobody spoke of {award} for {silence_s:.1f} s, and it was not paid")


def nothing_is_left_behind(auditor: Auditor, broker: Broker) -> None:
    """Of events: whatever a controller was brought is answered, and acknowledged."""
    for name, session in broker.sessions.items():
        if name.startswith("jackpot-") and (session.unacknowledged or session.queue):
            auditor.complain(f"{name} has not acknowledged {len(session.unacknowledged) + len(session.queue)} messages")


def suspension_is_said(auditor: Auditor, broker: Broker, file: LinkFile) -> None:
    """In fine weather, a moment after a person has suspended the link."""
    below = f"jackpot/v1/{file.model.link}"
    status = json.loads(broker.retained.get(f"{below}/status", b"{}"))
    if not file.model.now.suspended or (status.get("state"), status.get("reason")) != ("suspended", "it had to be"):
        auditor.complain(f"{below} is suspended: {file.model.now.suspended}, and its status is left at {status}")
    for table in file.model.tables:
        state = json.loads(broker.retained.get(f"{below}/tables/{table}/state", b"{}"))
        if state.get("accepts_play") is not False:
            auditor.complain(f"{below} is suspended, and {table} may play: {state}")


def claims_are_paid(auditor: Auditor, file: LinkFile) -> None:
    for table, round_ in file.model.now.line():
        auditor.complain(f"{file.model.link}: round {round_} of {table} still waits to be paid")
    for name, award in file.model.now.awards.items():
        if name not in auditor.noticed:
            auditor.complain(f"{award['table']} was never told of its award: {award}")
    hands = [(award["table"], award["round"], award["position"]) for award in file.model.now.awards.values()]
    if len(set(hands)) != len(hands):
        auditor.complain(f"{file.model.link}: a hand has two awards")


def what_is_retained_is_true(auditor: Auditor, broker: Broker, file: LinkFile) -> None:
    model, below = file.model, f"jackpot/v1/{file.model.link}"
    expected = {
        f"{below}/meter": {**model.meter(), "version": file.n},
        f"{below}/status": {"state": "running", "link": model.link},
        **{f"{below}/tables/{t}/state": {**model.table_state(t), "accepts_play": True} for t in model.tables},
    }
    for topic, due in expected.items():
        kept = json.loads(broker.retained.get(topic, b"{}"))
        kept.pop("at", None)
        if kept != due:
            auditor.complain(f"{topic} is left at {kept}, not {due}")


def ledger_agrees(auditor: Auditor, row: LinkRow, file: LinkFile) -> None:
    """The disk against the books: balances, and journals that sum up to them."""
    link, money = file.model.link, file.model.now.money
    kept = dict(zip(ACCOUNTS, row.head["balances"], strict=True))
    posted = {account: sum(journal[account] for journal in row.journals) for account in ACCOUNTS}
    if not kept == posted == money:
        auditor.complain(f"{link}: the ledger has {kept}, its journals {posted}, the auditor {money}")
    if [journal["journal"] for journal in row.journals] != list(range(1, len(row.journals) + 1)):
        auditor.complain(f"{link}: a journal is missing")


def ledger_can_be_verified(auditor: Auditor, row: LinkRow, link: str) -> None:
    """What `jackpot verify` does: every decision made again leads to the same chain."""
    replay, at, day = Replay(link, LANGUAGE), None, None
    for event in row.events:
        again = replay.take(StoredEvent(**event))
        if again.chain != event["chain"] or again.records[0].answer != event["answer"]:
            auditor.complain(f"{link}: event {event['n']} is not what is decided now: {event}")
            return
        if at is not None and day is not None and (event["at"] < at or event["day"] < day):
            auditor.complain(f"{link}: event {event['n']} is older than the one before it")
        at, day = event["at"], event["day"]


def orders_are_carried_out(auditor: Auditor, database: Database) -> None:
    for id_, row in database.requests.items():
        done = id_ in auditor.files[row["link"]].commands
        if row["answer"] is None:
            auditor.complain(f"nobody answered {row['command']}")
        elif done != (row["answer"]["status"] == "accepted"):
            auditor.complain(f"{row['command']} was answered {row['answer']}, carried out: {done}")
