"""The certificates that the configuration names, and when they end."""

import datetime as dt
from pathlib import Path
from typing import Final
from urllib.parse import parse_qs, urlsplit

import structlog

from jackpot import metrics
from jackpot.config import Config
from jackpot.errors import UserError
from jackpot.pki import files

AUTHORITIES: Final = ("ca", "sslrootcert")

log = structlog.get_logger()


def named(config: Config) -> dict[Path, str]:
    """Each file once, with the first key that names it."""
    found = [("mqtt.ca", config.mqtt.ca), ("mqtt.cert", config.mqtt.cert)]
    urls = {"database.url": config.database.url, "database.console_url": config.database.console_url}
    for key, url in urls.items():
        asked = parse_qs(urlsplit(url or "").query)
        found += [
            (f"{key}.{name}", Path(value)) for name in ("sslrootcert", "sslcert") for value in asked.get(name, ())
        ]
    return {path: key for key, path in reversed(found) if path is not None}


def ends(path: Path, key: str) -> dt.datetime:
    """Of several authorities one that lasts is enough; of a holder's chain each part must last."""
    dates = [certificate.not_valid_after_utc for certificate in files.read_certificates(path)]
    return max(dates) if key.endswith(AUTHORITIES) else min(dates)


def measure(config: Config) -> None:
    """As they are now: a program that has started goes on with what it has read."""
    for path, key in named(config).items():
        try:
            metrics.certificate_not_after.labels(key).set(ends(path, key).timestamp())
        except UserError as error:
            log.warning("certificate_unreadable", key=key, error=str(error))
