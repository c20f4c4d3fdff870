"""Where the broker is, as configured."""

import ssl
from dataclasses import dataclass, field
from typing import Self
from urllib.parse import unquote, urlsplit

from jackpot.errors import UserError


@dataclass(frozen=True, slots=True)
class Broker:
    """Where a broker is, and who we are to it."""

    host: str
    port: int
    tls: ssl.SSLContext | None = None
    username: str | None = None
    password: str | None = field(default=None, repr=False)

    def __str__(self) -> str:
        return f"{self.host}:{self.port}"

    @classmethod
    def from_url(cls, url: str, *, ca: str | None = None, cert: str | None = None, key: str | None = None) -> Self:
        """Reads `mqtt://user:password@host:port` or `mqtts://...`; `ca`, `cert` and `key` are PEM files."""
        try:
            parts = urlsplit(url)
            host, port = parts.hostname, parts.port
        except ValueError as error:
            raise UserError(f"the broker's URL cannot be read: {error}") from error
        if parts.scheme not in {"mqtt", "mqtts"} or not host or parts.path not in {"", "/"} or parts.query:
            raise UserError("the broker's URL must look like mqtt://host:1883 or mqtts://user:password@host:8883")
        secure = parts.scheme == "mqtts"
        if not secure and (ca or cert or key):
            raise UserError("ca, cert and key need a broker's URL that begins with mqtts://")
        return cls(
            host,
            port or (8883 if secure else 1883),
            _tls(ca, cert, key) if secure else None,
            unquote(parts.username) if parts.username else None,
            unquote(parts.password) if parts.password else None,
        )


def _tls(ca: str | None, cert: str | None, key: str | None) -> ssl.SSLContext:
    try:
        context = ssl.create_default_context(cafile=ca)  # without a ca: those that the system trusts
        if cert:
            context.load_cert_chain(cert, key)
    except OSError as error:
        raise UserError(f"the broker's ca, cert or key cannot be used: {error}") from error
    return context
