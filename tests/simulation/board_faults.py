"""What happens to boards, their lines and their program. In a world without boards, little of it."""

import random
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from tests.simulation.boards import LAID_OUT_EVERY_S, Boards, Hung
from tests.simulation.loop import Process

if TYPE_CHECKING:
    from tests.simulation.world import World

BOARDS = (
    "stop_a_sign_for_a_while",
    "cut_a_sign_off",
    "kill_the_boards_program",
    "pull_a_boards_cable",
    "stick_a_boards_line",
    "noise_on_a_boards_line",
    "cut_a_boards_power",
)


class BoardFaults:
    world: "World"
    chance: random.Random
    closing: bool
    _later: Callable[[float, Callable[[], None]], None]
    _stop: Callable[[Process], None]
    _ways: Callable[[], Sequence[str]]

    def stop_a_sign_for_a_while(self) -> None:
        self._stop(self.world.sign.process)

    def cut_a_sign_off(self) -> None:
        self.world.network.block(self.world.sign.process, self.chance.uniform(0, 30), self._ways())

    def kill_the_boards_program(self) -> None:
        boards = self.world.sign
        if isinstance(boards, Boards) and not boards.dead:
            boards.kill()
            self._later(10, lambda: boards.start() if boards.dead else None)

    def pull_a_boards_cable(self) -> None:
        self._for_a_while(lambda hung: hung.wire.pull(), lambda hung: hung.wire.plug_in())

    def stick_a_boards_line(self) -> None:
        self._for_a_while(lambda hung: hung.wire.stick(), lambda hung: hung.wire.unstick())

    def noise_on_a_boards_line(self) -> None:
        share = self.chance.choice([0.002, 0.02])
        self._for_a_while(
            lambda hung: setattr(hung.wire, "noise", share), lambda hung: setattr(hung.wire, "noise", 0.0)
        )

    def cut_a_boards_power(self) -> None:
        """In the middle of its layout it is left without some of it, until it is laid out again."""
        self._for_a_while(lambda hung: hung.wire.lose_power(), lambda _: None, laid_out_anew=True)

    def _for_a_while(
        self, begin: Callable[[Hung], None], end: Callable[[Hung], None], *, laid_out_anew: bool = False
    ) -> None:
        if not isinstance(self.world.sign, Boards):
            return
        hung = self.chance.choice([*self.world.sign.hung.values()])
        seconds = self.chance.uniform(0.1, 20)
        hung.excuse(self.world.loop.time() + (LAID_OUT_EVERY_S if laid_out_anew else seconds))
        begin(hung)
        self.world.loop.call_later(seconds, end, hung)
