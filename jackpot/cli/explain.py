"""`jackpot explain`: a hand's rank, what it pays and the paragraph, for a dispute at the table."""

import dataclasses
import json
import re
from typing import Annotated, Final

import typer
from rich.console import Console
from rich.table import Table
from rich.text import Text

from jackpot.cli.output import Output, OutputOption, Page
from jackpot.errors import UserError
from jackpot.rules.explanation import Explanation, explain_game, explain_hand
from jackpot.rules.megalink import ALL_GAMES
from jackpot.rules.refusal import RefusalError

SHEETS: Final = {
    "be": "bullseye",
    "uth": "ultimate-texas-holdem",
    "tcx": "three-card-poker-xtreme",
    "far": "fast-action-roulette",
    "p3p": "prosperity-3-pictures",
}
_CARD: Final = re.compile(r"\b([2-9TJQKA])([cdhs])\b")
_SUIT: Final = {"c": "♣", "d": "♦", "h": "♥", "s": "♠"}


def command(
    game: Annotated[str, typer.Argument(help="bullseye, ultimate-texas-holdem, ..., or a sheet: be uth tcx far p3p.")],
    hand: Annotated[
        list[str] | None,
        typer.Argument(help="Cards like As Td 9h 2c; in roulette the winning number, then the ten Bonus Numbers."),
    ] = None,
    output: OutputOption = Output.TABLE,
) -> None:
    name = SHEETS.get(game.lower(), game.lower())
    if name not in ALL_GAMES:
        raise UserError(f"no game {game}; there is {', '.join(ALL_GAMES)}, or a sheet: {', '.join(SHEETS)}")
    tokens = [token for word in hand or [] for token in word.replace(",", " ").split()]
    try:
        explanation = explain_hand(name, tokens) if tokens else explain_game(name)
    except RefusalError as refusal:
        rule = f" ({refusal.rule})" if refusal.rule else ""
        raise UserError(f"{refusal.message}{rule}") from refusal
    if output is Output.JSON:
        typer.echo(json.dumps(dataclasses.asdict(explanation)))
    else:
        _show(explanation, Page())


def _show(explanation: Explanation, console: Console) -> None:
    symbols = console.encoding.startswith("utf")
    title = f"{explanation.game}   {' '.join(explanation.hand)}".strip()
    if explanation.findings:
        findings = Table("hand", "makes", "how", "paragraph", title=_cards(title, symbols), title_justify="left")
        for finding in explanation.findings:
            how = _cards(finding.how, symbols)
            findings.add_row(_words(finding.what), _words(finding.found), how, finding.rule)
        console.print(findings)
    pays = Table("wager", "on", "pays", "paragraph", title=None if explanation.findings else title)
    for line in explanation.pay_lines:
        pays.add_row(_words(line.wager), _words(line.outcome), line.pays, line.rule)
    console.print(pays)


def _words(name: str) -> str:
    return name.replace("_", " ")


def _cards(text: str, symbols: bool) -> Text:
    """Show cards by their suits' symbols, red suits in red, where the terminal can."""
    shown = Text(_CARD.sub(lambda card: card[1] + _SUIT[card[2]], text) if symbols else text)
    shown.highlight_regex(r"[2-9TJQKA][♦♥]", "red")
    return shown
