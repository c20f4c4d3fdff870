"""How `jackpot table` speaks for a table: where its link is found, what was said, and what was answered."""

import asyncio
import datetime as dt
import json
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import typer

from jackpot.cli.output import Output
from jackpot.config import load
from jackpot.embedded import EmbeddedBroker, default_data_dir
from jackpot.embedded.servers import configured_broker
from jackpot.errors import CheckFailedError, UserError
from jackpot.floor.single import EventSender, NoAnswerError
from jackpot.mqtt.broker import Broker
from jackpot.mqtt.client import MqttError
from jackpot.pki.secrets import event_keys
from jackpot.rules.megalink import GAMES, JackpotGame

ROUND_WITHIN_S: Final = 1.5


@dataclass(frozen=True, slots=True)
class TableSession:
    """Which table, as it was asked for."""

    table: str
    config: Path | None
    mqtt: str | None
    link: str | None
    event_id: str | None
    seq: int | None
    patience_s: float
    output: Output


@dataclass(frozen=True, slots=True)
class Hand:
    """Speaks for the table and shows what was said."""

    table: EventSender
    seat: TableSession

    @property
    def output(self) -> Output:
        return self.seat.output

    async def say(self, type_: str, round_: str | None = None, **fields: Any) -> dict[str, Any]:
        """An event of a round: of the one under way, if none is named."""
        # A round opened just now is told within a second.
        if round_ is None and await self.table.until(lambda: self.table.round is not None, ROUND_WITHIN_S):
            round_ = self.table.round
        if round_ is None:
            raise UserError(f"{self.table.table} has no round under way; open one first, or name it with --round")
        return await self.ask({"type": type_, "round": round_, **fields})

    async def ask(self, event: dict[str, Any]) -> dict[str, Any]:
        chosen = {"id": self.seat.event_id, "seq": self.seat.seq}
        given = {name: value for name, value in chosen.items() if value is not None}
        sent, answer = await self.table.ask({**event, **given})
        if self.output is Output.TABLE:
            shown = {name: value for name, value in sent.items() if name not in {"id", "at", "type"}}
            typer.echo(f"-> {sent['type']} {json.dumps(shown)}")
        self.show_answer(answer)
        return answer

    def show_answer(self, answer: dict[str, Any]) -> None:
        """A refusal ends it, with exit code 1."""
        if self.output is Output.JSON:
            typer.echo(json.dumps(answer))
        elif answer["status"] == "accepted":
            again = " (again)" if answer["duplicate"] else ""
            typer.echo(f"<- accepted{again} {json.dumps(answer['result'])}")
        if answer["status"] != "accepted":
            if self.output is Output.JSON:
                raise typer.Exit(1)
            because = f"{answer['code']}, {answer['rule']}" if answer["rule"] else answer["code"]
            raise CheckFailedError(f"refused ({because}): {answer['message']}")


def play(context: typer.Context, work: Callable[[Hand], Awaitable[object]]) -> None:
    seat_: TableSession = context.obj

    async def sit_down() -> None:
        broker, link, key = await _reached(seat_)
        async with EventSender(broker, link, seat_.table, key=key, patience_s=seat_.patience_s) as table:
            await work(Hand(table, seat_))

    try:
        asyncio.run(sit_down())
    except (MqttError, NoAnswerError) as error:
        raise CheckFailedError(str(error)) from error


async def _reached(seat_: TableSession) -> tuple[Broker, str, bytes | None]:
    """The broker, the table's link and its key."""
    if seat_.config is None:
        if seat_.mqtt is None or seat_.link is None:
            raise UserError("where is the table? give --config FILE, or --mqtt URL and --link ID, before the table")
        return Broker.from_url(seat_.mqtt), seat_.link, None
    config = load(seat_.config)
    known = {table.id: table.link for table in config.tables}
    link = seat_.link or known.get(seat_.table)
    if link is None:
        linked = ", ".join(table for table, its_link in known.items() if its_link) or "none"
        raise UserError(f"{seat_.table} is no linked table of {seat_.config}; those are {linked}; or give --link")
    url = seat_.mqtt or config.mqtt.url
    if url is None:
        embedded = EmbeddedBroker(config.embedded.data_dir or default_data_dir())
        if (trouble := await embedded.trouble()) is not None:
            raise CheckFailedError(f"the embedded broker does not run ({trouble}); start the daemon first")
        url = embedded.url
    return configured_broker(config, url), link, event_keys(config).get(seat_.table)


def game_of(seat_: TableSession) -> JackpotGame:
    if seat_.config is None:
        raise UserError("a whole round needs the table's game: give --config FILE before the table")
    found = next((table for table in load(seat_.config).tables if table.id == seat_.table), None)
    if found is None or found.game not in GAMES:
        raise UserError(f"{seat_.table} is no linked table of {seat_.config}")
    return GAMES[found.game]


def event_of(text: str) -> dict[str, Any]:
    try:
        event = json.loads(text)
    except ValueError as error:
        raise UserError(f"this is not JSON ({error}); to send it all the same add --exactly") from error
    if not isinstance(event, dict) or not isinstance(event.get("type"), str):
        raise UserError("an event is an object with a type; to send this all the same add --exactly")
    return event


def new_round() -> str:
    """Unique for the table, to the millisecond."""
    return f"{dt.datetime.now(dt.UTC):%Y%m%d-%H%M%S-%f}"[:-3]


def cards_of(text: str) -> list[str]:
    return text.replace(",", " ").split()
