"""The last audit: everybody has had his say, nothing is under way, and now everything must be there."""

import json

from jackpot.cli.verify import LANGUAGE
from jackpot.ledger.replay import Replay, StoredEvent
from tests.simulation.auditor import Auditor, LinkFile
from tests.simulation.broker import Broker
from tests.simulation.database import Database
from tests.simulation.ledger import LinkRow

ACCOUNTS = ("wagered", "recoverable", "pool", "reserve", "house", "awarded")


def close_audit(auditor: Auditor, broker: Broker, database: Database) -> None:
    everything_is_answered(auditor)
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


def claims_are_paid(auditor: Auditor, file: LinkFile) -> None:
    for round_ in file.books.line():
        auditor.complain(f"{file.books.link}: round {round_.name} of {round_.table} still waits to be paid")
    for name, award in file.books.awards.items():
        if name not in auditor.noticed:
            auditor.complain(f"{award['table']} was never told of its award: {award}")
    hands = [(award["table"], award["round"], award["position"]) for award in file.books.awards.values()]
    if len(set(hands)) != len(hands):
        auditor.complain(f"{file.books.link}: a hand has two awards")


def what_is_retained_is_true(auditor: Auditor, broker: Broker, file: LinkFile) -> None:
    books, below = file.books, f"jackpot/v1/{file.books.link}"
    expected = {
        f"{below}/meter": {**books.meter(), "version": file.n},
        f"{below}/status": {"state": "running", "link": books.link},
        **{f"{below}/tables/{t}/state": {**books.table_state(t), "accepts_play": True} for t in books.tables},
    }
    for topic, due in expected.items():
        kept = json.loads(broker.retained.get(topic, b"{}"))
        kept.pop("at", None)
        if kept != due:
            auditor.complain(f"{topic} is left at {kept}, not {due}")


def ledger_agrees(auditor: Auditor, row: LinkRow, file: LinkFile) -> None:
    """The disk against the books: balances, and journals that sum up to them."""
    link, money = file.books.link, file.books.money
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
