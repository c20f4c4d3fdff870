"""Settles one round of any of the five games, from JSON text to a result or an error."""

from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Any, Final

from jackpot.rules import (
    bullseye,
    fast_action_roulette,
    prosperity_3_pictures,
    three_card_poker_xtreme,
    ultimate_texas_holdem,
)
from jackpot.rules.reading import an_object, malformed, parse, shown
from jackpot.rules.refusal import Code, RefusalError

SETTLE: Final[Mapping[str, Callable[[object], dict[str, Any]]]] = MappingProxyType(
    {
        bullseye.GAME.name: bullseye.settle,
        ultimate_texas_holdem.GAME.name: ultimate_texas_holdem.settle,
        three_card_poker_xtreme.GAME.name: three_card_poker_xtreme.settle,
        fast_action_roulette.NAME: fast_action_roulette.settle,
        prosperity_3_pictures.GAME.name: prosperity_3_pictures.settle,
    }
)


def settle(text: str) -> dict[str, Any]:
    """Settle the round that a JSON text describes; one that cannot be settled is answered by `{"error": ...}`."""
    try:
        return _settle(parse(text))
    except RefusalError as refusal:
        return {"error": {"code": refusal.code, "message": refusal.message, "rule": refusal.rule}}


def _settle(value: object) -> dict[str, Any]:
    fields = an_object(value, "the round")
    if "game" not in fields:
        raise RefusalError(Code.MALFORMED, 'the round: "game" is missing')
    game = fields["game"]
    if not isinstance(game, str):
        raise malformed("game", "text", game)
    if game not in SETTLE:
        raise RefusalError(Code.UNKNOWN_GAME, f"no game {shown(game)}; there is {', '.join(SETTLE)}")
    return SETTLE[game](value)
