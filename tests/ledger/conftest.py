from tests.ledger.scribe import intruder, ledger_template, ledger_url, played_template

__all__ = ["intruder", "ledger_template", "ledger_url", "played_template"]
