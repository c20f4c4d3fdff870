"""What mosquitto's log says of those whom it refuses. Nothing else tells: they themselves hear that all is well.

It tells what it denied only among every packet that comes and goes, which is kept from the log that people read. Where
somebody listens without a right it says nothing at all: that is judged here, by the very lists that the broker goes by.
"""

import re
from collections import OrderedDict
from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from typing import Self, TypeVar

from jackpot.errors import UserError

EVERY_PACKET = ("Received ", "Sending ", "\t", "No will message", "Will message specified")
NO_HANDSHAKE = ("OpenSSL Error[0]", "Client connection from ")
"""The same in either form: whether what the client sent was all there when the broker accepted it, or came later."""
NOT_OURS = ("certificate", "wrong version number", "http request", "unsupported protocol", "no shared cipher")
"""What it lacks: a good certificate, or TLS, or as new a one as ours. Not of a connection that was cut, nor of a client
that does not trust us.
"""
WILL = "Will message specified"
COMES = re.compile(r"New connection from (?P<address>\S+) on port (?P<port>\d+)\.")
CONNECTED = re.compile(r"New client connected from (?P<address>\S+) as (?P<client>.+) \(.*, u'(?P<name>.+)'\)\.")
REMEMBERED_MAX = 10_000
"""Of strangers who come and go, and of clients: the oldest are forgotten."""

T = TypeVar("T")


class Refusal(StrEnum):
    HANDSHAKE = "handshake"
    """No certificate, a revoked one, another authority's, or no TLS: it did not come in."""
    PUBLISH = "publish"
    """It spoke where it may not; nobody heard it."""
    SUBSCRIBE = "subscribe"
    """It listens where it may not; it hears nothing."""


@dataclass(frozen=True, slots=True)
class Door:
    """What is open to those who come in at a listener; %u stands for the name in the certificate."""

    read: tuple[str, ...] = ()
    write: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class BrokerFiles:
    """What we need of mosquitto's configuration: its doors by port, and the file of its log."""

    doors: dict[int, Door]
    log: Path

    @classmethod
    def load(cls, path: Path) -> Self:
        doors: dict[int, Door] = {}
        log: Path | None = None
        port = 0
        for words in _lines(path):
            match words:
                case ["listener", number, *_] if number.isdigit():
                    port = int(number)
                    doors[port] = Door()
                case ["acl_file", name]:
                    doors[port] = _door(Path(name))
                case ["log_dest", "file", name]:
                    log = Path(name)
        if log is None or not doors:
            raise UserError(f"{path} names no listener, or no `log_dest file`; deploy/mosquitto has one that does")
        return cls(doors, log)


def _door(path: Path) -> Door:
    lists = [words for words in _lines(path) if words[0] == "pattern"]
    read = tuple(words[-1] for words in lists if words[1] in ("read", "readwrite"))
    return Door(read, tuple(words[-1] for words in lists if words[1] in ("write", "readwrite")))


def _lines(path: Path) -> list[list[str]]:
    try:
        lines = path.read_text("utf-8").splitlines()
    except (OSError, UnicodeDecodeError) as error:
        raise UserError(f"cannot read {path}: {error}; name mosquitto's configuration with --config") from error
    return [line.split() for line in lines if line.strip() and not line.startswith("#")]


class BrokerLog:
    """Reads the log line by line."""

    def __init__(self, doors: dict[int, Door]) -> None:
        self._doors = doors
        self._coming: OrderedDict[str, int] = OrderedDict()
        """At which port, by the address that they come from."""
        self._clients: OrderedDict[str, tuple[str, Door]] = OrderedDict()
        """The name in the certificate, and the door, by client id."""
        self._newest = ""
        self._will_follows = False

    def read(self, line: str) -> tuple[bool, Refusal | None]:
        """Whether people need the line, and what was refused by it."""
        said = line.rstrip("\n").partition(": ")[2]
        will_follows, self._will_follows = self._will_follows, said.startswith(WILL)
        if will_follows and said.startswith("\t"):
            return self._judge_will(said[1:])
        if said.startswith(EVERY_PACKET):
            return False, None
        if said.startswith("Denied PUBLISH "):
            return True, Refusal.PUBLISH
        if said.startswith(NO_HANDSHAKE) and any(words in said for words in NOT_OURS):
            return True, Refusal.HANDSHAKE
        if comes := COMES.fullmatch(said):
            _remember(self._coming, comes["address"], int(comes["port"]))
        elif connected := CONNECTED.fullmatch(said):
            door = self._doors.get(self._coming.pop(connected["address"], 0), Door())
            _remember(self._clients, connected["client"], (connected["name"], door))
            self._newest = connected["client"]
        return True, self._judge_subscription(said)

    def _judge_will(self, topic: str) -> tuple[bool, Refusal | None]:
        """The broker denies it without a word, when the client is gone. It was named when the client came."""
        known = self._clients.get(self._newest)
        allowed = known is None or _within(known[1].write, known[0], topic)
        return not allowed, None if allowed else Refusal.PUBLISH

    def _judge_subscription(self, said: str) -> Refusal | None:
        """`CLIENT QOS FILTER`: either end may hold spaces, so the client is one that we know."""
        for qos in re.finditer(" [012] ", said):
            if (known := self._clients.get(said[: qos.start()])) is not None:
                name, door = known
                wanted = re.sub(r"\A\$share/[^/]*/", "", said[qos.end() :])
                return None if _within(door.read, name, wanted) else Refusal.SUBSCRIBE
        return None


def _remember(known: OrderedDict[str, T], key: str, value: T) -> None:
    known[key] = value
    known.move_to_end(key)
    while len(known) > REMEMBERED_MAX:
        known.popitem(last=False)


def _within(patterns: Sequence[str], name: str, wanted: str) -> bool:
    """Whether all that a filter, or a topic, stands for is open to this name."""
    return any(_covers(pattern.replace("%u", name).split("/"), wanted.split("/")) for pattern in patterns)


def _covers(pattern: Sequence[str], wanted: Sequence[str]) -> bool:
    return len(pattern) == len(wanted) and all(
        theirs != "#" if ours == "+" else theirs == ours for ours, theirs in zip(pattern, wanted, strict=True)
    )
