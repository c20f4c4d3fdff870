"""What is at the other end of a wire: the broker, and the boards' serial ports."""

import asyncio
import datetime as dt
import grp
import os
import stat
from collections.abc import AsyncIterator, Iterator, Sequence
from contextlib import AsyncExitStack
from ipaddress import ip_address
from itertools import combinations
from pathlib import Path
from typing import Final

from jackpot.cli.checks import certificates
from jackpot.cli.checks.finding import Finding, bad, good, odd
from jackpot.config import Config, Sign
from jackpot.contract import topics
from jackpot.embedded import EmbeddedBroker, default_data_dir
from jackpot.embedded.servers import configured_broker
from jackpot.errors import UserError
from jackpot.mqtt.broker import Broker
from jackpot.mqtt.client import Connection, Message, MqttError
from jackpot.signs import feed

STATUS_WITHIN_S: Final = 1.0
MEND: Final = "start the broker; else mend url, username or certificates in [mqtt]"


async def broker(config: Config) -> AsyncIterator[Finding]:
    """Connects to each node, subscribes, as whom the configuration says, and listens for the links' statuses."""
    async with AsyncExitStack() as stack:
        try:
            url = config.mqtt.url
            if url is None:
                embedded = EmbeddedBroker(config.embedded.data_dir or default_data_dir())
                url = await stack.enter_async_context(embedded)
            at = configured_broker(config, url)
        except UserError as error:
            yield bad("broker", str(error), MEND)
            return
        for _ in range(1 + len(at.others)):
            async for finding in _node(at, [link.id for link in config.links]):
                yield finding
            at = at.next


async def _node(at: Broker, links: list[str]) -> AsyncIterator[Finding]:
    try:
        said, ends = await _statuses(at, links)
    except MqttError as error:
        yield bad("broker", str(error), MEND)
        return
    statuses = "; ".join(f"{link} is {state}" for link, state in said.items()) or "no link has a status yet"
    yield good("broker", f"{at} lets us in; {statuses}")
    if ends is not None:
        yield certificates.term(f"the certificate that {at} shows", dt.datetime.fromtimestamp(ends, dt.UTC))
    elif at.tls is None and not _is_here(at.host):
        yield odd("broker", f"what is said to {at} is neither secret nor proved", "use mqtts:// with ca, cert and key")


async def _statuses(at: Broker, links: list[str]) -> tuple[dict[str, str], float | None]:
    """What is said of each link, and when the broker's certificate ends."""
    said: dict[str, str] = {}
    all_said = asyncio.Event()

    def hear(message: Message) -> None:
        message.connection.ack(message)
        link = message.topic.split("/")[2]
        try:
            said[link] = feed.read("status", message.payload)["state"]
        except feed.UnreadableError:
            said[link] = "unreadable"
        if len(said) == len(links):
            all_said.set()

    connection = await Connection.open(
        at,
        f"jackpot-check-{os.getpid()}",
        on_message=hear,
        subscriptions=[(topics.status(link), 1) for link in links],
        clean_session=True,
    )
    ends = connection.certificate_ends
    try:
        async with asyncio.timeout(STATUS_WITHIN_S):
            await all_said.wait()
    except TimeoutError:
        pass
    finally:
        await connection.close()
    return said, ends


def _is_here(host: str) -> bool:
    try:
        return ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"


def boards(signs: Sequence[Sign]) -> Iterator[Finding]:
    """Looks at the ports without opening them: whoever opens one may disturb its board."""
    for sign in signs:
        yield _board(sign)
    for one, other in combinations((sign for sign in signs if not sign.port.startswith("socket://")), 2):
        if one.port != other.port and Path(one.port).resolve() == Path(other.port).resolve():
            found = f"{one.id} and {other.id}: {one.port} and {other.port} are one port"
            yield bad("board", found, "give both the same port in [[signs]]")


def _board(sign: Sign) -> Finding:
    part = "board"
    if sign.port.startswith("socket://"):
        return good(part, f"{sign.id}: {sign.protocol} at {sign.port}; jackpot signs test {sign.id} tries it")
    port = Path(sign.port)
    try:
        found = port.stat()
    except OSError as error:
        return bad(part, f"{sign.id}: {port}: {error.strerror}", "plug the adapter in, or mend port in [[signs]]")
    if not stat.S_ISCHR(found.st_mode) or not _is_tty(os.major(found.st_rdev)):
        return bad(part, f"{sign.id}: {port} is no serial port", "mend port in [[signs]]")
    if not os.access(port, os.R_OK | os.W_OK):
        return bad(
            part, f"{sign.id}: {port} is not ours to use", f"usermod -aG {_group(found.st_gid)} the daemon's user"
        )
    return good(part, f"{sign.id}: {sign.protocol} at {port}, {sign.baud} baud")


def _is_tty(major: int) -> bool:
    """Whether the system has a driver of terminals with this number; where it does not tell, we believe it."""
    try:
        lines = Path("/proc/tty/drivers").read_text().splitlines()
    except OSError:
        return True
    return str(major) in {line.split()[2] for line in lines}


def _group(gid: int) -> str:
    try:
        return grp.getgrgid(gid).gr_name
    except KeyError:
        return str(gid)
