"""A real PostgreSQL and a real MQTT broker, from wheels, started and stopped by the program that uses them.

Here belongs how such a server is placed, started, watched and stopped; not what is stored in it or sent through it.
"""

from jackpot.embedded.broker import EmbeddedBroker
from jackpot.embedded.place import default_data_dir
from jackpot.embedded.postgres import EmbeddedPostgres

__all__ = ["EmbeddedBroker", "EmbeddedPostgres", "default_data_dir"]
