"""A small network of namespaces: each program on a host of its own, and packets that vanish between any two of them.

Nothing says so: no RST, no ICMP. The sender is made to believe in a hardware address that nobody has, so each direction
between two hosts can be lost by itself, with iproute2 alone.
"""

import os
import shutil
import subprocess
from contextlib import suppress
from types import TracebackType
from typing import Self

import pytest

NOBODY = "02:00:00:00:00:01"
PIT = "pit"
"""The host of the tests themselves: the machine's own namespace."""


class Network:
    """`with Network("database", "first") as network`: these hosts, and the pit, on one switch of their own."""

    def __init__(self, *hosts: str) -> None:
        if os.geteuid() != 0 or shutil.which("ip") is None or shutil.which("nsenter") is None:
            pytest.skip("network namespaces need root, iproute2 and util-linux")
        self._name = f"jp{os.getpid()}"
        self._numbers = {host: number for number, host in enumerate((PIT, *hosts), start=1)}
        self._cuts: list[tuple[str, str]] = []

    def address(self, host: str) -> str:
        # RFC 2544: addresses for tests, which lead nowhere else.
        return f"198.18.{os.getpid() % 256}.{self._numbers[host]}"

    @property
    def subnet(self) -> str:
        return f"198.18.{os.getpid() % 256}.0/24"

    def within(self, host: str) -> tuple[str, ...]:
        """What runs a command on this host."""
        return ("nsenter", f"--net={self.file(host)}", "--")

    def file(self, host: str) -> str:
        return f"/run/netns/{self._space(host)}"

    def cut(self, sender: str, receiver: str) -> None:
        """From now on nothing that one sends reaches the other; what comes back still does."""
        self._cuts.append((sender, receiver))
        neighbour = (self.address(receiver), "lladdr", NOBODY, "dev", self._device(sender), "nud", "permanent")
        self._ip(*self._on(sender), "neigh", "replace", *neighbour)

    def part(self, one: str, other: str) -> None:
        self.cut(one, other)
        self.cut(other, one)

    def heal(self) -> None:
        for sender, receiver in self._cuts:
            self._ip(*self._on(sender), "neigh", "del", self.address(receiver), "dev", self._device(sender))
        self._cuts.clear()

    def __enter__(self) -> Self:
        switch = self._space("switch")
        try:
            self._ip("netns", "add", switch)
        except RuntimeError as error:
            pytest.skip(f"network namespaces cannot be made here: {error}")
        try:
            self._ip("-n", switch, "link", "add", "bridge", "type", "bridge")
            self._ip("-n", switch, "link", "set", "bridge", "up")
            for host in self._numbers:
                self._plug_in(host, switch)
        except BaseException:
            self._remove()
            raise
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._remove()

    def _plug_in(self, host: str, switch: str) -> None:
        port = f"port{self._numbers[host]}"
        if host != PIT:
            self._ip("netns", "add", self._space(host))
            self._ip(*self._on(host), "link", "set", "lo", "up")
        self._ip("-n", switch, "link", "add", port, "type", "veth", "peer", "name", f"{self._name}x")
        self._ip("-n", switch, "link", "set", f"{self._name}x", "netns", self._home(host))
        self._ip(*self._on(host), "link", "set", f"{self._name}x", "name", self._device(host))
        self._ip("-n", switch, "link", "set", port, "master", "bridge", "up")
        self._ip(*self._on(host), "addr", "add", f"{self.address(host)}/24", "dev", self._device(host))
        self._ip(*self._on(host), "link", "set", self._device(host), "up")

    def _remove(self) -> None:
        """A namespace takes its devices with it, and a device its other end."""
        for host in (*self._numbers, "switch"):
            if host != PIT:
                with suppress(RuntimeError):
                    self._ip("netns", "del", self._space(host))

    def _space(self, host: str) -> str:
        return f"{self._name}-{host}"

    def _home(self, host: str) -> str:
        return str(os.getpid()) if host == PIT else self._space(host)

    def _device(self, host: str) -> str:
        return self._name if host == PIT else "wire"

    def _on(self, host: str) -> tuple[str, ...]:
        return () if host == PIT else ("-n", self._space(host))

    def _ip(self, *arguments: str) -> None:
        done = subprocess.run(["ip", *arguments], capture_output=True, text=True, check=False)
        if done.returncode:
            raise RuntimeError(f"ip {' '.join(arguments)}: {done.stderr.strip()}")
