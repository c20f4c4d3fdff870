"""A table that plays, an office that orders, and somebody who types, on a machine with everything on it."""

import asyncio
import json
import uuid
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

from jackpot.floor.table import TableController
from jackpot.people.roles import Role
from jackpot.pki import Kind
from tests.acceptance import processes
from tests.deploy.installed import DEPLOY
from tests.deploy.machine import LINK, NOTHING, Machine
from tests.deploy.terminal import terminal
from tests.deploy.test_roles_at_work import Api
from tests.waiting import patience_s

STRAIGHT_FLUSH = ["5d", "6d", "7d", "8d", "9d"]


@asynccontextmanager
async def table_at(site: Machine, link: str = LINK, **more: Any) -> AsyncIterator[TableController]:
    broker = site.pki.broker(Kind.TABLE, "BE-01")
    async with asyncio.timeout(patience_s(120)), TableController(broker, link, "BE-01", **more) as table:
        yield table


async def play(table: TableController, cards: list[str] | None = None) -> dict[str, Any]:
    """A round in which everything is accepted; the answer to its settlement."""
    name = uuid.uuid4().hex
    said = [table.post("round.opened", name), table.post("wager.placed", name, position=1)]
    said.append(table.post("round.closed", name))
    if cards:
        said.append(table.post("hand.entered", name, position=1, cards=cards, community=[]))
    said.append(table.post("round.settled", name))
    answers = await asyncio.gather(*said)
    assert {answer["status"] for answer in answers} == {"accepted"}, answers
    return answers[-1]


async def won(table: TableController) -> dict[str, Any]:
    (award,) = (await play(table, STRAIGHT_FLUSH))["result"]["awards"]
    found: dict[str, Any] = award
    return found


async def typed(
    site: Machine, block: str, filled_in: Mapping[str, str | Path] = NOTHING, cwd: Path = DEPLOY.parent
) -> str:
    return await asyncio.to_thread(site.types, block, filled_in, cwd)


class ConsoleClient:
    """The console, and who works there."""

    def __init__(self, site: Machine) -> None:
        self._site, self._api, self._tokens = site, Api(site.daemon), dict[str, str]()

    async def ask(self, who: str, role: Role, method: str, path: str, **body: Any) -> Any:
        if who not in self._tokens:
            passwords, url = self._site.server.passwords, self._site.url
            both = (passwords["console"], passwords["settle"])
            async with terminal(url("console"), url("settle"), self._site.people_key, both) as made:
                _, self._tokens[who] = await made.hire(role)
        status, answer = await asyncio.to_thread(self._api.ask, self._tokens[who], method, path, body or None)
        assert status in (200, 201), (path, status, answer)
        return answer

    async def adjust(self, account: str, amount_cents: int, **more: Any) -> None:
        wanted = {"link": LINK, "account": account, "amount_cents": amount_cents, "reason": "as agreed", **more}
        proposed = await self.ask("fiona", Role.FINANCE, "POST", "/adjustments", **wanted)
        for number in proposed["proposals"]:
            answer = await self.ask("felix", Role.FINANCE, "POST", f"/adjustments/{number}/approve")
            assert answer["status"] == "accepted", answer


def balance(site: Machine, link: str, account: str) -> int:
    return int(site.server.psql(f"SELECT {account} FROM links WHERE link = '{link}'", "jackpot"))


async def report(site: Machine, table: TableController) -> None:
    """The table's counters of the day are the ledger's: it was never somewhere else."""
    done = processes.run("reconcile", "--config", site.daemon.config, "--day", str(site.today), "-o", "json")
    (found,) = (found for found in json.loads(done.stdout)["tables"] if found["table"] == table.table)
    counters = {name: found[name] for name in ("wagers", "wagered_cents", "awards", "awarded_cents")}
    answer = await table.say("meters.reported", None, day=str(site.today), **counters)
    assert answer["status"] == "accepted", answer
