"""Proof that an event came from its table, which does not rest on the broker.

A table that has a key ends each event with the proof, byte for byte so:

    ,"mac":"<64 lower-case hexadecimal digits>"}

The digits are HMAC-SHA256, with the table's key, over the topic, a line feed, and every byte of the payload before
that comma. The topic names link and table, so a proof is worth nothing on another; `id` and `seq` are among the bytes,
so an event that is played back is a resend, which changes nothing.
"""

import hashlib
import hmac
import re
from collections.abc import Mapping

from jackpot.contract import codec, topics
from jackpot.contract.codec import UnreadableEvent
from jackpot.contract.events import TableEvent
from jackpot.contract.refusals import Code, Refused

_PROOF = re.compile(rb',"mac":"([0-9a-f]{64})"\}\Z')
_PROOF_BYTES = len(b',"mac":""}') + 64


def _mac(key: bytes, topic: str, told: bytes) -> bytes:
    return hmac.digest(key, topic.encode() + b"\n" + told, hashlib.sha256).hex().encode()


def sealed(key: bytes, topic: str, payload: bytes) -> bytes:
    """The event with its proof. The payload is a JSON object with at least one member."""
    told = payload.rstrip().removesuffix(b"}")
    return told + b',"mac":"' + _mac(key, topic, told) + b'"}'


def holds(key: bytes, topic: str, payload: bytes) -> bool:
    given = _PROOF.match(payload, max(len(payload) - _PROOF_BYTES, 0))
    return given is not None and hmac.compare_digest(given[1], _mac(key, topic, payload[: given.start()]))


class EventReader:
    """Reads the events of one link. Those of a table with a key must carry its proof, whatever link it is on now."""

    def __init__(self, link: str, keys: Mapping[str, bytes]) -> None:
        self._link = link
        self._keys = keys

    def __call__(self, table: str, payload: bytes) -> TableEvent | UnreadableEvent:
        event = codec.decode(payload)
        key = self._keys.get(table)
        if key is None or isinstance(event, UnreadableEvent) or holds(key, topics.events(self._link, table), payload):
            return event
        message = f"The event does not end with the proof that the key of table {table} gives; see `mac`."
        return UnreadableEvent(Refused(Code.MALFORMED, message), event.id, event.seq, unproved=True)
