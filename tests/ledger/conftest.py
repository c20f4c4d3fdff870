from tests.ledger.ledger_driver import intruder, ledger_template, ledger_url, played_template

__all__ = ["intruder", "ledger_template", "ledger_url", "played_template"]
