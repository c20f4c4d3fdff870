"""What an Alpha board shall have in its memory, as packets: a TEXT that calls a STRING, which is the meter."""

from typing import Final

from drivers import alpha_frames as frames
from drivers.alpha_frames import CALL_STRING, COLOUR, Packet
from drivers.board import BoardPacket, Expected, Shown
from drivers.wiring import ResolvedWiring, is_shared

PAUSE_SECONDS: Final = 0.3
"""Writes closer than 0.25 s get lost. Questions need no pause after them."""
FACE: Final = "A"
METERS: Final = "abcdefghijklmnopqrstuvwxyzBCDEFGHIJKLMNOPQRSTUVWXYZ123456789"
"""The label of a board's STRING follows from its address: no answer says whose it is, but every one names its file."""
ANSWER_NULS: Final = 15
WIN_CHARACTERS_MAX: Final = frames.PRIORITY_BYTES_MAX - len(COLOUR + frames.RED)


class Layout:
    def __init__(self, wiring: ResolvedWiring) -> None:
        self._wiring = wiring
        number = 0 if is_shared(wiring.address) else int(wiring.address, 16) - 1
        self._meter = METERS[number % len(METERS)]
        self._call = CALL_STRING + self._meter
        text, string = frames.File.text(FACE, 0x40), frames.File.string(self._meter, wiring.width)
        self._memory = frames.AllocateMemory((text, string))
        self._face = frames.WriteText(FACE, frames.HOLD, COLOUR + frames.AMBER + self._call)

    def memory(self) -> frames.Command:
        return self._memory

    def face(self) -> frames.Command:
        return self._face

    def meter(self, told: Shown) -> frames.Command:
        # The STRING is filled to the brim: if the packet's end is spoiled, what is added makes it too
        # long, and the board empties it rather than show a wrong figure.
        return frames.WriteString(self._meter, told.text.center(self._wiring.width))

    def win(self, told: Shown) -> frames.Command:
        mode = frames.FLASH if len(told.text) <= self._wiring.width else frames.ROTATE
        return frames.WriteText(frames.PRIORITY, mode, COLOUR + frames.RED + told.text)

    def ask_meter(self) -> frames.Command:
        return frames.ReadString(self._meter)

    def ask_face(self) -> frames.Command:
        return frames.ReadText(FACE)

    def is_whole(self, face: str) -> bool:
        """The TEXT that the board has calls the meter."""
        return self._call in face

    def saying(self, command: frames.Command, shows: Shown | None) -> BoardPacket:
        data = Packet(command, self._wiring.address).to_bytes()
        match command:
            case frames.ReadString():
                longest: frames.Command = frames.WriteString(self._meter, " " * self._wiring.width)
            case frames.ReadText():
                longest = self._face
            case _:
                return BoardPacket(data, PAUSE_SECONDS, shows)
        length = ANSWER_NULS + len(Packet(longest).to_bytes())
        answer = Expected(frames.EOT, length, lambda frame: self.read(command, frame) is not None)
        return BoardPacket(data, 0.0, shows, answer)

    def read(self, question: frames.Command, frame: bytes) -> str | None:
        """The text that answers the question; None if this is no answer to it, or another board's."""
        try:
            answer = Packet.from_bytes(frame)
        except frames.BadFrameError:
            return None
        match question, answer:
            case frames.ReadString(asked), Packet(frames.WriteString(label, text), _, frames.ANSWER_TYPE):
                return text.strip() if label == asked else None
            case frames.ReadText(asked), Packet(frames.WriteText(label, _, text), _, frames.ANSWER_TYPE):
                is_other = CALL_STRING in text and not self.is_whole(text)
                return text if label == asked and not is_other else None
            case _:
                return None
