"""Whose turn it is on a line, and how one is opened."""

import asyncio
import socket
from typing import Any

import pytest

from drivers.board import DriverError
from drivers.line import Line
from drivers.protocol import PASSED_OVER_MAX, Turns


async def test_what_is_urgent_goes_first_and_what_becomes_urgent_while_it_waits() -> None:
    turns, order = Turns(), list[str]()
    urgent = {"figure"}

    async def take(name: str) -> None:
        async with turns.turn(lambda: name in urgent):
            order.append(name)
            await asyncio.sleep(0)

    async with asyncio.TaskGroup() as tasks, turns.turn(lambda: False):
        for name in ("question", "refresh", "late figure", "figure"):
            tasks.create_task(take(name))
        await asyncio.sleep(0)
        urgent.add("late figure")
    assert order == ["late figure", "figure", "question", "refresh"]


async def test_nobody_is_passed_over_for_ever() -> None:
    turns, order = Turns(), list[str]()

    async def take(name: str, times: int, *, is_urgent: bool) -> None:
        for _ in range(times):
            async with turns.turn(lambda: is_urgent):
                order.append(name)
                await asyncio.sleep(0)

    async with asyncio.TaskGroup() as tasks:
        for number in range(3):
            tasks.create_task(take(f"figure {number}", 20, is_urgent=True))
        tasks.create_task(take("question", 1, is_urgent=False))
    assert order.index("question") <= PASSED_OVER_MAX + 3
    assert len(order) == 61


async def test_whoever_gives_up_waiting_holds_up_no_one() -> None:
    turns, order = Turns(), list[int]()

    async def take(number: int) -> None:
        async with turns.turn(lambda: False):
            order.append(number)
            await asyncio.sleep(0.01)

    async with turns.turn(lambda: False):
        tasks = [asyncio.create_task(take(number)) for number in range(1, 6)]
        await asyncio.sleep(0)
        tasks[1].cancel()
        tasks[2].cancel()
    tasks[0].cancel()  # it has just been called
    await asyncio.gather(*tasks, return_exceptions=True)
    assert order == [4, 5]
    async with asyncio.timeout(5):
        await take(6)
    assert order[-1] == 6


@pytest.fixture
def two_addresses(monkeypatch: pytest.MonkeyPatch) -> None:
    """A name with two addresses. Nobody listens at the first, as where a serial server has no IPv6."""
    real = socket.getaddrinfo

    def both(host: Any, port: Any, *arguments: Any, **keywords: Any) -> Any:
        found = real("127.0.0.1", port, *arguments, **keywords)
        return [(*entry[:4], ("127.0.0.77", port)) for entry in found] + found if host == "serial-server" else found

    monkeypatch.setattr(socket, "getaddrinfo", both)


@pytest.mark.usefixtures("two_addresses")
async def test_every_address_of_a_serial_server_s_name_is_tried() -> None:
    server = await asyncio.start_server(lambda _, writer: writer.close(), "127.0.0.1", 0)
    number = server.sockets[0].getsockname()[1]
    async with server:
        line = await Line.open(f"socket://serial-server:{number}", 9600, "8N1")
        sock = line._transport.get_extra_info("socket")
        assert sock.getsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY)
        assert sock.getsockopt(socket.IPPROTO_TCP, socket.TCP_USER_TIMEOUT) == 2000
        line.close()
    with pytest.raises(DriverError, match=r"serial-server:[0-9]+: Connection refused$"):
        await Line.open(f"socket://serial-server:{number}", 9600, "8N1")
