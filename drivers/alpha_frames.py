"""The Alpha sign protocol (M-protocol) as bytes, both ways. Pure.

A packet is `NUL x5, SOH, type, address, STX, command, ETX, checksum, EOT`; the checksum is the 16-bit
sum of STX to ETX in upper-case hexadecimal.
"""

import re
from dataclasses import dataclass
from typing import Final, Self

NUL: Final = b"\x00"
SOH: Final = b"\x01"
STX: Final = b"\x02"
ETX: Final = b"\x03"
EOT: Final = b"\x04"
ESC: Final = "\x1b"

CALL_STRING: Final = "\x10"
"""In a TEXT: show the STRING with the label that follows. It may change without blanking the board."""
COLOUR: Final = "\x1c"
RED, GREEN, AMBER = "1", "2", "3"
MIDDLE_LINE: Final = " "
ROTATE, HOLD, FLASH = "a", "b", "c"
ALL_TYPES: Final = "Z"
ANSWER_TYPE: Final = "0"
PRIORITY: Final = "0"
"""The TEXT with this label takes the board over."""
PRIORITY_BYTES_MAX: Final = 125


class BadFrameError(ValueError):
    """These bytes are no such frame. A real board drops them without a word."""


def checksum(command: bytes) -> bytes:
    return b"%04X" % (sum(STX + command + ETX) % 0x10000)


@dataclass(frozen=True, slots=True)
class ClearMemory:
    """A bare `E$`. Nothing shows on a new board before it."""

    def to_bytes(self) -> bytes:
        return b"E$"


@dataclass(frozen=True, slots=True)
class File:
    """One `FTPSIZEQQQQ` of the memory configuration."""

    label: str
    kind: str
    protection: str
    size: int
    schedule: str

    @classmethod
    def text(cls, label: str, size: int) -> Self:
        return cls(label, "A", "U", size, "FFFF")

    @classmethod
    def string(cls, label: str, size: int) -> Self:
        return cls(label, "B", "L", size, "0000")

    def to_bytes(self) -> bytes:
        return f"{self.label}{self.kind}{self.protection}{self.size:04X}{self.schedule}".encode("ascii")


@dataclass(frozen=True, slots=True)
class AllocateMemory:
    files: tuple[File, ...]

    def to_bytes(self) -> bytes:
        return b"E$" + b"".join(file.to_bytes() for file in self.files)


@dataclass(frozen=True, slots=True)
class WriteText:
    label: str
    mode: str | None
    """None: left to the board, and the packet says nothing of it."""
    text: str
    """May hold control codes: a colour, the call of a STRING."""
    position: str = MIDDLE_LINE

    def to_bytes(self) -> bytes:
        display = "" if self.mode is None else ESC + self.position + self.mode
        return f"A{self.label}{display}{self.text}".encode("ascii")


@dataclass(frozen=True, slots=True)
class ReadText:
    """Answered by a packet of type `0` that holds the WriteText which would make it so."""

    label: str

    def to_bytes(self) -> bytes:
        return f"B{self.label}".encode("ascii")


@dataclass(frozen=True, slots=True)
class ReleasePriority:
    """A bare `A0`: the board shows again what the priority TEXT had covered."""

    def to_bytes(self) -> bytes:
        return b"A0"


@dataclass(frozen=True, slots=True)
class WriteString:
    label: str
    text: str

    def to_bytes(self) -> bytes:
        return f"G{self.label}{self.text}".encode("ascii")


@dataclass(frozen=True, slots=True)
class ReadString:
    """Answered likewise, by a WriteString."""

    label: str

    def to_bytes(self) -> bytes:
        return f"H{self.label}".encode("ascii")


Command = ClearMemory | AllocateMemory | WriteText | ReadText | ReleasePriority | WriteString | ReadString


@dataclass(frozen=True, slots=True)
class Packet:
    command: Command
    address: str = "00"
    """Two hexadecimal digits; `00` is every board, `?` any digit."""
    type_code: str = ALL_TYPES

    def to_bytes(self) -> bytes:
        command = self.command.to_bytes()
        header = f"{self.type_code}{self.address}".encode("ascii")
        return NUL * 5 + SOH + header + STX + command + ETX + checksum(command) + EOT

    @classmethod
    def from_bytes(cls, data: bytes, *, unsummed: bool = False) -> Self:
        """Reads from the last SOH on: what comes before it is how boards find the baud rate, or noise.

        A packet may come without ETX and checksum, and boards take it: so one whose ETX was spoiled on
        the way shows its checksum as text. Whoever wants the truth reads only packets with a checksum.
        """
        found = re.fullmatch(
            rb"\x01([\x20-\x7e])([0-9A-F?]{2})\x02([^\x02-\x04]+)(?:\x03([0-9A-F]{4}))?\x04",
            data[max(data.rfind(SOH), 0) :],
        )
        if found is None or not (found[4] or unsummed):
            raise BadFrameError(f"no Alpha packet: {data!r}")
        type_code, address, command, summed = found.groups()
        if summed is not None and summed != checksum(command):
            raise BadFrameError(f"checksum is {checksum(command)!r}, not {summed!r}")
        return cls(command_from_bytes(command), address.decode("ascii"), type_code.decode("ascii"))


def command_from_bytes(data: bytes) -> Command:
    if not data.isascii():
        raise BadFrameError(f"not seven-bit: {data!r}")
    text = data.decode("ascii")
    match text[:1], text[1:]:
        case "E", "$":
            return ClearMemory()
        case "E", files if files[:1] == "$":
            return AllocateMemory(_files_from_text(files[1:]))
        case "A", "0":
            return ReleasePriority()
        case "A", body if len(body) >= 4 and body[1] == ESC:
            return WriteText(body[0], mode=body[3], text=body[4:], position=body[2])
        case "A", body if body and body[1:2] != ESC:
            return WriteText(body[0], mode=None, text=body[1:])
        case "B", label if len(label) == 1:
            return ReadText(label)
        case "G", body if body:
            return WriteString(body[0], body[1:])
        case "H", label if len(label) == 1:
            return ReadString(label)
    raise BadFrameError(f"unknown command {data!r}")


def _files_from_text(text: str) -> tuple[File, ...]:
    if not re.fullmatch(r"(?:.[ABD][UL][0-9A-F]{8})+", text):
        raise BadFrameError(f"no memory configuration: {text!r}")
    return tuple(
        File(part[0], part[1], part[2], int(part[3:7], 16), part[7:])
        for part in (text[at : at + 11] for at in range(0, len(text), 11))
    )
