"""What somebody at the broker knows who speaks for tables by hand: as good a truth for the audit as a player's."""

import json
from collections import defaultdict
from dataclasses import dataclass, field

from tests.acceptance.integrator import RECORDED_NOT, Integrator
from tests.faults.players import Truth


@dataclass(frozen=True, slots=True)
class Spoken:
    """One table for which was spoken."""

    link: str
    table: str
    truth: Truth = field(default_factory=Truth)


class Witness:
    """Of all that an integrator has said and heard so far."""

    def __init__(self, pit: Integrator) -> None:
        sent: dict[tuple[str, str], list[bytes]] = defaultdict(list)
        for link, table, payload in pit.published:
            sent[link, table].append(payload)
        self.players = [_heard(pit, Spoken(link, table), payloads) for (link, table), payloads in sent.items()]

    @property
    def answered(self) -> int:
        return sum(len(player.truth.answers) for player in self.players)

    def silences_s(self) -> list[float]:
        return []

    async def end(self) -> None: ...


def _heard(pit: Integrator, spoken: Spoken, payloads: list[bytes]) -> Spoken:
    truth, closed = spoken.truth, set[str]()
    for payload in payloads:
        truth.sent[json.loads(payload)["id"]].add(payload)
    for reply in pit.replies(spoken.link, spoken.table):
        truth.replies[reply["reply_to"]].append(reply)
        if reply.get("code") in RECORDED_NOT or reply["reply_to"] in truth.answers:
            continue
        truth.answers[reply["reply_to"]] = reply
        result = reply.get("result", {})
        if "wagered_cents" in result:
            closed.add(reply["round"])
            truth.wagered_cents += result["wagered_cents"]
        elif "returned_cents" in result and reply["round"] in closed:
            truth.wagered_cents -= result["returned_cents"]
    truth.awards.update((award["award"], award) for award in pit.notices(spoken.link, spoken.table))
    return spoken
