"""Every bug that is planted, by its name."""

from tests.simulation import planted_in_batches, planted_in_boards, planted_in_mqtt
from tests.simulation.planting import Bed

PLANTED: Bed = {**planted_in_batches.PLANTED, **planted_in_mqtt.PLANTED, **planted_in_boards.PLANTED}
