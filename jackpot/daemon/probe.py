"""Asks a daemon over HTTP what anyone may ask: is it alive, is it ready, and its metrics."""

import http.client
import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from prometheus_client.parser import text_string_to_metric_families

TIMEOUT_S = 2.0

Labels = tuple[tuple[str, str], ...]


@dataclass(frozen=True, slots=True)
class Readiness:
    answers: bool
    """Whether anyone is there at all."""
    ready: bool = False
    links: Mapping[str, Mapping[str, bool | str | None]] | None = None
    """By link, what is there of lease, database and broker; or who leads it, if another does that shares the links."""


def get(host: str, port: int, path: str) -> tuple[int, str]:
    """Status and body; 0 if nobody answers."""
    connection = http.client.HTTPConnection(host, port, timeout=TIMEOUT_S)
    try:
        connection.request("GET", path)
        answer = connection.getresponse()
        return answer.status, answer.read().decode()
    except (OSError, http.client.HTTPException, UnicodeDecodeError):
        return 0, ""
    finally:
        connection.close()


def readiness(host: str, port: int) -> Readiness:
    status, body = get(host, port, "/readyz")
    try:
        found: Any = json.loads(body)
    except ValueError:
        return Readiness(answers=status != 0)
    return Readiness(answers=True, ready=status == 200, links=found.get("links") if isinstance(found, dict) else None)


def metrics(host: str, port: int) -> dict[tuple[str, Labels], float]:
    """Every sample by its name and labels; empty if nobody answers."""
    status, body = get(host, port, "/metrics")
    if status != 200:
        return {}
    return {
        (sample.name, tuple(sorted(sample.labels.items()))): sample.value
        for family in text_string_to_metric_families(body)
        for sample in family.samples
    }
