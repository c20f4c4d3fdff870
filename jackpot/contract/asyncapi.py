"""The MQTT contract as an AsyncAPI document, made from the very types that are decoded and sent."""

from typing import Any

import msgspec

from jackpot import __version__
from jackpot.contract import messages
from jackpot.contract.events import TableEvent
from jackpot.contract.refusals import Code
from jackpot.contract.topics import ROOT

_EVENTS: tuple[type[msgspec.Struct], ...] = TableEvent.__args__
_SENT = (
    messages.AcceptedReply,
    messages.RefusedReply,
    messages.AwardNotice,
    messages.TableStateMessage,
    messages.Meter,
    messages.AwardMessage,
    messages.Status,
)
_CHANNELS: dict[str, tuple[str, str, bool, tuple[str, ...]]] = {
    "events": (
        "{link}/tables/{table}/events",
        "What a table says. It sends an event again, byte for byte, until it is answered.",
        False,
        tuple(kind.__name__ for kind in _EVENTS),
    ),
    "replies": (
        "{link}/tables/{table}/replies",
        "One answer for each event, sent after its effects are durably committed, and a notice for each award.",
        False,
        ("AcceptedReply", "RefusedReply", "AwardNotice"),
    ),
    "state": (
        "{link}/tables/{table}/state",
        "Where a table stands, so that one that comes back knows where to go on.",
        True,
        ("TableStateMessage",),
    ),
    "meter": ("{link}/meter", "The jackpot as displayed.", True, ("Meter",)),
    "awards": ("{link}/awards", "Awards as they are made, for signage.", False, ("AwardMessage",)),
    "status": (
        "{link}/status",
        "In play or not, said again every ten seconds with the time it was said first; `lost` is the last will.",
        True,
        ("Status",),
    ),
}


def document() -> dict[str, Any]:
    _, schemas = msgspec.json.schema_components((*_EVENTS, *_SENT), ref_template="#/components/schemas/{name}")
    schemas["RefusedReply"]["properties"]["code"]["enum"] = [code.value for code in Code]
    return {
        "asyncapi": "3.1.0",
        "info": {
            "title": "jackpot",
            "version": __version__,
            "description": (
                "The contract between table controllers, signage and the link controller. QoS 1, UTF-8 JSON of at "
                "most 16 KiB, amounts in integers named `..._cents`, times in RFC 3339 UTC."
            ),
        },
        "defaultContentType": "application/json",
        "channels": {name: _channel(name) for name in _CHANNELS},
        "operations": {
            ("receive" if name == "events" else "send") + name.capitalize(): {
                "action": "receive" if name == "events" else "send",
                "channel": {"$ref": f"#/channels/{name}"},
                "bindings": {"mqtt": {"qos": 1, "retain": retained}},
            }
            for name, (_, _, retained, _) in _CHANNELS.items()
        },
        "components": {
            "schemas": schemas,
            "messages": {
                name: {"name": name, "payload": {"$ref": f"#/components/schemas/{name}"}}
                for _, _, _, names in _CHANNELS.values()
                for name in names
            },
        },
    }


def _channel(name: str) -> dict[str, Any]:
    address, description, _, carried = _CHANNELS[name]
    parameters = {"link": {"description": "The link's id."}, "table": {"description": "The table's id."}}
    return {
        "address": f"{ROOT}/{address}",
        "description": description,
        "parameters": {key: value for key, value in parameters.items() if f"{{{key}}}" in address},
        "messages": {message: {"$ref": f"#/components/messages/{message}"} for message in carried},
    }
