"""A TCP proxy that fails on purpose, to stand between a client and PostgreSQL or a broker."""

import asyncio
from contextlib import suppress
from dataclasses import dataclass
from enum import Enum, auto
from types import TracebackType
from typing import Self
from urllib.parse import parse_qs, urlsplit

HOST = "127.0.0.1"


class Towards(Enum):
    SERVER = auto()
    CLIENT = auto()


@dataclass(frozen=True, slots=True)
class Connection:
    client: asyncio.StreamWriter
    server: asyncio.StreamWriter

    def cut(self, last_word: Towards | None = None) -> None:
        """Aborts both sides; the one that has the `last_word` still gets what was written to it before."""
        for towards, writer in ((Towards.CLIENT, self.client), (Towards.SERVER, self.server)):
            if towards is last_word:
                writer.close()
            else:
                writer.transport.abort()


class CuttingProxy:
    """`async with CuttingProxy(url) as proxy`: who connects to `proxy.url` talks with the server at `url`."""

    def __init__(self, url: str) -> None:
        self._target = urlsplit(url)
        self._socket_dir = parse_qs(self._target.query).get("host", [""])[0]
        self._connections: set[Connection] = set()
        self._tasks: set[asyncio.Task[object]] = set()
        self._flowing = asyncio.Event()
        self._flowing.set()
        self._bytes_left: dict[Towards, int] = {}
        self.one_byte_at_a_time = False
        self.refuses = False
        """New connections are cut at once, as if nothing were there."""

    async def __aenter__(self) -> Self:
        self._listener = await asyncio.start_server(self._serve, HOST, 0)
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._listener.close()
        self.cut()
        self.flow()
        if self._tasks:
            await asyncio.wait(self._tasks)

    @property
    def url(self) -> str:
        port = self._listener.sockets[0].getsockname()[1]
        user = f"{self._target.username}@" if self._target.username else ""
        return f"{self._target.scheme}://{user}{HOST}:{port}{self._target.path}"

    def cut(self) -> None:
        """Cuts every connection now."""
        for connection in list(self._connections):
            connection.cut()

    def cut_after(self, bytes_count: int, towards: Towards) -> None:
        """Lets so many more bytes through in one direction, over all connections, and cuts at once behind the last."""
        self._bytes_left[towards] = bytes_count

    def stall(self) -> None:
        """Holds everything back and leaves the connections open, until `flow`."""
        self._flowing.clear()

    def flow(self) -> None:
        self._flowing.set()

    async def _serve(self, from_client: asyncio.StreamReader, to_client: asyncio.StreamWriter) -> None:
        if (task := asyncio.current_task()) is not None:
            self._tasks.add(task)
            task.add_done_callback(self._tasks.discard)
        if self.refuses:
            to_client.transport.abort()
            return
        try:
            from_server, to_server = await self._connect()
        except OSError:
            to_client.transport.abort()
            return
        connection = Connection(to_client, to_server)
        self._connections.add(connection)
        await asyncio.gather(
            self._pump(from_client, to_server, Towards.SERVER, connection),
            self._pump(from_server, to_client, Towards.CLIENT, connection),
        )
        self._connections.discard(connection)

    async def _pump(
        self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter, towards: Towards, connection: Connection
    ) -> None:
        with suppress(ConnectionError):
            while data := await reader.read(65536):
                size = 1 if self.one_byte_at_a_time else len(data)
                for start in range(0, len(data), size):
                    await self._flowing.wait()
                    if not await self._pass_on(data[start : start + size], writer, towards):
                        connection.cut(last_word=towards)
                        return
        connection.cut(last_word=towards)

    async def _pass_on(self, data: bytes, writer: asyncio.StreamWriter, towards: Towards) -> bool:
        """Whether the connection may live on."""
        if (left := self._bytes_left.get(towards)) is None:
            writer.write(data)
            await writer.drain()
            return True
        writer.write(data[:left])
        self._bytes_left[towards] = left - len(data)
        if left > len(data):
            return True
        del self._bytes_left[towards]
        return False

    async def _connect(self) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
        if self._socket_dir:
            return await asyncio.open_unix_connection(f"{self._socket_dir}/.s.PGSQL.5432")
        return await asyncio.open_connection(self._target.hostname, self._target.port)
