"""What a holder may do at the broker, written as the broker reads it.

mosquitto has a list for each door, and the name in the certificate takes its place in it. NATS has one door: whoever
may come in is named there, with the fingerprint of each certificate that is good, for it knows no revoked ones.
"""

import datetime as dt
import hashlib
import json
from collections.abc import Iterable, Sequence

from cryptography import x509
from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat

from jackpot.pki.authority import Kind, holder
from jackpot.pki.site import Site

TABLES = """\
# Made by `jackpot pki acl` from the links of the configuration.
# A table writes its own events, on these links alone, and reads its own replies and state. %u is the name in its
# certificate. On links that it invents it could leave as many retained messages as it likes, for ever.
{writes}pattern read jackpot/v1/+/tables/%u/replies
pattern read jackpot/v1/+/tables/%u/state
"""

SHOWN = ("jackpot.v1.*.meter", "jackpot.v1.*.awards", "jackpot.v1.*.status")
TOLD = (*SHOWN, "jackpot.v1.*.head")
"""What a controller says to all."""

NATS = """\
# Made by `jackpot pki nats` from the certificates that are good and the links of the configuration; make it again when
# one is issued or revoked. As mosquitto/*.acl.
PINNED: [
{pinned}]
accounts {{ floor {{ jetstream: enabled, users: [
{users}] }} }}
"""


def tables_list(links: Iterable[str]) -> str:
    """Mosquitto's list for the tables' door."""
    return TABLES.format(writes="".join(f"pattern write jackpot/v1/{link}/tables/%u/events\n" for link in links))


def nats_users(site: Site, links: Sequence[str], now: dt.datetime) -> str:
    """Everybody of the floor: the certificates that are let in, and what each name may do."""
    pinned, users = "", ""
    for kind in (Kind.TABLE, Kind.BOARD, Kind.CONTROLLER):
        certificates = site.authorities[kind].in_use(now)
        pinned += "".join(f'  "{_fingerprint(found)}"\n' for found in certificates)
        for name in sorted({holder(found) for found in certificates}):
            publish, subscribe = _rights(kind, _token(name), links)
            # An empty list would allow everything.
            says = json.dumps(publish) if publish else '{ deny: ">" }'
            rights = f"publish: {says}, subscribe: {json.dumps(subscribe)}"
            # At NATS' own door it would be the name alone, without a certificate.
            users += f'  {{ user: "CN={name}", allowed_connection_types: ["MQTT"], permissions: {{ {rights} }} }}\n'
    return NATS.format(pinned=pinned, users=users)


def _rights(kind: Kind, name: str, links: Sequence[str]) -> tuple[list[str], list[str]]:
    if kind is Kind.TABLE:
        own = [f"jackpot.v1.*.tables.{name}.{what}" for what in ("replies", "state")]
        return [f"jackpot.v1.{_token(link)}.tables.{name}.events" for link in links], own
    if kind is Kind.BOARD:
        return [], [*SHOWN]
    return ["jackpot.v1.*.tables.*.replies", "jackpot.v1.*.tables.*.state", *TOLD], [
        "jackpot.v1.*.tables.*.events",
        *TOLD,
    ]


def _token(name: str) -> str:
    """A level of a topic as a part of NATS' subject, where the dot is what parts them."""
    return name.replace(".", "//")


def _fingerprint(certificate: x509.Certificate) -> str:
    key = certificate.public_key().public_bytes(Encoding.DER, PublicFormat.SubjectPublicKeyInfo)
    return hashlib.sha256(key).hexdigest()
