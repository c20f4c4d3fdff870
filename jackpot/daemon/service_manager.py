"""Tells systemd how the program is: `Type=notify` with a watchdog. Elsewhere it tells nobody."""

import asyncio
import socket
from dataclasses import dataclass

BEATS_IN_A_PERIOD = 3
IDLE_S = 3600.0


@dataclass(frozen=True, slots=True)
class ServiceManager:
    address: str | None = None
    """The socket that NOTIFY_SOCKET names; an abstract one begins with @."""
    watchdog_s: float | None = None
    """Silent for so long, the program is taken for dead."""

    def tell(self, *news: str) -> None:
        if self.address is None:
            return
        address = "\0" + self.address[1:] if self.address.startswith("@") else self.address
        with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as datagrams:
            datagrams.setblocking(False)
            try:
                datagrams.sendto("\n".join(news).encode(), address)
            except OSError:
                return  # who does not listen is not worth stopping for

    async def beat(self) -> None:
        """Runs on the program's own loop, so it ends when the loop is stuck."""
        while True:
            if self.watchdog_s is not None:
                self.tell("WATCHDOG=1")
            await asyncio.sleep(IDLE_S if self.watchdog_s is None else self.watchdog_s / BEATS_IN_A_PERIOD)
