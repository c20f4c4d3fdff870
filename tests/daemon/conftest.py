from tests.ledger.ledger_driver import intruder, ledger_template, ledger_url, played_template
from tests.mqtt.conftest import calm_loop

__all__ = ["calm_loop", "intruder", "ledger_template", "ledger_url", "played_template"]
