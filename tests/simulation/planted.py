"""Every bug that is planted, by its name."""

from tests.simulation import planted_in_boards, planted_in_desk, planted_in_wire
from tests.simulation.planting import Bed

PLANTED: Bed = {**planted_in_desk.PLANTED, **planted_in_wire.PLANTED, **planted_in_boards.PLANTED}
