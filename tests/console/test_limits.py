"""What strangers send is bounded in size, in time and in number: measured against the real server."""

import asyncio
import json
import time
from collections.abc import AsyncIterator
from contextlib import suppress

import pytest
import pytest_asyncio

from jackpot.console import limits, server
from jackpot.console.limits import BODY_BYTES_MAX
from tests.console.console_client import ConsoleClient, served
from tests.waiting import patience_s

pytestmark = pytest.mark.asyncio(loop_scope="session")

API, PAGE = "/api/adjustments", "/login"
LONG = 96 * 2**20


@pytest_asyncio.fixture(loop_scope="session")
async def port(office: ConsoleClient) -> AsyncIterator[int]:
    async with served(office) as port:
        yield port


def head(path: str, *headers: str) -> bytes:
    lines = (f"POST {path} HTTP/1.1", "Host: console", "Accept: text/html", "Content-Type: application/json", *headers)
    return "\r\n".join((*lines, "", "")).encode()


class Stranger:
    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._reader, self._writer = reader, writer

    async def send(self, *parts: bytes) -> None:
        with suppress(ConnectionError):
            for part in parts:
                self._writer.write(part)
                await self._writer.drain()

    async def answer(self) -> tuple[int, dict[str, str], bytes]:
        """Status, headers and body of the answer, which is the last on this connection."""
        async with asyncio.timeout(patience_s(10)):
            told, _, body = (await self._reader.read()).partition(b"\r\n\r\n")
        first, *lines = told.decode().split("\r\n")
        return int(first.split()[1]), dict(line.split(": ", 1) for line in lines), body

    async def ends(self) -> None:
        """Until the server has ended the connection, whatever it has said before."""
        with suppress(ConnectionError):
            async with asyncio.timeout(patience_s(20)):
                await self._reader.read()

    def close(self) -> None:
        self._writer.close()


async def stranger(port: int) -> Stranger:
    return Stranger(*await asyncio.open_connection("127.0.0.1", port))


@pytest.mark.parametrize("chunked", [False, True])
async def test_more_than_a_form_is_refused_before_it_is_all_here(port: int, chunked: bool) -> None:
    client = await stranger(port)
    length = "Transfer-Encoding: chunked" if chunked else f"Content-Length: {LONG}"
    await client.send(head(API, length))
    if chunked:
        piece = b"x" * 1024
        await client.send(*[f"{len(piece):x}\r\n".encode() + piece + b"\r\n"] * (BODY_BYTES_MAX // len(piece) + 1))
    status, headers, body = await client.answer()
    assert (status, json.loads(body)) == (413, {"detail": "A request has 64 KiB at most."})
    assert headers["connection"] == "close"
    assert headers["x-content-type-options"] == "nosniff"


async def test_a_person_reads_it_on_a_page(port: int) -> None:
    client = await stranger(port)
    await client.send(head(PAGE, f"Content-Length: {LONG}"))
    status, headers, body = await client.answer()
    assert (status, headers["content-type"]) == (413, "text/html; charset=utf-8")
    assert b"A request has 64 KiB at most." in body


async def test_nobody_waits_while_someone_sends_very_much(port: int) -> None:
    """The links' leases are renewed in this loop."""
    latest = 0.0

    async def feel() -> None:
        nonlocal latest
        while True:
            before = time.thread_time()  # a busy machine is nobody's fault
            await asyncio.sleep(0.01)
            latest = max(latest, time.thread_time() - before)

    feeling = asyncio.create_task(feel())
    client = await stranger(port)
    await client.send(head(API, f"Content-Length: {LONG}"), *[b"[" * 2**20] * 96)
    assert await status_of(port, b"[" * BODY_BYTES_MAX) in (400, 401, 422)
    feeling.cancel()
    assert latest < 1.0


async def is_answered(port: int) -> bool:
    try:
        return await status_of(port, b"{}") in (401, 422)
    except (ConnectionError, IndexError):  # it was turned away without a word
        return False


async def status_of(port: int, body: bytes) -> int:
    client = await stranger(port)
    await client.send(head(API, f"Content-Length: {len(body)}", "Connection: close"), body)
    return (await client.answer())[0]


async def test_what_is_sent_in_pieces_is_read_as_a_whole(port: int) -> None:
    client = await stranger(port)
    body = b'{"link": "nowhere"}'
    await client.send(head(API, f"Content-Length: {len(body)}", "Connection: close"), body[:5])
    await asyncio.sleep(0.05)
    await client.send(body[5:])
    assert (await client.answer())[0] in (401, 422)


async def test_a_body_that_does_not_come(port: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(limits, "BODY_WITHIN_S", 0.2)
    client = await stranger(port)
    await client.send(head(API, "Content-Length: 100"), b"{")
    status, _, body = await client.answer()
    assert (status, "within" in json.loads(body)["detail"]) == (408, True)


@pytest.mark.parametrize("sent", [b"", b"GET / HT", head("/login", "Content-Length: 0") + b"GET / HT"])
async def test_a_head_that_does_not_come(port: int, sent: bytes, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(server, "HEAD_WITHIN_S", 0.3)
    client = await stranger(port)
    await client.send(sent)
    for _ in range(20):
        await asyncio.sleep(0.05)
        await client.send(b"x" if sent else b"")
    await client.ends()


async def test_a_head_without_end(port: int) -> None:
    client = await stranger(port)
    await client.send(b"GET /login HTTP/1.1\r\n" + b"X-Header: anything\r\n" * 100_000)
    await client.ends()


async def test_no_more_connections_than_there_is_room_for(port: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(server, "CONNECTIONS_MAX", 3)
    held = [await stranger(port) for _ in range(3)]
    await (await stranger(port)).ends()
    for client in held:
        client.close()
    async with asyncio.timeout(patience_s(20)):
        while not await is_answered(port):  # until it has seen that they left
            await asyncio.sleep(0.05)
