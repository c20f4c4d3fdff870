"""The reconciliation as a file, in each form that it can be asked for."""

import importlib
import json

from jackpot.finance.reconciliation.data import Reconciliation

MEDIA_TYPES = {
    "json": "application/json",
    "csv": "text/csv; charset=utf-8",
    "xlsx": "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet",
    "pdf": "application/pdf",
}


def render(day: Reconciliation, form: str) -> bytes:
    """`form` is one of MEDIA_TYPES. What writes a form is large, and loaded when that form is asked for."""
    if form == "json":
        return json.dumps(day.document()).encode() + b"\n"
    written: bytes = importlib.import_module(f"jackpot.finance.reconciliation.as_{form}").render(day)
    return written
