"""A talk and its board on a clock of their own: no line, no waiting."""

from collections.abc import Callable
from dataclasses import dataclass, field

from drivers.board import BoardPacket, BoardProtocol, Expected
from drivers.emulator import EmulatedBoard
from drivers.line import TURNAROUND_SECONDS, wire_seconds

BAUD = 9600


@dataclass
class Virtual:
    """A talk and its board, with what it takes on the wire; time passes as nobody waits for it."""

    talk: BoardProtocol
    board: EmulatedBoard
    now: float = 100.0
    mute: bool = False
    late_seconds: float = 0.0
    lost: Callable[[BoardPacket], bool] = lambda _: False
    said: list[BoardPacket] = field(default_factory=list)
    dark_seconds: float = 0.0
    confirmed: bool = False
    _late: list[tuple[float, bytes]] = field(default_factory=list)

    def turn(self) -> BoardPacket:
        """The next packet, when it is due and the board can take it."""
        self.rest(max(0.0, self.talk.due_at - self.now))
        saying = self.talk.next(self.now)
        self.said.append(saying)
        self.rest(wire_seconds(len(saying.data), BAUD))
        answered = b"" if self.lost(saying) else self.board.feed(saying.data, self.now)
        heard = None if saying.answer is None else self._hear(answered, saying.answer)
        self.confirmed = self.talk.heard(heard, self.now)
        self.rest(saying.pause_seconds)
        return saying

    def _hear(self, answered: bytes, expected: Expected) -> bytes | None:
        if self.mute:
            answered = b""
        if answered:
            self._late.append((self.now + self.late_seconds, answered))
        until = self.now + TURNAROUND_SECONDS + wire_seconds(expected.length, BAUD)
        # What had come before the question was asked is thrown away.
        came = [(at, data) for at, data in self._late if self.now <= at <= until and expected.is_mine(data)]
        self._late = [(at, data) for at, data in self._late if at > until]
        self.rest((came[0][0] if came else until) - self.now)
        return came[0][1] if came else None

    def rest(self, seconds: float) -> None:
        self.dark_seconds += 0.0 if self.shown else seconds
        self.now += seconds

    def turns(self, seconds: float) -> list[BoardPacket]:
        until, before = self.now + seconds, len(self.said)
        while self.now < until:
            self.turn()
        return self.said[before:]

    def until_shown(self, text: str, packets_max: int = 30) -> int:
        """How many packets it took."""
        for packets in range(1, packets_max + 1):
            self.turn()
            if self.shown == text:
                return packets
        raise AssertionError(f"{packets_max} packets, and the board shows {self.shown!r}")

    @property
    def shown(self) -> str:
        return self.board.state().text.strip()
