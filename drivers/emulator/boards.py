"""One emulated board for each protocol: bytes in, answers out, and what is on its face."""

import re
from typing import Final, Protocol, assert_never

from drivers import alpha_frames as alpha
from drivers import ed400, icpdas
from drivers.emulator.state import BoardState, Colour, Motion
from drivers.wiring import ProtocolName

DEAF_SECONDS: Final = 0.25
FRAME_BYTES_MAX: Final = 512
COLOURS: Final[dict[str, Colour]] = {alpha.RED: "red", alpha.GREEN: "green", alpha.AMBER: "amber"}
MOTIONS: Final[dict[str | None, Motion]] = {alpha.ROTATE: "rotate", alpha.HOLD: "hold", alpha.FLASH: "flash"}


class EmulatedBoard(Protocol):
    def feed(self, data: bytes, now: float) -> bytes:
        """Takes bytes off the line at a time in seconds; returns what the board answers."""

    def state(self) -> BoardState: ...

    def power_cycle(self) -> None:
        """Power goes and comes back: what a real board forgets is forgotten."""


class _Scanner:
    """Cuts frames out of a stream, however it arrives."""

    def __init__(self, start: bytes, end: bytes) -> None:
        self._start, self._end = start, end
        self._held = b""

    def feed(self, data: bytes) -> list[bytes]:
        *whole, self._held = (self._held + data).split(self._end)
        self._held = self._held[-FRAME_BYTES_MAX:]
        return [frame[frame.rfind(self._start) :] + self._end for frame in whole if self._start in frame]


class AlphaSign:
    """Nothing shows before a bare `E$`; a STRING that is too long is emptied; a write too soon is lost."""

    def __init__(self, address: str, width: int, *, answers: bool = True) -> None:
        self._address = address
        self._width = width
        self._answers = answers
        self.writes_lost = 0
        self.power_cycle()

    def power_cycle(self) -> None:
        self._scanner = _Scanner(alpha.SOH, alpha.EOT)
        self._awake = False
        self._sizes: dict[str, int] = {}
        self._texts: dict[str, alpha.WriteText] = {}
        self._strings: dict[str, str] = {}
        self._deaf_until = 0.0

    def feed(self, data: bytes, now: float) -> bytes:
        return b"".join(self._take(frame, now) for frame in self._scanner.feed(data))

    def _take(self, frame: bytes, now: float) -> bytes:
        try:
            packet = alpha.Packet.from_bytes(frame, unsummed=True)
        except alpha.BadFrameError:
            return b""  # a wrong checksum is dropped without a word
        if not self._is_mine(packet.address):
            return b""
        if isinstance(packet.command, alpha.ReadString | alpha.ReadText):
            return self._read(packet.command) if self._answers else b""
        if now < self._deaf_until:
            self.writes_lost += 1
            return b""
        self._deaf_until = now + DEAF_SECONDS
        self._write(packet.command)
        return b""

    def _is_mine(self, address: str) -> bool:
        return address == "00" or re.fullmatch(address.replace("?", "."), self._address) is not None

    def _read(self, question: alpha.ReadString | alpha.ReadText) -> bytes:
        label = question.label
        answer: alpha.Command
        if isinstance(question, alpha.ReadString):
            answer = alpha.WriteString(label, self._strings.get(label, ""))
        else:
            answer = self._texts.get(label) or alpha.WriteText(label, None, "")
        return alpha.NUL * 15 + alpha.Packet(answer, "00", alpha.ANSWER_TYPE).to_bytes()

    def _write(self, command: alpha.Command) -> None:
        match command:
            case alpha.ClearMemory():
                self._awake = True
                self._sizes, self._texts, self._strings = {}, {}, {}
            case alpha.AllocateMemory(files):
                self._sizes = {file.label: file.size for file in files}
                self._texts, self._strings = {}, {}
            case alpha.ReleasePriority():
                self._texts.pop(alpha.PRIORITY, None)
            case alpha.WriteText(label, _, text):
                room = alpha.PRIORITY_BYTES_MAX if label == alpha.PRIORITY else self._sizes.get(label, 0)
                if len(text) <= room:
                    self._texts[label] = command
            case alpha.WriteString(label, text):
                self._strings[label] = text if len(text) <= self._sizes.get(label, 0) else ""
            case alpha.ReadString() | alpha.ReadText():
                pass
            case _:
                assert_never(command)

    def state(self) -> BoardState:
        running = self._texts.get(alpha.PRIORITY) or self._texts.get("A")
        if running is None or not self._awake:
            return BoardState("", self._width)
        colour, text = self._shown(running.text)
        return BoardState(text, self._width, "matrix", colour, MOTIONS.get(running.mode, "hold"))

    def _shown(self, text: str) -> tuple[Colour, str]:
        colour: Colour = "amber"
        shown, rest = "", iter(text)
        for char in rest:
            if char == alpha.COLOUR:
                colour = COLOURS.get(next(rest, ""), "amber")
            elif char == alpha.CALL_STRING:
                shown += self._strings.get(next(rest, ""), "")
            else:
                shown += char
        return colour, shown


class Ed400Meter:
    """Shows what it is sent, right or wrong: it has no checksum and no answer."""

    def __init__(self, address: str, width: int) -> None:
        self._address = address
        self._width = width
        self.power_cycle()

    def power_cycle(self) -> None:
        self._scanner = _Scanner(b"\x02", b"\x03")
        self._data = ""

    def feed(self, data: bytes, now: float) -> bytes:  # noqa: ARG002  this meter knows no pace
        for piece in self._scanner.feed(data):
            try:
                frame = ed400.Frame.from_bytes(piece)
            except ed400.BadFrameError:
                continue
            if frame.address == self._address and len(frame.data.replace(".", "")) <= self._width:
                self._data = frame.data
        return b""

    def state(self) -> BoardState:
        return BoardState(self._data, self._width, "digits", "red")


class IcpDasMeter:
    """Answers every command for it, and shows its own counter until the host takes its digits."""

    def __init__(self, address: str, width: int) -> None:
        self._address = address
        self._width = width
        self.power_cycle()

    def power_cycle(self) -> None:
        self._scanner = _Scanner(b"$", icpdas.CR)
        self._host_control = False
        self._data = "0" * self._width + "."

    def feed(self, data: bytes, now: float) -> bytes:  # noqa: ARG002  this meter knows no pace
        return b"".join(self._take(frame) for frame in self._scanner.feed(data))

    def _take(self, frame: bytes) -> bytes:
        try:
            command = icpdas.Command.from_bytes(frame)
        except icpdas.BadFrameError:
            return b""
        if command.address != self._address:
            return b""
        valid = self._obey(command.text)
        return (icpdas.Accepted(self._address) if valid else icpdas.Invalid(self._address)).to_bytes()

    def _obey(self, text: str) -> bool:
        if text == icpdas.HOST_CONTROL:
            self._host_control = True
            return True
        data = text[1:]
        whole = re.fullmatch(r"[0-9]+\.[0-9]*", data) is not None and len(data) == self._width + 1
        if not (text[:1] == icpdas.SHOW and whole and self._host_control):
            return False
        self._data = data
        return True

    def state(self) -> BoardState:
        return BoardState(self._data, self._width, "digits", "green")


def emulate(protocol: ProtocolName, address: str, width: int) -> EmulatedBoard:
    match protocol:
        case "alpha":
            return AlphaSign(address, width)
        case "ed400":
            return Ed400Meter(address, width)
        case "icpdas":
            return IcpDasMeter(address, width)
        case _:
            assert_never(protocol)
