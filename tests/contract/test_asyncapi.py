"""The MQTT contract as a document: valid by AsyncAPI's own parser, and true to what is decoded and sent."""

import json
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from jsonschema import Draft202012Validator

from jackpot.contract.asyncapi import document
from jackpot.contract.events import TableEvent
from jackpot.contract.refusals import Code

PARSER = "@asyncapi/parser@3.6.3"
VALIDATE = """
import { Parser } from '@asyncapi/parser';
import fs from 'fs';
const found = await new Parser().validate(fs.readFileSync(0, 'utf8'));
console.log(JSON.stringify(found.map(d => [d.severity, d.message, d.path.join('.')])));
"""


def validator(name: str) -> Draft202012Validator:
    made = document()
    return Draft202012Validator({"$ref": f"#/components/schemas/{name}", "components": made["components"]})


@pytest.mark.timeout(600)
def test_asyncapis_own_parser_finds_nothing_wrong() -> None:
    node, npm = shutil.which("node"), shutil.which("npm")
    if node is None or npm is None:
        pytest.skip("Node.js is not installed")
    home = Path(sys.prefix) / "asyncapi"
    if not (home / "node_modules" / "@asyncapi" / "parser").exists():
        home.mkdir(exist_ok=True)
        subprocess.run([npm, "install", "--silent", "--no-audit", "--prefix", str(home), PARSER], check=True)
    (home / "validate.mjs").write_text(VALIDATE)
    done = subprocess.run(
        [node, str(home / "validate.mjs")], input=json.dumps(document()), capture_output=True, text=True, check=True
    )
    assert json.loads(done.stdout) == []


def test_every_event_type_is_described() -> None:
    schemas = document()["components"]["schemas"]
    tags = {schemas[kind.__name__]["properties"]["type"]["enum"][0] for kind in TableEvent.__args__}
    assert len(tags) == 12
    assert set(document()["channels"]["events"]["messages"]) == {kind.__name__ for kind in TableEvent.__args__}


def test_every_refusal_code_is_described() -> None:
    codes = document()["components"]["schemas"]["RefusedReply"]["properties"]["code"]["enum"]
    assert set(codes) == {code.value for code in Code}


EXAMPLES: dict[str, dict[str, Any]] = {
    "WagerPlaced": {
        "id": "0192f0c4", "seq": 41, "type": "wager.placed", "round": "20261116-0042",
        "at": "2026-11-16T02:00:00.000Z", "position": 3, "multiplier": 5,
    },
    "AcceptedReply": {
        "reply_to": "0192f0c4", "seq": 41, "status": "accepted", "duplicate": False, "round": "20261116-0042", "result": {},
    },
    "Meter": {
        "link": "megalink", "currency": "SGD", "displayed_cents": 47999900, "reset_cents": 10000000, "entry": 812,
        "version": 90211, "at": "2026-11-16T02:00:00.000Z",
        "pending": [{"table": "BE-02", "round": "7", "rank": "royal_flush", "base_cents": 47999900}],
    },
    "AwardMessage": {
        "award": "megalink-000123", "link": "megalink", "table": "UTH-01", "round": "9", "position": 3, "entry": 812,
        "rank": "straight_flush", "kind": "percentage", "amount_cents": 4560000, "base_cents": 48000000, "shared_by": 2,
        "multiplier": 5, "rules": ["UTH 4.2", "UTH 3.15.1"], "decisions": ["D5", "D7"], "at": "2026-11-16T02:00:00.000Z",
    },
    "TableStateMessage": {
        "table": "UTH-01", "next_seq": 42, "round": {"id": "9", "phase": "closed"}, "pending": ["8"],
        "accepts_play": True, "at": "2026-11-16T02:00:00.000Z",
    },
}  # fmt: skip


@pytest.mark.parametrize("name", EXAMPLES)
def test_the_contracts_own_examples_are_valid(name: str) -> None:
    validator(name).validate(EXAMPLES[name])


@pytest.mark.parametrize(
    ("name", "change"),
    [
        ("WagerPlaced", {"position": "3"}),
        ("WagerPlaced", {"id": ""}),
        ("WagerPlaced", {"type": "wager.moved"}),
        ("Meter", {"displayed_cents": 1.5}),
        ("AwardMessage", {"rank": "pair"}),
        ("TableStateMessage", {"round": {"id": "9", "phase": "settled"}}),
    ],
)
def test_what_the_contract_forbids_is_invalid(name: str, change: dict[str, Any]) -> None:
    assert not validator(name).is_valid(EXAMPLES[name] | change)
