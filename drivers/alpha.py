"""Driver for Alpha boards: a TEXT that calls a STRING, which is the meter, and the priority TEXT for a win.

Most of these boards are wired one way and never answer; then all that helps is to tell them again.
Where the board does answer, both are read back: a TEXT that calls the STRING, and what that holds, is what the players
see.
"""

import asyncio
from typing import Final

from drivers import alpha_frames as frames
from drivers.alpha_frames import CALL_STRING, COLOUR, Packet
from drivers.amount import fit_characters, fit_text
from drivers.board import Amount, DriverError, NoAnswerError, Pending, ResolvedWiring, Told, Win
from drivers.line import Line, Pace

PACE_SECONDS: Final = 0.3
"""Writes closer than 0.25 s get lost."""
ANSWER_SECONDS: Final = 0.4
LAYOUT_SECONDS: Final = (5.0, 60.0)
"""A board that does not answer may have missed its layout, or lost it with its power: it gets it again, after the
first of these, then after twice as long each time, up to the second."""
ANNOUNCEMENTS: Final = 3
RELEASES: Final = 3
"""No board says whether a win still covers its meter, so the release is said more than once."""
DASHES: Final = "--------"
METER: Final = "a"
FACE: Final = "A"
SHOW_METER: Final = CALL_STRING + METER
CLEARINGS: Final = 3


class AlphaBoard:
    def __init__(self, line: Line, wiring: ResolvedWiring) -> None:
        self._line = line
        self._wiring = wiring
        self._pace = Pace(PACE_SECONDS)
        self._dashes = DASHES[: wiring.width]
        self._text = self._dashes
        self._win_text: str | None = None
        self._releases_due = 0
        self._answers = False
        # Several boards that answer at once would only talk over each other.
        self._may_answer = wiring.address != "00" and "?" not in wiring.address
        self._layout_seconds, self._layout_due = LAYOUT_SECONDS[0], 0.0
        text, string = frames.File.text(FACE, 0x40), frames.File.string(METER, wiring.width)
        self._memory = frames.AllocateMemory((text, string))
        self._face = frames.WriteText(FACE, frames.HOLD, COLOUR + frames.AMBER + SHOW_METER)

    async def start(self) -> None:
        await self._push_layout()

    async def ready(self) -> None:
        await self._pace.ready()
        self._line.check()

    async def show_amount(self, amount: Amount) -> Told:
        return await self._show_figure(amount, "{figure}")

    async def show_pending(self, pending: Pending) -> Told:
        hand = _printable(pending.hand)
        return await self._show_figure(
            pending.amount, f"{hand} PENDING {{figure}}", "PENDING {figure}", "HELD {figure}", "{figure}"
        )

    async def announce(self, win: Win) -> Told:
        figure = fit_characters(win.amount, frames.PRIORITY_BYTES_MAX, self._wiring.decimals)
        room = frames.PRIORITY_BYTES_MAX - len(COLOUR + frames.RED)
        # The amount stands last and what is too long is cut in front: never the figure.
        self._win_text = _printable(f"{win.table} {win.hand} {figure}")[-room:]
        self._releases_due = 0
        # Said again because no answer tells whether it came, and soon, because a long text starts over.
        for _ in range(ANNOUNCEMENTS):
            await self._write_win(self._win_text)
        return Told(self._win_text, win.amount.cut_to(self._wiring.decimals).cents)

    async def blank(self) -> Told:
        await self._write_meter(self._dashes)
        return Told(self._text)

    async def show_test(self) -> Told:
        await self._write_meter("TEST 0123456789.,$"[: self._wiring.width])
        return Told(self._text)

    async def probe(self) -> bool:
        if self._releases_due:
            await self._release()
        if self._answers:
            await self._confirm()
            # What was read is on view only if no win covers it.
            return self._win_text is None and not self._releases_due
        if asyncio.get_running_loop().time() < self._layout_due:
            await self._tell_again()
            return False
        await self._push_layout()
        return False

    async def close(self) -> None:
        self._line.release()

    async def _confirm(self) -> None:
        wrong = await self._wrong()
        for repair in (self._tell_again, self._tell_again, self._push_layout):
            if wrong is None:
                return
            await repair()
            wrong = await self._wrong()
        if wrong is not None:
            raise wrong

    async def _wrong(self) -> DriverError | None:
        """What the board says that does not agree with what it was told."""
        found = await self._read(frames.ReadString(METER))
        if found is None:
            return NoAnswerError("the board does not answer any more")
        if found != self._text:
            return DriverError(f"the board shows {found!r} and was told {self._text!r}")
        face = await self._read(frames.ReadText(FACE))
        if face is not None and SHOW_METER not in face:
            return DriverError(f"the board has the figure, and shows {face!r} in its place")
        return None

    async def _show_figure(self, amount: Amount, *forms: str) -> Told:
        figure = fit_characters(amount, self._wiring.width, self._wiring.decimals)
        if figure is None:
            return await self.blank()
        text = fit_text(tuple(form.replace("{figure}", figure) for form in forms), self._wiring.width)
        await self._write_meter(text or figure)
        return Told(self._text, amount.cut_to(self._wiring.decimals).cents)

    async def _write_meter(self, text: str) -> None:
        self._text = text
        await self._tell_again()
        if self._win_text is not None:
            # Only now: what the win covers is the figure before it.
            self._win_text = None
            self._releases_due = RELEASES
            await self._release()

    async def _release(self) -> None:
        self._releases_due -= 1
        await self._send(frames.ReleasePriority())

    async def _write_win(self, text: str) -> None:
        mode = frames.FLASH if len(text) <= self._wiring.width else frames.ROTATE
        await self._send(frames.WriteText(frames.PRIORITY, mode, COLOUR + frames.RED + text))

    async def _tell_again(self) -> None:
        # The STRING is filled to the brim: if the packet's end is spoiled, what is added makes it too
        # long, and the board empties it rather than show a wrong figure.
        await self._send(frames.WriteString(METER, self._text.center(self._wiring.width)))

    async def _push_layout(self) -> None:
        self._answers = self._answers or (self._may_answer and (await self._is_heard() or await self._is_heard()))
        await (self._lay_out_with_proof() if self._answers else self._lay_out_blindly())
        await self._send(frames.ReleasePriority())
        if self._win_text is not None:
            await self._write_win(self._win_text)
        self._layout_due = asyncio.get_running_loop().time() + self._layout_seconds
        self._layout_seconds = min(2 * self._layout_seconds, LAYOUT_SECONDS[1])

    async def _is_heard(self) -> bool:
        return await self._read(frames.ReadString(METER)) is not None

    async def _lay_out_blindly(self) -> None:
        """Each step twice: whichever packet is lost, the board has what it needs. The meter is told again anyway."""
        for command in (frames.ClearMemory(), frames.ClearMemory(), self._memory, self._memory, self._face):
            await self._send(command)
        await self._tell_again()
        await self._send(self._face)

    async def _lay_out_with_proof(self) -> None:
        """A board that missed its `E$` stays dark and says nothing: it came if what it wipes is gone."""
        for _ in range(CLEARINGS):
            await self._send(frames.ClearMemory())
            await self._send(self._memory)
            await self._tell_again()
            was_there = await self._read(frames.ReadString(METER)) == self._text
            await self._send(frames.ClearMemory())
            if was_there and await self._read(frames.ReadString(METER)) != self._text:
                break
        await self._send(self._memory)
        await self._send(self._face)
        await self._tell_again()

    async def _send(self, command: frames.Command) -> None:
        await self.ready()
        try:
            await self._line.send(Packet(command, self._wiring.address).to_bytes())
        finally:
            # Also if it is cancelled: the bytes may be on their way, and the next write must not come too soon.
            self._pace.written()

    async def _read(self, question: frames.ReadString | frames.ReadText) -> str | None:
        await self._pace.ready()
        try:
            packet = Packet(question, self._wiring.address).to_bytes()
            answer = Packet.from_bytes(await self._line.ask(packet, frames.EOT, ANSWER_SECONDS))
        except (NoAnswerError, frames.BadFrameError):
            return None
        match question, answer:
            case frames.ReadString(asked), Packet(frames.WriteString(label, text), _, frames.ANSWER_TYPE):
                return text.strip() if label == asked else None
            case frames.ReadText(asked), Packet(frames.WriteText(label, _, text), _, frames.ANSWER_TYPE):
                return text if label == asked else None
            case _:
                return None


def _printable(text: str) -> str:
    """The board has seven bits, and no control code in a table's name may reach it."""
    return "".join(char if " " <= char <= "~" else "?" for char in text)
