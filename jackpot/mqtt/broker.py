"""Where the broker is, as configured."""

import ssl
from dataclasses import dataclass, field, replace
from typing import Self
from urllib.parse import unquote, urlsplit

from jackpot.errors import UserError

LOOKS_LIKE = "the broker's URL must look like mqtt://host:1883 or mqtts://user:password@host:8883"
"""What is wrong with one is not said: it may be a part of the password."""


@dataclass(frozen=True, slots=True)
class Broker:
    """Where a broker is, and who we are to it."""

    host: str
    port: int
    tls: ssl.SSLContext | None = None
    username: str | None = None
    password: str | None = field(default=None, repr=False)
    others: tuple[tuple[str, int], ...] = ()
    """The other nodes of a cluster, host and port: any of them will do."""

    def __str__(self) -> str:
        return f"{self.host}:{self.port}"

    @property
    def next(self) -> Self:
        """The next node of the cluster; a broker alone is its own."""
        (host, port), *others = *self.others, (self.host, self.port)
        return replace(self, host=host, port=port, others=tuple(others))

    @classmethod
    def from_url(cls, url: str, *, ca: str | None = None, cert: str | None = None, key: str | None = None) -> Self:
        """Reads `mqtt://user:password@host:port,host:port` or `mqtts://...`; `ca`, `cert` and `key` are PEM files."""
        try:
            parts = urlsplit(url)
            secure = parts.scheme == "mqtts"
            nodes = [urlsplit(f"//{node}") for node in parts.netloc.rpartition("@")[2].split(",")]
            (host, port), *others = [(node.hostname, node.port or (8883 if secure else 1883)) for node in nodes]
        except ValueError as error:
            raise UserError(LOOKS_LIKE) from error
        known = [(name, port) for name, port in others if name]
        strange = parts.scheme not in {"mqtt", "mqtts"} or parts.path not in {"", "/"} or parts.query
        if strange or not host or known != others:
            raise UserError(LOOKS_LIKE)
        if not secure and (ca or cert or key):
            raise UserError("ca, cert and key need a broker's URL that begins with mqtts://")
        return cls(
            host,
            port,
            _tls(ca, cert, key) if secure else None,
            unquote(parts.username) if parts.username else None,
            unquote(parts.password) if parts.password else None,
            tuple(known),
        )


def _tls(ca: str | None, cert: str | None, key: str | None) -> ssl.SSLContext:
    try:
        context = ssl.create_default_context(cafile=ca)  # without a ca: those that the system trusts
        if cert:
            context.load_cert_chain(cert, key)
    except OSError as error:
        raise UserError(f"the broker's ca, cert or key cannot be used: {error}") from error
    return context
