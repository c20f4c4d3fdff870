"""`jackpot table`: plays single events by hand against a running daemon, as an integrator's table would."""

import json
import random
from pathlib import Path
from typing import Annotated, Final

import typer

from jackpot.cli.output import Output, OutputOption
from jackpot.cli.table_session import Hand, TableSession, cards_of, event_of, game_of, new_round, play
from jackpot.errors import CheckFailedError
from jackpot.floor.deck import deal

command = typer.Typer(
    add_completion=False,
    no_args_is_help=True,
    subcommand_metavar="COMMAND [ARGS]...",
    help="Play a table by hand, one event at a time, against a running daemon.",
)

NOTICE_WITHIN_S: Final = 11.0
"""An award is announced every ten seconds until it is paid."""

Position = Annotated[int, typer.Argument(help="The playing position.")]
Multiplier = Annotated[int, typer.Option("-x", "--multiplier", help="How many units.")]
Community = Annotated[str, typer.Option(help="The common cards, such as 'Qh Jh Th'; none in Bullseye.")]
RoundOption = Annotated[str | None, typer.Option("--round", help="Absent: the round under way.")]
Reason = Annotated[str, typer.Option(help="Why.")]


@command.callback()
def seat(
    context: typer.Context,
    table: Annotated[str, typer.Argument(metavar="TABLE", help="The table's id, such as UTH-01.")],
    *,
    config: Annotated[Path | None, typer.Option(help="The daemon's configuration: names broker and link.")] = None,
    mqtt: Annotated[str | None, typer.Option(help="Without --config: the broker, mqtt://host:1883.")] = None,
    link: Annotated[str | None, typer.Option(help="Without --config: the link.")] = None,
    event_id: Annotated[str | None, typer.Option("--id", help="The event's id; absent: a new one.")] = None,
    seq: Annotated[int | None, typer.Option(help="The event's seq; absent: the link's next_seq.")] = None,
    wait: Annotated[float, typer.Option(min=0.1, help="Seconds to wait for an answer.")] = 10.0,
    output: OutputOption = Output.TABLE,
) -> None:
    context.obj = TableSession(table, config, mqtt, link, event_id, seq, wait, output)


# -- the commands ---------------------------------------------------------------------------------------------------


@command.command("state")
def show_state(context: typer.Context) -> None:
    """Show where the link thinks the table is."""

    async def look(hand: Hand) -> None:
        if hand.table.state is None:
            raise CheckFailedError(
                f"link {hand.table.link} has said nothing about {hand.table.table}; are both names right?"
            )
        typer.echo(json.dumps(hand.table.state, indent=None if hand.output is Output.JSON else 2))

    play(context, look)


@command.command("open")
def open_round(
    context: typer.Context, round_: Annotated[str | None, typer.Option("--round", help="Absent: a new name.")] = None
) -> None:
    """Open a round: "Place your bets, please"."""
    play(context, lambda hand: hand.say("round.opened", round_ or new_round()))


@command.command("wager")
def place_wager(
    context: typer.Context, position: Position, multiplier: Multiplier = 1, round_: RoundOption = None
) -> None:
    """Place a jackpot wager."""
    play(context, lambda hand: hand.say("wager.placed", round_, position=position, multiplier=multiplier))


@command.command("cancel")
def cancel_wager(context: typer.Context, position: Position, round_: RoundOption = None) -> None:
    """Cancel a wager before the round is closed (5.12.1)."""
    play(context, lambda hand: hand.say("wager.cancelled", round_, position=position))


@command.command("close")
def close_round(context: typer.Context, round_: RoundOption = None) -> None:
    """Close the round: "No more bets"."""
    play(context, lambda hand: hand.say("round.closed", round_))


@command.command("return")
def return_wager(
    context: typer.Context, position: Position, reason: Reason = "5.12.2", round_: RoundOption = None
) -> None:
    """Return a wager after closing."""
    play(context, lambda hand: hand.say("wager.returned", round_, position=position, reason=reason))


@command.command("hand")
def enter_hand(
    context: typer.Context,
    position: Position,
    cards: Annotated[str, typer.Argument(help="The position's own cards, such as 'Ah Kh'.")],
    community: Community = "",
    round_: RoundOption = None,
) -> None:
    """Enter a hand."""
    fields = {"position": position, "cards": cards_of(cards), "community": cards_of(community)}
    play(context, lambda hand: hand.say("hand.entered", round_, **fields))


@command.command("withdraw")
def withdraw_hand(
    context: typer.Context, position: Position, reason: Reason = "entered in error", round_: RoundOption = None
) -> None:
    """Withdraw a hand that was entered in error."""
    play(context, lambda hand: hand.say("hand.withdrawn", round_, position=position, reason=reason))


@command.command("decline")
def decline_hand(context: typer.Context, position: Position, round_: RoundOption = None) -> None:
    """Say that a hand is not exposed: no jackpot."""
    play(context, lambda hand: hand.say("hand.declined", round_, position=position))


@command.command("settle")
def settle_round(context: typer.Context, round_: RoundOption = None) -> None:
    """Settle the round: all hands are in, pay."""
    play(context, lambda hand: hand.say("round.settled", round_))


@command.command("void")
def void_round(context: typer.Context, reason: Reason = "5.1", round_: RoundOption = None) -> None:
    """Void the round: every wager goes back."""
    play(context, lambda hand: hand.say("round.voided", round_, reason=reason))


@command.command("paid")
def pay_award(
    context: typer.Context,
    award: Annotated[str, typer.Argument(metavar="AWARD", help="Such as megalink-000123.")],
    round_: Annotated[str | None, typer.Option("--round", help="Absent: as the award's notice says.")] = None,
) -> None:
    """Say that an award was handed over."""

    async def pay(hand: Hand) -> None:
        table = hand.table
        if round_ is None and not await table.until(lambda: award in table.awards, NOTICE_WITHIN_S):
            raise CheckFailedError(
                f"{award} is not announced to {table.table}: it is paid, or another table's; try --round"
            )
        await hand.say("award.paid", round_ or table.awards[award]["round"], award=award)

    play(context, pay)


@command.command("report")
def report_meters(
    context: typer.Context,
    *,
    day: Annotated[str, typer.Option(help="The gaming day, YYYY-MM-DD.")],
    wagers: Annotated[int, typer.Option(help="How many stood at closing.")],
    wagered_cents: Annotated[int, typer.Option(help="What they came to.")],
    awards: Annotated[int, typer.Option(help="How many were made.")] = 0,
    awarded_cents: Annotated[int, typer.Option(help="What they came to.")] = 0,
) -> None:
    """Report the table's own counters of a gaming day."""
    fields = {"wagers": wagers, "wagered_cents": wagered_cents, "awards": awards, "awarded_cents": awarded_cents}
    play(context, lambda hand: hand.ask({"type": "meters.reported", "day": day, **fields}))


@command.command("say")
def say_anything(
    context: typer.Context,
    event: Annotated[str, typer.Argument(metavar="JSON", help="What is missing of id, seq and at is added.")],
    exactly: Annotated[bool, typer.Option("--exactly", help="Send these bytes and no others.")] = False,
) -> None:
    """Send any event, or anything at all, and see the answer."""

    async def send(hand: Hand) -> None:
        if exactly:
            hand.show_answer(await hand.table.send(event.encode(), lambda _: True))
        else:
            await hand.ask(event_of(event))

    play(context, send)


@command.command("play")
def play_round(
    context: typer.Context,
    cards: Annotated[str, typer.Option(help="The whole jackpot hand: own cards, then the common ones.")] = "",
    position: Annotated[int, typer.Option(help="The playing position.")] = 1,
    multiplier: Multiplier = 1,
) -> None:
    """Play a whole round with one wager, from a shuffled deck or with the cards given, and pay what it wins."""
    seat_: TableSession = context.obj
    game = game_of(seat_)
    shuffled = deal(game, [position], random.SystemRandom())
    dealt = cards_of(cards) or [*shuffled.hands[position], *shuffled.community]
    own, community = dealt[: game.cards], dealt[game.cards :]

    async def play_it(hand: Hand) -> None:
        round_ = new_round()
        await hand.say("round.opened", round_)
        await hand.say("wager.placed", round_, position=position, multiplier=multiplier)
        await hand.say("round.closed", round_)
        await hand.say("hand.entered", round_, position=position, cards=own, community=community)
        settled = await hand.say("round.settled", round_)
        for award in settled["result"]["awards"]:
            await hand.say("award.paid", round_, award=award["award"])

    play(context, play_it)
