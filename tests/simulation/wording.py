"""What the contract says of the form of a message, as the auditor reads it: its fields, the rules it cites, its words."""

import re
from collections.abc import Iterator

from tests.properties.naive_messages import Json

SHEETS = {"bullseye": "BE", "ultimate-texas-holdem": "UTH", "three-card-poker-xtreme": "TCX"}
PAY_TABLE = {"BE": "BE 4.5", "UTH": "UTH 4.2", "TCX": "TCX 4.4"}
SHARING = {
    ("BE", "royal_flush"): "BE 3.20.1",
    ("BE", "straight_flush"): "BE 3.20.2",
    ("UTH", "straight_flush"): "UTH 3.15.1",
    ("TCX", "straight_flush"): "TCX 3.18.1",
}
ONE_WAGER = {"BE": "BE 3.5.2", "UTH": "UTH 3.4.2", "TCX": "TCX 3.4.2"}
STATUSES = {"running", "stopped", "suspended", "lost"}
AT = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z")


def rule_due(game: str, kind: str, code: str) -> str | None:
    """Which paragraph a refusal of this kind of event must cite, where the contract says so."""
    sheet = SHEETS[game]
    if code == "bets_closed":
        return f"{sheet} {'5.5' if kind == 'wager.placed' else '5.6'}"
    if code == "position_taken":
        return ONE_WAGER[sheet]
    if code == "bad_multiplier" and sheet != "BE":
        return f"{sheet} 3.5.3"
    return None


def faults_of_reply(reply: Json, event: Json, game: str) -> Iterator[str]:
    """`event` is what it answers, at a table of this game."""
    fields = {"reply_to", "seq", "status", "duplicate"}
    fields |= {"result"} if reply.get("status") == "accepted" else {"code", "rule", "message"}
    fields |= set() if event["type"] == "meters.reported" else {"round"}
    if not fields <= reply.keys():
        yield f"lacks {sorted(fields - reply.keys())}"
    elif event["type"] != "meters.reported" and reply["round"] != event["round"]:
        yield "names another round"
    elif reply["status"] == "refused":
        due = rule_due(game, event["type"], reply["code"])
        if reply["rule"] != due and due is not None:
            yield f"must cite {due}"
        yield from faults_of_refusal(reply, SHEETS[game])


def faults_of_refusal(reply: Json, sheet: str = r"\w+") -> Iterator[str]:
    if not {"rule", "message"} <= reply.keys():
        yield "lacks its rule or its message"
    elif reply["rule"] is not None and not re.fullmatch(rf"{sheet} [0-9]+(\.[0-9]+)*", reply["rule"]):
        yield "cites what is no paragraph of the table's sheet"
    elif not re.fullmatch(r"\S.{9,}\.", reply["message"]):
        yield "has no message for people"


def faults_of_award(award: Json, game: str) -> Iterator[str]:
    sheet = SHEETS[game]
    due = {PAY_TABLE[sheet]} | ({SHARING[sheet, award["rank"]]} if award["shared_by"] > 1 else set())
    if not due <= set(award.get("rules", [])):
        yield f"must cite {sorted(due)}"
    if not AT.fullmatch(award.get("at", "")):
        yield "has no time"


def faults_of_status(status: Json, link: str) -> Iterator[str]:
    if status.get("state") not in STATUSES or status.get("link") != link or not AT.fullmatch(status.get("at", "")):
        yield "is no status of this link"
    elif status["state"] == "suspended" and not status.get("reason"):
        yield "gives no reason"


class Wording:
    """One form of words has one meaning: the same sentence under two codes is wrong for one of them."""

    def __init__(self) -> None:
        self._codes: dict[str, str] = {}

    def faults(self, reply: Json) -> Iterator[str]:
        about = [str(value) for value in reply.values() if isinstance(value, str) and value != reply["message"]]
        plain = re.sub(r"\S*[\d'].*?(?=[ .;,]|$)", "#", reply["message"])
        for word in sorted(about, key=len, reverse=True):
            plain = plain.replace(word, "#")
        meaning = reply["code"].partition("_")[0] if reply["code"].startswith("sequence") else reply["code"]
        first = self._codes.setdefault(plain, meaning)
        if first != meaning:
            yield f"has the words of {first}"
