"""What mosquitto's log says of those whom it refuses. Nothing else tells: they themselves hear that all is well.

It tells what it denied only among every packet that comes and goes, which is kept from the log that people read.
"""

import re
from enum import StrEnum

EVERY_PACKET = ("Received ", "Sending ", "\t", "No will message", "Will message specified")
NO_HANDSHAKE = ("OpenSSL Error[0]", "Client connection from ")
"""The same in either form: whether what the client sent was all there when the broker accepted it, or came later."""
CONNECTED = re.compile(r"New client connected from \S+ as (?P<client>.+) \(.*, u'(?P<name>.+)'\)\.")
SUBSCRIBED = re.compile(r"(?P<client>\S+) [012] (?P<filter>\S+)")


class Refusal(StrEnum):
    HANDSHAKE = "handshake"
    """No certificate, a revoked one, another authority's: it did not come in."""
    PUBLISH = "publish"
    """It spoke where it may not; nobody heard it."""
    SUBSCRIBE = "subscribe"
    """It listens where it may not; it hears nothing."""


class BrokerLog:
    """Reads the log line by line."""

    def __init__(self) -> None:
        self._holders: set[str] = set()
        """Those whose client id is the name in their certificate: tables and board agents."""

    def read(self, line: str) -> tuple[bool, Refusal | None]:
        """Whether people need the line, and what was refused by it."""
        said = line.rstrip("\n").partition(": ")[2]
        if said.startswith(EVERY_PACKET):
            return False, None
        if said.startswith("Denied PUBLISH "):
            return True, Refusal.PUBLISH
        if said.startswith(NO_HANDSHAKE) and "certificate" in said:  # not of a connection that was cut
            return True, Refusal.HANDSHAKE
        if (connected := CONNECTED.fullmatch(said)) and connected["client"] == connected["name"]:
            self._holders.add(connected["client"])
        if (subscribed := SUBSCRIBED.fullmatch(said)) and subscribed["client"] in self._holders:
            return True, None if _may_read(**subscribed.groupdict()) else Refusal.SUBSCRIBE
        return True, None


def _may_read(client: str, filter: str) -> bool:  # noqa: A002 MQTT's own word
    own = rf"jackpot/v1/[^/]+/(tables/{re.escape(client)}/(replies|state)|meter|awards|status)"
    return re.fullmatch(own, filter) is not None
