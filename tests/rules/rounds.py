"""Rounds in short: a test names what it is about, the rest is filled in here. Cards are written as one text."""

import json
from typing import Any

from jackpot.rules.settlement import settle

Json = dict[str, Any]


def settled(round_: object) -> Json:
    return settle(json.dumps(round_))


def card_round(game: str, dealer: str, positions: list[Json], community: str = "", **fields: Any) -> Json:
    common = {"community": community.split()} if community else {}
    return {"game": game, "dealer": dealer.split(), **common, "positions": positions, **fields}


def position(cards: str, wagers: Json, number: int = 1, **fields: Any) -> Json:
    own = {"cards": cards.split()} if cards else {}
    return {"position": number, **own, "wagers": wagers, **fields}


def first(result: Json) -> Json:
    """The first position's result; a refused round fails the test with its message."""
    assert "error" not in result, result["error"]
    found: Json = result["positions"][0]
    return found


def nets(result: Json) -> dict[str, int]:
    return {wager: outcome["net_cents"] for wager, outcome in first(result)["wagers"].items()}


def rules(result: Json) -> dict[str, str]:
    return {wager: outcome["rule"] for wager, outcome in first(result)["wagers"].items()}


def refusal(result: Json) -> tuple[str, str | None]:
    """Why a round was refused: code and paragraph. A round that was settled fails the test."""
    assert result.keys() == {"error"}, result
    error = result["error"]
    assert error.keys() == {"code", "message", "rule"}
    assert error["message"]
    return error["code"], error["rule"]
