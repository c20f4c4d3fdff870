"""A board behind a serial server on port 4001. Each line that it writes is what it shows now."""

import asyncio
import sys

from drivers.emulator import emulate

PORT = 4001


async def stand() -> None:
    board = emulate("alpha", "01", 16)

    async def speak(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        while data := await reader.read(4096):
            writer.write(board.feed(data, asyncio.get_running_loop().time()))
            sys.stdout.write(board.state().text + "\n")
            sys.stdout.flush()

    async with await asyncio.start_server(speak, "127.0.0.1", PORT) as server:
        await server.serve_forever()


asyncio.run(stand())
